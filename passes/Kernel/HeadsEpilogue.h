//===- HeadsEpilogue.h - Rotation and cache behind a layer ------*- C++ -*-===//
//
// The end of a kernel of query, key and value heads: columns of the layer's
// output that are pairs of rotated heads are rotated, the first heads stored,
// keys and values written to their caches.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_HEADSEPILOGUE_H
#define WEFT_PASSES_KERNEL_HEADSEPILOGUE_H

#include "passes/Kernel/MatrixEpilogue.h"

namespace weft::kernel {

/// Whether these are the operations of such an epilogue.
bool isHeadsEpilogue(llvm::ArrayRef<mlir::Operation *> ops);

/// Emits the epilogue on a tile of the layer's output, of its element type.
void buildHeadsEpilogue(KernelBuilder &k, mlir::Value result,
                        llvm::ArrayRef<mlir::Operation *> ops,
                        const OutputTile &tile);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_HEADSEPILOGUE_H
