//===- WriteText.h - Text output of a tool ----------------------*- C++ -*-===//

#ifndef WEFT_TOOLS_MODEL_WRITETEXT_H
#define WEFT_TOOLS_MODEL_WRITETEXT_H

#include "runtime/Format/Status.h"

#include "llvm/ADT/StringRef.h"

namespace weft::tools {

/// What standard output does not take of the text behind --help and --version,
/// after which LLVM ends the process, becomes an error of the tool instead of
/// "LLVM ERROR". Call it before the command line is parsed.
void reportLostOutput(llvm::StringRef tool);

/// Writes to a file, whole or not at all, or to standard output for "" and "-".
/// A device or pipe of that name gets the bytes as they are.
rt::Status writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace weft::tools

#endif // WEFT_TOOLS_MODEL_WRITETEXT_H
