//===- LowerOnnxScalars.cpp - Arithmetic of one element -------------------===//

#include "passes/Graph/LowerOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

static bool isFloat(Value value) { return isa<FloatType>(value.getType()); }

Value Scalars::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value Scalars::number(Type type, double value) {
  if (auto element = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(element, value));
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value Scalars::add(Value x, Value y) {
  return isFloat(x) ? make<arith::AddFOp>(x, y) : make<arith::AddIOp>(x, y);
}

Value Scalars::sub(Value x, Value y) {
  return isFloat(x) ? make<arith::SubFOp>(x, y) : make<arith::SubIOp>(x, y);
}

Value Scalars::mul(Value x, Value y) {
  return isFloat(x) ? make<arith::MulFOp>(x, y) : make<arith::MulIOp>(x, y);
}

Value Scalars::div(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return make<arith::DivFOp>(x, y);
  Value one = number(x.getType(), 1), zero = number(x.getType(), 0);
  Value isZero = compare(Order::Equal, y, zero);
  if (isUnsigned)
    return select(isZero, zero,
                  make<arith::DivUIOp>(x, select(isZero, one, y)));
  // The least number over -1 traps, too.
  Value isMinus = compare(Order::Equal, y, number(x.getType(), -1));
  Value divisor = select(either(isZero, isMinus), one, y);
  Value quotient =
      select(isMinus, sub(zero, x), make<arith::DivSIOp>(x, divisor));
  return select(isZero, zero, quotient);
}

Value Scalars::min(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return make<arith::MinimumFOp>(x, y);
  return isUnsigned ? make<arith::MinUIOp>(x, y) : make<arith::MinSIOp>(x, y);
}

Value Scalars::max(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return make<arith::MaximumFOp>(x, y);
  return isUnsigned ? make<arith::MaxUIOp>(x, y) : make<arith::MaxSIOp>(x, y);
}

Value Scalars::compare(Order order, Value x, Value y, bool isUnsigned) {
  if (isFloat(x)) {
    auto predicate = order == Order::Equal  ? arith::CmpFPredicate::OEQ
                     : order == Order::Less ? arith::CmpFPredicate::OLT
                                            : arith::CmpFPredicate::OLE;
    return make<arith::CmpFOp>(predicate, x, y);
  }
  using P = arith::CmpIPredicate;
  P predicate = order == Order::Equal  ? P::eq
                : order == Order::Less ? (isUnsigned ? P::ult : P::slt)
                                       : (isUnsigned ? P::ule : P::sle);
  return make<arith::CmpIOp>(predicate, x, y);
}

Value Scalars::both(Value x, Value y) { return make<arith::AndIOp>(x, y); }
Value Scalars::either(Value x, Value y) { return make<arith::OrIOp>(x, y); }

Value Scalars::invert(Value x) {
  return make<arith::XOrIOp>(x, number(x.getType(), -1));
}

Value Scalars::select(Value condition, Value x, Value y) {
  return make<arith::SelectOp>(condition, x, y);
}

Value Scalars::branch(Value condition, Type type, function_ref<Value()> then,
                      function_ref<Value()> otherwise) {
  auto op = scf::IfOp::create(b, loc, TypeRange(type), condition,
                              /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(b, loc, then());
  b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return op.getResult(0);
}

Value Scalars::read(Value tensor, Indices indices) {
  return make<tensor::ExtractOp>(tensor, indices);
}

Value Scalars::toIndex(Value integer) {
  if (integer.getType().isIndex())
    return integer;
  return make<arith::IndexCastOp>(b.getIndexType(), integer);
}

Value Scalars::fromIndex(Value index, Type type) {
  if (isa<FloatType>(type))
    return convert(fromIndex(index, b.getI64Type()), type);
  return make<arith::IndexCastOp>(type, index);
}

Value Scalars::widen(Value value) {
  return convert(value, getWideType(value.getType()));
}

Value Scalars::narrow(Value value, Type to) { return convert(value, to); }

Value Scalars::convert(Value value, Type to, bool fromUnsigned,
                       bool toUnsigned) {
  Type from = value.getType();
  if (from == to)
    return value;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  Type f32 = b.getF32Type();
  if (fromFloat && toFloat) {
    if (toFloat.getWidth() > fromFloat.getWidth())
      return make<arith::ExtFOp>(to, value);
    if (toFloat.getWidth() < fromFloat.getWidth()) {
      // Kernels round to f16 and bf16 from f32.
      if (fromFloat.getWidth() > 32 && toFloat.getWidth() < 32)
        value = make<arith::TruncFOp>(f32, value);
      return make<arith::TruncFOp>(to, value);
    }
    // f16 and bf16.
    return make<arith::TruncFOp>(to, make<arith::ExtFOp>(f32, value));
  }
  if (fromFloat) {
    if (to.isInteger(1))
      return make<arith::CmpFOp>(arith::CmpFPredicate::UNE, value,
                                 number(from, 0));
    if (fromFloat.getWidth() < 32)
      value = make<arith::ExtFOp>(f32, value);
    // Through i64, so that what does not fit wraps around.
    Type wide = b.getI64Type();
    if (toUnsigned && to == wide)
      return make<arith::FPToUIOp>(to, value);
    Value integer = make<arith::FPToSIOp>(wide, value);
    return to == wide ? integer : make<arith::TruncIOp>(to, integer);
  }
  bool isBool = from.isInteger(1);
  if (toFloat) {
    Type wide = toFloat.getWidth() < 32 ? f32 : to;
    Value number = fromUnsigned || isBool ? make<arith::UIToFPOp>(wide, value)
                                          : make<arith::SIToFPOp>(wide, value);
    return convert(number, to);
  }
  if (to.isInteger(1))
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, value,
                               number(from, 0));
  if (to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth())
    return make<arith::TruncIOp>(to, value);
  return fromUnsigned || isBool ? make<arith::ExtUIOp>(to, value)
                                : make<arith::ExtSIOp>(to, value);
}

Type graph::getWideType(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Float32Type::get(element.getContext())
                                      : element;
}

bool graph::isUnsigned(Type tensor) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(tensor));
  return type && (type.isUnsigned() || type.getWidth() == 1);
}

Type graph::elementOf(Value value) {
  return getStoredElement(getElementTypeOrSelf(value.getType()));
}
