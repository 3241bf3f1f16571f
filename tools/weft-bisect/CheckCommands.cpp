//===- CheckCommands.cpp - weft-bisect: a plan command by command ---------===//

#include "tools/weft-bisect/CheckCommands.h"

#include "compiler/Artifact/ExportPlan.h"
#include "runtime/Format/Hash.h"
#include "tools/weft-bisect/Phases.h"
#include "tools/weft-bisect/StoredTensors.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ToolOutputFile.h"

#include <cstring>

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
  rt::Result<std::unique_ptr<rt::Stream>> made =
      session.getProgram().getDevice().createStream();
  if (!made)
    return made.getStatus();
  stream = made.take();
  return rt::Status::ok();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static std::span<const std::byte> asBytes(ArrayRef<uint8_t> bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

rt::Result<ReferenceTensor> CommandChecker::copyBuffer(uint32_t number,
                                                       Type type, Read read) {
  const rt::Buffer &buffer = match.getEntry().buffers[number];
  auto tensorType = cast<RankedTensorType>(type);
  size_t elementBytes = getElementBytes(tensorType.getElementType());
  SmallVector<int64_t> shape;
  for (const rt::Expr &expr : buffer.shape) {
    rt::Result<int64_t> size = expr.evaluate(symbols);
    if (!size)
      return size.getStatus();
    shape.push_back(*size);
  }
  std::vector<uint8_t> bytes(ShapedType::getNumElements(shape) * elementBytes);
  if (rt::Status s = read(number, std::as_writable_bytes(std::span(bytes))); !s)
    return s;
  if (!isRowMajor(buffer.dtype, buffer.shape, tensorType)) {
    Panels panels = *findPanels(buffer.dtype, buffer.shape, tensorType);
    int64_t rows = countRows(shape[1], tensorType);
    bytes = unpackPanels(bytes, panels, shape[1], rows, elementBytes);
    shape.assign(tensorType.getShape().begin(), tensorType.getShape().end());
    shape[0] = rows;
  }
  return ReferenceTensor::own(tensorType.getElementType(), shape,
                              std::move(bytes));
}

/// A parameter of the plan: in place where the host sees the device's memory.
rt::Result<ReferenceTensor>
CommandChecker::getStoredParam(const rt::Buffer &buffer,
                               RankedTensorType type) {
  const rt::Program &program = session.getProgram();
  const rt::DeviceMemory &memory = program.getParam(buffer.index);
  if (program.getDevice().isHostMemory()) {
    ReferenceTensor tensor;
    tensor.elementType = type.getElementType();
    tensor.shape.assign(type.getShape().begin(), type.getShape().end());
    tensor.bytes = {static_cast<const uint8_t *>(memory.getData()),
                    memory.getSize()};
    return tensor;
  }
  std::vector<uint8_t> bytes(memory.getSize());
  if (rt::Status s =
          stream->download(bytes.data(), memory.getData(), bytes.size());
      !s)
    return s;
  if (rt::Status s = stream->synchronize(); !s)
    return s;
  return ReferenceTensor::own(type.getElementType(), type.getShape(),
                              std::move(bytes));
}

/// A weight is taken from the model, not from the plan, so that a plan with a
/// wrong one differs; its bytes are compared once.
rt::Status CommandChecker::readParam(size_t command, size_t input) {
  Operation *constant =
      match.getDispatch(command).getInputs()[input].getDefiningOp();
  if (!constant || constant->getNumOperands() != 0)
    return mismatch(
        getCommandName(command, match.getEntry().commands[command]) +
        " reads a constant where the model has a computed tensor");
  uint32_t number = match.getEntry().commands[command].buffers[input];
  const rt::Buffer &buffer = match.getEntry().buffers[number];
  rt::Result<ReferenceTensor> stored = getStoredParam(
      buffer, cast<RankedTensorType>(constant->getResult(0).getType()));
  if (!stored)
    return stored.getStatus();
  if (checkedParams.contains(number)) {
    inputs.push_back(stored.take());
    return rt::Status::ok();
  }
  FailureOr<ReferenceTensor> tensor = readConstant(constant, weights);
  if (failed(tensor))
    return rt::Status::invalid("a weight of the model cannot be read");
  if (stored->bytes == tensor->bytes)
    checkedParams.insert(number);
  else if (note.empty())
    note = "the plan's '" + buffer.name + "' is not what the model has";
  inputs.push_back(*tensor);
  return rt::Status::ok();
}

rt::Status CommandChecker::captureInputs(size_t command, Read read) {
  inputs.clear();
  note = match.getWiringNote(command);
  DispatchOp dispatch = match.getDispatch(command);
  for (auto [position, value] : llvm::enumerate(dispatch.getInputs())) {
    uint32_t buffer = match.getEntry().commands[command].buffers[position];
    if (match.getEntry().buffers[buffer].kind == rt::BufferKind::Param) {
      if (rt::Status s = readParam(command, position); !s)
        return s;
      continue;
    }
    rt::Result<ReferenceTensor> tensor =
        copyBuffer(buffer, value.getType(), read);
    if (!tensor)
      return tensor.getStatus();
    auto it = written.find(buffer);
    if (note.empty() && it != written.end() &&
        it->second.hash != rt::xxh64(asBytes(tensor->bytes)))
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
  auto read = [&](uint32_t buffer, std::span<std::byte> to) {
    return event.readBuffer(buffer, to);
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
        copyBuffer(buffer, result.getType(), read);
    if (!tensor)
      return tensor.getStatus();
    written[buffer] = {rt::xxh64(asBytes(tensor->bytes)), index};
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
  const rt::Kernel &kernel = event.plan.kernels[event.kernel];
  row.kernel = kernel.name;
  row.program = kernel.program;
  row.target = event.target;
  row.step = stepNumber;
  row.note = note;
  row.difference = compareAll(
      expected, found, options.tolerance.value_or(getTolerance(dispatch)));
  if (rt::Status s = record(index, std::move(row), found, expected); !s)
    return s;
  if (index + 1 == match.getCount())
    return rt::Status::ok();
  return captureInputs(index + 1, read);
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
    std::vector<uint8_t> bytes(ShapedType::getNumElements(state->shape) *
                               getElementBytes(elementType));
    if (rt::Status s = session.readState(
            name.getValue(), 0, std::as_writable_bytes(std::span(bytes)));
        !s)
      return s;
    outputs.push_back(
        {name.getValue().str(),
         ReferenceTensor::own(elementType,
                              {state->shape.data(), state->shape.size()},
                              std::move(bytes))});
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
                   buffer.dtype, it->second.shape}});
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
            0, [&](uint32_t buffer,
                   std::span<std::byte> to) { return readFirst(buffer, to); });
        !s)
      return s;
  if (rt::Status s = session.run(match.getEntry().name, in, out, given); !s)
    return s;
  return outputs;
}

rt::Status CommandChecker::readFirst(uint32_t number, std::span<std::byte> to) {
  const rt::Buffer &buffer = match.getEntry().buffers[number];
  if (buffer.kind == rt::BufferKind::State)
    return session.readState(session.getPlan().states[buffer.index].name, 0,
                             to);
  auto it = step->inputs.find(buffer.name);
  if (it == step->inputs.end() ||
      it->second.values.size() * sizeof(int32_t) < to.size())
    return mismatch("the first command reads '" + buffer.name +
                    "', which nothing has written");
  std::memcpy(to.data(), it->second.values.data(), to.size());
  return rt::Status::ok();
}
