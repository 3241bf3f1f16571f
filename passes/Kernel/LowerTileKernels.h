//===- LowerTileKernels.h - What lowerings of kernels share -----*- C++ -*-===//
//
// Internal to the passes weft-lower-tile-to-vector and weft-lower-tile-to-cuda:
// which kernels there are and which operations their bodies may have.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_LOWERTILEKERNELS_H
#define WEFT_PASSES_KERNEL_LOWERTILEKERNELS_H

#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace weft::tile {

/// Calls `lower` for each kernel of the module's programs, with a builder
/// behind the program. Stops at the first failure.
mlir::LogicalResult lowerKernels(mlir::ModuleOp module,
                                 llvm::function_ref<mlir::LogicalResult(
                                     mlir::ImplicitLocOpBuilder &, KernelOp)>
                                     lower);

/// Diagnoses results that are no tiles of one or two dimensions; what is
/// loaded may have three.
mlir::LogicalResult checkTileRanks(mlir::Operation *op);
/// Diagnoses a loop that counts without signs.
mlir::LogicalResult checkSigned(mlir::scf::ForOp loop);

/// Whether the operation computes: one of arith or math without regions.
bool isArithmetic(mlir::Operation *op);
/// Whether all operands and results are numbers rather than tiles.
bool isOnNumbers(mlir::Operation *op);

/// A number or a vector of them with another element type.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// The error of an operation that kernels may not have. `memory` lists the
/// operations of memref that they may.
mlir::LogicalResult rejectOperation(mlir::Operation *op,
                                    llvm::StringRef memory);

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_LOWERTILEKERNELS_H
