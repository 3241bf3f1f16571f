//===- Json.h - Strict reading of JSON from foreign files -----------------===//
//
// llvm::json's parser recurses without a limit and keeps the last of several
// equal keys. Files of checkpoints need both refused, so parsing is done by
// nlohmann-json's iterative parser and the result handed over as llvm::json.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_JSON_H
#define WEFT_COMPILER_IMPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace weft {

struct JsonLimits {
  unsigned maxDepth = 32;       ///< Nesting of arrays and objects.
  size_t maxValues = 4'000'000; ///< Bounds memory: about 100 bytes each.
};

/// Parses UTF-8 JSON text (RFC 8259). An error names line and column, or the
/// key that stands twice in one object.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text,
                                            const JsonLimits &limits = {});

/// The value on one line, shortened for a message.
std::string printJson(const llvm::json::Value &value);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_JSON_H
