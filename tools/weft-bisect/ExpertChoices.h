//===- ExpertChoices.h - weft-bisect: who takes other experts ---*- C++ -*-===//
//
// A model with experts makes choices. Rounding that no command is to blame for
// can turn one where two experts lie close together, and from there on the
// token computes something else. This finds the first such choice.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_WEFTBISECT_EXPERTCHOICES_H
#define WEFT_TOOLS_WEFTBISECT_EXPERTCHOICES_H

#include "compiler/ReferenceRunner.h"
#include "dialects/Weft/WeftDialect.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::bisect {

/// A token for which plan and reference took different experts, each on what
/// it had computed up to there.
struct ChoiceDifference {
  size_t step;
  int64_t row;                          ///< The token's, of the step.
  std::string label;                    ///< Of the dispatch that chose.
  std::vector<int32_t> reference, plan; ///< The experts, best first.
  /// How far the logits of the best experts that only one side took are apart,
  /// in the reference, and how far the plan's logits of the token are off.
  double gap, drift;

  /// "step 0, token 3, 'layers.1.route': the plan takes the experts 1 4, ...".
  std::string describe() const;
};

/// Learns what the reference chose in all steps, then what the plan chose.
/// Not thread-safe.
class ExpertChoices {
public:
  using Lookup = ReferenceRunner::Lookup;
  using ResultLookup = llvm::function_ref<ReferenceTensor(mlir::OpResult)>;

  /// A dispatch that has run, with its tensors; others than those that choose
  /// experts are left out.
  void addReference(size_t step, DispatchOp dispatch, Lookup tensors);
  void addPlan(size_t step, DispatchOp dispatch, Lookup inputs,
               ResultLookup results);

  /// In the order of the plan's commands.
  const std::optional<ChoiceDifference> &getFirst() const { return first; }

private:
  struct Choice {
    ReferenceTensor logits, experts;
  };

  std::map<std::pair<size_t, mlir::Operation *>, Choice> reference;
  std::optional<ChoiceDifference> first;
};

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_EXPERTCHOICES_H
