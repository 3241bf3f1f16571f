//===- SymbolLimits.cpp ---------------------------------------------------===//

#include "runtime/Exec/SymbolLimits.h"

using namespace weft::rt;

Result<SymbolLimits> weft::rt::makeLimits(const Plan &plan,
                                          std::span<const SymbolValue> given) {
  SymbolLimits limits;
  limits.maximum.assign(plan.symbols.size(), 0);
  std::vector<bool> seen(plan.symbols.size());
  for (const SymbolValue &value : given) {
    Result<uint32_t> index = findSymbol(plan, value.name);
    if (!index)
      return index.getStatus();
    const Symbol &symbol = plan.symbols[*index];
    if (seen[*index])
      return Status::invalid("symbol '" + symbol.name + "' is given twice");
    if (value.value < symbol.min || value.value > symbol.max)
      return Status::limit(
          "symbol '" + symbol.name + "' cannot be " +
          std::to_string(value.value) + ": the plan was compiled for " +
          std::to_string(symbol.min) + " to " + std::to_string(symbol.max));
    seen[*index] = true;
    limits.maximum[*index] = value.value;
  }
  for (size_t i = 0; i < plan.symbols.size(); ++i) {
    const Symbol &symbol = plan.symbols[i];
    if (seen[i])
      continue;
    bool isFixed = symbol.min == symbol.max;
    if (symbol.perSession && !isFixed)
      return Status::invalid("symbol '" + symbol.name +
                             "' has no value; it is fixed when a session is "
                             "made, give a value from " +
                             std::to_string(symbol.min) + " to " +
                             std::to_string(symbol.max));
    if (symbol.max == INT64_MAX)
      return Status::invalid("symbol '" + symbol.name +
                             "' has no maximum in the plan, so memory cannot "
                             "be planned for it; give its largest value");
    limits.maximum[i] = symbol.max;
  }
  return limits;
}
