//===- Phases.cpp - weft-bisect: a model after each phase -----------------===//

#include "tools/weft-bisect/Phases.h"

#include "dialects/Weft/WeftDialect.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

func::FuncOp weft::bisect::findEntry(ModuleOp module, StringRef name) {
  return module.lookupSymbol<func::FuncOp>(name);
}

std::string weft::bisect::nameOutput(StringRef name, size_t step,
                                     size_t steps) {
  return steps == 1 ? name.str() : (name + " of step " + Twine(step)).str();
}

ReferenceTensor weft::bisect::getInput(const Step &step, StringRef name,
                                       Type elementType) {
  auto it = step.inputs.find(std::string_view(name));
  assert(it != step.inputs.end() && "the model's inputs have been checked");
  const Step::Input &input = it->second;
  ReferenceTensor tensor;
  tensor.elementType = elementType;
  tensor.shape.assign(input.shape.begin(), input.shape.end());
  tensor.bytes = {reinterpret_cast<const uint8_t *>(input.values.data()),
                  input.values.size() * sizeof(int32_t)};
  return tensor;
}

FailureOr<std::vector<NamedTensor>>
weft::bisect::runSteps(ReferenceRunner &runner, func::FuncOp entry,
                       ArrayRef<Step> steps, const WeightSource &weights,
                       function_ref<void()> progress) {
  std::vector<NamedTensor> outputs;
  llvm::MapVector<StringAttr, ReferenceTensor> states;
  for (auto [number, step] : llvm::enumerate(steps)) {
    std::vector<ReferenceTensor> arguments;
    for (BlockArgument argument : entry.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (auto state = entry.getArgAttrOfType<StringAttr>(
              index, WeftDialect::getStateAttrName())) {
        auto [it, isNew] = states.try_emplace(state);
        if (isNew) {
          // As in a new session.
          FailureOr<ReferenceTensor> zeros =
              allocateTensor(argument, step.symbols);
          if (failed(zeros))
            return failure();
          it->second = *zeros;
        }
        arguments.push_back(it->second);
        continue;
      }
      auto name = entry.getArgAttrOfType<StringAttr>(
          index, WeftDialect::getNameAttrName());
      arguments.push_back(getInput(step, name.getValue(),
                                   getElementTypeOrSelf(argument.getType())));
    }
    FailureOr<std::vector<ReferenceTensor>> results =
        runner.run(entry, arguments, step.symbols, weights, progress);
    if (failed(results))
      return failure();
    for (auto [index, result] : llvm::enumerate(*results)) {
      if (auto state = entry.getResultAttrOfType<StringAttr>(
              index, WeftDialect::getStateAttrName()))
        states[state] = result;
      else if (auto name = entry.getResultAttrOfType<StringAttr>(
                   index, WeftDialect::getNameAttrName()))
        outputs.push_back(
            {nameOutput(name.getValue(), number, steps.size()), result});
    }
  }
  for (auto &[name, tensor] : states)
    outputs.push_back({name.getValue().str(), tensor});
  return outputs;
}
