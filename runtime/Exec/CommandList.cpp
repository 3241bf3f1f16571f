//===- CommandList.cpp ----------------------------------------------------===//

#include "runtime/Exec/CommandList.h"

#include "runtime/Exec/KeyCounts.h"
#include "runtime/Format/Verify.h"

#include <algorithm>

using namespace weft::rt;

Result<std::unique_ptr<CommandList>>
CommandList::create(Program &program, const Entry &entry, Stream &stream,
                    const SymbolLimits &limits) {
  std::unique_ptr<CommandList> list(new CommandList(program, entry, stream));
  if (!program.getDevice().isHostMemory())
    if (Status status = list->createStaging(limits); !status)
      return status;
  return list;
}

CommandList::CommandList(Program &program, const Entry &entry, Stream &stream)
    : program(program), entry(entry), stream(stream),
      symbols(program.getPlan().symbols.size()),
      values(symbols.size() + entry.keyCounts.size()),
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

Status CommandList::createStaging(const SymbolLimits &limits) {
  std::vector<int64_t> bytes(entry.buffers.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const Buffer &buffer = entry.buffers[i];
    if (buffer.kind != BufferKind::Input && buffer.kind != BufferKind::Output)
      continue;
    Result<int64_t> size =
        evaluateByteSize(buffer.shape, buffer.dtype, limits.maximum);
    if (!size)
      return Status(size.getStatus().getCode(),
                    "largest size of '" + buffer.name + "' in entry '" +
                        entry.name + "': " + size.getStatus().getMessage() +
                        "; give smaller limits for its symbols");
    bytes[i] = *size;
  }
  Result<std::unique_ptr<Staging>> made =
      Staging::create(program.getDevice(), entry, bytes);
  if (!made)
    return made.getStatus();
  staging = made.take();
  return Status::ok();
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
  Result<int64_t> flops = evaluate(command.flops, command.label, "FLOPs");
  if (!flops)
    return flops.getStatus();
  Result<int64_t> bytes = evaluate(command.bytes, command.label, "bytes");
  if (!bytes)
    return bytes.getStatus();
  step.flops = *flops;
  step.bytes = *bytes;
  for (size_t i = 0; i < command.symbols.size(); ++i) {
    Result<int64_t> value =
        evaluate(command.symbols[i], command.label, "symbol argument");
    if (!value)
      return value.getStatus();
    symbolArguments[step.firstSymbol + i] = *value;
  }
  const Expr *items = &command.grid;
  step.kernel = command.kernel;
  for (const Variant &variant : command.variants)
    if (program.hasKernel(variant.kernel) &&
        symbolArguments[step.firstSymbol] <= variant.limit) {
      step.kernel = variant.kernel;
      items = &variant.grid;
      break;
    }
  Result<int64_t> grid = evaluate(*items, command.label, "grid");
  if (!grid)
    return grid.getStatus();
  step.grid = *grid;
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
  if (staging) {
    if (Status status = staging->place(bufferBytes, bufferData); !status)
      return status;
    fillArguments();
  }
  resolved = true;
  return Status::ok();
}

void CommandList::fillArguments() {
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::vector<uint32_t> &buffers = entry.commands[i].buffers;
    for (size_t j = 0; j < buffers.size(); ++j)
      arguments[steps[i].firstArgument + j] = bufferData[buffers[j]];
  }
}

Status CommandList::issueStep(uint32_t index) {
  const Command &command = entry.commands[index];
  const Step &step = steps[index];
  void *const *buffers = arguments.data() + step.firstArgument;
  switch (command.kind) {
  case CommandKind::Launch:
    return stream.launch(
        program.getKernel(step.kernel),
        {{buffers, command.buffers.size()},
         {symbolArguments.data() + step.firstSymbol, command.symbols.size()},
         step.grid,
         step.flops,
         step.bytes});
  case CommandKind::Copy:
    return stream.copy(buffers[1], buffers[0],
                       size_t(bufferBytes[command.buffers[0]]));
  case CommandKind::Fill:
    return stream.fill(buffers[0], uint8_t(step.kernel),
                       size_t(bufferBytes[command.buffers[0]]));
  }
  return Status::internal("command '" + command.label +
                          "' has a kind that the executor does not know");
}

Status CommandList::runStep(uint32_t index) {
  Status status = issueStep(index);
  return status ? status : nameCommand(index, status);
}

Status CommandList::nameCommand(uint32_t index, const Status &status) const {
  return Status(status.getCode(), "command '" + entry.commands[index].label +
                                      "' of entry '" + entry.name +
                                      "': " + status.getMessage());
}

Status CommandList::nameEntry(const Status &status) const {
  return status ? status
                : Status(status.getCode(), "arguments and results of entry '" +
                                               entry.name +
                                               "': " + status.getMessage());
}

