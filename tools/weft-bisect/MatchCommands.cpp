//===- MatchCommands.cpp - weft-bisect: does a plan fit a model? ----------===//

#include "tools/weft-bisect/MatchCommands.h"

#include "tools/weft-bisect/StoredTensors.h"

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

rt::Status weft::bisect::mismatch(const std::string &what) {
  return rt::Status::invalid(
      what + "; the plan was compiled from another model, by another version "
             "or with other options: compile it again, or give the options it "
             "was compiled with (--no-fuse, --dtype, --context)");
}

std::string weft::bisect::getCommandName(size_t index,
                                         const rt::Command &command) {
  return "command " + std::to_string(index) + " '" + command.label + "'";
}

CommandMatch::CommandMatch(func::FuncOp fused, const rt::Plan &plan)
    : fused(fused), plan(plan), dispatches(fused.getOps<DispatchOp>().begin(),
                                           fused.getOps<DispatchOp>().end()) {}

rt::Status CommandMatch::verify() {
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
  for (size_t i = 0; i < dispatches.size(); ++i)
    if (rt::Status s = verifyCommand(i); !s)
      return s;
  if (rt::Status s = verifyStates(); !s)
    return s;
  checkWiring();
  return rt::Status::ok();
}

rt::Status CommandMatch::verifyCommand(size_t index) {
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
  return rt::Status::ok();
}

/// Whether a tensor of the plan is one of the model's type.
static bool fits(rt::DType dtype, const std::vector<rt::Expr> &shape,
                 RankedTensorType type) {
  return isRowMajor(dtype, shape, type) || findPanels(dtype, shape, type);
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

rt::Status CommandMatch::verifyBuffer(size_t index, uint32_t number,
                                      Type type) {
  const rt::Buffer &buffer = entry->buffers[number];
  if (fits(buffer.dtype, buffer.shape, cast<RankedTensorType>(type)))
    return rt::Status::ok();
  return mismatch(
      getCommandName(index, entry->commands[index]) + " has the buffer '" +
      buffer.name + "' of " + rt::getName(buffer.dtype) + " " +
      rt::formatShape(buffer.shape, plan) + ", expected " + print(type));
}

rt::Status CommandMatch::verifyStates() {
  for (BlockArgument argument : fused.getArguments()) {
    auto name = fused.getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), WeftDialect::getStateAttrName());
    if (!name)
      continue;
    bool isFound = llvm::any_of(plan.states, [&](const rt::State &state) {
      return state.name == name.getValue() &&
             isRowMajor(state.dtype, state.shape,
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
void CommandMatch::checkWiring() {
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

uint32_t CommandMatch::getResultBuffer(size_t command, unsigned result) const {
  DispatchOp dispatch = dispatches[command];
  const std::vector<uint32_t> &buffers = entry->commands[command].buffers;
  if (std::optional<unsigned> tied = dispatch.getTiedInput(result))
    return buffers[*tied];
  size_t position = dispatch.getInputs().size();
  for (unsigned i = 0; i < result; ++i)
    position += !dispatch.getTiedInput(i);
  return buffers[position];
}
