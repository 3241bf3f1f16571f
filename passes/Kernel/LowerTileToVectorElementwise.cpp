//===- LowerTileToVectorElementwise.cpp - Arithmetic on tiles -------------===//

#include "passes/Kernel/LowerTileKernels.h"
#include "passes/Kernel/LowerTileToVector.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

//===----------------------------------------------------------------------===//
// Half-precision conversions, on numbers or vectors
//===----------------------------------------------------------------------===//

/// f16 in an i32 to f32 by integer arithmetic. NaNs become quiet, as F16C does.
Value TileEmitter::extendF16(Value bits) {
  Type i32 = withElement(bits.getType(), b.getI32Type());
  Type f32 = withElement(bits.getType(), b.getF32Type());
  auto constant = [&](int64_t value) { return splatInt(i32, value); };
  auto shift = [&](Value value, int64_t by) -> Value {
    return arith::ShLIOp::create(b, value, constant(by));
  };
  bits = arith::ExtUIOp::create(b, i32, bits);
  Value magnitude = arith::AndIOp::create(b, bits, constant(0x7fff));
  Value sign = shift(arith::AndIOp::create(b, bits, constant(0x8000)), 16);
  // Normal numbers: the exponent's bias changes from 15 to 127.
  Value shifted = shift(magnitude, 13);
  Value normal = arith::AddIOp::create(b, shifted, constant(112 << 23));
  // Infinity and NaN keep all ones in the exponent.
  Value special = arith::OrIOp::create(b, shifted, constant(0x7f800000));
  Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, magnitude,
                                      constant(0x7c00));
  special = arith::SelectOp::create(
      b, isNan, arith::OrIOp::create(b, special, constant(0x400000)), special);
  // Subnormal numbers are multiples of 2^-24.
  Value subnormal = arith::MulFOp::create(
      b, arith::SIToFPOp::create(b, f32, magnitude), splatFloat(f32, 0x1p-24));
  Value isSpecial = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                          magnitude, constant(0x7c00));
  Value isSubnormal = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                            magnitude, constant(0x400));
  Value result = arith::SelectOp::create(b, isSpecial, special, normal);
  result = arith::SelectOp::create(
      b, isSubnormal, arith::BitcastOp::create(b, i32, subnormal), result);
  return arith::BitcastOp::create(b, f32,
                                  arith::OrIOp::create(b, result, sign));
}

/// f32 to f16 in an i16, to nearest even, by integer arithmetic.
Value TileEmitter::truncateF16(Value value) {
  Type i32 = withElement(value.getType(), b.getI32Type());
  Type i16 = withElement(value.getType(), b.getIntegerType(16));
  Type f32 = value.getType();
  auto constant = [&](int64_t number) { return splatInt(i32, number); };
  auto shift = [&](Value number, int64_t by) -> Value {
    return arith::ShRUIOp::create(b, number, constant(by));
  };
  auto atLeast = [&](Value number, int64_t bound) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, number,
                                 constant(bound));
  };
  Value bits = arith::BitcastOp::create(b, i32, value);
  Value magnitude = arith::AndIOp::create(b, bits, constant(0x7fffffff));
  Value sign = arith::AndIOp::create(b, shift(bits, 16), constant(0x8000));
  // Normal numbers: round in place, then change the bias. What rounds up to
  // 2^16 becomes infinity by itself.
  Value odd = arith::AndIOp::create(b, shift(magnitude, 13), constant(1));
  Value rounded = arith::AddIOp::create(
      b, arith::AddIOp::create(b, magnitude, constant(0xfff)), odd);
  Value normal =
      shift(arith::SubIOp::create(b, rounded, constant(112 << 23)), 13);
  // Subnormal numbers: adding 0.5, whose last bit is 2^-24, rounds them.
  Value sum = arith::AddFOp::create(
      b, arith::BitcastOp::create(b, f32, magnitude), splatFloat(f32, 0.5));
  Value subnormal = arith::SubIOp::create(
      b, arith::BitcastOp::create(b, i32, sum), constant(0x3f000000));
  Value nan = arith::OrIOp::create(
      b, arith::AndIOp::create(b, shift(magnitude, 13), constant(0x3ff)),
      constant(0x7e00));
  Value result = arith::SelectOp::create(b, atLeast(magnitude, 113 << 23),
                                         normal, subnormal);
  result = arith::SelectOp::create(b, atLeast(magnitude, 143 << 23),
                                   constant(0x7c00), result);
  result =
      arith::SelectOp::create(b, atLeast(magnitude, 0x7f800001), nan, result);
  return arith::TruncIOp::create(b, i16, arith::OrIOp::create(b, result, sign));
}

