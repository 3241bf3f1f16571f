//===- LowerTileToCudaElementwise.cpp - Arithmetic on registers -----------===//

#include "passes/Kernel/LowerTileKernels.h"
#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

static bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

Value CudaTileEmitter::toF32(Value value) {
  if (!isHalf(value.getType()))
    return value;
  return arith::ExtFOp::create(b, withElement(value.getType(), b.getF32Type()),
                               value);
}

LogicalResult CudaTileEmitter::emitConstant(arith::ConstantOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  if (!tile) {
    if (!op.getType().isIntOrIndexOrFloat())
      return op.emitError("cannot lower a constant of type ") << op.getType();
    values[op.getResult()] = arith::ConstantOp::create(b, op.getValue());
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements ||
      (!elements.isSplat() && !layoutOf(op.getType()).isReplicated()))
    return op.emitError("a constant tile must be dense and have one number, or "
                        "one column");
  Type type = convert(op.getType());
  TypedAttr value;
  if (auto vector = dyn_cast<VectorType>(type))
    value = elements.isSplat()
                ? DenseElementsAttr::get(vector,
                                         elements.getSplatValue<Attribute>())
                : cast<DenseElementsAttr>(elements.reshape(vector));
  else
    value = *elements.value_begin<TypedAttr>();
  values[op.getResult()] = arith::ConstantOp::create(b, value);
  return success();
}

/// The same operation on a thread's registers. Arithmetic on f16 and bf16 is
/// done in f32 and rounded, which of two operands, and of integers of up to 24
/// bits, gives the correctly rounded result; a select only moves bits.
LogicalResult CudaTileEmitter::emitElementwise(Operation *op) {
  if (op->getNumResults() != 1)
    return op->emitError("cannot lower an operation with ")
           << op->getNumResults() << " results in a kernel";
  Type result = convert(op->getResult(0).getType());
  SmallVector<Value> operands = lookup(op->getOperands());
  bool isConversion =
      isa<arith::ExtFOp, arith::TruncFOp, arith::SelectOp, arith::BitcastOp>(
          op);
  bool roundResult = isHalf(result) && !isConversion;
  if (!isConversion)
    for (Value &operand : operands)
      operand = toF32(operand);
  if (auto round = dyn_cast<arith::TruncFOp>(op);
      round && isHalf(result) &&
      !getElementTypeOrSelf(operands.front().getType()).isF32())
    return op->emitError("cannot round ")
           << getElementTypeOrSelf(operands.front().getType()) << " to "
           << getElementTypeOrSelf(result) << " at once; round to f32 first";
  Type computed = roundResult ? withElement(result, b.getF32Type()) : result;
  OperationState state(b.getLoc(), op->getName(), operands, {computed},
                       op->getAttrs());
  Value value = b.create(state)->getResult(0);
  if (roundResult)
    value = arith::TruncFOp::create(b, result, value);
  values[op->getResult(0)] = value;
  return success();
}

void CudaTileEmitter::emitSplat(SplatOp op) {
  Value value = values.at(op.getInput());
  Type type = convert(op.getType());
  if (isa<VectorType>(type))
    value = vector::BroadcastOp::create(b, type, value);
  values[op.getResult()] = value;
}

void CudaTileEmitter::emitIota(IotaOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  TileLayout layout = layoutOf(type);
  bool alongRows = op.getDim() == 0 && type.getRank() > 1;
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    registers.push_back(add(values.at(op.getBase()),
                            alongRows ? position.row : position.column));
  }
  values[op.getResult()] = pack(type, registers);
}
