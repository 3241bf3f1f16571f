//===- Binder.h - Arguments of a run and the symbols they show ------------===//
//
// A dimension that is a plain symbol gives the symbol its value; every other
// dimension is then compared with the value of its expression.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXEC_BINDER_H
#define WEFT_RUNTIME_EXEC_BINDER_H

#include "runtime/Exec/SymbolLimits.h"
#include "runtime/Exec/Tensor.h"

#include <span>
#include <vector>

namespace weft::rt {

/// Checks the arguments of one run and derives symbol values from their
/// shapes. Made once per entry; `bind` does not allocate unless it fails.
class Binder {
public:
  Binder(const Plan &plan, const Entry &entry, const SymbolLimits &limits);

  /// Fills `symbols` (one per symbol of the plan). Every input and output of
  /// the entry must be given once, with its dtype and a shape that equals the
  /// declared one. `explicitValues` are for symbols that no shape shows; where
  /// a shape shows one too, both must agree. On success, getArgument tells the
  /// argument of each buffer.
  Status bind(std::span<const Argument> inputs,
              std::span<const Argument> outputs,
              std::span<const SymbolValue> explicitValues,
              std::span<int64_t> symbols);

  /// Data of the argument of an Input or Output buffer, by buffer index.
  void *getData(uint32_t buffer) const { return data[buffer]; }
  /// Whether the argument of an Output buffer is ignored (Argument).
  bool isIgnored(uint32_t buffer) const { return ignored[buffer]; }

private:
  static constexpr int64_t unset = -1;

  Status matchNames(std::span<const Argument> arguments, BufferKind kind);
  Status bindShape(const Buffer &buffer, std::span<const int64_t> shape,
                   std::span<int64_t> symbols);
  Status bindExplicit(std::span<const SymbolValue> values,
                      std::span<int64_t> symbols);
  Status checkRanges(std::span<const int64_t> symbols) const;
  Status checkTensor(const Buffer &buffer, const TensorView &tensor,
                     std::span<const int64_t> symbols) const;
  Status checkOverlaps(std::span<const Argument> inputs,
                       std::span<const Argument> outputs) const;
  /// "input 'tokens' of entry 'step'".
  std::string describe(const Buffer &buffer) const;
  std::string listNames(BufferKind kind) const;

  const Plan &plan;
  const Entry &entry;
  const SymbolLimits &limits;
  std::vector<bool> perRun;            ///< Symbols whose value each run gives.
  std::vector<void *> data;            ///< Per buffer.
  std::vector<bool> ignored;           ///< Per buffer.
  std::vector<const Argument *> given; ///< Per buffer; null: not given.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_BINDER_H
