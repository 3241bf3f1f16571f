//===- MemoryReport.h - What a plan needs, before anything is loaded ------===//

#ifndef WEFT_RUNTIME_EXEC_MEMORYREPORT_H
#define WEFT_RUNTIME_EXEC_MEMORYREPORT_H

#include "runtime/Exec/SymbolLimits.h"
#include "runtime/Exec/Tensor.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::rt {

/// All in bytes.
struct MemoryReport {
  struct NamedSize {
    std::string name;
    uint64_t bytes = 0;
  };
  struct EntryMemory {
    std::string name;
    uint64_t workspace = 0;  ///< Arena for temporary buffers.
    uint64_t lowerBound = 0; ///< What any placement of them would need.
    uint64_t inputs = 0, outputs = 0; ///< Tensors that the caller owns.
  };

  uint64_t weights = 0; ///< Constants; mapped from the file on a CPU.
  uint64_t code = 0;    ///< Machine code of all targets in the plan.
  std::vector<NamedSize> states;
  std::vector<EntryMemory> entries;

  uint64_t stateBytes = 0;     ///< Sum of `states`.
  uint64_t workspaceBytes = 0; ///< Largest of the entries: they share it.
  uint64_t scratchBytes = 0;   ///< Of all worker threads; none on a GPU.
  uint64_t callerBytes = 0;    ///< Inputs and outputs of the largest entry.
  uint64_t total = 0;          ///< Of a session, with weights and caller.
  /// The total if every entry needed no more than its lower bound.
  uint64_t lowerBound = 0;
};

/// What a session with the given limits (as SessionOptions::symbols) takes on
/// a device with `workers` threads. Equal to what Session::create allocates.
Result<MemoryReport> reportMemory(const Plan &plan,
                                  std::span<const SymbolValue> symbols,
                                  unsigned workers);

/// How a decoder is going to be used; docs/architecture.md has the symbols.
struct ServingSizes {
  int64_t sequences = 1;  ///< At the same time.
  int64_t context = 0;    ///< Tokens of each sequence.
  int64_t tokens = 1;     ///< Most tokens in one step.
  int64_t blockSize = 64; ///< Positions in one cache block.
};

/// Adjustments of logits (penalties, biases) that a step on the device takes
/// for so many sequences; more are for the host (docs/generation.md). Steps on
/// GPUs have a power of two of them.
int64_t getMostAdjustments(int64_t sequences);

/// Values for those of the well-known symbols (tokens, sequences, table_width,
/// logits, cache_blocks, adjustments) that the plan has. A session for them
/// fits `sequences` sequences of `context` tokens. InvalidArgument for sizes
/// that are not positive or overflow.
Result<std::vector<SymbolValue>> getServingSymbols(const Plan &plan,
                                                   const ServingSizes &sizes);

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_MEMORYREPORT_H
