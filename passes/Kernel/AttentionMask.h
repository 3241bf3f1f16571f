//===- AttentionMask.h - Which keys an attention sees -----------*- C++ -*-===//
//
// The conditions of weft.attention on key positions, shared by the builders of
// its kernels. Positions count from the sequence's start.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_ATTENTIONMASK_H
#define WEFT_PASSES_KERNEL_ATTENTIONMASK_H

#include "passes/Kernel/TileBuilder.h"

namespace weft::kernel {

/// The first number of a block of `block` keys that the positions `first` to
/// `last` of a sequence of `length` see, and the end of such blocks. All are
/// indices.
std::pair<mlir::Value, mlir::Value>
getKeyBlocks(TileBuilder &k, AttentionOp op, int64_t block, mlir::Value length,
             mlir::Value first, mlir::Value last);

/// Which keys of block `number`, the columns of the i32 tile type, the rows at
/// `positions` (a tile of that type) see.
mlir::Value buildKeyMask(TileBuilder &k, AttentionOp op, int64_t block,
                         mlir::Value length, mlir::Value number,
                         mlir::Value positions);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_ATTENTIONMASK_H
