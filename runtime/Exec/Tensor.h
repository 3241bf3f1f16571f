//===- Tensor.h - Tensors and values that callers hand to a session -------===//

#ifndef WEFT_RUNTIME_EXEC_TENSOR_H
#define WEFT_RUNTIME_EXEC_TENSOR_H

#include "runtime/Format/Plan.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::rt {

/// A tensor in memory of the caller: contiguous, row-major, aligned to its
/// element size at least (to 64 bytes for best speed). Does not own anything.
/// `data` may be null only if the tensor has no elements.
struct TensorView {
  void *data = nullptr;
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
};

/// An input or an output of an entry. Inputs are not written to.
struct Argument {
  std::string_view name;
  TensorView tensor;
  /// Of an output: nobody reads it after this run, so that devices with memory
  /// of their own need not copy it. Its content is then undefined.
  bool isIgnored = false;
};

struct SymbolValue {
  std::string_view name;
  int64_t value = 0;
};

/// "[2, 3]".
std::string formatShape(std::span<const int64_t> shape);
/// "[tokens, 64]" with the symbol names of a plan.
std::string formatShape(std::span<const Expr> shape, const Plan &plan);

/// Index of the symbol with the given name; NotFound lists the names there
/// are.
Result<uint32_t> findSymbol(const Plan &plan, std::string_view name);
/// Index of an entry; NotFound lists the entries there are.
Result<uint32_t> findEntry(const Plan &plan, std::string_view name);

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_TENSOR_H
