//===- DecomposeBuilder.cpp - Shorthand for decompositions ----------------===//

#include "dialects/Weft/DecomposeBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

DecomposeBuilder::Sizes DecomposeBuilder::sizesOf(Value tensor) {
  return tensor::getMixedSizes(*this, getLoc(), tensor);
}

Value DecomposeBuilder::sizeOf(Value tensor, int64_t dim) {
  return getValueOrCreateConstantIndexOp(
      *this, getLoc(), tensor::getMixedSize(*this, getLoc(), tensor, dim));
}

/// The result is indexed by the first loops; the others are reductions.
Value DecomposeBuilder::generic(Value init, int64_t loops,
                                ArrayRef<Operand> operands, Body body) {
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (const Operand &operand : operands) {
    SmallVector<AffineExpr> dims;
    for (int64_t number : operand.loops)
      dims.push_back(getAffineDimExpr(number));
    maps.push_back(AffineMap::get(loops, 0, dims, getContext()));
    inputs.push_back(operand.tensor);
  }
  SmallVector<AffineExpr> results;
  for (int64_t number = 0; number < type.getRank(); ++number)
    results.push_back(getAffineDimExpr(number));
  maps.push_back(AffineMap::get(loops, 0, results, getContext()));
  SmallVector<utils::IteratorType> iterators(loops,
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), type.getRank(), utils::IteratorType::parallel);
  bool isReduction = loops > type.getRank();
  auto op = linalg::GenericOp::create(
      *this, TypeRange(type), inputs, ValueRange(init), maps, iterators,
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(*this);
        restoreInsertionPoint(nested.saveInsertionPoint());
        Value value = body(isReduction ? arguments : arguments.drop_back());
        linalg::YieldOp::create(*this, value);
      });
  return op.getResult(0);
}

Value DecomposeBuilder::parallel(ArrayRef<OpFoldResult> sizes, Type elementType,
                                 ArrayRef<Operand> operands, Body body) {
  Value init = tensor::EmptyOp::create(*this, sizes, elementType);
  return generic(init, sizes.size(), operands, body);
}

Value DecomposeBuilder::reduce(ArrayRef<OpFoldResult> sizes, TypedAttr initial,
                               ArrayRef<Operand> operands, Body body) {
  Value empty = tensor::EmptyOp::create(*this, sizes, initial.getType());
  Value scalar = arith::ConstantOp::create(*this, initial);
  Value init = linalg::FillOp::create(*this, scalar, empty).getResult(0);
  return generic(init, sizes.size() + 1, operands, body);
}

Value DecomposeBuilder::castTo(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(*this, type, value);
}

Value DecomposeBuilder::roundTensor(Value tensor, Type elementType) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == elementType)
    return tensor;
  auto loops = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  return parallel(sizesOf(tensor), elementType, {{tensor, loops}},
                  [&](ValueRange x) { return round(x[0], elementType); });
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value DecomposeBuilder::f32(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value DecomposeBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}

Value DecomposeBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value DecomposeBuilder::loop(int64_t number) {
  return linalg::IndexOp::create(*this, number);
}

Value DecomposeBuilder::toIndex(Value integer) {
  return arith::IndexCastOp::create(*this, getIndexType(), integer);
}

Value DecomposeBuilder::toI32(Value index) {
  return arith::IndexCastOp::create(*this, getI32Type(), index);
}

Value DecomposeBuilder::extend(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(*this, getF32Type(), value);
}

Value DecomposeBuilder::round(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.getIntOrFloatBitWidth() > value.getType().getIntOrFloatBitWidth())
    return arith::ExtFOp::create(*this, type, value);
  return arith::TruncFOp::create(*this, type, value);
}

Value DecomposeBuilder::load(Value tensor, ArrayRef<Value> indices) {
  return tensor::ExtractOp::create(*this, tensor, indices);
}

Value DecomposeBuilder::add(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(*this, a, b);
  return arith::AddIOp::create(*this, a, b);
}

Value DecomposeBuilder::sub(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::SubFOp::create(*this, a, b);
  return arith::SubIOp::create(*this, a, b);
}

Value DecomposeBuilder::mul(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MulFOp::create(*this, a, b);
  return arith::MulIOp::create(*this, a, b);
}

Value DecomposeBuilder::div(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::DivFOp::create(*this, a, b);
  return arith::DivUIOp::create(*this, a, b);
}

Value DecomposeBuilder::rem(Value a, Value b) {
  return arith::RemUIOp::create(*this, a, b);
}

Value DecomposeBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}

Value DecomposeBuilder::less(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, a, b);
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, a, b);
}

Value DecomposeBuilder::equal(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, a, b);
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, a, b);
}

Value DecomposeBuilder::activate(Activation function, Value x) {
  auto sigmoidOf = [&](Value y) {
    Value negated = arith::NegFOp::create(*this, y);
    Value exp = math::ExpOp::create(*this, negated);
    return div(f32(1.0f), add(f32(1.0f), exp));
  };
  auto halfTimesOnePlus = [&](Value y) {
    return mul(mul(f32(0.5f), x), add(f32(1.0f), y));
  };
  switch (function) {
  case Activation::Silu:
    return mul(x, sigmoidOf(x));
  case Activation::Gelu: {
    Value scaled = mul(x, f32(0.70710678118654752440f)); // 1 / sqrt(2)
    return halfTimesOnePlus(math::ErfOp::create(*this, scaled));
  }
  case Activation::GeluTanh: {
    Value cube = mul(mul(x, x), x);
    Value inner = add(x, mul(f32(0.044715f), cube));
    Value scaled = mul(f32(0.79788456080286535588f), inner); // sqrt(2 / pi)
    return halfTimesOnePlus(math::TanhOp::create(*this, scaled));
  }
  case Activation::Relu:
    return arith::MaximumFOp::create(*this, x, f32(0.0f));
  case Activation::QuickGelu:
    return mul(x, sigmoidOf(mul(f32(1.702f), x)));
  case Activation::Tanh:
    return math::TanhOp::create(*this, x);
  }
  llvm_unreachable("every activation is handled");
}

Value DecomposeBuilder::softcap(Value x, float cap) {
  Value tanh = math::TanhOp::create(*this, div(x, f32(cap)));
  return mul(f32(cap), tanh);
}

Value DecomposeBuilder::loadMatrix(Value matrix,
                                   std::optional<PackedLayoutInterface> layout,
                                   ArrayRef<Value> leading, Value n, Value k) {
  SmallVector<Value> indices(leading);
  if (!layout) {
    indices.append({n, k});
    return load(matrix, indices);
  }
  auto valueOf = [&](const LayoutDigit &digit) {
    Value value = digit.isInner ? k : n;
    if (digit.divisor != 1)
      value = div(value, index(digit.divisor));
    return digit.count ? rem(value, index(digit.count)) : value;
  };
  for (const PackedDim &dim : layout->getDims()) {
    Value position = valueOf(dim.front());
    for (const LayoutDigit &digit : ArrayRef(dim).drop_front())
      position = add(mul(position, index(digit.count)), valueOf(digit));
    indices.push_back(position);
  }
  return load(matrix, indices);
}
