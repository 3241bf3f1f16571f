//===- Session.h - Runs the entries of a program --------------------------===//
//
// A session owns what a program needs besides its constants: state tensors (KV
// caches) and one workspace for the temporary buffers of all entries. All of it
// is allocated when the session is made, for the largest sizes it will see;
// running allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXEC_SESSION_H
#define WEFT_RUNTIME_EXEC_SESSION_H

#include "runtime/Exec/Binder.h"
#include "runtime/Exec/CommandHook.h"
#include "runtime/Exec/Program.h"

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

class CommandList;

struct SessionOptions {
  /// Values of per-session symbols (cache_blocks) and the largest values of
  /// the others (tokens per step, sequences, ...). Those that are not given
  /// are the plan's maxima.
  std::vector<SymbolValue> symbols;
};

/// Looks at the values of a run's inputs, whose names, types and shapes are
/// those of the entry. A status that is not Ok refuses the run.
using InputCheck =
    std::function<Status(const Entry &, std::span<const Argument> inputs)>;

/// Threading: one call at a time; a call while another one runs is refused.
/// Sessions of the same program are independent of each other.
class Session {
public:
  /// Allocates states (zeroed) and workspace. Errors: as makeLimits;
  /// OutOfMemory with the size and what it is for.
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<Program> program, const SessionOptions &options = {});

  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Plan &getPlan() const { return program->getPlan(); }
  Program &getProgram() const { return *program; }
  const SymbolLimits &getLimits() const { return limits; }

  /// Runs an entry; returns when the outputs are written. Everything is
  /// checked before the first command, so a refused call changes nothing:
  /// each input and output once, with the right dtype and shape, sizes within
  /// the session's limits, no output overlapping another argument.
  Status run(std::string_view entry, std::span<const Argument> inputs,
             std::span<const Argument> outputs,
             std::span<const SymbolValue> symbols = {});
  /// The same for the entry with an index (findEntry of Tensor.h).
  Status run(uint32_t entry, std::span<const Argument> inputs,
             std::span<const Argument> outputs,
             std::span<const SymbolValue> symbols = {});

  /// Kernels take the values of inputs for places in memory: without a check,
  /// which all runs from now on then pass, they are the caller's to get right.
  void setInputCheck(InputCheck check) { inputCheck = std::move(check); }

  /// Adds a callback after every command of every run; returns a number for
  /// removeHook. Hooks run in the order they were added.
  uint32_t addHook(CommandHook hook, HookKind kind = HookKind::Buffers);
  void removeHook(uint32_t id);

  /// Sets all states to zero, as in a new session.
  Status resetStates();

  /// A state with its shape in this session. The view is valid as long as the
  /// session; its data is the device's (Device::isHostMemory) and may only be
  /// touched while no run is under way.
  Result<TensorView> getState(std::string_view name) const;
  /// Copies a part of a state to memory of the host. NotFound for an unknown
  /// name, InvalidArgument for a range that is not in the state.
  Status readState(std::string_view name, uint64_t offset,
                   std::span<std::byte> to);

  /// Copies `size` bytes within a state, before the next run. Errors: as
  /// readState, of both ranges; InvalidArgument if they overlap.
  Status copyInState(std::string_view name, uint64_t from, uint64_t to,
                     uint64_t size);

  /// Bytes the session allocated on the device.
  uint64_t getStateBytes() const;
  uint64_t getWorkspaceBytes() const { return workspace.getSize(); }
  /// For arguments on devices with memory of their own, and for recorded runs.
  uint64_t getStagingBytes() const;
  uint64_t getRecordingBytes() const;
  /// Recorded runs that are kept.
  size_t getRecordingCount() const;

private:
  struct StateTensor {
    DeviceMemory memory;
    std::vector<int64_t> shape;
  };
  /// What running one entry takes, made once.
  struct EntryRunner {
    Binder binder;
    std::unique_ptr<CommandList> commands;
  };

  explicit Session(std::shared_ptr<Program> program);

  Result<std::byte *> findInState(std::string_view name, uint64_t offset,
                                  uint64_t size) const;

  Status allocateStates();
  Status allocateWorkspace();
  /// OutOfMemory of states and workspace with what would fit.
  Status explainShortage(const Status &failure);
  Result<int64_t> getBytesFor(std::span<const int64_t> symbols) const;
  Status makeRunners();
  Status runLocked(uint32_t entry, std::span<const Argument> inputs,
                   std::span<const Argument> outputs,
                   std::span<const SymbolValue> symbols);

  std::shared_ptr<Program> program;
  SymbolLimits limits;
  std::vector<StateTensor> states;
  DeviceMemory workspace;
  std::vector<const DeviceMemory *> stateMemory; ///< Of `states`, in order.
  /// Behind the memory that its work uses: going, it waits for that work.
  std::unique_ptr<Stream> stream;
  std::vector<EntryRunner> runners;  ///< One per entry.
  std::vector<int64_t> symbolValues; ///< Of the current run.
  InputCheck inputCheck;             ///< May be empty.
  std::vector<RegisteredHook> hooks;
  uint32_t nextHookId = 0;
  std::atomic<bool> busy{false};
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_SESSION_H
