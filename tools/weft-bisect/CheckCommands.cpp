//===- CheckCommands.cpp - weft-bisect: a plan command by command ---------===//

#include "tools/weft-bisect/CheckCommands.h"

#include "compiler/Artifact/ExportPlan.h"
#include "runtime/Format/Hash.h"
#include "tools/weft-bisect/Phases.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ToolOutputFile.h"

#include <algorithm>

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

CommandChecker::CommandChecker(func::FuncOp fused, rt::Session &session,
                               ReferenceRunner &runner,
                               const WeightSource &weights, Options options,
                               ExpertChoices &choices)
    : fused(fused), session(session), runner(runner), weights(weights),
      options(std::move(options)), choices(choices),
      match(fused, session.getPlan()) {}

CommandChecker::~CommandChecker() = default;

rt::Status CommandChecker::verify() {
  if (rt::Status s = match.verify(); !s)
    return s;
  for (const rt::Command &command : match.getEntry().commands) {
    const rt::Kernel &kernel = session.getPlan().kernels[command.kernel];
    CommandRow &row = rows.emplace_back();
    row.label = command.label;
    row.kernel = kernel.name;
    row.program = kernel.program;
  }
  return rt::Status::ok();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static uint64_t hash(ArrayRef<uint8_t> bytes) {
  return rt::xxh64(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

rt::Result<ReferenceTensor> CommandChecker::copyBuffer(uint32_t number,
                                                       Type type, Place place) {
  const rt::Buffer &buffer = match.getEntry().buffers[number];
  Type elementType = getElementTypeOrSelf(type);
  SmallVector<int64_t> shape;
  size_t bytes = getElementBytes(elementType);
  for (const rt::Expr &expr : buffer.shape) {
    rt::Result<int64_t> size = expr.evaluate(symbols);
    if (!size)
      return size.getStatus();
    shape.push_back(*size);
    bytes *= *size;
  }
  if (bytes > size_t(place.bytes))
    return rt::Status::internal(
        "buffer '" + buffer.name + "' has " + std::to_string(place.bytes) +
        " bytes, its shape needs " + std::to_string(bytes));
  const auto *data = static_cast<const uint8_t *>(place.data);
  return ReferenceTensor::own(elementType, shape,
                              std::vector<uint8_t>(data, data + bytes));
}

/// A weight is taken from the model, not from the plan, so that a plan with a
/// wrong one differs; its bytes are compared once.
rt::Status CommandChecker::readParam(size_t command, size_t input,
                                     Place place) {
  Operation *constant =
      match.getDispatch(command).getInputs()[input].getDefiningOp();
  if (!constant || constant->getNumOperands() != 0)
    return mismatch(
        getCommandName(command, match.getEntry().commands[command]) +
        " reads a constant where the model has a computed tensor");
  uint32_t buffer = match.getEntry().commands[command].buffers[input];
  if (checkedParams.contains(buffer)) {
    auto type = cast<RankedTensorType>(constant->getResult(0).getType());
    ReferenceTensor tensor;
    tensor.elementType = type.getElementType();
    tensor.shape.assign(type.getShape().begin(), type.getShape().end());
    tensor.bytes = {static_cast<const uint8_t *>(place.data),
                    size_t(place.bytes)};
    inputs.push_back(tensor);
    return rt::Status::ok();
  }
  FailureOr<ReferenceTensor> tensor = readConstant(constant, weights);
  if (failed(tensor))
    return rt::Status::invalid("a weight of the model cannot be read");
  ArrayRef<uint8_t> stored(static_cast<const uint8_t *>(place.data),
                           size_t(place.bytes));
  if (stored == tensor->bytes)
    checkedParams.insert(buffer);
  else if (note.empty())
    note = "the plan's '" + match.getEntry().buffers[buffer].name +
           "' is not what the model has";
  inputs.push_back(*tensor);
  return rt::Status::ok();
}

rt::Status
CommandChecker::captureInputs(size_t command,
                              function_ref<Place(uint32_t)> getPlace) {
  inputs.clear();
  note = match.getWiringNote(command);
  DispatchOp dispatch = match.getDispatch(command);
  for (auto [position, value] : llvm::enumerate(dispatch.getInputs())) {
    uint32_t buffer = match.getEntry().commands[command].buffers[position];
    if (match.getEntry().buffers[buffer].kind == rt::BufferKind::Param) {
      if (rt::Status s = readParam(command, position, getPlace(buffer)); !s)
        return s;
      continue;
    }
    rt::Result<ReferenceTensor> tensor =
        copyBuffer(buffer, value.getType(), getPlace(buffer));
    if (!tensor)
      return tensor.getStatus();
    auto it = written.find(buffer);
    if (note.empty() && it != written.end() &&
        it->second.hash != hash(tensor->bytes))
      note = "'" + match.getEntry().buffers[buffer].name +
             "' was overwritten after command " +
             std::to_string(it->second.command) + " had written it";
    inputs.push_back(*tensor);
  }
  return rt::Status::ok();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

rt::Status CommandChecker::check(const rt::CommandEvent &event) {
  size_t index = event.commandIndex;
  DispatchOp dispatch = match.getDispatch(index);
  auto getPlace = [&](uint32_t buffer) {
    return Place{event.bufferData[buffer], event.bufferBytes[buffer]};
  };
  auto lookup = [&](Value value) {
    for (auto [input, tensor] : llvm::zip_equal(dispatch.getInputs(), inputs))
      if (input == value)
        return tensor;
    llvm_unreachable("a dispatch reads its inputs only");
  };
  FailureOr<std::vector<ReferenceTensor>> results =
      runner.run(dispatch, step->symbols, lookup);
  if (failed(results))
    return rt::Status::internal("the reference of " +
                                getCommandName(index, event.command) +
                                " cannot be computed");

  std::vector<NamedTensor> found, expected;
  for (auto [number, result] : llvm::enumerate(dispatch.getResults())) {
    uint32_t buffer = match.getResultBuffer(index, number);
    rt::Result<ReferenceTensor> tensor =
        copyBuffer(buffer, result.getType(), getPlace(buffer));
    if (!tensor)
      return tensor.getStatus();
    written[buffer] = {hash(tensor->bytes), index};
    const std::string &name = match.getEntry().buffers[buffer].name;
    if (tensor->shape != (*results)[number].shape)
      return rt::Status::internal(
          "'" + name + "' has the shape " + rt::formatShape(tensor->shape) +
          " in the plan and " + rt::formatShape((*results)[number].shape) +
          " in the reference");
    found.push_back({name, *tensor});
    expected.push_back({name, (*results)[number]});
  }

  choices.addPlan(stepNumber, dispatch, lookup, [&](OpResult result) {
    return found[result.getResultNumber()].tensor;
  });
  CommandRow row = rows[index];
  row.target = event.target;
  row.step = stepNumber;
  row.note = note;
  row.difference = compareAll(
      expected, found, options.tolerance.value_or(getTolerance(dispatch)));
  if (rt::Status s = record(index, std::move(row), found, expected); !s)
    return s;
  if (index + 1 == match.getCount())
    return rt::Status::ok();
  return captureInputs(index + 1, getPlace);
}

rt::Status CommandChecker::record(size_t command, CommandRow row,
                                  ArrayRef<NamedTensor> found,
                                  ArrayRef<NamedTensor> expected) {
  bool isFirstBad = row.isBad() && !firstBad;
  std::string savedTo;
  if (!options.saveFolder.empty() && (options.saveAll || isFirstBad)) {
    rt::Result<std::string> folder = save(command, found, expected);
    if (!folder)
      return folder.getStatus();
    savedTo = folder.take();
  }
  if (isFirstBad)
    firstBad = FirstBad{stepNumber, command, row, savedTo};
  CommandRow &kept = rows[command];
  bool replaces =
      kept.target.empty() ||
      (kept.note.empty() &&
       (!row.note.empty() || isWorse(kept.difference, row.difference)));
  if (replaces)
    kept = std::move(row);
  return rt::Status::ok();
}

rt::Result<std::string> CommandChecker::save(size_t command,
                                             ArrayRef<NamedTensor> found,
                                             ArrayRef<NamedTensor> expected) {
  std::string folder = options.saveFolder + "/step-" +
                       std::to_string(stepNumber) + ".command-" +
                       std::to_string(command) + "." +
                       makeFileName(match.getEntry().commands[command].label);
  std::vector<NamedTensor> given;
  for (auto [position, tensor] : llvm::enumerate(inputs)) {
    uint32_t buffer = match.getEntry().commands[command].buffers[position];
    given.push_back(
        {std::to_string(position) + "." + match.getEntry().buffers[buffer].name,
         tensor});
  }
  for (auto [prefix, tensors] :
       {std::pair<StringRef, ArrayRef<NamedTensor>>("input", given),
        {"plan", found},
        {"reference", expected}})
    if (rt::Status s = saveTensors(folder, prefix, tensors); !s)
      return s;
  std::string message, path = folder + "/dispatch.mlir";
  auto file = openOutputFile(path, &message);
  if (!file)
    return rt::Status(rt::StatusCode::Io, message);
  file->os() << *match.getDispatch(command).getOperation() << "\n";
  file->keep();
  return folder;
}

rt::Result<std::vector<NamedTensor>>
CommandChecker::run(ArrayRef<Step> steps, function_ref<void()> progress) {
  uint32_t hook = session.addHook([&](const rt::CommandEvent &event) {
    progress();
    return check(event);
  });
  llvm::scope_exit removeHook([&] { session.removeHook(hook); });
  std::vector<NamedTensor> outputs;
  for (auto [number, current] : llvm::enumerate(steps)) {
    stepNumber = number;
    step = &current;
    rt::Result<std::vector<NamedTensor>> made = runStep();
    if (!made)
      return made.getStatus();
    for (NamedTensor &output : *made)
      outputs.push_back({nameOutput(output.name, number, steps.size()),
                         std::move(output.tensor)});
  }
  for (BlockArgument argument : fused.getArguments()) {
    auto name = fused.getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), WeftDialect::getStateAttrName());
    if (!name)
      continue;
    rt::Result<rt::TensorView> state = session.getState(name.getValue());
    if (!state)
      return state.getStatus();
    Type elementType = getElementTypeOrSelf(argument.getType());
    const auto *data = static_cast<const uint8_t *>(state->data);
    size_t bytes = getElementBytes(elementType);
    for (int64_t size : state->shape)
      bytes *= size;
    outputs.push_back(
        {name.getValue().str(),
         ReferenceTensor::own(elementType,
                              {state->shape.data(), state->shape.size()},
                              {data, data + bytes})});
  }
  return outputs;
}

rt::Result<std::vector<NamedTensor>> CommandChecker::runStep() {
  written.clear();
  symbols.clear();
  std::vector<rt::SymbolValue> given;
  for (const rt::Symbol &symbol : session.getPlan().symbols) {
    auto it = step->symbols.find(symbol.name);
    symbols.push_back(it == step->symbols.end() ? symbol.min : it->second);
    if (!symbol.perSession)
      given.push_back({symbol.name, symbols.back()});
  }

  std::vector<rt::Argument> in, out;
  for (const rt::Buffer &buffer : match.getEntry().buffers) {
    if (buffer.kind != rt::BufferKind::Input)
      continue;
    auto it = step->inputs.find(buffer.name);
    if (it == step->inputs.end())
      return mismatch("the plan has the input '" + buffer.name + "'");
    // The executor does not write to inputs.
    in.push_back({buffer.name,
                  {const_cast<int32_t *>(it->second.values.data()),
                   rt::DType::I32, it->second.shape}});
  }
  std::vector<NamedTensor> outputs;
  Operation *terminator = fused.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    if (auto name = fused.getResultAttrOfType<StringAttr>(
            index, WeftDialect::getNameAttrName())) {
      FailureOr<ReferenceTensor> tensor = allocateTensor(value, step->symbols);
      if (failed(tensor))
        return rt::Status::internal("the size of output '" +
                                    name.getValue().str() + "' is not known");
      outputs.push_back({name.getValue().str(), *tensor});
    }
  for (const NamedTensor &output : outputs)
    out.push_back({output.name,
                   {output.tensor.owner->data(),
                    *getDType(output.tensor.elementType),
                    {output.tensor.shape.data(), output.tensor.shape.size()}}});

  if (match.getCount() != 0)
    if (rt::Status s = captureInputs(
            0, [&](uint32_t buffer) { return getFirstPlace(buffer); });
        !s)
      return s;
  if (rt::Status s = session.run(match.getEntry().name, in, out, given); !s)
    return s;
  return outputs;
}

CommandChecker::Place CommandChecker::getFirstPlace(uint32_t number) {
  const rt::Buffer &buffer = match.getEntry().buffers[number];
  if (buffer.kind == rt::BufferKind::Param) {
    const rt::DeviceMemory &memory =
        session.getProgram().getParam(buffer.index);
    return {memory.getData(), int64_t(memory.getSize())};
  }
  if (buffer.kind == rt::BufferKind::State) {
    rt::Result<rt::TensorView> state =
        session.getState(session.getPlan().states[buffer.index].name);
    auto bytes = int64_t(rt::getByteSize(state->dtype));
    for (int64_t size : state->shape)
      bytes *= size;
    return {state->data, bytes};
  }
  auto it = step->inputs.find(buffer.name);
  if (it == step->inputs.end())
    return {nullptr, 0}; // Of a temporary, which has no value yet.
  return {it->second.values.data(),
          int64_t(it->second.values.size() * sizeof(int32_t))};
}
