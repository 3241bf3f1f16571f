//===- MmaOperand.h - Operands that multiplications read late ---*- C++ -*-===//

#ifndef WEFT_PASSES_KERNEL_MMAOPERAND_H
#define WEFT_PASSES_KERNEL_MMAOPERAND_H

#include "dialects/Tile/TileDialect.h"

namespace weft::tile {

/// A multiplication reads memory later than the load that it takes its operand
/// from. Gives the first store to the same view in between; null if there is
/// none.
StoreOp findOverwrite(LoadOp load, MmaOp use);

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_MMAOPERAND_H
