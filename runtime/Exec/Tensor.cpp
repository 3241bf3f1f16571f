//===- Tensor.cpp ---------------------------------------------------------===//

#include "runtime/Exec/Tensor.h"

using namespace weft::rt;

namespace {

std::vector<std::string> getSymbolNames(const Plan &plan) {
  std::vector<std::string> names;
  for (const Symbol &symbol : plan.symbols)
    names.push_back(symbol.name);
  return names;
}

/// Index of the element with a name; else NotFound with all the names.
template <typename T>
Result<uint32_t> findByName(const std::vector<T> &things, std::string_view name,
                            const char *kind) {
  for (uint32_t i = 0; i < things.size(); ++i)
    if (things[i].name == name)
      return i;
  std::string names;
  for (const T &thing : things)
    names += (names.empty() ? "" : ", ") + thing.name;
  return Status::notFound("the plan has no " + std::string(kind) + " '" +
                          std::string(name) + "'; it has " +
                          (names.empty() ? "none" : names));
}

} // namespace

std::string weft::rt::formatShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string weft::rt::formatShape(std::span<const Expr> shape,
                                  const Plan &plan) {
  std::vector<std::string> names = getSymbolNames(plan);
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + shape[i].print(names);
  return text + "]";
}

Result<uint32_t> weft::rt::findSymbol(const Plan &plan, std::string_view name) {
  return findByName(plan.symbols, name, "symbol");
}

Result<uint32_t> weft::rt::findEntry(const Plan &plan, std::string_view name) {
  return findByName(plan.entries, name, "entry");
}
