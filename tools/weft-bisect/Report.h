//===- Report.h - weft-bisect: what was found, for people and programs ----===//

#ifndef WEFT_TOOLS_WEFTBISECT_REPORT_H
#define WEFT_TOOLS_WEFTBISECT_REPORT_H

#include "tools/weft-bisect/CheckCommands.h"
#include "tools/weft-bisect/Phases.h"

#include <optional>
#include <ostream>

namespace weft::bisect {

struct Report {
  std::string model, plan; ///< `plan` is empty for one made for this run.
  std::vector<int32_t> ids;
  size_t steps = 0;
  std::vector<PhaseRow> phases; ///< The plan is the last one.
  std::vector<CommandRow> commands;
  std::optional<FirstBad> firstBad;
  /// Where plan and reference first took different experts.
  std::optional<ChoiceDifference> firstChoice;

  /// The first phase that differs from the one before; null if none does.
  const PhaseRow *findBadPhase() const;
  bool isSame() const { return !findBadPhase() && !firstBad; }

  void print(std::ostream &out) const;
  void printJson(llvm::raw_ostream &out) const;
};

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_REPORT_H
