//===- Compare.h - weft-bisect: how far two tensors are apart ---*- C++ -*-===//

#ifndef WEFT_TOOLS_WEFTBISECT_COMPARE_H
#define WEFT_TOOLS_WEFTBISECT_COMPARE_H

#include "compiler/ReferenceRunner.h"
#include "runtime/Format/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::bisect {

struct Options {
  std::optional<double> tolerance; ///< Nothing: getTolerance.
  std::string saveFolder;          ///< Empty: save nothing.
  bool saveAll = false;            ///< Every command, not the first bad one.
};

/// What is compared, and with what it is named in reports and files.
struct NamedTensor {
  std::string name;
  ReferenceTensor tensor;
};

/// How two tensors of the same shape differ.
struct Difference {
  std::string name;    ///< Of the tensor that differs most.
  double absolute = 0; ///< Largest |found - expected|.
  /// `absolute` over the largest |expected| of the tensor: sums in another
  /// order move small elements by an error that fits the large ones.
  double relative = 0;
  double tolerance = 0;    ///< `relative` may be this.
  size_t elements = 0;     ///< Of the tensor.
  size_t badElements = 0;  ///< Those beyond the tolerance.
  std::vector<int64_t> at; ///< Where the largest difference is.
  double expected = 0, found = 0;

  bool isBad() const { return badElements != 0; }
  /// "max rel 0.5 at [3, 5]: found 1, expected 2; ...".
  std::string describe(llvm::StringRef found, llvm::StringRef expected) const;
};

/// An element by its row-major index, of any type that models have.
double getElement(const ReferenceTensor &tensor, size_t index);

/// Compares element by element. NaNs equal NaNs only; integers must be equal.
Difference compare(const ReferenceTensor &expected,
                   const ReferenceTensor &found, double tolerance,
                   llvm::StringRef name);

/// The worst difference of tensors that pair up.
Difference compareAll(llvm::ArrayRef<NamedTensor> expected,
                      llvm::ArrayRef<NamedTensor> found, double tolerance);

/// Whether `other` is the worse one.
bool isWorse(const Difference &difference, const Difference &other);

/// What rounding may do to results of `op`, from the narrowest float type that
/// is used in it: 1e-4 for f32, 1e-2 for f16, 2e-2 for bf16.
double getTolerance(mlir::Operation *op);

/// "layers.0.output" as the name of a file.
std::string makeFileName(llvm::StringRef text);

/// Writes FOLDER/PREFIX.NAME.npy for each tensor.
rt::Status saveTensors(const std::string &folder, llvm::StringRef prefix,
                       llvm::ArrayRef<NamedTensor> tensors);

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_COMPARE_H
