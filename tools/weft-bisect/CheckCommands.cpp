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
                               const WeightSource &weights, Options options)
    : fused(fused), session(session), runner(runner), weights(weights),
      options(std::move(options)),
      dispatches(fused.getOps<DispatchOp>().begin(),
                 fused.getOps<DispatchOp>().end()) {}

CommandChecker::~CommandChecker() = default;

//===----------------------------------------------------------------------===//
// Does the plan fit the model?
//===----------------------------------------------------------------------===//

static rt::Status mismatch(const std::string &what) {
  return rt::Status::invalid(
      what + "; the plan was compiled from another model, by another version "
             "or with other options: compile it again, or give the options it "
             "was compiled with (--no-fuse, --dtype, --context)");
}

static std::string getCommandName(size_t index, const rt::Command &command) {
  return "command " + std::to_string(index) + " '" + command.label + "'";
}

rt::Status CommandChecker::verify() {
  const rt::Plan &plan = session.getPlan();
  std::string name = fused.getSymName().str();
  rt::Result<uint32_t> index = rt::findEntry(plan, name);
  if (!index)
    return index.getStatus();
  entry = &plan.entries[*index];
  if (entry->commands.size() != dispatches.size())
    return mismatch("the plan's entry '" + name + "' has " +
                    std::to_string(entry->commands.size()) +
                    " commands, the model has " +
                    std::to_string(dispatches.size()));
  rows.resize(dispatches.size());
  for (size_t i = 0; i < dispatches.size(); ++i)
    if (rt::Status s = verifyCommand(i); !s)
      return s;
  if (rt::Status s = verifyStates(); !s)
    return s;
  checkWiring();
  return rt::Status::ok();
}

rt::Status CommandChecker::verifyCommand(size_t index) {
  const rt::Command &command = entry->commands[index];
  DispatchOp dispatch = dispatches[index];
  if (command.kind != rt::CommandKind::Launch ||
      command.label != dispatch.getLabel())
    return mismatch(getCommandName(index, command) + " should be '" +
                    dispatch.getLabel().str() + "'");
  size_t buffers = dispatch.getInputs().size();
  for (unsigned i = 0; i < dispatch.getNumResults(); ++i)
    buffers += !dispatch.getTiedInput(i);
  if (command.buffers.size() != buffers)
    return mismatch(getCommandName(index, command) + " has " +
                    std::to_string(command.buffers.size()) +
                    " buffers, expected " + std::to_string(buffers));
  for (auto [buffer, input] : llvm::zip(command.buffers, dispatch.getInputs()))
    if (rt::Status s = verifyBuffer(index, buffer, input.getType()); !s)
      return s;
  for (unsigned i = 0; i < dispatch.getNumResults(); ++i)
    if (rt::Status s = verifyBuffer(index, getResultBuffer(index, i),
                                    dispatch.getResult(i).getType());
        !s)
      return s;
  const rt::Kernel &kernel = session.getPlan().kernels[command.kernel];
  CommandRow &row = rows[index];
  row.label = command.label;
  row.kernel = kernel.name;
  row.program = kernel.program;
  return rt::Status::ok();
}

/// Whether a tensor of the plan is one of the model's type.
static bool fits(rt::DType dtype, const std::vector<rt::Expr> &shape,
                 RankedTensorType type) {
  if (getDType(type.getElementType()) != dtype ||
      shape.size() != size_t(type.getRank()))
    return false;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim)
            ? shape[dim].isConstant()
            : shape[dim] != rt::Expr::constant(type.getDimSize(dim)))
      return false;
  return true;
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

rt::Status CommandChecker::verifyBuffer(size_t index, uint32_t number,
                                        Type type) {
  const rt::Buffer &buffer = entry->buffers[number];
  if (fits(buffer.dtype, buffer.shape, cast<RankedTensorType>(type)))
    return rt::Status::ok();
  return mismatch(getCommandName(index, entry->commands[index]) +
                  " has the buffer '" + buffer.name + "' of " +
                  rt::getName(buffer.dtype) + " " +
                  rt::formatShape(buffer.shape, session.getPlan()) +
                  ", expected " + print(type));
}

rt::Status CommandChecker::verifyStates() {
  for (BlockArgument argument : fused.getArguments()) {
    auto name = fused.getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), WeftDialect::getStateAttrName());
    if (!name)
      continue;
    bool isFound =
        llvm::any_of(session.getPlan().states, [&](const rt::State &state) {
          return state.name == name.getValue() &&
                 fits(state.dtype, state.shape,
                      cast<RankedTensorType>(argument.getType()));
        });
    if (!isFound)
      return mismatch("the plan has no state '" + name.getValue().str() +
                      "' of " + print(argument.getType()));
  }
  return rt::Status::ok();
}

