//===- Messages.h - What a compilation says to the user ---------*- C++ -*-===//

#ifndef WEFT_TOOLS_MODEL_MESSAGES_H
#define WEFT_TOOLS_MODEL_MESSAGES_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

#include <string>

namespace weft::tools {

/// The operations of the model that a location names: "layers.0.query,
/// layers.0.key"; empty if it names none.
std::string describeLocation(mlir::Location location);

/// Prints diagnostics to standard error while it lives: those at a place of an
/// IR file with the line, as MLIR does, others as
/// "TOOL: error: layers.0.norm: MESSAGE".
class MessageHandler : public mlir::SourceMgrDiagnosticHandler {
public:
  MessageHandler(llvm::StringRef tool, llvm::SourceMgr &sources,
                 mlir::MLIRContext *context);
};

/// Prints the optimisation remarks of `context`, from now on, to standard
/// error: "TOOL: remark: layers.1.rope: [Missed] not-fused: REASON".
mlir::LogicalResult printRemarks(llvm::StringRef tool,
                                 mlir::MLIRContext &context);

} // namespace weft::tools

#endif // WEFT_TOOLS_MODEL_MESSAGES_H
