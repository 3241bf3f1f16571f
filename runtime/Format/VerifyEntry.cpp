//===- VerifyEntry.cpp - Whether an entry of a plan may be run ------------===//

#include "runtime/Format/VerifyParts.h"

#include <algorithm>

using namespace weft::rt;
using namespace weft::rt::verify;

namespace {

/// A plan has two per kind of attention; more would only slow down checks.
constexpr size_t maxKeyCounts = 64;

class EntryVerifier {
public:
  EntryVerifier(const Plan &plan, const Entry &entry)
      : plan(plan), entry(entry), scope(plan, "entry '" + entry.name + "'") {}

  Status run() {
    const std::string where = scope.where;
    std::unordered_set<uint32_t> own;
    for (uint32_t index : entry.symbols) {
      if (index >= plan.symbols.size())
        return corrupt(where, " uses symbol ", index, ", the plan has only ",
                       plan.symbols.size());
      if (!own.insert(index).second)
        return corrupt(where, " lists the symbol '", plan.symbols[index].name,
                       "' twice");
      scope.allowed[index] = true;
    }
    for (const Expr *size : {&entry.workspaceBytes, &entry.lowerBoundBytes})
      if (Status status = scope.check(*size, "workspace size"); !status)
        return status;

    Names names("buffer");
    for (const Buffer &buffer : entry.buffers) {
      if (Status status = names.add(buffer.name); !status)
        return corrupt(where, ": ", status.getMessage());
      scope.where = where + ", buffer '" + buffer.name + "'";
      if (Status status = checkBuffer(buffer); !status)
        return status;
    }
    if (entry.keyCounts.size() > maxKeyCounts)
      return corrupt(where, " has ", entry.keyCounts.size(),
                     " key counts, at most ", maxKeyCounts, " are allowed");
    for (size_t i = 0; i < entry.keyCounts.size(); ++i) {
      scope.where = concat(where, ", key count ", i);
      if (Status status = checkKeyCount(entry.keyCounts[i]); !status)
        return status;
    }
    for (size_t i = 0; i < entry.commands.size(); ++i) {
      const Command &command = entry.commands[i];
      if (command.label.size() > maxNameBytes || !isUtf8(command.label))
        return corrupt(where, ", command ", i,
                       ": the label is too long or not UTF-8 text");
      scope.where = concat(where, ", command ", i, " ('", command.label, "')");
      if (Status status = checkCommand(i); !status)
        return status;
    }
    return Status::ok();
  }

private:
  Status checkBuffer(const Buffer &buffer) {
    if (!getByteSize(buffer.dtype))
      return corrupt(scope.where, " has an unknown element type");
    if (Status status = scope.checkShape(buffer.shape); !status)
      return status;
    switch (buffer.kind) {
    case BufferKind::Input:
    case BufferKind::Output:
      return Status::ok();
    case BufferKind::State: {
      if (buffer.index >= plan.states.size())
        return corrupt(scope.where, " is state ", buffer.index,
                       ", the plan has only ", plan.states.size());
      const State &state = plan.states[buffer.index];
      if (buffer.dtype != state.dtype || buffer.shape != state.shape)
        return corrupt(scope.where,
                       " differs in type or shape from its state '", state.name,
                       "'");
      return Status::ok();
    }
    case BufferKind::Param: {
      if (buffer.index >= plan.params.size())
        return corrupt(scope.where, " is parameter ", buffer.index,
                       ", the plan has only ", plan.params.size());
      return checkParamBuffer(buffer, plan.params[buffer.index]);
    }
    case BufferKind::Temp:
      if (buffer.firstUse > buffer.lastUse ||
          buffer.lastUse >= entry.commands.size())
        return corrupt(scope.where, " lives from command ", buffer.firstUse,
                       " to ", buffer.lastUse, ", the entry has ",
                       entry.commands.size(), " commands");
      return scope.check(buffer.offset, "offset");
    }
    return corrupt(scope.where, " is of an unknown kind ",
                   static_cast<int>(buffer.kind));
  }

  /// A buffer may show the stored bytes with another shape, not with another
  /// element type, and never more bytes than there are.
  Status checkParamBuffer(const Buffer &buffer, const Param &param) {
    if (buffer.dtype != param.dtype)
      return corrupt(scope.where, " has type ", getName(buffer.dtype),
                     ", its parameter '", param.name, "' has ",
                     getName(param.dtype));
    for (const Expr &dim : buffer.shape)
      if (!dim.isConstant())
        return corrupt(scope.where,
                       " is a parameter, but its shape is not constant");
    Result<int64_t> bytes = evaluateByteSize(buffer.shape, buffer.dtype, {});
    if (!bytes)
      return corrupt(scope.where, ": ", bytes.getStatus().getMessage());
    if (static_cast<uint64_t>(*bytes) > param.size)
      return corrupt(scope.where, " has ", *bytes, " bytes, its parameter '",
                     param.name, "' only ", param.size);
    return Status::ok();
  }

