//===- EntryInputs.h - Values of inputs that come from outside ------------===//
//
// The inputs of a model's entries (docs/architecture.md) are places: ids, rows,
// positions, cache slots. Kernels read and write there without looking, so
// values that were not made by a StepBuilder are checked before a run.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_ENTRYINPUTS_H
#define WEFT_RUNTIME_LLM_ENTRYINPUTS_H

#include "runtime/Exec/Tensor.h"
#include "runtime/Format/Plan.h"

#include <span>

namespace weft::rt {

/// Checks the values of the i32 inputs of the entries `step` and `encode`:
/// each is in its range, `sequence_starts` ascends, and tokens lie in the rows
/// and before the end of their sequence. `cacheBlocks` is the
/// size of the session's cache. Other entries, and inputs that the session will
/// refuse for their type or shape, are not looked at. Errors: InvalidArgument
/// with the input, the value, its place and the range.
Status verifyEntryInputs(const Plan &plan, const Entry &entry,
                         std::span<const Argument> inputs, int64_t cacheBlocks);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_ENTRYINPUTS_H
