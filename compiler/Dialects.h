//===- Dialects.h - The dialects and passes of the tree ---------*- C++ -*-===//
//
// The one place that lists what the compiler's tools can read and run, so that
// every tool (weft-opt, weft-compile, weft-lsp-server, weft-bisect) agrees.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_DIALECTS_H
#define WEFT_COMPILER_DIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace weft {

/// Adds Weft's dialects, the upstream dialects they lower to, and the external
/// models (bufferization, tiling, sharding, value bounds, conversion to LLVM)
/// that passes ask for at run time.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Adds Weft's passes and the upstream passes that pipelines and tests use to
/// the global pass registry. Calling it again changes nothing.
void registerAllPasses();

} // namespace weft

#endif // WEFT_COMPILER_DIALECTS_H