  Status checkKeyCount(const KeyCount &count) {
    if (count.kind != KeyCount::Kind::Seen &&
        count.kind != KeyCount::Kind::Read)
      return corrupt(scope.where, " is of an unknown kind ",
                     static_cast<int>(count.kind));
    std::vector<uint32_t> inputs = {count.positions, count.sequenceStarts};
    if (count.sequenceLengths != KeyCount::noBuffer)
      inputs.push_back(count.sequenceLengths);
    for (uint32_t index : inputs) {
      if (index >= entry.buffers.size())
        return corrupt(scope.where, " uses buffer ", index,
                       ", the entry has only ", entry.buffers.size());
      const Buffer &buffer = entry.buffers[index];
      if (buffer.kind != BufferKind::Input || buffer.dtype != DType::I32 ||
          buffer.shape.size() != 1)
        return corrupt(scope.where, " uses '", buffer.name,
                       "', expected an input of i32 with one dimension");
    }
    return Status::ok();
  }

  Status checkCounted(const Command &command) {
    if (command.countedFlops.getOps().empty() &&
        command.countedBytes.getOps().empty())
      return Status::ok();
    if (command.countedFlops.getOps().empty() !=
        command.countedBytes.getOps().empty())
      return corrupt(scope.where, " has only one of two counted costs");
    ExprScope counted = scope;
    counted.addValues(entry.keyCounts.size());
    for (const Expr *expr : {&command.countedFlops, &command.countedBytes})
      if (Status status = counted.check(*expr, "counted cost"); !status)
        return status;
    return Status::ok();
  }

  /// A kernel that a launch may run takes what the launch gives.
  Status checkKernel(const Command &command, uint32_t index) {
    if (index >= plan.kernels.size())
      return corrupt(scope.where, " launches kernel ", index,
                     ", the plan has only ", plan.kernels.size());
    const Kernel &kernel = plan.kernels[index];
    if (command.buffers.size() != kernel.bufferCount ||
        command.symbols.size() != kernel.symbolCount)
      return corrupt(scope.where, " gives ", command.buffers.size(),
                     " buffers and ", command.symbols.size(),
                     " symbols to the kernel '", kernel.name, "', which takes ",
                     kernel.bufferCount, " and ", kernel.symbolCount);
    return Status::ok();
  }

  Status checkCommand(size_t position) {
    const Command &command = entry.commands[position];
    for (uint32_t index : command.buffers) {
      if (index >= entry.buffers.size())
        return corrupt(scope.where, " uses buffer ", index,
                       ", the entry has only ", entry.buffers.size());
      const Buffer &buffer = entry.buffers[index];
      if (buffer.kind == BufferKind::Temp &&
          (position < buffer.firstUse || position > buffer.lastUse))
        return corrupt(scope.where, " uses the buffer '", buffer.name,
                       "', which lives only from command ", buffer.firstUse,
                       " to ", buffer.lastUse);
    }
    for (const Expr &symbol : command.symbols)
      if (Status status = scope.check(symbol, "symbol argument"); !status)
        return status;
    for (const Expr *expr : {&command.grid, &command.flops, &command.bytes})
      if (Status status = scope.check(*expr, "grid or cost"); !status)
        return status;
    if (Status status = checkCounted(command); !status)
      return status;

    switch (command.kind) {
    case CommandKind::Launch: {
      if (Status status = checkKernel(command, command.kernel); !status)
        return status;
      if (!command.variants.empty() && command.symbols.empty())
        return corrupt(scope.where, " has variants, but no rows to choose by");
      int64_t before = 0;
      for (const Variant &variant : command.variants) {
        if (variant.limit <= before)
          return corrupt(scope.where, " has variants whose limits ", before,
                         " and ", variant.limit, " do not ascend");
        // Behind one for any number those of other devices begin.
        before = variant.limit == Variant::anyRows ? 0 : variant.limit;
        if (Status status = checkKernel(command, variant.kernel); !status)
          return status;
        if (Status status = scope.check(variant.grid, "grid"); !status)
          return status;
      }
      return Status::ok();
    }
    case CommandKind::Copy:
      if (command.buffers.size() != 2)
        return corrupt(scope.where, " copies with ", command.buffers.size(),
                       " buffers, expected a source and a destination");
      return checkWritable(command.buffers[1]);
    case CommandKind::Fill:
      if (command.buffers.size() != 1 || command.kernel > 255)
        return corrupt(scope.where, " fills ", command.buffers.size(),
                       " buffers with ", command.kernel,
                       ", expected one buffer and a byte");
      return checkWritable(command.buffers[0]);
    }
    return corrupt(scope.where, " is of an unknown kind ",
                   static_cast<int>(command.kind));
  }

  Status checkWritable(uint32_t index) {
    const Buffer &buffer = entry.buffers[index];
    if (buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Param)
      return corrupt(scope.where, " writes to '", buffer.name,
                     "', which is an input or a parameter");
    return Status::ok();
  }

  const Plan &plan;
  const Entry &entry;
  ExprScope scope;
};

} // namespace

Status verify::checkEntry(const Plan &plan, const Entry &entry) {
  return EntryVerifier(plan, entry).run();
}