/// f32 to bf16 in an i16, to nearest even. Not vcvtneps2bf16, which flushes
/// subnormal numbers.
Value TileEmitter::truncateBf16(Value value) {
  Type i32 = withElement(value.getType(), b.getI32Type());
  Type i16 = withElement(value.getType(), b.getIntegerType(16));
  auto constant = [&](int64_t number) { return splatInt(i32, number); };
  Value bits = arith::BitcastOp::create(b, i32, value);
  Value high = arith::ShRUIOp::create(b, bits, constant(16));
  Value odd = arith::AndIOp::create(b, high, constant(1));
  Value rounded = arith::AddIOp::create(
      b, arith::AddIOp::create(b, bits, constant(0x7fff)), odd);
  rounded = arith::ShRUIOp::create(b, rounded, constant(16));
  Value nan = arith::OrIOp::create(b, high, constant(0x40));
  Value isNan =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  return arith::TruncIOp::create(
      b, i16, arith::SelectOp::create(b, isNan, nan, rounded));
}

/// Exact. `to` is a floating-point type (or a vector of one) other than f16 and
/// bf16.
Value TileEmitter::extend(Value value, Type from, Type to) {
  Type f32 = withElement(to, b.getF32Type());
  if (from.isBF16()) {
    Type i32 = withElement(to, b.getI32Type());
    Value bits = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i32, value),
                                       splatInt(i32, 16));
    value = arith::BitcastOp::create(b, f32, bits);
  } else if (from.isF16() && level.hasF16c) {
    Value half =
        arith::BitcastOp::create(b, withElement(to, b.getF16Type()), value);
    value = arith::ExtFOp::create(b, f32, half);
  } else if (from.isF16()) {
    value = extendF16(value);
  }
  return value.getType() == to
             ? value
             : arith::ExtFOp::create(b, to, value).getResult();
}

/// From f32 to f16 or bf16.
Value TileEmitter::truncate(Value value, Type from, Type to) {
  if (to.isBF16())
    return truncateBf16(value);
  if (!level.hasF16c)
    return truncateF16(value);
  Value half = arith::TruncFOp::create(
      b, withElement(value.getType(), b.getF16Type()), value);
  return arith::BitcastOp::create(
      b, withElement(value.getType(), b.getIntegerType(16)), half);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult TileEmitter::emitConstant(arith::ConstantOp op) {
  // f16 and bf16 numbers are held as their bits.
  auto hold = [&](Attribute value) -> TypedAttr {
    auto number = dyn_cast<FloatAttr>(value);
    if (number && isHalf(number.getType()))
      return b.getIntegerAttr(b.getIntegerType(16),
                              number.getValue().bitcastToAPInt());
    return cast<TypedAttr>(value);
  };
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type) {
    if (!op.getType().isIntOrIndexOrFloat())
      return op.emitError("cannot lower a constant of type ") << op.getType();
    scalars[op.getResult()] = arith::ConstantOp::create(b, hold(op.getValue()));
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.emitError("a constant tile must be dense");
  VectorTile tile = makeTile(type);
  SmallVector<Attribute> all;
  if (!elements.isSplat())
    all.assign(elements.value_begin<Attribute>(),
               elements.value_end<Attribute>());
  int64_t position = 0;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t width : tile.widths) {
      auto piece = cast<VectorType>(vectorOf(type.getElementType(), width));
      SmallVector<Attribute> values;
      if (elements.isSplat())
        values.push_back(hold(elements.getSplatValue<Attribute>()));
      else
        for (Attribute value : ArrayRef(all).slice(position, width))
          values.push_back(hold(value));
      tile.pieces.push_back(arith::ConstantOp::create(
          b, cast<TypedAttr>(DenseElementsAttr::get(piece, values))));
      position += width;
    }
  tiles[op.getResult()] = std::move(tile);
  return success();
}

