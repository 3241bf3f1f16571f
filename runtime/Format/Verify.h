//===- Verify.h - Whether a plan may be run
//--------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_VERIFY_H
#define WEFT_RUNTIME_FORMAT_VERIFY_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <span>
#include <string>
#include <vector>

namespace weft::rt {

/// Checks everything about a plan that does not need its file: names, indices,
/// argument counts, expressions, parameter sizes, and verifyWorkspace for the
/// symbol values of sampleSymbols. The first violation is returned (Corrupt),
/// with the names of the things involved.
Status verifyPlan(const Plan &plan);

/// Symbol values at which verifyPlan evaluates sizes and offsets: all at their
/// minimum, all at their maximum, each alone at its maximum, and a few between;
/// at most 32 sets. Maxima are cut to 2^20 where they would only overflow.
std::vector<std::vector<int64_t>> sampleSymbols(const Plan &plan);

/// For one set of symbol values: every Temp is 64-byte aligned and inside the
/// workspace, Temps alive at the same command do not overlap, and the two sides
/// of a copy have equal sizes.
Status verifyWorkspace(const Plan &plan, const Entry &entry,
                       std::span<const int64_t> symbols);

/// Bytes of a tensor of the given shape and type.
Result<int64_t> evaluateByteSize(std::span<const Expr> shape, DType type,
                                 std::span<const int64_t> symbols);

/// Whether bytes are UTF-8 (RFC 3629) without NUL.
bool isUtf8(std::string_view text);

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_VERIFY_H
