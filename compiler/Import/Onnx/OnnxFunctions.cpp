//===- OnnxFunctions.cpp - Functions of an ONNX model ---------------------===//

#include "compiler/Import/Onnx/OnnxFunctions.h"

#include "llvm/ADT/DenseMap.h"

using namespace llvm;

namespace weft {

/// Functions that call each other in a row, at most: the check is recursive.
static constexpr size_t maxCallDepth = 256;

static std::string makeKey(StringRef domain, StringRef name,
                           StringRef overload) {
  std::string key;
  for (StringRef part : {domain, name, overload})
    key += std::to_string(part.size()) + ":" + part.str();
  return key;
}

static std::string print(const OnnxFunction &function) {
  std::string text = "'";
  if (!function.domain.empty())
    text += (function.domain + ".").str();
  text += function.name;
  if (!function.overload.empty())
    text += (":" + function.overload).str();
  return text + "'";
}

namespace {
/// Follows the calls of functions depth first.
class CallChecker {
public:
  CallChecker(const OnnxFunctions &functions, size_t maxNodes,
              ImportReport &report)
      : functions(functions), maxNodes(maxNodes), report(report) {}

  /// Nodes that a list of nodes has after all calls; nothing after an error.
  std::optional<size_t> count(ArrayRef<OnnxNode> nodes) {
    size_t total = nodes.size();
    for (const OnnxNode &node : nodes) {
      if (const OnnxFunction *callee = functions.find(node)) {
        std::optional<size_t> inner = count(*callee);
        if (!inner)
          return std::nullopt;
        total += *inner;
      }
      for (const OnnxAttribute &attribute : node.attributes)
        for (const auto &graph : attribute.graphs) {
          std::optional<size_t> inner = count(graph->nodes);
          if (!inner)
            return std::nullopt;
          total += *inner;
        }
      if (total > maxNodes) {
        report.error("functions",
                     "more than " + Twine(maxNodes) +
                         " nodes when all calls are followed",
                     "less nodes", "export the model without functions");
        return std::nullopt;
      }
    }
    return total;
  }

  std::optional<size_t> count(const OnnxFunction &function) {
    if (auto known = counts.find(&function); known != counts.end())
      return known->second;
    if (is_contained(path, &function) || path.size() == maxCallDepth) {
      std::string cycle;
      bool isInside = false, isCycle = is_contained(path, &function);
      for (const OnnxFunction *caller : path)
        if ((isInside |= caller == &function))
          cycle += print(*caller) + " -> ";
      report.error("function " + print(function),
                   isCycle ? "the cycle of calls " + cycle + print(function)
                           : "calls nested more than " +
                                 std::to_string(maxCallDepth) + " deep",
                   "functions that do not call themselves",
                   "export the model without functions");
      return std::nullopt;
    }
    path.push_back(&function);
    std::optional<size_t> total = count(function.nodes);
    path.pop_back();
    if (total)
      counts[&function] = *total;
    return total;
  }

private:
  const OnnxFunctions &functions;
  size_t maxNodes;
  ImportReport &report;
  SmallVector<const OnnxFunction *> path;
  DenseMap<const OnnxFunction *, size_t> counts;
};
} // namespace

std::optional<OnnxFunctions> OnnxFunctions::create(const OnnxModel &model,
                                                   size_t maxNodes,
                                                   ImportReport &report) {
  OnnxFunctions result;
  bool isGood = true;
  for (const OnnxFunction &function : model.functions)
    if (!result.functions
             .try_emplace(
                 makeKey(function.domain, function.name, function.overload),
                 &function)
             .second) {
      report.error("function " + print(function), "two definitions",
                   "one for each domain, name and overload");
      isGood = false;
    }
  CallChecker checker(result, maxNodes, report);
  for (const OnnxFunction &function : model.functions)
    isGood = isGood && checker.count(function);
  if (!isGood || !checker.count(model.graph.nodes))
    return std::nullopt;
  return result;
}

const OnnxFunction *OnnxFunctions::find(const OnnxNode &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup(makeKey(node.domain, node.op, node.overload));
}

} // namespace weft
