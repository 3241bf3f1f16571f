//===- LowerTileKernels.cpp - What lowerings of kernels share -------------===//

#include "passes/Kernel/LowerTileKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

LogicalResult weft::tile::lowerKernels(
    ModuleOp module,
    function_ref<LogicalResult(ImplicitLocOpBuilder &, KernelOp)> lower) {
  for (auto program : llvm::make_early_inc_range(module.getOps<ProgramOp>())) {
    ImplicitLocOpBuilder b(program.getLoc(), program);
    b.setInsertionPointAfter(program);
    for (auto kernel : program.getBody().getOps<KernelOp>())
      if (failed(lower(b, kernel)))
        return failure();
  }
  return success();
}

LogicalResult weft::tile::checkTileRanks(Operation *op) {
  for (Type type : op->getResultTypes())
    if (auto tile = dyn_cast<RankedTensorType>(type))
      if (tile.getRank() == 0 || tile.getRank() > 3 ||
          (tile.getRank() == 3 && !isa<LoadOp>(op)))
        return op->emitError("cannot lower a tile of type ")
               << type << "; expected one or two dimensions";
  return success();
}

LogicalResult weft::tile::checkSigned(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return loop.emitError(
        "cannot lower a loop with unsigned bounds in a kernel");
  return success();
}

bool weft::tile::isArithmetic(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         op->getNumRegions() == 0;
}

bool weft::tile::isOnNumbers(Operation *op) {
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

Type weft::tile::withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}

LogicalResult weft::tile::rejectOperation(Operation *op, StringRef memory) {
  return op->emitError("cannot lower '")
         << op->getName()
         << "' in a kernel; expected tile, arith and math operations, "
         << memory << ", scf.for, scf.if or scf.while";
}
