//===- Records.h - Which fields a plan's records have on disk -------------===//
//
// One list per record, read and written by the same function; the order is the
// order of the bytes. A change here is a new major version of the format.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_RECORDS_H
#define WEFT_RUNTIME_FORMAT_RECORDS_H

#include "runtime/Format/Stream.h"

namespace weft::rt {

/// Where a Code's bytes lie in the CODE section.
struct CodeRange {
  uint64_t offset = 0, size = 0;
};

template <typename S> void transfer(S &s, Symbol &x) {
  s(x.name, x.min, x.max, x.perSession);
}

template <typename S> void transfer(S &s, ExternalFile &x) {
  s(x.path, x.size, x.hash);
}

template <typename S> void transfer(S &s, GeneratedValues &x) {
  s(x.isUsed, x.deviation, x.seed);
}

template <typename S> void transfer(S &s, Param &x) {
  s(x.name, x.dtype, x.shape, x.layout, x.file, x.offset, x.size, x.hash,
    x.generated);
}

template <typename S> void transfer(S &s, State &x) {
  s(x.name, x.dtype, x.shape);
}

template <typename S> void transfer(S &s, CodeRange &x) { s(x.offset, x.size); }

template <typename S> void transfer(S &s, LaunchShape &x) {
  s(x.threads, x.sharedBytes, x.clusterSize, x.blocksPerMultiprocessor,
    x.dependentLaunch);
}

/// The bytes are in CODE: see CodeRange.
template <typename S> void transfer(S &s, Code &x) {
  s(x.kind, x.target, x.features, x.symbol, x.launch);
}

template <typename S> void transfer(S &s, Kernel &x) {
  s(x.name, x.code, x.bufferCount, x.symbolCount, x.scratchBytes, x.schedule,
    x.program);
}

template <typename S> void transfer(S &s, Buffer &x) {
  s(x.name, x.kind, x.dtype, x.shape, x.index, x.offset, x.firstUse, x.lastUse);
}

template <typename S> void transfer(S &s, Variant &x) {
  s(x.limit, x.kernel, x.grid);
}

template <typename S> void transfer(S &s, KeyCount &x) {
  s(x.kind, x.isCausal, x.window, x.positions, x.sequenceStarts,
    x.sequenceLengths);
}

template <typename S> void transfer(S &s, Command &x) {
  s(x.kind, x.label, x.kernel, x.buffers, x.symbols, x.grid, x.flops, x.bytes);
}

template <typename S> void transfer(S &s, DebugText &x) { s(x.name, x.text); }

template <typename S> void transfer(S &s, std::pair<std::string, Bytes> &file) {
  s(file.first);
  s.bytes(file.second);
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

template <typename S> void transferMeta(S &s, Plan &plan) {
  s(plan.metaJson, plan.externalFiles);
}

/// The number of entries leads, so that BUFS and CMDS need no counts.
template <typename S> void transferSignature(S &s, Plan &plan) {
  s(plan.symbols, plan.states);
  uint32_t count = plan.entries.size();
  s(count);
  for (uint32_t i = 0; i < count && !s.hasFailed(); ++i) {
    if (i == plan.entries.size())
      plan.entries.emplace_back();
    s(plan.entries[i].name, plan.entries[i].symbols);
  }
}

template <typename S> void transferParams(S &s, Plan &plan) { s(plan.params); }

/// `ranges` has one element per Code, in order.
template <typename S>
void transferKernels(S &s, Plan &plan, std::vector<CodeRange> &ranges) {
  s(plan.kernels, ranges);
}

template <typename S> void transferBuffers(S &s, Plan &plan) {
  for (Entry &entry : plan.entries)
    s(entry.buffers);
}

template <typename S> void transferCommands(S &s, Plan &plan) {
  for (Entry &entry : plan.entries)
    s(entry.commands, entry.workspaceBytes, entry.lowerBoundBytes);
}

/// One list per command, of all entries. Without the section every launch runs
/// its own kernel, which serves any number of rows.
template <typename S> void transferVariants(S &s, Plan &plan) {
  for (Entry &entry : plan.entries)
    for (Command &command : entry.commands)
      s(command.variants);
}

/// Key counts of every entry, then two expressions per command. Without the
/// section the work of attention is known as an upper bound only.
template <typename S> void transferWork(S &s, Plan &plan) {
  for (Entry &entry : plan.entries) {
    s(entry.keyCounts);
    for (Command &command : entry.commands)
      s(command.countedFlops, command.countedBytes);
  }
}

template <typename S> void transferTokenizer(S &s, Plan &plan) {
  s(plan.tokenizerFiles);
}

template <typename S> void transferDebug(S &s, Plan &plan) { s(plan.debug); }

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_RECORDS_H
