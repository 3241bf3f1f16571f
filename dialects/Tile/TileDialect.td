//===- TileDialect.td - The kernel-level dialect -----------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_TILE_DIALECT_TD
#define WEFT_DIALECTS_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::weft::tile";
  let summary = "kernels on tiles";
  let description = [{
    What one kernel does, on value-semantics tiles. A tile is a statically
    shaped `tensor`; elementwise work on tiles is `arith` and `math`. Memory is
    `memref`, touched only by `tile.load` and `tile.store` (and `memref.load`
    for single numbers such as an expert id). Loops are `scf.for` where
    iterations are independent and `tile.fold` where they accumulate.

    A `tile.program` is what a launch refers to: the same work as one
    `tile.kernel` per target level, all with the same arguments and grid.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // WEFT_DIALECTS_TILE_DIALECT_TD