void CommandList::countKeys(const Binder &binder) {
  auto getInput = [&](uint32_t index) -> std::span<const int32_t> {
    if (index == KeyCount::noBuffer)
      return {};
    return {static_cast<const int32_t *>(binder.getData(index)),
            size_t(bufferBytes[index]) / sizeof(int32_t)};
  };
  auto value = std::ranges::copy(symbols, values.begin()).out;
  for (const KeyCount &count : entry.keyCounts)
    *value++ = rt::countKeys(count, {getInput(count.positions),
                                     getInput(count.sequenceStarts),
                                     getInput(count.sequenceLengths)});
}

Status CommandList::callHooks(uint32_t index, int64_t beginTime,
                              int64_t endTime,
                              std::span<const RegisteredHook> hooks) {
  const Command &command = entry.commands[index];
  std::string_view target;
  const Step &step = steps[index];
  if (command.kind == CommandKind::Launch)
    target = program.getKernel(step.kernel).getTarget();
  Result<Work> work = evaluateWork(command, values);
  if (!work)
    return nameCommand(index, work.getStatus());
  CommandEvent event{program.getPlan(), entry,     index,       command,
                     step.kernel,       target,    bufferData,  bufferBytes,
                     symbols,           step.grid, work->flops, work->bytes,
                     beginTime,         endTime,   stream};
  for (const RegisteredHook &hook : hooks)
    if (Status status = hook.function(event); !status)
      return status;
  return Status::ok();
}

Status CommandList::issueAll() {
  if (staging)
    if (Status status = staging->uploadPacked(stream); !status)
      return nameEntry(status);
  for (uint32_t i = 0; i < steps.size(); ++i)
    if (Status status = runStep(i); !status)
      return status;
  return staging ? nameEntry(staging->downloadPacked(stream)) : Status::ok();
}

Status CommandList::issueRecorded() {
  RecordingCache::Item &item = recordings.use(symbols);
  // Sizes that do not come again (of most prompts) are not worth recording.
  if (!item.recording && item.runs < 2)
    return issueAll();
  if (!item.recording) {
    Result<std::unique_ptr<Recording>> recorded =
        stream.record([this] { return issueAll(); });
    if (!recorded)
      return recorded.getStatus();
    item.recording = recorded.take();
  }
  return stream.replay(*item.recording);
}

Status CommandList::runSteps(std::span<const RegisteredHook> hooks) {
  // Slot 0 is where the clock starts.
  if (Status status = stream.markTime(0); !status)
    return status;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    Status status = stream.markTime(1);
    if (status)
      status = issueStep(i);
    if (status)
      status = stream.markTime(2);
    if (status)
      status = stream.synchronize();
    if (!status)
      return nameCommand(i, status);
    Result<int64_t> begin = stream.getTime(1), end = stream.getTime(2);
    if (!begin || !end)
      return begin ? end.getStatus() : begin.getStatus();
    if (Status status = callHooks(i, *begin, *end, hooks); !status)
      return status;
  }
  return Status::ok();
}

Status CommandList::runTimed(std::span<const RegisteredHook> hooks) {
  for (uint32_t i = 0; i < steps.size(); ++i) {
    Status status = stream.markTime(i);
    if (status)
      status = runStep(i);
    if (!status)
      return status;
  }
  if (Status status = stream.markTime(steps.size()); !status)
    return status;
  if (Status status = nameEntry(stream.synchronize()); !status)
    return status;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    Result<int64_t> begin = stream.getTime(i), end = stream.getTime(i + 1);
    if (!begin || !end)
      return begin ? end.getStatus() : begin.getStatus();
    if (Status status = callHooks(i, *begin, *end, hooks); !status)
      return status;
  }
  return Status::ok();
}

Status CommandList::runWatched(std::span<const RegisteredHook> hooks) {
  if (staging)
    if (Status status = staging->uploadPacked(stream); !status)
      return nameEntry(status);
  const bool needsSteps =
      program.getDevice().isHostMemory() ||
      std::ranges::any_of(hooks, [](const RegisteredHook &hook) {
        return hook.kind == HookKind::Buffers;
      });
  if (Status status = needsSteps ? runSteps(hooks) : runTimed(hooks); !status)
    return status;
  return staging ? nameEntry(staging->downloadPacked(stream)) : Status::ok();
}

Status CommandList::run(const Binder &binder,
                        std::span<const RegisteredHook> hooks) {
  if (staging) {
    staging->packInputs(binder);
    if (Status status = staging->uploadLarge(binder, stream); !status)
      return nameEntry(status);
  } else {
    for (uint32_t i = 0; i < bufferData.size(); ++i) {
      const BufferKind kind = entry.buffers[i].kind;
      if (kind == BufferKind::Input || kind == BufferKind::Output)
        bufferData[i] = binder.getData(i);
    }
    fillArguments();
  }
  if (!hooks.empty())
    countKeys(binder);
  Status status = !hooks.empty()       ? runWatched(hooks)
                  : stream.canRecord() ? issueRecorded()
                                       : issueAll();
  if (status && staging)
    status = nameEntry(staging->downloadLarge(binder, stream));
  // Also after a failure: nothing may go on using the caller's memory.
  Status done = nameEntry(stream.synchronize());
  if (status)
    status = std::move(done);
  if (status && staging)
    staging->unpackOutputs(binder);
  return status;
}
