//===- Phases.cpp - weft-bisect: a model after each phase -----------------===//

#include "tools/weft-bisect/Phases.h"

#include "dialects/Weft/WeftDialect.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

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

rt::Status PhaseComparer::setModules(ArrayRef<PhaseModule> phases,
                                     StringRef entryName) {
  modules = phases;
  for (const PhaseModule &phase : modules) {
    auto entry = phase.module.get().lookupSymbol<func::FuncOp>(entryName);
    if (!entry)
      return rt::Status::invalid(
          "the model has no entry '" + entryName.str() +
          "', which the plan has; it was compiled from another model");
    entries.push_back(entry);
  }
  return rt::Status::ok();
}

size_t PhaseComparer::countOperations() const {
  size_t count = 0;
  for (func::FuncOp entry : entries)
    for (Operation &op : entry.getBody().front().without_terminator())
      count +=
          llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
  return count;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

rt::Status PhaseComparer::run(ArrayRef<Step> steps,
                              function_ref<void()> progress) {
  std::string irBefore;
  for (auto [phase, entry] : llvm::zip_equal(modules, entries)) {
    std::string ir = print(phase.module.get());
    if (ir == irBefore) {
      PhaseRow row;
      row.name = phase.name;
      row.before = rows.back().name;
      row.isUnchanged = true;
      rows.push_back(std::move(row));
      continue;
    }
    irBefore = std::move(ir);
    FailureOr<std::vector<NamedTensor>> outputs =
        runSteps(entry, steps, progress);
    if (failed(outputs))
      return rt::Status::internal(
          "the reference cannot run the model after the phase " + phase.name);
    if (rt::Status s = add(phase.name, entry, std::move(*outputs)); !s)
      return s;
  }
  return rt::Status::ok();
}

rt::Status PhaseComparer::add(std::string name, func::FuncOp entry,
                              std::vector<NamedTensor> outputs) {
  PhaseRow row;
  row.name = std::move(name);
  if (!rows.empty()) {
    row.before = rows.back().name;
    row.difference = compareAll(
        before, outputs, options.tolerance.value_or(getTolerance(entry)));
  }
  if (row.difference.isBad() && !isSaved && !options.saveFolder.empty()) {
    isSaved = true;
    std::string folder = options.saveFolder + "/phase." + row.name;
    if (rt::Status s = saveTensors(folder, row.before, before); !s)
      return s;
    if (rt::Status s = saveTensors(folder, row.name, outputs); !s)
      return s;
  }
  rows.push_back(std::move(row));
  before = std::move(outputs);
  return rt::Status::ok();
}

FailureOr<std::vector<NamedTensor>>
PhaseComparer::runSteps(func::FuncOp entry, ArrayRef<Step> steps,
                        function_ref<void()> progress) {
  std::vector<NamedTensor> outputs;
  llvm::MapVector<StringAttr, ReferenceTensor> states;
  for (auto [number, step] : llvm::enumerate(steps)) {
    size_t stepNumber = number; // Lambdas take no structured bindings.
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
        runner.run(entry, arguments, step.symbols, weights,
                   [&](Operation *op, ReferenceRunner::Lookup tensors) {
                     if (auto dispatch = dyn_cast<DispatchOp>(op))
                       choices.addReference(stepNumber, dispatch, tensors);
                     progress();
                   });
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
