//===- Dump.h - What weft-dump prints -------------------------------------===//

#ifndef WEFT_TOOLS_WEFT_DUMP_DUMP_H
#define WEFT_TOOLS_WEFT_DUMP_DUMP_H

#include "runtime/Exec/MemoryReport.h"
#include "runtime/Format/Reader.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace weft::dump {

/// Every section as text for people: sizes as expressions over the symbols.
void printPlan(const rt::Artifact &artifact, const std::string &path,
               std::ostream &out);
/// The same facts as JSON.
nlohmann::ordered_json toJson(const rt::Artifact &artifact);

/// Symbol names of a plan, in order, as Expr::print takes them.
std::vector<std::string> getSymbolNames(const rt::Plan &plan);
/// The same with the key counts of an entry behind them.
std::vector<std::string> getValueNames(const rt::Plan &plan,
                                       const rt::Entry &entry);
/// "input", "state", ...
const char *getName(rt::BufferKind kind);
/// "elf", "cubin", "cuda source".
const char *getName(rt::Code::Kind kind);

/// The sizes that --memory and --kernels are for, as given on the command
/// line; 0 where nothing was given.
struct Sizes {
  int64_t context = 0, sequences = 0, tokens = 0;
  std::vector<std::pair<std::string, int64_t>> symbols; ///< --symbol.
};

/// The sizes with everything filled in.
struct ResolvedSizes {
  std::vector<rt::SymbolValue> symbols;
  int64_t context = 0; ///< Positions of each sequence.
};

/// Values for the plan's symbols. What is not given comes from the plan's
/// facts: the context from META, one sequence, `defaultTokens` (cut to the
/// plan's limit) per step. The names refer to `sizes` or are literals.
rt::Result<ResolvedSizes> resolveSizes(const rt::Plan &plan, const Sizes &sizes,
                                       int64_t defaultTokens);

/// What a report on memory is about.
struct MemoryQuestion {
  std::span<const rt::SymbolValue> symbols;
  unsigned threads = 1;
  std::string target; ///< Of the plan.
  /// Bytes that the machine can give to a session; nothing if that is not known
  /// or the session's memory is that of a GPU.
  std::optional<uint64_t> available;
};

void printMemory(const rt::MemoryReport &report, const MemoryQuestion &question,
                 std::ostream &out);
nlohmann::ordered_json toJson(const rt::MemoryReport &report,
                              const MemoryQuestion &question);

/// All launches of one kernel in one entry.
struct KernelUse {
  std::string entry, kernel, program, schedule;
  int64_t launches = 0, grid = 0, flops = 0, bytes = 0; ///< Sums.
};
/// Per entry, most bytes first. The values are maxima as for a session; every
/// symbol needs one. The tokens of a step are the last of sequences that are as
/// long as the context (countKeysOfEvenStep).
rt::Result<std::vector<KernelUse>> collectKernels(const rt::Plan &plan,
                                                  const ResolvedSizes &sizes);

void printKernels(const std::vector<KernelUse> &uses,
                  std::span<const rt::SymbolValue> symbols, std::ostream &out);
nlohmann::ordered_json toJson(const std::vector<KernelUse> &uses);

} // namespace weft::dump

#endif // WEFT_TOOLS_WEFT_DUMP_DUMP_H
