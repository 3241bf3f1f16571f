//===- MemoryReport.cpp ---------------------------------------------------===//

#include "runtime/Exec/MemoryReport.h"

#include "runtime/Format/Verify.h"

#include <algorithm>
#include <bit>

using namespace weft::rt;

namespace {

/// Prefixes an error with what was being evaluated.
Status explain(const Status &status, const std::string &what) {
  return Status(status.getCode(), what + ": " + status.getMessage());
}

Result<MemoryReport::EntryMemory>
reportEntry(const Plan &plan, const Entry &entry, const SymbolLimits &limits) {
  MemoryReport::EntryMemory memory;
  memory.name = entry.name;
  Result<int64_t> workspace = entry.workspaceBytes.evaluate(limits.maximum);
  if (!workspace)
    return explain(workspace.getStatus(), "workspace of entry " + entry.name);
  Result<int64_t> bound = entry.lowerBoundBytes.evaluate(limits.maximum);
  if (!bound)
    return explain(bound.getStatus(), "lower bound of entry " + entry.name);
  memory.workspace = uint64_t(*workspace);
  memory.lowerBound = uint64_t(*bound);
  for (const Buffer &buffer : entry.buffers) {
    if (buffer.kind != BufferKind::Input && buffer.kind != BufferKind::Output)
      continue;
    Result<int64_t> bytes =
        evaluateByteSize(buffer.shape, buffer.dtype, limits.maximum);
    if (!bytes)
      return explain(bytes.getStatus(), "size of " + buffer.name);
    (buffer.kind == BufferKind::Input ? memory.inputs : memory.outputs) +=
        uint64_t(*bytes);
  }
  return memory;
}

} // namespace

Result<MemoryReport>
weft::rt::reportMemory(const Plan &plan, std::span<const SymbolValue> symbols,
                       unsigned workers) {
  Result<SymbolLimits> limits = makeLimits(plan, symbols);
  if (!limits)
    return limits.getStatus();
  MemoryReport report;
  for (const Param &param : plan.params)
    report.weights += param.size;
  for (const State &state : plan.states) {
    Result<int64_t> bytes =
        evaluateByteSize(state.shape, state.dtype, limits->maximum);
    if (!bytes)
      return explain(bytes.getStatus(), "size of state " + state.name);
    report.states.push_back({state.name, uint64_t(*bytes)});
    report.stateBytes += uint64_t(*bytes);
  }
  uint64_t scratch = 0;
  for (const Kernel &kernel : plan.kernels) {
    for (const Code &code : kernel.code) {
      report.code += code.bytes.size();
      if (code.kind == Code::Kind::Elf)
        scratch = std::max(scratch, kernel.scratchBytes);
    }
  }
  report.scratchBytes = scratch * workers;
  uint64_t entryBound = 0;
  for (const Entry &entry : plan.entries) {
    Result<MemoryReport::EntryMemory> memory =
        reportEntry(plan, entry, *limits);
    if (!memory)
      return memory.getStatus();
    report.workspaceBytes = std::max(report.workspaceBytes, memory->workspace);
    entryBound = std::max(entryBound, memory->lowerBound);
    report.callerBytes =
        std::max(report.callerBytes, memory->inputs + memory->outputs);
    report.entries.push_back(memory.take());
  }
  uint64_t shared = report.weights + report.code + report.stateBytes +
                    report.scratchBytes + report.callerBytes;
  report.total = shared + report.workspaceBytes;
  report.lowerBound = shared + entryBound;
  return report;
}

int64_t weft::rt::getMostAdjustments(int64_t sequences) {
  constexpr int64_t perSequence = 4096;
  return perSequence *
         std::bit_ceil(uint64_t(std::clamp<int64_t>(sequences, 1, INT32_MAX)));
}

Result<std::vector<SymbolValue>>
weft::rt::getServingSymbols(const Plan &plan, const ServingSizes &sizes) {
  if (sizes.sequences <= 0 || sizes.context <= 0 || sizes.tokens <= 0 ||
      sizes.blockSize <= 0)
    return Status::invalid(
        "sequences, context, tokens and block size must be positive; found " +
        std::to_string(sizes.sequences) + ", " + std::to_string(sizes.context) +
        ", " + std::to_string(sizes.tokens) + " and " +
        std::to_string(sizes.blockSize));
  int64_t width = (sizes.context - 1) / sizes.blockSize + 1;
  int64_t blocks = 0;
  if (__builtin_mul_overflow(width, sizes.sequences, &blocks))
    return Status::invalid(std::to_string(sizes.sequences) + " sequences of " +
                           std::to_string(sizes.context) +
                           " tokens are more than can be counted");
  const SymbolValue known[] = {
      {"tokens", sizes.tokens},
      {"sequences", sizes.sequences},
      {"table_width", width},
      {"logits", sizes.sequences},
      {"cache_blocks", blocks},
      {"adjustments", getMostAdjustments(sizes.sequences)}};
  std::vector<SymbolValue> values;
  for (const SymbolValue &value : known)
    if (std::ranges::any_of(plan.symbols, [&](const Symbol &symbol) {
          return symbol.name == value.name;
        }))
      values.push_back(value);
  return values;
}
