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
  Result<std::unique_ptr<Stream>> stream =
      session->program->getDevice().createStream();
  if (!stream)
    return stream.getStatus();
  session->stream = stream.take();
  Status status = session->allocateStates();
  if (status)
    status = session->allocateWorkspace();
  if (status)
    status = session->makeRunners();
  if (!status)
    return session->explainShortage(status);
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

Status Session::makeRunners() {
  const Plan &plan = getPlan();
  symbolValues.resize(plan.symbols.size());
  for (const Entry &entry : plan.entries) {
    Result<std::unique_ptr<CommandList>> commands =
        CommandList::create(*program, entry, *stream, limits);
    if (!commands)
      return commands.getStatus();
    runners.push_back({Binder(plan, entry, limits), commands.take()});
  }
  return Status::ok();
}

Result<int64_t> Session::getBytesFor(std::span<const int64_t> symbols) const {
  int64_t total = 0, largest = 0;
  for (const State &state : getPlan().states) {
    Result<int64_t> bytes = evaluateByteSize(state.shape, state.dtype, symbols);
    if (!bytes)
      return bytes;
    if (__builtin_add_overflow(total, *bytes, &total))
      return Status::limit("too large");
  }
  for (const Entry &entry : getPlan().entries) {
    Result<int64_t> bytes = entry.workspaceBytes.evaluate(symbols);
    if (!bytes)
      return bytes;
    largest = std::max(largest, *bytes);
  }
  if (__builtin_add_overflow(total, largest, &total))
    return Status::limit("too large");
  return total;
}

Status Session::explainShortage(const Status &failure) {
  if (failure.getCode() != StatusCode::OutOfMemory)
    return failure;
  // What the failed attempt took counts as free.
  runners.clear();
  stateMemory.clear();
  states.clear();
  workspace = DeviceMemory();
  (void)stream->synchronize();
  const uint64_t free = program->getDevice().getMemoryUse().free;
  std::string hints;
  const std::vector<Symbol> &symbols = getPlan().symbols;
  for (size_t i = 0; free != 0 && i < symbols.size(); ++i) {
    if (!symbols[i].perSession)
      continue;
    // The greatest value that fits, all others as they are.
    std::vector<int64_t> values = limits.maximum;
    int64_t fits = symbols[i].min - 1, tooMuch = limits.maximum[i];
    while (tooMuch - fits > 1) {
      values[i] = fits + (tooMuch - fits) / 2;
      Result<int64_t> bytes = getBytesFor(values);
      const bool isFitting = bytes && uint64_t(*bytes) <= free;
      (isFitting ? fits : tooMuch) = values[i];
    }
    if (fits >= symbols[i].min)
      hints += "; a session with " + symbols[i].name + "=" +
               std::to_string(fits) + " instead of " +
               std::to_string(limits.maximum[i]) + " would fit";
  }
  return Status::outOfMemory(failure.getMessage() + hints);
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
  if (inputCheck)
    if (Status status = inputCheck(getPlan().entries[entry], inputs); !status)
      return status;
  if (Status status =
          runner.commands->resolve(symbolValues, {stateMemory, &workspace});
      !status)
    return status;
  return runner.commands->run(runner.binder, hooks);
}

uint32_t Session::addHook(CommandHook hook, HookKind kind) {
  hooks.push_back({nextHookId, kind, std::move(hook)});
  return nextHookId++;
}

void Session::removeHook(uint32_t id) {
  std::erase_if(hooks,
                [id](const RegisteredHook &hook) { return hook.id == id; });
}

Status Session::resetStates() {
  for (const StateTensor &state : states)
    if (Status status =
            stream->fill(state.memory.getData(), 0, state.memory.getSize());
        !status)
      return status;
  return stream->synchronize();
}

/// Where a range of a state is, if it is in the state.
Result<std::byte *> Session::findInState(std::string_view name, uint64_t offset,
                                         uint64_t size) const {
  Result<TensorView> state = getState(name);
  if (!state)
    return state.getStatus();
  uint64_t bytes = getByteSize(state->dtype);
  for (int64_t extent : state->shape)
    bytes *= uint64_t(extent);
  if (offset > bytes || size > bytes - offset)
    return Status::invalid("state '" + std::string(name) + "' has " +
                           std::to_string(bytes) + " bytes; " +
                           std::to_string(size) + " from byte " +
                           std::to_string(offset) + " on were asked for");
  return static_cast<std::byte *>(state->data) + offset;
}

Status Session::readState(std::string_view name, uint64_t offset,
                          std::span<std::byte> to) {
  Result<std::byte *> from = findInState(name, offset, to.size());
  if (!from)
    return from.getStatus();
  if (Status status = stream->download(to.data(), *from, to.size()); !status)
    return status;
  return stream->synchronize();
}

Status Session::copyInState(std::string_view name, uint64_t from, uint64_t to,
                            uint64_t size) {
  Result<std::byte *> source = findInState(name, from, size);
  if (!source)
    return source.getStatus();
  Result<std::byte *> destination = findInState(name, to, size);
  if (!destination)
    return destination.getStatus();
  if (from < to ? to - from < size : from - to < size)
    return Status::invalid("bytes " + std::to_string(from) + " and " +
                           std::to_string(to) + " of state '" +
                           std::string(name) + "' are closer than the " +
                           std::to_string(size) + " bytes to copy");
  return stream->copy(*destination, *source, size);
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

uint64_t Session::getStagingBytes() const {
  uint64_t bytes = 0;
  for (const EntryRunner &runner : runners)
    bytes += runner.commands->getStagingBytes();
  return bytes;
}

uint64_t Session::getRecordingBytes() const {
  uint64_t bytes = 0;
  for (const EntryRunner &runner : runners)
    bytes += runner.commands->getRecordings().getBytes();
  return bytes;
}

size_t Session::getRecordingCount() const {
  size_t count = 0;
  for (const EntryRunner &runner : runners)
    count += runner.commands->getRecordings().getCount();
  return count;
}
