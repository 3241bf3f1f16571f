//===- TileBuilder.cpp - Short hand for building tile kernels -------------===//

#include "passes/Kernel/TileBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value TileBuilder::index(int64_t value) {
  return create<arith::ConstantIndexOp>(value);
}

Value TileBuilder::add(Value a, Value b) {
  std::optional<int64_t> x = getConstantIntValue(a), y = getConstantIntValue(b);
  if (x && y)
    return index(*x + *y);
  if (x && *x == 0)
    return b;
  if (y && *y == 0)
    return a;
  return create<arith::AddIOp>(a, b);
}

Value TileBuilder::sub(Value a, Value b) {
  std::optional<int64_t> x = getConstantIntValue(a), y = getConstantIntValue(b);
  if (x && y)
    return index(*x - *y);
  if (y && *y == 0)
    return a;
  return create<arith::SubIOp>(a, b);
}

Value TileBuilder::mul(Value a, int64_t b) {
  if (std::optional<int64_t> x = getConstantIntValue(a))
    return index(*x * b);
  if (b == 1)
    return a;
  return create<arith::MulIOp>(a, index(b));
}

Value TileBuilder::div(Value a, int64_t b) {
  if (std::optional<int64_t> x = getConstantIntValue(a))
    return index(*x / b);
  if (b == 1)
    return a;
  return create<arith::DivUIOp>(a, index(b));
}

Value TileBuilder::rem(Value a, int64_t b) {
  if (std::optional<int64_t> x = getConstantIntValue(a))
    return index(*x % b);
  if (b == 1)
    return index(0);
  return create<arith::RemUIOp>(a, index(b));
}

Value TileBuilder::min(Value a, Value b) {
  return create<arith::MinSIOp>(a, b);
}

Value TileBuilder::max(Value a, Value b) {
  return create<arith::MaxSIOp>(a, b);
}

Value TileBuilder::loadIndex(Value view, ValueRange indices) {
  Value element = create<memref::LoadOp>(view, indices);
  return create<arith::IndexCastOp>(builder.getIndexType(), element);
}

Value TileBuilder::toI32(Value index) {
  return create<arith::IndexCastOp>(builder.getI32Type(), index);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

RankedTensorType TileBuilder::tileType(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}

Value TileBuilder::constant(ArrayRef<int64_t> shape, double value) {
  return constantLike(tileType(shape, builder.getF32Type()), value);
}

Value TileBuilder::constantLike(Type type, double value) {
  auto tile = cast<RankedTensorType>(type);
  return create<arith::ConstantOp>(
      tile, DenseElementsAttr::get(tile, static_cast<float>(value)));
}

Value TileBuilder::constantI32(ArrayRef<int64_t> shape, int32_t value) {
  auto type = tileType(shape, builder.getI32Type());
  return create<arith::ConstantOp>(type, DenseElementsAttr::get(type, value));
}

Value TileBuilder::toF32(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getElementType().isF32())
    return tile;
  return create<arith::ExtFOp>(type.clone(builder.getF32Type()), tile);
}

Value TileBuilder::roundTo(Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getElementType() == element)
    return tile;
  return create<arith::TruncFOp>(type.clone(element), tile);
}

Value TileBuilder::load(Value view, ValueRange indices, ArrayRef<int64_t> shape,
                        Value rows, ArrayRef<int64_t> dims, Value columns) {
  Type element = cast<MemRefType>(view.getType()).getElementType();
  return create<tile::LoadOp>(
      tileType(shape, element), view, indices, rows, columns,
      dims.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(dims));
}

void TileBuilder::store(Value tile, Value view, ValueRange indices, Value rows,
                        ArrayRef<int64_t> dims, Value columns) {
  create<tile::StoreOp>(tile, view, indices, rows, columns,
                        dims.empty() ? DenseI64ArrayAttr()
                                     : builder.getDenseI64ArrayAttr(dims));
}

Value TileBuilder::broadcast(Value tile, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getShape() == shape)
    return tile;
  return create<tile::BroadcastOp>(type.clone(shape), tile);
}

