//===- LowerOnnxTensors.cpp - Loops over the elements of tensors ----------===//

#include "passes/Graph/LowerOnnx.h"

#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

Value OnnxLowering::get(Value value) {
  Value &lowered = lowerings[value];
  if (Value rows = lowered ? Value() : rowsOf.lookup(value)) {
    lowered = expandRows(rows, shapeOf(value));
  } else if (!lowered) {
    const onnx::SymbolicValues::Elements *elements = symbolic.get(value);
    assert(elements && "operands are lowered before");
    lowered = makeKnown(value, *elements);
  }
  return lowered;
}

Value OnnxLowering::makeKnown(Value value,
                              const onnx::SymbolicValues::Elements &elements) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  bool isConstant = llvm::all_of(
      elements, [](const Polynomial &size) { return size.isConstant(); });
  if (isConstant) {
    SmallVector<Attribute> numbers;
    for (const Polynomial &number : elements) {
      int64_t integer = *number.getConstant();
      if (isa<FloatType>(element))
        numbers.push_back(builder.getFloatAttr(element, double(integer)));
      else
        numbers.push_back(builder.getIntegerAttr(element, integer));
    }
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(getType(shape, element), numbers));
  }
  SmallVector<Value> numbers;
  for (const Polynomial &number : elements)
    numbers.push_back(size(number));
  return generate(shape, element, [&](Scalars &s, Indices i) {
    // The number of the element in row-major order.
    Value place = s.index(0);
    for (auto [index, extent] : llvm::zip_equal(i, shape))
      place = s.add(s.mul(place, s.index(*extent.getConstant())), index);
    Value result = s.index(0);
    for (auto [position, number] : llvm::enumerate(numbers))
      result =
          s.select(s.compare(Scalars::Order::Equal, place, s.index(position)),
                   number, result);
    return s.fromIndex(result, element);
  });
}

Value OnnxLowering::size(const Polynomial &size) {
  if (std::optional<int64_t> number = size.getConstant())
    return arith::ConstantIndexOp::create(builder, loc, *number);
  return SizeOp::create(builder, loc, builder.getStringAttr(size.str()));
}

SmallVector<OpFoldResult> OnnxLowering::sizes(ArrayRef<Polynomial> shape) {
  SmallVector<OpFoldResult> sizes;
  for (const Polynomial &extent : shape) {
    if (std::optional<int64_t> number = extent.getConstant())
      sizes.push_back(builder.getIndexAttr(*number));
    else
      sizes.push_back(size(extent));
  }
  return sizes;
}

