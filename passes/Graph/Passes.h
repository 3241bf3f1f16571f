//===- Passes.h - Passes of the graph phase ---------------------*- C++ -*-===//

#ifndef WEFT_PASSES_GRAPH_PASSES_H
#define WEFT_PASSES_GRAPH_PASSES_H

#include "mlir/Pass/Pass.h"

namespace weft::graph {

#define GEN_PASS_DECL
#include "passes/Graph/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Graph/Passes.h.inc"

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_PASSES_H