Value TileBuilder::reduce(tile::Reduction kind, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return create<tile::ReduceOp>(type.clone({type.getDimSize(0), 1}), kind,
                                tile);
}

Value TileBuilder::extract(Value tile) {
  return create<tile::ExtractOp>(
      cast<RankedTensorType>(tile.getType()).getElementType(), tile);
}

Value TileBuilder::splat(Value number, ArrayRef<int64_t> shape) {
  return create<tile::SplatOp>(tileType(shape, number.getType()), number);
}

Value TileBuilder::scale(Value tile, double factor) {
  if (factor == 1.0)
    return tile;
  return create<arith::MulFOp>(tile, constantLike(tile.getType(), factor));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void TileBuilder::ifThen(Value condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto branch = create<scf::IfOp>(condition, bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

void TileBuilder::forLoop(Value lower, Value upper, int64_t step,
                          function_ref<void(Value)> body) {
  create<scf::ForOp>(lower, upper, index(step), ValueRange(),
                     [&](OpBuilder &inner, Location, Value i, ValueRange) {
                       OpBuilder::InsertionGuard guard(builder);
                       builder.setInsertionPoint(inner.getInsertionBlock(),
                                                 inner.getInsertionPoint());
                       body(i);
                       create<scf::YieldOp>();
                     });
}

SmallVector<Value>
TileBuilder::fold(Value lower, Value upper, int64_t step, tile::Merge merge,
                  ValueRange init,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto fold = create<tile::FoldOp>(
      lower, upper, index(step), merge, init,
      [&](OpBuilder &inner, Location, Value i, ValueRange state) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(),
                                  inner.getInsertionPoint());
        return body(i, state);
      });
  return SmallVector<Value>(fold.getResults());
}

void TileBuilder::forColumns(int64_t size, int64_t width,
                             function_ref<void(Value, int64_t)> body) {
  int64_t full = size / width * width;
  if (full == width)
    body(index(0), width);
  else if (full > 0)
    forLoop(index(0), index(full), width, [&](Value i) { body(i, width); });
  if (full < size)
    body(index(full), size - full);
}

//===----------------------------------------------------------------------===//
// Pointwise functions
//===----------------------------------------------------------------------===//

Value TileBuilder::activation(Activation function, Value x) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  auto number = [&](double value) { return constant(shape, value); };
  // x * sigmoid(factor * x) = x / (1 + exp(-factor * x))
  auto swish = [&](double factor) -> Value {
    Value e = create<math::ExpOp>(scale(x, -factor));
    auto quotient =
        create<arith::DivFOp>(x, create<arith::AddFOp>(e, number(1)));
    // On a GPU, an exact division is a branch.
    quotient.setFastmath(arith::FastMathFlags::arcp);
    return quotient;
  };
  // x / 2 * (1 + y)
  auto half = [&](Value y) -> Value {
    return create<arith::MulFOp>(scale(x, 0.5),
                                 create<arith::AddFOp>(y, number(1)));
  };
  switch (function) {
  case Activation::Silu:
    return swish(1.0);
  case Activation::QuickGelu:
    return swish(1.702);
  case Activation::Gelu:
    return half(create<math::ErfOp>(scale(x, 0.70710678118654752440)));
  case Activation::GeluTanh: {
    Value cube = create<arith::MulFOp>(create<arith::MulFOp>(x, x), x);
    Value inner = create<arith::AddFOp>(x, scale(cube, 0.044715));
    return half(create<math::TanhOp>(scale(inner, 0.79788456080286535588)));
  }
  case Activation::Relu:
    return create<arith::MaximumFOp>(x, number(0));
  case Activation::Tanh:
    return create<math::TanhOp>(x);
  }
  llvm_unreachable("unknown activation");
}

Value TileBuilder::softcap(Value x, double cap) {
  return scale(create<math::TanhOp>(scale(x, 1.0 / cap)), cap);
}
