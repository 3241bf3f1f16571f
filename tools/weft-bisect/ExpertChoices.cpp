//===- ExpertChoices.cpp - weft-bisect: who takes other experts -----------===//

#include "tools/weft-bisect/ExpertChoices.h"

#include "tools/weft-bisect/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

namespace {
/// Where a dispatch that chooses experts has its logits and its choice.
struct RoutePlaces {
  Value logits;
  OpResult experts;
};
} // namespace

static std::optional<RoutePlaces> findRoute(DispatchOp dispatch) {
  RouteOp route;
  dispatch->walk([&](RouteOp op) { route = op; });
  if (!route)
    return std::nullopt;
  // Both have to be tensors of the dispatch, not inside it only.
  auto logits = dyn_cast<BlockArgument>(route.getLogits());
  Operation *yield = dispatch->getRegion(0).front().getTerminator();
  auto result = llvm::find(yield->getOperands(), route.getExperts());
  if (!logits || logits.getOwner()->getParentOp() != dispatch ||
      result == yield->operand_end())
    return std::nullopt;
  return RoutePlaces{
      dispatch.getInputs()[logits.getArgNumber()],
      dispatch->getResult(unsigned(result - yield->operand_begin()))};
}

/// The elements of a row of a matrix.
static std::vector<double> getRow(const ReferenceTensor &tensor, int64_t row) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.shape[1]; ++i)
    values.push_back(getElement(tensor, size_t(row * tensor.shape[1] + i)));
  return values;
}

static std::vector<int32_t> getExperts(const ReferenceTensor &tensor,
                                       int64_t row) {
  std::vector<double> values = getRow(tensor, row);
  return {values.begin(), values.end()};
}

void ExpertChoices::addReference(size_t step, DispatchOp dispatch,
                                 Lookup tensors) {
  if (std::optional<RoutePlaces> route = findRoute(dispatch))
    reference[{step, dispatch}] = {tensors(route->logits),
                                   tensors(route->experts)};
}

/// The logit of the best expert that is in one choice only.
static double findBestAlone(const std::vector<double> &logits,
                            const std::vector<int32_t> &mine,
                            const std::vector<int32_t> &others) {
  double best = -INFINITY;
  for (int32_t expert : mine)
    if (!llvm::is_contained(others, expert))
      best = std::max(best, logits[size_t(expert)]);
  return best;
}

void ExpertChoices::addPlan(size_t step, DispatchOp dispatch, Lookup inputs,
                            ResultLookup results) {
  if (first)
    return;
  std::optional<RoutePlaces> route = findRoute(dispatch);
  auto it = reference.find({step, dispatch});
  if (!route || it == reference.end())
    return;
  const Choice &expected = it->second;
  Choice found = {inputs(route->logits), results(route->experts)};
  for (int64_t row = 0; row < found.experts.shape[0]; ++row) {
    std::vector<int32_t> mine = getExperts(found.experts, row),
                         theirs = getExperts(expected.experts, row);
    // The same experts in another order are the same choice.
    if (std::is_permutation(mine.begin(), mine.end(), theirs.begin(),
                            theirs.end()))
      continue;
    ChoiceDifference difference = {
        step, row, dispatch.getLabel().str(), theirs, mine, 0, 0};
    std::vector<double> logits = getRow(expected.logits, row),
                        moved = getRow(found.logits, row);
    difference.gap = findBestAlone(logits, theirs, mine) -
                     findBestAlone(logits, mine, theirs);
    for (size_t i = 0; i < logits.size(); ++i)
      difference.drift =
          std::max(difference.drift, std::abs(logits[i] - moved[i]));
    first = difference;
    return;
  }
}

static std::string print(const std::vector<int32_t> &experts) {
  std::string text;
  for (int32_t expert : experts)
    text += (text.empty() ? "" : ", ") + std::to_string(expert);
  return text;
}

std::string ChoiceDifference::describe() const {
  char numbers[160];
  std::snprintf(numbers, sizeof(numbers),
                "the reference's logits of the two sides lie %.2g apart, the "
                "plan's are off by up to %.2g",
                gap, drift);
  return "step " + std::to_string(step) + ", token " + std::to_string(row) +
         ", '" + label + "': the reference takes the experts " +
         print(reference) + ", the plan " + print(plan) + ";\n  " + numbers;
}
