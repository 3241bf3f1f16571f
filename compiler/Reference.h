//===- Reference.h - Lowering of the reference to LLVM ----------*- C++ -*-===//
//
// What a model means, as code: every model operation is replaced by its
// decomposition, and that is lowered to the LLVM dialect without any of Weft's
// own passes, so that it can judge them. Slow on purpose.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_REFERENCE_H
#define WEFT_COMPILER_REFERENCE_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace weft {

/// Lowers a module of functions over `weft` and upstream tensor operations to
/// the LLVM dialect. Tensor arguments become identity-layout memrefs, which
/// the function may not write except through
/// `bufferization.materialize_in_destination`; a returned tensor is owned by
/// the caller. Registered as the pipeline `weft-reference-to-llvm`.
void buildReferenceToLlvmPipeline(mlir::OpPassManager &manager);

} // namespace weft

#endif // WEFT_COMPILER_REFERENCE_H
