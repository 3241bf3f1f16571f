//===- Plan.h - The content of a .weft artifact, in memory ----------------===//
//
// One model of a compiled plan that the compiler fills in and the runtime
// reads. The bytes on disk are described in docs/artifact.md; Writer.h and
// Reader.h convert between the two. Nothing here owns tensor data: weights are
// (offset, size) ranges of the artifact or of a file beside it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_PLAN_H
#define WEFT_RUNTIME_FORMAT_PLAN_H

#include "runtime/Format/Bytes.h"
#include "runtime/Format/Expr.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::rt {

/// Element types. The values are written to artifacts and never change.
enum class DType : uint8_t {
  F32 = 1,
  F16 = 2,
  BF16 = 3,
  F64 = 4,
  I8 = 5,
  U8 = 6,
  I16 = 7,
  I32 = 8,
  I64 = 9,
  Bool = 10,
  U16 = 11,
  U32 = 12,
  U64 = 13,
};

/// Bytes of one element; 0 for a value that is not a DType.
size_t getByteSize(DType type);
/// "f32", "bf16", ...; "?" for a value that is not a DType.
const char *getName(DType type);

/// A size that is only known when an entry runs (tokens, sequences, ...) or
/// when a session is made (cache blocks). `min` and `max` are inclusive and
/// checked by the runtime before a step.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  /// Fixed when the session is created rather than per run.
  bool perSession = false;
};

/// Values that a parameter gets when it is loaded instead of stored ones, for
/// measuring a model's shapes without a checkpoint. They look like samples of a
/// normal distribution around 0; which numbers they are is up to the device,
/// but always the same for a seed.
struct GeneratedValues {
  bool isUsed = false;
  double deviation = 0; ///< Standard deviation, finite and not negative.
  uint64_t seed = 0;
};

/// A constant tensor, stored as the kernels want it (`layout` says how).
struct Param {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< Stored shape, after packing.
  std::string
      layout; ///< "row-major", "panels(64, 2)", "core_matrices"; for people.
  uint32_t file = 0;   ///< 0: the DATA section; n: Plan::externalFiles[n - 1].
  uint64_t offset = 0; ///< From the start of DATA or of the external file.
  uint64_t size = 0;   ///< Bytes; equals shape x dtype.
  uint64_t hash = 0;   ///< XXH64 of the bytes, set by the writer; 0: none.
  /// Only for f32, f16 and bf16. Then file, offset and hash are 0 and no bytes
  /// are stored.
  GeneratedValues generated = {};
};

/// Where the bytes of a buffer come from.
enum class BufferKind : uint8_t {
  Input = 1,  ///< Given by the caller of the entry.
  Output = 2, ///< Given by the caller (who allocates it) and written.
  State = 3,  ///< Lives as long as the session, zeroed at creation: KV caches.
  Param = 4,  ///< A constant; `index` is the index into Plan::params.
  Temp = 5,   ///< Inside the entry's workspace at `offset`.
};

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::Temp;
  DType dtype = DType::F32;
  std::vector<Expr> shape; ///< Over the plan's symbols.
  uint32_t index = 0;      ///< Param: index of the param. State: state index.
  Expr offset;             ///< Temp: bytes from the start of the workspace.
  /// First and last command (inclusive) that touches a Temp; for reports and
  /// for the reader's check that live buffers never overlap.
  uint32_t firstUse = 0, lastUse = 0;
};

/// A tensor that lives as long as a session, shared by all entries.
struct State {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Expr> shape; ///< Over per-session symbols only.
};

/// How GPU code is launched; as default-constructed for code of other kinds.
struct LaunchShape {
  static constexpr uint32_t maxThreads = 1024, maxCluster = 16;

  uint32_t threads = 0;     ///< Of one block: a multiple of 32, up to 1024.
  uint32_t sharedBytes = 0; ///< Dynamic shared memory of one block.
  uint32_t clusterSize = 1; ///< Blocks of one cluster, 1 to 16.
  /// 0: a cluster (a block, if the cluster is one) for each work item. n: the
  /// kernel loops over the items, and the grid has at most n blocks for each
  /// multiprocessor.
  uint32_t blocksPerMultiprocessor = 0;
  /// The kernel executes griddepcontrol.wait on every path before it touches
  /// what an earlier kernel wrote or reads, so that it may start while the
  /// launch before it still runs.
  bool dependentLaunch = false;

  bool operator==(const LaunchShape &) const = default;
};

/// Machine code for one kernel and one target level.
struct Code {
  enum class Kind : uint8_t { Elf = 1, Cubin = 2, CudaSource = 3 };
  Kind kind = Kind::Elf;
  /// CPU level, lowest first: "x86-64-v2", "x86-64-v3", "x86-64-v4",
  /// "x86-64-v4-bf16"; GPU: "sm_90a". CudaSource: the architecture that its
  /// schedule was made for; any may be tried.
  std::string target;
  /// Elf: CPU features that must be present ("avx512f", "avx512bf16", ...).
  /// CudaSource: options for NVRTC besides the architecture. Cubin: none.
  std::vector<std::string> features;
  std::string symbol;      ///< Function to call inside the object.
  Bytes bytes;             ///< CudaSource: UTF-8 text without NUL.
  LaunchShape launch = {}; ///< Cubin and CudaSource.
};

