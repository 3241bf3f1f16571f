//===- Session.cpp --------------------------------------------------------===//

#include "runtime/Exec/Session.h"

#include "runtime/Exec/CommandList.h"
#include "runtime/Format/Verify.h"

#include <algorithm>

using namespace weft::rt;

Session::Session(std::shared_ptr<Program> program)
    : program(std::move(program)) {}

Session::~Session() = default;

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<Program> program,
                const SessionOptions &options) {
  std::unique_ptr<Session> session(new Session(std::move(program)));
  Result<SymbolLimits> limits = makeLimits(session->getPlan(), options.symbols);
  if (!limits)
    return limits.getStatus();
  session->limits = limits.take();
  if (Status status = session->allocateStates(); !status)
    return status;
  if (Status status = session->allocateWorkspace(); !status)
    return status;
  session->makeRunners();
  return session;
}

Status Session::allocateStates() {
  const Plan &plan = getPlan();
  for (const State &state : plan.states) {
    StateTensor tensor;
    for (const Expr &dimension : state.shape) {
      Result<int64_t> size = dimension.evaluate(limits.maximum);
      if (!size)
        return Status(size.getStatus().getCode(),
                      "shape of state '" + state.name +
                          "': " + size.getStatus().getMessage());
      tensor.shape.push_back(*size);
    }
    Result<int64_t> bytes =
        evaluateByteSize(state.shape, state.dtype, limits.maximum);
    if (!bytes)
      return Status(bytes.getStatus().getCode(),
                    "size of state '" + state.name +
                        "': " + bytes.getStatus().getMessage());
    Result<DeviceMemory> memory =
        program->getDevice().allocate(size_t(*bytes), "state " + state.name);
    if (!memory)
      return memory.getStatus();
    tensor.memory = memory.take();
    states.push_back(std::move(tensor));
  }
  for (const StateTensor &tensor : states)
    stateMemory.push_back(&tensor.memory);
  return Status::ok();
}

Status Session::allocateWorkspace() {
  // Entries run one at a time, so they share one workspace.
  int64_t largest = 0;
  for (const Entry &entry : getPlan().entries) {
    Result<int64_t> bytes = entry.workspaceBytes.evaluate(limits.maximum);
    if (!bytes)
      return Status(bytes.getStatus().getCode(),
                    "workspace of entry '" + entry.name +
                        "': " + bytes.getStatus().getMessage() +
                        "; give smaller limits for its symbols");
    largest = std::max(largest, *bytes);
  }
  Result<DeviceMemory> memory =
      program->getDevice().allocate(size_t(largest), "workspace");
  if (!memory)
    return memory.getStatus();
  workspace = memory.take();
  return Status::ok();
}

void Session::makeRunners() {
  const Plan &plan = getPlan();
  symbolValues.resize(plan.symbols.size());
  for (const Entry &entry : plan.entries)
    runners.push_back({Binder(plan, entry, limits),
                       std::make_unique<CommandList>(*program, entry)});
}

Status Session::run(std::string_view entry, std::span<const Argument> inputs,
                    std::span<const Argument> outputs,
                    std::span<const SymbolValue> symbols) {
  Result<uint32_t> index = findEntry(getPlan(), entry);
  if (!index)
    return index.getStatus();
  return run(*index, inputs, outputs, symbols);
}

Status Session::run(uint32_t entry, std::span<const Argument> inputs,
                    std::span<const Argument> outputs,
                    std::span<const SymbolValue> symbols) {
  if (entry >= runners.size())
    return Status::notFound("entry number " + std::to_string(entry) +
                            " does not exist; the plan has " +
                            std::to_string(runners.size()) + " entries");
  if (busy.exchange(true, std::memory_order_acquire))
    return Status::invalid("the session is running already; use one session "
                           "per thread, or one at a time");
  Status status = runLocked(entry, inputs, outputs, symbols);
  busy.store(false, std::memory_order_release);
  return status;
}

Status Session::runLocked(uint32_t entry, std::span<const Argument> inputs,
                          std::span<const Argument> outputs,
                          std::span<const SymbolValue> symbols) {
  EntryRunner &runner = runners[entry];
  if (Status status =
          runner.binder.bind(inputs, outputs, symbols, symbolValues);
      !status)
    return status;
  if (Status status =
          runner.commands->resolve(symbolValues, {stateMemory, &workspace});
      !status)
    return status;
  return runner.commands->run(runner.binder, hookPointers);
}

uint32_t Session::addHook(CommandHook hook) {
  hooks.push_back({nextHookId, std::move(hook)});
  updateHookPointers();
  return nextHookId++;
}

void Session::removeHook(uint32_t id) {
  std::erase_if(hooks, [id](const Hook &hook) { return hook.id == id; });
  updateHookPointers();
}

void Session::updateHookPointers() {
  hookPointers.clear();
  for (const Hook &hook : hooks)
    hookPointers.push_back(&hook.function);
}

Status Session::resetStates() {
  for (const StateTensor &state : states)
    if (Status status = program->getDevice().fill(state.memory.getData(), 0,
                                                  state.memory.getSize());
        !status)
      return status;
  return Status::ok();
}

Result<TensorView> Session::getState(std::string_view name) const {
  const Plan &plan = getPlan();
  for (size_t i = 0; i < states.size(); ++i)
    if (plan.states[i].name == name)
      return TensorView{states[i].memory.getData(), plan.states[i].dtype,
                        states[i].shape};
  std::string names;
  for (const State &state : plan.states)
    names += (names.empty() ? "" : ", ") + state.name;
  return Status::notFound("the plan has no state '" + std::string(name) +
                          "'; it has: " + (names.empty() ? "none" : names));
}

uint64_t Session::getStateBytes() const {
  uint64_t bytes = 0;
  for (const StateTensor &state : states)
    bytes += state.memory.getSize();
  return bytes;
}
