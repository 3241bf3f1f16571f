//===- MatchCommands.h - weft-bisect: does a plan fit a model? --*- C++ -*-===//
//
// Every dispatch of the fuse phase is one command of the plan, in the same
// order, on buffers of the types of its tensors.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_WEFTBISECT_MATCHCOMMANDS_H
#define WEFT_TOOLS_WEFTBISECT_MATCHCOMMANDS_H

#include "dialects/Weft/WeftDialect.h"
#include "runtime/Exec/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace weft::bisect {

/// InvalidArgument: `what`, and that the plan does not belong to the model.
rt::Status mismatch(const std::string &what);

/// "command 3 'layers.0.rope'".
std::string getCommandName(size_t index, const rt::Command &command);

/// The commands of a plan beside the dispatches of an entry after the fuse
/// phase. The plan outlives it.
class CommandMatch {
public:
  CommandMatch(mlir::func::FuncOp fused, const rt::Plan &plan);

  /// InvalidArgument if the commands are not the dispatches: the plan was
  /// compiled from another model or with other options. The other members
  /// are for after a success.
  rt::Status verify();

  const rt::Entry &getEntry() const { return *entry; }
  size_t getCount() const { return dispatches.size(); }
  /// What a command computes.
  DispatchOp getDispatch(size_t command) const { return dispatches[command]; }
  /// What is wrong with where a command's tensors come from; or empty.
  const std::string &getWiringNote(size_t command) const {
    return wiringNotes[command];
  }
  /// The buffer of a dispatch's result.
  uint32_t getResultBuffer(size_t command, unsigned result) const;

private:
  rt::Status verifyCommand(size_t index);
  rt::Status verifyBuffer(size_t index, uint32_t buffer, mlir::Type type);
  rt::Status verifyStates();
  void checkWiring();

  mlir::func::FuncOp fused;
  const rt::Plan &plan;
  std::vector<DispatchOp> dispatches;
  const rt::Entry *entry = nullptr;
  std::vector<std::string> wiringNotes; ///< By command.
};

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_MATCHCOMMANDS_H
