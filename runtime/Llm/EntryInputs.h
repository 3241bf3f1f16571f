//===- EntryInputs.h - Values of inputs that come from outside ------------===//
//
// The inputs of a model's entries (docs/architecture.md) are places: ids, rows,
// positions, cache slots. Kernels read and write there without looking, so a
// session whose inputs are not made by a StepBuilder checks them in each run.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_ENTRYINPUTS_H
#define WEFT_RUNTIME_LLM_ENTRYINPUTS_H

#include "runtime/Exec/Session.h"

#include <optional>
#include <span>

namespace weft::rt {

/// Checks the values of the i32 inputs of a model's entries. Immutable.
class EntryInputVerifier {
public:
  /// `cacheBlocks` is the size of the session's cache. The plan may go.
  EntryInputVerifier(const Plan &plan, int64_t cacheBlocks);

  /// For the entries `step` and `encode`: each value is in its range,
  /// `sequence_starts` ascends, and tokens lie in the rows and before the end
  /// of their sequence. Other entries, plans that tell no model facts, and
  /// inputs of other types or shapes, which a session refuses, are not looked
  /// at. Does not allocate unless it fails. Errors: InvalidArgument with the
  /// input, the value, its place and the range.
  Status verify(const Entry &entry, std::span<const Argument> inputs) const;

private:
  /// Sizes that bound the values.
  struct Sizes {
    int64_t vocabulary, contextLength, blockSize, tokenTypes;
  };
  std::optional<Sizes> sizes; ///< Nothing: the plan is not of a model.
  int64_t cacheBlocks;
};

/// The same as the check of a session (Session::setInputCheck).
InputCheck makeInputCheck(const Session &session);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_ENTRYINPUTS_H
