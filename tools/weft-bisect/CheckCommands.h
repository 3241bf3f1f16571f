//===- CheckCommands.h - weft-bisect: a plan command by command -*- C++ -*-===//
//
// While the plan runs, each command's dispatch is computed by the reference on
// the very inputs that the command has, so that an error of one command does
// not show in those behind it. The device may have memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_WEFTBISECT_CHECKCOMMANDS_H
#define WEFT_TOOLS_WEFTBISECT_CHECKCOMMANDS_H

#include "runtime/Exec/Session.h"
#include "tools/weft-bisect/Compare.h"
#include "tools/weft-bisect/ExpertChoices.h"
#include "tools/weft-bisect/MatchCommands.h"
#include "tools/weft-bisect/Steps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::bisect {

/// A command over all steps.
struct CommandRow {
  std::string label, kernel, program, target;
  size_t step = 0;       ///< Where the difference is largest, or the note.
  Difference difference; ///< The worst of all steps.
  std::string note;      ///< What is wrong besides the numbers; or empty.
  bool isBad() const { return difference.isBad() || !note.empty(); }
};

/// The first place that differs.
struct FirstBad {
  size_t step, command;
  CommandRow row; ///< As it was at that step.
  std::string savedTo;
};

/// Checks one entry of one session. What it is given by reference
/// outlives it; `choices` learns the experts that the plan takes. Not
/// thread-safe.
class CommandChecker {
public:
  CommandChecker(mlir::func::FuncOp fused, rt::Session &session,
                 ReferenceRunner &runner, const WeightSource &weights,
                 Options options, ExpertChoices &choices);
  ~CommandChecker();
  CommandChecker(const CommandChecker &) = delete;
  CommandChecker &operator=(const CommandChecker &) = delete;

  /// As CommandMatch::verify; also the errors of Device::createStream.
  rt::Status verify();

  /// Runs the plan on the steps in order and checks every command. Gives what
  /// runSteps of Phases.h gives. Internal if the reference fails; then there
  /// are diagnostics too. `progress` is called after each command.
  rt::Result<std::vector<NamedTensor>>
  run(llvm::ArrayRef<Step> steps, llvm::function_ref<void()> progress = [] {});

  llvm::ArrayRef<CommandRow> getRows() const { return rows; }
  const std::optional<FirstBad> &getFirstBad() const { return firstBad; }

private:
  /// Copies the start of a buffer of the entry to memory of the host.
  using Read =
      llvm::function_ref<rt::Status(uint32_t buffer, std::span<std::byte> to)>;

  rt::Result<ReferenceTensor> copyBuffer(uint32_t buffer, mlir::Type type,
                                         Read read);
  rt::Status captureInputs(size_t command, Read read);
  rt::Status readParam(size_t command, size_t input);
  rt::Result<ReferenceTensor> getStoredParam(const rt::Buffer &buffer,
                                             mlir::RankedTensorType type);
  rt::Result<std::vector<NamedTensor>> runStep();
  /// Reads a buffer as it is before the first command.
  rt::Status readFirst(uint32_t buffer, std::span<std::byte> to);
  rt::Status check(const rt::CommandEvent &event);
  rt::Status record(size_t command, CommandRow row,
                    llvm::ArrayRef<NamedTensor> found,
                    llvm::ArrayRef<NamedTensor> expected);
  rt::Result<std::string> save(size_t command,
                               llvm::ArrayRef<NamedTensor> found,
                               llvm::ArrayRef<NamedTensor> expected);

  mlir::func::FuncOp fused;
  rt::Session &session;
  ReferenceRunner &runner;
  const WeightSource &weights;
  Options options;
  ExpertChoices &choices;
  CommandMatch match;
  std::unique_ptr<rt::Stream> stream; ///< For reading parameters.
  std::vector<CommandRow> rows;
  std::optional<FirstBad> firstBad;

  // Of the step that runs.
  size_t stepNumber = 0;
  const Step *step = nullptr;
  std::vector<int64_t> symbols;        ///< By symbol of the plan.
  std::vector<ReferenceTensor> inputs; ///< Of the next command.
  std::string note;                    ///< What is wrong with them.
  /// Hash of what the last command that wrote a buffer left there, and which
  /// one it was.
  struct Written {
    uint64_t hash;
    size_t command;
  };
  llvm::DenseMap<uint32_t, Written> written;
  /// Params that were found to be the model's.
  llvm::DenseSet<uint32_t> checkedParams;
};

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_CHECKCOMMANDS_H
