//===- CommandList.cpp ----------------------------------------------------===//

#include "runtime/Exec/CommandList.h"

#include "runtime/Format/Verify.h"

#include <algorithm>
#include <chrono>

using namespace weft::rt;

namespace {

int64_t getTime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

CommandList::CommandList(Program &program, const Entry &entry)
    : program(program), entry(entry), symbols(program.getPlan().symbols.size()),
      bufferData(entry.buffers.size()), bufferBytes(entry.buffers.size()),
      steps(entry.commands.size()) {
  size_t argumentCount = 0, symbolCount = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].firstArgument = uint32_t(argumentCount);
    steps[i].firstSymbol = uint32_t(symbolCount);
    argumentCount += entry.commands[i].buffers.size();
    symbolCount += entry.commands[i].symbols.size();
  }
  arguments.resize(argumentCount);
  symbolArguments.resize(symbolCount);
}

Result<int64_t> CommandList::evaluate(const Expr &expr,
                                      const std::string &owner,
                                      const char *what) const {
  Result<int64_t> value = expr.evaluate(symbols);
  if (!value)
    return Status(value.getStatus().getCode(),
                  std::string(what) + " of '" + owner + "' in entry '" +
                      entry.name + "': " + value.getStatus().getMessage());
  return value;
}

Status CommandList::resolveBuffer(uint32_t index, const SessionMemory &memory) {
  const Buffer &buffer = entry.buffers[index];
  Result<int64_t> bytes = evaluateByteSize(buffer.shape, buffer.dtype, symbols);
  if (!bytes)
    return Status(bytes.getStatus().getCode(),
                  "size of buffer '" + buffer.name + "' in entry '" +
                      entry.name + "': " + bytes.getStatus().getMessage());
  bufferBytes[index] = *bytes;

  const DeviceMemory *home = nullptr;
  int64_t offset = 0;
  switch (buffer.kind) {
  case BufferKind::Input:
  case BufferKind::Output:
    return Status::ok(); // The binder has checked the caller's tensor.
  case BufferKind::State:
    home = memory.states[buffer.index];
    break;
  case BufferKind::Param:
    home = &program.getParam(buffer.index);
    break;
  case BufferKind::Temp: {
    Result<int64_t> place = evaluate(buffer.offset, buffer.name, "offset");
    if (!place)
      return place.getStatus();
    home = memory.workspace;
    offset = *place;
    break;
  }
  }
  uint64_t size = home->getSize();
  if (uint64_t(offset) > size || uint64_t(*bytes) > size - uint64_t(offset))
    return Status::corrupt("buffer '" + buffer.name + "' of entry '" +
                           entry.name + "' needs " + std::to_string(*bytes) +
                           " bytes at " + std::to_string(offset) +
                           " of memory that has " + std::to_string(size) +
                           " bytes; the plan contradicts itself");
  bufferData[index] = static_cast<std::byte *>(home->getData()) + offset;
  return Status::ok();
}

Status CommandList::resolveStep(uint32_t index) {
  const Command &command = entry.commands[index];
  Step &step = steps[index];
  Result<int64_t> grid = evaluate(command.grid, command.label, "grid");
  if (!grid)
    return grid.getStatus();
  Result<int64_t> flops = evaluate(command.flops, command.label, "FLOPs");
  if (!flops)
    return flops.getStatus();
  Result<int64_t> bytes = evaluate(command.bytes, command.label, "bytes");
  if (!bytes)
    return bytes.getStatus();
  step.grid = *grid;
  step.flops = *flops;
  step.bytes = *bytes;
  for (size_t i = 0; i < command.symbols.size(); ++i) {
    Result<int64_t> value =
        evaluate(command.symbols[i], command.label, "symbol argument");
    if (!value)
      return value.getStatus();
    symbolArguments[step.firstSymbol + i] = *value;
  }
  if (command.kind == CommandKind::Copy &&
      bufferBytes[command.buffers[0]] != bufferBytes[command.buffers[1]])
    return Status::corrupt("copy '" + command.label + "' in entry '" +
                           entry.name + "' is between buffers of " +
                           std::to_string(bufferBytes[command.buffers[0]]) +
                           " and " +
                           std::to_string(bufferBytes[command.buffers[1]]) +
                           " bytes; the plan contradicts itself");
  return Status::ok();
}

Status CommandList::resolve(std::span<const int64_t> values,
                            const SessionMemory &memory) {
  if (resolved && std::ranges::equal(values, symbols))
    return Status::ok();
  resolved = false;
  std::ranges::copy(values, symbols.begin());
  for (uint32_t i = 0; i < bufferData.size(); ++i)
    if (Status status = resolveBuffer(i, memory); !status)
      return status;
  for (uint32_t i = 0; i < steps.size(); ++i)
    if (Status status = resolveStep(i); !status)
      return status;
  resolved = true;
  return Status::ok();
}

void CommandList::fillArguments(const Binder &binder) {
  for (uint32_t i = 0; i < bufferData.size(); ++i) {
    BufferKind kind = entry.buffers[i].kind;
    if (kind == BufferKind::Input || kind == BufferKind::Output)
      bufferData[i] = binder.getData(i);
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::vector<uint32_t> &buffers = entry.commands[i].buffers;
    for (size_t j = 0; j < buffers.size(); ++j)
      arguments[steps[i].firstArgument + j] = bufferData[buffers[j]];
  }
}

Status CommandList::runStep(uint32_t index) {
  const Command &command = entry.commands[index];
  const Step &step = steps[index];
  Device &device = program.getDevice();
  void *const *buffers = arguments.data() + step.firstArgument;
  switch (command.kind) {
  case CommandKind::Launch:
    return device.launch(
        program.getKernel(command.kernel),
        {{buffers, command.buffers.size()},
         {symbolArguments.data() + step.firstSymbol, command.symbols.size()},
         step.grid,
         step.flops,
         step.bytes});
  case CommandKind::Copy:
    return device.copy(buffers[1], buffers[0],
                       size_t(bufferBytes[command.buffers[0]]));
  case CommandKind::Fill:
    return device.fill(buffers[0], uint8_t(command.kernel),
                       size_t(bufferBytes[command.buffers[0]]));
  }
  return Status::internal("command '" + command.label +
                          "' has a kind that the executor does not know");
}

Status CommandList::callHooks(uint32_t index, int64_t beginTime,
                              int64_t endTime,
                              std::span<const CommandHook *const> hooks) {
  const Command &command = entry.commands[index];
  std::string_view target;
  if (command.kind == CommandKind::Launch)
    target = program.getKernel(command.kernel).getTarget();
  const Step &step = steps[index];
  CommandEvent event{
      program.getPlan(), entry,       index,   command,   target,
      bufferData,        bufferBytes, symbols, step.grid, step.flops,
      step.bytes,        beginTime,   endTime};
  for (const CommandHook *hook : hooks)
    if (Status status = (*hook)(event); !status)
      return status;
  return Status::ok();
}

Status CommandList::run(const Binder &binder,
                        std::span<const CommandHook *const> hooks) {
  fillArguments(binder);
  for (uint32_t i = 0; i < steps.size(); ++i) {
    int64_t begin = hooks.empty() ? 0 : getTime();
    if (Status status = runStep(i); !status)
      return Status(status.getCode(), "command '" + entry.commands[i].label +
                                          "' of entry '" + entry.name +
                                          "': " + status.getMessage());
    if (!hooks.empty())
      if (Status status = callHooks(i, begin, getTime(), hooks); !status)
        return status;
  }
  return Status::ok();
}
