//===- DecoderFacts.h - What is told of a decoder beside its graph -*- C++
//-*-===//

#ifndef WEFT_PASSES_GRAPH_DECODERFACTS_H
#define WEFT_PASSES_GRAPH_DECODERFACTS_H

#include "llvm/ADT/StringRef.h"

namespace weft::graph {

/// Attribute of a module that an importer made of a graph that may be a
/// decoder: JSON text with the keys of META (docs/generation.md) that a graph
/// does not have, such as `context_length`, `eos_token_ids`, `generation`.
inline constexpr llvm::StringLiteral decoderFactsAttrName = "weft.decoder";

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_DECODERFACTS_H
