//===- Json.h - JSON of foreign files as llvm::json -----------------------===//
//
// llvm::json's parser recurses without a limit and keeps the last of several
// equal keys. Files of checkpoints need both refused, so they are parsed by the
// reader that the compiler shares with the runtime (runtime/Format/Json.h) and
// handed over as llvm::json.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_JSON_H
#define WEFT_COMPILER_IMPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace weft {

/// Parses UTF-8 JSON text (RFC 8259) within the usual limits of the reader. An
/// error names line and column, or the key that stands twice in one object.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// The value on one line, shortened for a message.
std::string printJson(const llvm::json::Value &value);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_JSON_H
