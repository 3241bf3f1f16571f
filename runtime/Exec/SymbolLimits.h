//===- SymbolLimits.h - How large a session's sizes can get ---------------===//

#ifndef WEFT_RUNTIME_EXEC_SYMBOLLIMITS_H
#define WEFT_RUNTIME_EXEC_SYMBOLLIMITS_H

#include "runtime/Exec/Tensor.h"

#include <span>
#include <vector>

namespace weft::rt {

/// The largest value of each symbol in a session, and the only value of those
/// that are per session.
struct SymbolLimits {
  std::vector<int64_t> maximum; ///< One per symbol of the plan.
};

/// Limits from what a caller wants. A symbol that is not given has the plan's
/// maximum; that is an error (InvalidArgument) if the plan sets none, or if the
/// symbol is per session and not fixed by the plan. Values outside the plan's
/// range are LimitExceeded, unknown names NotFound.
Result<SymbolLimits> makeLimits(const Plan &plan,
                                std::span<const SymbolValue> given);

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_SYMBOLLIMITS_H
