//===- Json.h - Strict reading of JSON from foreign files -----------------===//
//
// nlohmann-json's own parse function keeps one of several equal keys, takes a
// NUL byte for the end of the text and bounds neither depth nor size. Files of
// checkpoints and plans need all of that refused. Everything that reads foreign
// JSON, in the compiler and in the runtime, reads it here.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_JSON_H
#define WEFT_RUNTIME_FORMAT_JSON_H

#include "runtime/Format/Status.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace weft::rt {

struct JsonLimits {
  size_t maxDepth = 32; ///< Nesting of arrays and objects.
  /// Arrays, objects and what is in them. Bounds memory: about 100 bytes each.
  size_t maxValues = 4'000'000;
};

/// Parses UTF-8 JSON text (RFC 8259). Corrupt if it is none, with line and
/// column, or if a key stands twice in one object, with the key; Unsupported
/// beyond the limits.
Result<nlohmann::json> parseJson(std::string_view text,
                                 const JsonLimits &limits = {});

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_JSON_H