/// Every tensor of the model must lie in one buffer: a command reads what the
/// command of the model's producer wrote, and arguments and results of the
/// entry are in the buffers of their names. Constants are compared when they
/// are read.
void CommandChecker::checkWiring() {
  llvm::DenseMap<Value, uint32_t> buffers;
  auto findBuffer = [&](rt::BufferKind kind, StringAttr name) {
    auto it = llvm::find_if(entry->buffers, [&](const rt::Buffer &buffer) {
      return buffer.kind == kind && buffer.name == name.getValue();
    });
    return uint32_t(it - entry->buffers.begin());
  };
  for (BlockArgument argument : fused.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto name = fused.getArgAttrOfType<StringAttr>(
            index, WeftDialect::getNameAttrName()))
      buffers[argument] = findBuffer(rt::BufferKind::Input, name);
    else if (auto state = fused.getArgAttrOfType<StringAttr>(
                 index, WeftDialect::getStateAttrName()))
      buffers[argument] = findBuffer(rt::BufferKind::State, state);
  }
  wiringNotes.assign(dispatches.size(), "");
  auto expect = [&](size_t command, uint32_t found, uint32_t expected,
                    StringRef verb) {
    if (found == expected || !wiringNotes[command].empty())
      return;
    wiringNotes[command] =
        (verb + " '" + entry->buffers[found].name + "' where the model has " +
         (expected < entry->buffers.size()
              ? "'" + entry->buffers[expected].name + "'"
              : std::string("a tensor that the plan lacks")))
            .str();
  };
  for (auto [index, dispatch] : llvm::enumerate(dispatches)) {
    for (auto [buffer, input] :
         llvm::zip(entry->commands[index].buffers, dispatch.getInputs()))
      if (auto it = buffers.find(input); it != buffers.end())
        expect(index, buffer, it->second, "reads");
    for (OpResult result : dispatch->getResults())
      buffers[result] = getResultBuffer(index, result.getResultNumber());
  }
  Operation *terminator = fused.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = fused.getResultAttrOfType<StringAttr>(
        index, WeftDialect::getNameAttrName());
    auto state = fused.getResultAttrOfType<StringAttr>(
        index, WeftDialect::getStateAttrName());
    auto dispatch = value.getDefiningOp<DispatchOp>();
    if (!dispatch || (!name && !state))
      continue;
    size_t command = llvm::find(dispatches, dispatch) - dispatches.begin();
    expect(command, buffers.lookup(value),
           name ? findBuffer(rt::BufferKind::Output, name)
                : findBuffer(rt::BufferKind::State, state),
           "writes");
  }
}

uint32_t CommandChecker::getResultBuffer(size_t command, unsigned result) {
  DispatchOp dispatch = dispatches[command];
  const std::vector<uint32_t> &buffers = entry->commands[command].buffers;
  if (std::optional<unsigned> tied = dispatch.getTiedInput(result))
    return buffers[*tied];
  size_t position = dispatch.getInputs().size();
  for (unsigned i = 0; i < result; ++i)
    position += !dispatch.getTiedInput(i);
  return buffers[position];
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static uint64_t hash(ArrayRef<uint8_t> bytes) {
  return rt::xxh64(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

rt::Result<ReferenceTensor> CommandChecker::copyBuffer(uint32_t number,
                                                       Type type, Place place) {
  const rt::Buffer &buffer = entry->buffers[number];
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
  Operation *constant = dispatches[command].getInputs()[input].getDefiningOp();
  if (!constant || constant->getNumOperands() != 0)
    return mismatch(getCommandName(command, entry->commands[command]) +
                    " reads a constant where the model has a computed tensor");
  uint32_t buffer = entry->commands[command].buffers[input];
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
    note = "the plan's '" + entry->buffers[buffer].name +
           "' is not what the model has";
  inputs.push_back(*tensor);
  return rt::Status::ok();
}

rt::Status
CommandChecker::captureInputs(size_t command,
                              function_ref<Place(uint32_t)> getPlace) {
  inputs.clear();
  note = wiringNotes[command];
  DispatchOp dispatch = dispatches[command];
  for (auto [position, value] : llvm::enumerate(dispatch.getInputs())) {
    uint32_t buffer = entry->commands[command].buffers[position];
    if (entry->buffers[buffer].kind == rt::BufferKind::Param) {
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
      note = "'" + entry->buffers[buffer].name +
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
  DispatchOp dispatch = dispatches[index];
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
    uint32_t buffer = getResultBuffer(index, number);
    rt::Result<ReferenceTensor> tensor =
        copyBuffer(buffer, result.getType(), getPlace(buffer));
    if (!tensor)
      return tensor.getStatus();
    written[buffer] = {hash(tensor->bytes), index};
    const std::string &name = entry->buffers[buffer].name;
    if (tensor->shape != (*results)[number].shape)
      return rt::Status::internal(
          "'" + name + "' has the shape " + rt::formatShape(tensor->shape) +
          " in the plan and " + rt::formatShape((*results)[number].shape) +
          " in the reference");
    found.push_back({name, *tensor});
    expected.push_back({name, (*results)[number]});
  }

  CommandRow row = rows[index];
  row.target = event.target;
  row.step = stepNumber;
  row.note = note;
  row.difference = compareAll(
      expected, found, options.tolerance.value_or(getTolerance(dispatch)));
  if (rt::Status s = record(index, std::move(row), found, expected); !s)
    return s;
  if (index + 1 == dispatches.size())
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
                       makeFileName(entry->commands[command].label);
  std::vector<NamedTensor> given;
  for (auto [position, tensor] : llvm::enumerate(inputs)) {
    uint32_t buffer = entry->commands[command].buffers[position];
    given.push_back(
        {std::to_string(position) + "." + entry->buffers[buffer].name, tensor});
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
  file->os() << *dispatches[command].getOperation() << "\n";
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
  for (const rt::Buffer &buffer : entry->buffers) {
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

  if (!dispatches.empty())
    if (rt::Status s = captureInputs(
            0, [&](uint32_t buffer) { return getFirstPlace(buffer); });
        !s)
      return s;
  if (rt::Status s = session.run(entry->name, in, out, given); !s)
    return s;
  return outputs;
}

CommandChecker::Place CommandChecker::getFirstPlace(uint32_t number) {
  const rt::Buffer &buffer = entry->buffers[number];
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
