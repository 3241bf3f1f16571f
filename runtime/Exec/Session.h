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

  /// Adds a callback after every command of every run; returns a number for
  /// removeHook. Hooks run in the order they were added.
  uint32_t addHook(CommandHook hook);
  void removeHook(uint32_t id);

  /// Sets all states to zero, as in a new session.
  Status resetStates();

  /// A state with its shape in this session. The view is valid as long as the
  /// session; its data may only be touched while no run is under way.
  Result<TensorView> getState(std::string_view name) const;

  /// Bytes the session allocated on the device.
  uint64_t getStateBytes() const;
  uint64_t getWorkspaceBytes() const { return workspace.getSize(); }

private:
  struct StateTensor {
    DeviceMemory memory;
    std::vector<int64_t> shape;
  };
  struct Hook {
    uint32_t id;
    CommandHook function;
  };
  /// What running one entry takes, made once.
  struct EntryRunner {
    Binder binder;
    std::unique_ptr<CommandList> commands;
  };

  explicit Session(std::shared_ptr<Program> program);

  Status allocateStates();
  Status allocateWorkspace();
  void makeRunners();
  void updateHookPointers();
  Status runLocked(uint32_t entry, std::span<const Argument> inputs,
                   std::span<const Argument> outputs,
                   std::span<const SymbolValue> symbols);

  std::shared_ptr<Program> program;
  SymbolLimits limits;
  std::vector<StateTensor> states;
  DeviceMemory workspace;
  std::vector<const DeviceMemory *> stateMemory; ///< Of `states`, in order.
  std::vector<EntryRunner> runners;              ///< One per entry.
  std::vector<int64_t> symbolValues;             ///< Of the current run.
  std::vector<Hook> hooks;
  std::vector<const CommandHook *> hookPointers; ///< Into `hooks`.
  uint32_t nextHookId = 0;
  std::atomic<bool> busy{false};
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_SESSION_H
