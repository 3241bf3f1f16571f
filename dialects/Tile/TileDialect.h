//===- TileDialect.h - The kernel-level dialect -----------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_TILE_TILEDIALECT_H
#define WEFT_DIALECTS_TILE_TILEDIALECT_H

#include "dialects/Tile/MemoryLayout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"
#include "dialects/Tile/TileInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

namespace weft::tile {
class ProgramOp;
} // namespace weft::tile

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace weft::tile {
/// Checks the variants (null: none) of a launch of `program`: they have its
/// symbols, and their numbers of rows ascend up to one for any number.
mlir::LogicalResult verifyVariants(mlir::Operation *launch, ProgramOp program,
                                   mlir::ArrayAttr variants,
                                   mlir::SymbolTableCollection &symbols);
} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_TILEDIALECT_H
