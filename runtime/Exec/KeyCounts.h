//===- KeyCounts.h - How many keys attention sees in a run ----------------===//
//
// What a run computes and moves follows from the positions of its tokens where
// they are attention's; Plan.h has the definitions (KeyCount).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXEC_KEYCOUNTS_H
#define WEFT_RUNTIME_EXEC_KEYCOUNTS_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace weft::rt {

/// The inputs of a run that a key count is made of.
struct SequenceInputs {
  std::span<const int32_t> positions;       ///< [tokens]
  std::span<const int32_t> sequenceStarts;  ///< [sequences + 1]
  std::span<const int32_t> sequenceLengths; ///< [sequences], or empty.
};

/// The value of a key count. Inputs that contradict each other (which a kernel
/// would not take either) give some number that is not negative.
int64_t countKeys(const KeyCount &count, const SequenceInputs &inputs);

/// The values of an entry's key counts for a step in which every sequence is
/// `context` positions long, or as long as its tokens if they are more, and the
/// tokens, whose number is that of the given symbol values (one per symbol of
/// the plan), are the last of each sequence in equal parts. InvalidArgument for
/// numbers of tokens or sequences beyond 2^24.
Result<std::vector<int64_t>>
countKeysOfEvenStep(const Entry &entry, std::span<const int64_t> symbols,
                    int64_t context);

/// FLOPs and bytes of a command.
struct Work {
  int64_t flops = 0, bytes = 0;
};

/// Exact where the plan says how; `values` are those of the plan's symbols and,
/// behind them, of the entry's key counts. Errors: as Expr::evaluate.
Result<Work> evaluateWork(const Command &command,
                          std::span<const int64_t> values);

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_KEYCOUNTS_H
