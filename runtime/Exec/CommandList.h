//===- CommandList.h - The commands of an entry with sizes filled in ------===//
//
// Internal to the session. Evaluating the expressions of a decode step costs
// about as much as running a small kernel, and consecutive steps mostly have
// equal sizes; so results are kept until the sizes change.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXEC_COMMANDLIST_H
#define WEFT_RUNTIME_EXEC_COMMANDLIST_H

#include "runtime/Exec/Binder.h"
#include "runtime/Exec/CommandHook.h"
#include "runtime/Exec/Program.h"
#include "runtime/Exec/RecordingCache.h"
#include "runtime/Exec/Staging.h"

#include <span>
#include <vector>

namespace weft::rt {

/// The memory of a session that buffers lie in.
struct SessionMemory {
  std::span<const DeviceMemory *const> states; ///< One per state of the plan.
  const DeviceMemory *workspace;
};

class CommandList {
public:
  /// All memory that later calls need is allocated here, for sizes up to
  /// `limits`. What is referred to must outlive this.
  static Result<std::unique_ptr<CommandList>>
  create(Program &program, const Entry &entry, Stream &stream,
         const SymbolLimits &limits);

  /// Evaluates sizes, places and grids for the given symbol values (one per
  /// symbol of the plan) and checks that every buffer lies inside its memory,
  /// so that no plan can make the runtime touch anything else.
  Status resolve(std::span<const int64_t> symbols, const SessionMemory &memory);

  /// Runs all commands; `resolve` must have succeeded for the sizes of the
  /// arguments that `binder` has. Returns when the outputs are written. On
  /// devices that record, a run without hooks is recorded the second time that
  /// its sizes are seen and replayed from then on.
  Status run(const Binder &binder, std::span<const RegisteredHook> hooks);

  const RecordingCache &getRecordings() const { return recordings; }
  /// Memory of the device for staged arguments.
  uint64_t getStagingBytes() const { return staging ? staging->getBytes() : 0; }

private:
  CommandList(Program &program, const Entry &entry, Stream &stream);

  /// Evaluated parts of one command.
  struct Step {
    uint32_t firstArgument = 0, firstSymbol = 0;
    uint32_t kernel = 0; ///< Launch: that of the variant for these sizes.
    /// Work at most, by the sizes alone.
    int64_t grid = 0, flops = 0, bytes = 0;
  };

  Status resolveBuffer(uint32_t index, const SessionMemory &memory);
  Status resolveStep(uint32_t index);
  /// Fills the key counts from the inputs of this run.
  void countKeys(const Binder &binder);
  Status createStaging(const SymbolLimits &limits);
  void fillArguments();
  Status issueStep(uint32_t index);
  /// Likewise, with a failure that names the command.
  Status runStep(uint32_t index);
  Status nameCommand(uint32_t index, const Status &status) const;
  /// For what is not the work of one command.
  Status nameEntry(const Status &status) const;
  /// All commands and, where arguments are staged, the copies of the packed
  /// ones.
  Status issueAll();
  Status issueRecorded();
  Status runWatched(std::span<const RegisteredHook> hooks);
  Status runTimed(std::span<const RegisteredHook> hooks);
  Status runSteps(std::span<const RegisteredHook> hooks);
  Status callHooks(uint32_t index, int64_t beginTime, int64_t endTime,
                   std::span<const RegisteredHook> hooks);
  Result<int64_t> evaluate(const Expr &expr, const std::string &owner,
                           const char *what) const;

  Program &program;
  const Entry &entry;
  Stream &stream;
  std::unique_ptr<Staging> staging; ///< Null on devices with host memory.
  RecordingCache recordings;
  bool resolved = false;
  /// Of the plan's symbols; for what a hook is told, the entry's key counts are
  /// behind them in `values`.
  std::vector<int64_t> symbols, values;
  std::vector<void *> bufferData;
  std::vector<int64_t> bufferBytes;
  std::vector<Step> steps;
  std::vector<void *> arguments;        ///< Of all commands, one after another.
  std::vector<int64_t> symbolArguments; ///< Likewise.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_COMMANDLIST_H