RankedTensorType OnnxLowering::getType(ArrayRef<Polynomial> shape,
                                       Type element) {
  SmallVector<int64_t> sizes;
  for (const Polynomial &size : shape)
    sizes.push_back(size.getConstant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(sizes, element);
}

Value OnnxLowering::makeEmpty(ArrayRef<Polynomial> shape, Type element) {
  SmallVector<Value> dynamic;
  for (const Polynomial &extent : shape)
    if (!extent.isConstant())
      dynamic.push_back(size(extent));
  return tensor::EmptyOp::create(builder, loc, getType(shape, element),
                                 dynamic);
}

Value OnnxLowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value OnnxLowering::makeScalar(Type element, double value) {
  return Scalars(builder, loc).number(element, value);
}

Value OnnxLowering::map(ArrayRef<Polynomial> shape, Type element,
                        ValueRange inputs, MapBody body) {
  SmallVector<std::pair<Value, Shape>> pairs;
  for (Value input : inputs)
    pairs.push_back({get(input), shapeOf(input)});
  return map(shape, element, pairs, body);
}

Value OnnxLowering::map(ArrayRef<Polynomial> shape, Type element,
                        ArrayRef<std::pair<Value, Shape>> inputs,
                        MapBody body) {
  MLIRContext *context = builder.getContext();
  // Without elements there is nothing to compute, nor a buffer.
  if (llvm::is_contained(shape, Polynomial(0)))
    return makeEmpty(shape, element);
  int64_t rank = shape.size();
  SmallVector<AffineMap> maps;
  SmallVector<Value> tensors;
  for (const auto &[tensor, sizes] : inputs) {
    SmallVector<AffineExpr> places;
    for (auto [dim, extent] : llvm::enumerate(sizes)) {
      int64_t target = rank - int64_t(sizes.size()) + dim;
      // A size of 1 is repeated.
      bool isRepeated = extent == Polynomial(1) && shape[target] != extent;
      places.push_back(isRepeated ? getAffineConstantExpr(0, context)
                                  : getAffineDimExpr(target, context));
    }
    maps.push_back(AffineMap::get(rank, 0, places, context));
    tensors.push_back(tensor);
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(rank, context));
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  Value empty = makeEmpty(shape, element);
  auto op = linalg::GenericOp::create(
      builder, loc, empty.getType(), tensors, empty, maps, kinds,
      [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
        Scalars scalars(b, bodyLoc);
        linalg::YieldOp::create(b, bodyLoc,
                                body(scalars, arguments.drop_back()));
      });
  return op.getResult(0);
}

static SmallVector<Value> getIndices(OpBuilder &b, Location loc, int64_t first,
                                     int64_t count) {
  SmallVector<Value> indices;
  for (int64_t i = 0; i < count; ++i)
    indices.push_back(linalg::IndexOp::create(b, loc, first + i));
  return indices;
}

Value OnnxLowering::generate(ArrayRef<Polynomial> shape, Type element,
                             PlaceBody body) {
  return map(shape, element, ArrayRef<std::pair<Value, Shape>>(),
             [&](Scalars &s, ValueRange) {
               return body(s, getIndices(s.b, s.loc, 0, shape.size()));
             });
}

Value OnnxLowering::fold(ArrayRef<Polynomial> shape,
                         ArrayRef<Polynomial> folded, Value init,
                         FoldBody body) {
  MLIRContext *context = builder.getContext();
  int64_t rank = shape.size(), inner = folded.size();
  Type element = getElementTypeOrSelf(init.getType());
  if (llvm::is_contained(shape, Polynomial(0)))
    return makeEmpty(shape, element);
  Value start = init;
  if (!isa<RankedTensorType>(init.getType()))
    start =
        linalg::FillOp::create(builder, loc, init, makeEmpty(shape, element))
            .getResult(0);
  // An operand with the extents of the loops that are folded: nothing is read
  // of it.
  Value extents = makeEmpty(folded, builder.getI1Type());
  SmallVector<AffineExpr> outer, loops;
  for (int64_t i = 0; i < rank; ++i)
    outer.push_back(getAffineDimExpr(i, context));
  for (int64_t i = 0; i < inner; ++i)
    loops.push_back(getAffineDimExpr(rank + i, context));
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds.append(inner, utils::IteratorType::reduction);
  auto op = linalg::GenericOp::create(
      builder, loc, start.getType(), extents, start,
      ArrayRef<AffineMap>{AffineMap::get(rank + inner, 0, loops, context),
                          AffineMap::get(rank + inner, 0, outer, context)},
      kinds, [&](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
        Scalars scalars(b, bodyLoc);
        SmallVector<Value> i = getIndices(b, bodyLoc, 0, rank);
        SmallVector<Value> j = getIndices(b, bodyLoc, rank, inner);
        linalg::YieldOp::create(b, bodyLoc,
                                body(scalars, i, j, arguments.back()));
      });
  return op.getResult(0);
}

Value OnnxLowering::reshape(Value tensor, ArrayRef<Polynomial> from,
                            ArrayRef<Polynomial> to) {
  if (from == to)
    return tensor;
  Type element = getElementTypeOrSelf(tensor.getType());
  auto all = [](size_t rank) {
    return SmallVector<ReassociationIndices>(
        rank ? 1 : 0, llvm::to_vector<2>(llvm::seq<int64_t>(rank)));
  };
  Polynomial count = onnx::countElements(from);
  if (from.size() > 1 || (from.size() == 1 && to.empty()))
    tensor = tensor::CollapseShapeOp::create(
        builder, loc,
        to.empty() ? getType({}, element) : getType({count}, element), tensor,
        to.empty() ? SmallVector<ReassociationIndices>() : all(from.size()));
  if (to.size() < 2 && !(from.empty() && to.size() == 1))
    return tensor;
  return tensor::ExpandShapeOp::create(
      builder, loc, getType(to, element), tensor,
      from.empty() ? SmallVector<ReassociationIndices>() : all(to.size()),
      sizes(to));
}

Value OnnxLowering::convert(Value tensor, ArrayRef<Polynomial> shape, Type to) {
  if (getElementTypeOrSelf(tensor.getType()) == to)
    return tensor;
  return map(shape, to, {{tensor, Shape(shape)}},
             [&](Scalars &s, ValueRange x) { return s.convert(x[0], to); });
}
