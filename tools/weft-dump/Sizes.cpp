//===- Sizes.cpp - Symbol values from what people think in ----------------===//

#include "runtime/Format/Json.h"
#include "tools/weft-dump/Dump.h"

#include <algorithm>

using namespace weft;
using namespace weft::rt;

namespace {

/// A positive number of META, `fallback` if it is not there.
int64_t getMetaNumber(const Plan &plan, const char *key, int64_t fallback) {
  Result<nlohmann::json> meta = parseJson(plan.metaJson);
  if (!meta || !meta->is_object() || !meta->contains(key) ||
      !(*meta)[key].is_number_integer())
    return fallback;
  auto value = (*meta)[key].get<int64_t>();
  return value > 0 ? value : fallback;
}

bool hasSymbol(const Plan &plan, std::string_view name) {
  return std::ranges::any_of(
      plan.symbols, [&](const Symbol &symbol) { return symbol.name == name; });
}

int64_t cutToLimit(const Plan &plan, std::string_view name, int64_t value) {
  for (const Symbol &symbol : plan.symbols)
    if (symbol.name == name)
      return std::clamp(value, std::max<int64_t>(symbol.min, 1), symbol.max);
  return value;
}

} // namespace

Result<dump::ResolvedSizes> dump::resolveSizes(const Plan &plan,
                                               const Sizes &sizes,
                                               int64_t defaultTokens) {
  ServingSizes serving;
  serving.blockSize = getMetaNumber(plan, "block_size", 64);
  serving.sequences = sizes.sequences ? sizes.sequences : 1;
  const int64_t limit = getMetaNumber(plan, "context_length", 0);
  if (limit && sizes.context > limit)
    return Status::invalid("--context is " + std::to_string(sizes.context) +
                           "; the plan was compiled for sequences of at most " +
                           std::to_string(limit) +
                           " tokens (weft-compile --context)");
  serving.context = sizes.context ? sizes.context : limit;
  serving.tokens =
      sizes.tokens ? sizes.tokens : cutToLimit(plan, "tokens", defaultTokens);
  if (serving.context == 0) {
    if (hasSymbol(plan, "cache_blocks"))
      return Status::invalid("the plan does not tell its context length; give "
                             "--context N");
    serving.context = serving.blockSize;
  }
  Result<std::vector<SymbolValue>> values = getServingSymbols(plan, serving);
  if (!values)
    return values.getStatus();
  // Of what a decoder has beside its step: the least.
  if (hasSymbol(plan, "cache_blocks"))
    for (const Symbol &symbol : plan.symbols)
      if (std::ranges::find(*values, symbol.name, &SymbolValue::name) ==
          values->end())
        values->push_back({symbol.name, std::max<int64_t>(symbol.min, 1)});
  for (const auto &[name, value] : sizes.symbols) {
    auto it = std::ranges::find(*values, name, &SymbolValue::name);
    if (it != values->end())
      it->value = value;
    else
      values->push_back({name, value});
  }
  return ResolvedSizes{values.take(), serving.context};
}
