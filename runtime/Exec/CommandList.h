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
  /// All memory that later calls need is allocated here. Both must outlive
  /// this.
  CommandList(Program &program, const Entry &entry);

  /// Evaluates sizes, places and grids for the given symbol values (one per
  /// symbol of the plan) and checks that every buffer lies inside its memory,
  /// so that no plan can make the runtime touch anything else.
  Status resolve(std::span<const int64_t> symbols, const SessionMemory &memory);

  /// Runs all commands; `resolve` must have succeeded for the sizes of the
  /// arguments that `binder` has.
  Status run(const Binder &binder, std::span<const CommandHook *const> hooks);

private:
  /// Evaluated parts of one command.
  struct Step {
    uint32_t firstArgument = 0, firstSymbol = 0;
    int64_t grid = 0, flops = 0, bytes = 0;
  };

  Status resolveBuffer(uint32_t index, const SessionMemory &memory);
  Status resolveStep(uint32_t index);
  void fillArguments(const Binder &binder);
  Status runStep(uint32_t index);
  Status callHooks(uint32_t index, int64_t beginTime, int64_t endTime,
                   std::span<const CommandHook *const> hooks);
  Result<int64_t> evaluate(const Expr &expr, const std::string &owner,
                           const char *what) const;

  Program &program;
  const Entry &entry;
  bool resolved = false;
  std::vector<int64_t> symbols;
  std::vector<void *> bufferData;
  std::vector<int64_t> bufferBytes;
  std::vector<Step> steps;
  std::vector<void *> arguments;        ///< Of all commands, one after another.
  std::vector<int64_t> symbolArguments; ///< Likewise.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_COMMANDLIST_H