/// One operation on numbers (width 0) or on one piece of each operand.
FailureOr<Value> TileEmitter::emitElement(Operation *op, ValueRange operands,
                                          int64_t width) {
  if (op->getNumResults() != 1)
    return op->emitError("cannot lower an operation with ")
           << op->getNumResults() << " results in a kernel";
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  if (isa<arith::ExtFOp>(op))
    return extend(operands[0], from, vectorOf(to, width));
  if (isa<arith::TruncFOp>(op) && isHalf(to)) {
    if (!from.isF32())
      return op->emitError("cannot round ")
             << from << " to " << to << " at once; round to f32 first";
    return truncate(operands[0], from, to);
  }
  // Arithmetic on f16 and bf16 is done in f32 and rounded; of two operands, and
  // of integers of up to 24 bits, that gives the correctly rounded result. A
  // select only moves bits.
  SmallVector<Value> values(operands);
  bool narrow = false;
  if (!isa<arith::SelectOp>(op))
    for (auto [value, operand] : llvm::zip_equal(values, op->getOperands())) {
      Type element = getElementTypeOrSelf(operand.getType());
      if (!isHalf(element))
        continue;
      narrow = true;
      value =
          extend(value, element, withElement(value.getType(), b.getF32Type()));
    }
  bool roundResult = isHalf(to) && !isa<arith::SelectOp>(op);
  Type result = vectorOf(roundResult ? Type(b.getF32Type()) : to, width);
  if ((narrow || isHalf(to)) && isa<arith::BitcastOp>(op))
    return op->emitError("cannot lower a bitcast of ") << from << " to " << to;
  OperationState state(b.getLoc(), op->getName(), values, {result},
                       op->getAttrs());
  Operation *element = b.create(state);
  // Vectors and what is left over have to give the same bits.
  if (auto division = dyn_cast<arith::DivFOp>(element))
    division.setFastmath(arith::FastMathFlags::none);
  Value value = element->getResult(0);
  return roundResult ? truncate(value, b.getF32Type(), to) : value;
}

LogicalResult TileEmitter::emitScalar(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalars.at(operand));
  FailureOr<Value> value = emitElement(op, operands, 0);
  if (failed(value))
    return failure();
  scalars[op->getResult(0)] = *value;
  return success();
}

LogicalResult TileEmitter::emitElementwise(Operation *op) {
  VectorTile tile = makeTile(op->getResult(0).getType());
  // A column of numbers is computed as vectors where the operation is costly.
  bool asColumn = tile.columns == 1 && tile.rows > 1 &&
                  isa<math::MathDialect>(op->getDialect());
  SmallVector<int64_t> widths = tile.widths;
  if (asColumn)
    widths = splitColumns(tile.rows, level.lanes());
  int64_t pieces = asColumn ? widths.size() : tile.rows * tile.count();
  int64_t row = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    int64_t width = widths[i % widths.size()];
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto found = tiles.find(operand);
      if (found == tiles.end()) {
        operands.push_back(scalars.at(operand));
      } else if (asColumn) {
        SmallVector<Value> numbers;
        for (Value piece : ArrayRef(found->second.pieces).slice(row, width))
          numbers.push_back(vector::ExtractOp::create(b, piece, 0));
        Type element = getElementTypeOrSelf(operand.getType());
        operands.push_back(vector::FromElementsOp::create(
            b, vectorOf(element, width), numbers));
      } else {
        operands.push_back(found->second.pieces[i]);
      }
    }
    FailureOr<Value> value = emitElement(op, operands, width);
    if (failed(value))
      return failure();
    if (!asColumn) {
      tile.pieces.push_back(*value);
      continue;
    }
    Type single = vectorOf(getElementTypeOrSelf(op->getResult(0).getType()), 1);
    for (int64_t j = 0; j < width; ++j)
      tile.pieces.push_back(
          broadcast(vector::ExtractOp::create(b, *value, j), single));
    row += width;
  }
  tiles[op->getResult(0)] = std::move(tile);
  return success();
}