/// One compiled kernel, shared by all launches of equal work.
struct Kernel {
  std::string name;
  std::vector<Code> code; ///< One per target level, baseline first.
  uint32_t bufferCount = 0;
  uint32_t symbolCount = 0;
  uint64_t scratchBytes = 0; ///< Per worker thread of a CPU; unused on GPUs.
  std::string schedule;      ///< The schedule attribute as text.
  std::string program; ///< What it computes, for people: "rms_norm+linear".
};

enum class CommandKind : uint8_t { Launch = 1, Copy = 2, Fill = 3 };
/// "launch", "copy", "fill"; "?" for a value that is not a CommandKind.
const char *getName(CommandKind kind);

/// Another kernel of a launch, for few rows or some devices.
struct Variant {
  static constexpr int64_t anyRows = INT64_MAX;

  /// Taken when the launch's first symbol argument is at most this, the kernel
  /// has code for the device, and no variant before was taken.
  int64_t limit = 0;
  uint32_t kernel = 0; ///< Takes the same buffers and symbols.
  Expr grid;
};

/// One step of an entry. Commands run in order; each sees the effects of all
/// before it.
struct Command {
  CommandKind kind = CommandKind::Launch;
  std::string label; ///< Name of the model operation(s): "layers.3.attention".
  /// Launch: kernel index. Fill: the byte value.
  uint32_t kernel = 0;
  /// Launch: arguments in order. Copy: source, destination. Fill: destination.
  std::vector<uint32_t> buffers;
  std::vector<Expr> symbols; ///< Launch: the kernel's symbol arguments.
  Expr grid;                 ///< Launch: number of independent work items.
  /// Work and minimum traffic, for reports: at most, where they follow from
  /// the data of a run.
  Expr flops, bytes;
  /// Launch: by ascending limit; behind `anyRows` for other devices.
  std::vector<Variant> variants = {};
  /// Work and traffic exactly where they follow from data: over Plan::symbols
  /// and, behind them, the numbers of Entry::keyCounts. Both or neither are
  /// empty.
  Expr countedFlops = {}, countedBytes = {};
};

/// A number of keys that attention works on. It is no symbol because it follows
/// from the data of a run, the positions of its tokens, and no size depends on
/// it. A token at position p of a sequence of n positions sees the keys from
/// max(0, p - window + 1), without a window from 0, to p if `isCausal`, else to
/// n - 1.
struct KeyCount {
  enum class Kind : uint8_t {
    Seen = 1, ///< Sum over the tokens: scores of one head.
    Read = 2, ///< Sum over the sequences of the keys that some token sees.
  };
  static constexpr uint32_t noBuffer = UINT32_MAX;

  Kind kind = Kind::Seen;
  bool isCausal = false;
  uint64_t window = 0; ///< 0: none.
  /// Buffers of the entry, i32 inputs: position of each token; first token of
  /// each sequence and the number of all; length of each sequence (noBuffer: as
  /// long as its tokens).
  uint32_t positions = 0, sequenceStarts = 0, sequenceLengths = noBuffer;

  bool operator==(const KeyCount &) const = default;
};
/// "seen_keys", "read_keys.window_512", ...
std::string getName(const KeyCount &count);

/// A function that a session can run.
struct Entry {
  std::string name;
  std::vector<uint32_t> symbols; ///< Indices into Plan::symbols.
  std::vector<KeyCount> keyCounts;
  std::vector<Buffer> buffers;
  std::vector<Command> commands;
  Expr workspaceBytes;  ///< Size of the arena for all Temp buffers.
  Expr lowerBoundBytes; ///< Largest sum of Temps alive at one command.
};

/// Text the plan keeps for people and tools: the IR after each phase.
struct DebugText {
  std::string name;
  std::string text;
};

/// A file the artifact refers to but does not contain (tokenizer, weights).
struct ExternalFile {
  std::string path; ///< Relative to the artifact's folder; may not leave it.
  uint64_t size = 0;
  uint64_t hash = 0; ///< XXH64 of the first and last MiB; 0: not checked.
};

struct Plan {
  std::string target;   ///< "cpu" or "cuda:sm_90a".
  std::string metaJson; ///< Model facts for the LLM layer; docs/artifact.md.
  std::vector<Symbol> symbols;
  std::vector<ExternalFile> externalFiles;
  std::vector<Param> params;
  std::vector<State> states;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
  /// Tokenizer files as they were in the checkpoint: (file name, bytes).
  std::vector<std::pair<std::string, Bytes>> tokenizerFiles;
  std::vector<DebugText> debug;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_PLAN_H
