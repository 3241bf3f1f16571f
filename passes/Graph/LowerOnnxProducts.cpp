//===- LowerOnnxProducts.cpp - Matrix products ----------------------------===//

#include "passes/Graph/LowerOnnx.h"

#include "dialects/Onnx/Einsum.h"

#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {
/// A factor of a product: a tensor with its shape, whose last two dimensions
/// are those of a matrix, and the zero point that is taken off its elements.
struct Factor {
  Value tensor;
  Shape shape;
  bool isUnsigned = false;
  Value zeroPoint; ///< Lowered; null: none.
  bool zeroPerRow = false, zeroPerColumn = false;

  /// The element at a place of the broadcast batch, a row and a column.
  Value read(Scalars &s, Indices batch, Value row, Value column,
             Type type) const {
    SmallVector<Value> place;
    size_t dims = shape.size() - 2;
    for (size_t d = 0; d < dims; ++d)
      place.push_back(shape[d] == Polynomial(1)
                          ? s.index(0)
                          : batch[batch.size() - dims + d]);
    place.push_back(row);
    place.push_back(column);
    Value x = s.convert(s.read(tensor, place), type, isUnsigned);
    if (!zeroPoint)
      return x;
    SmallVector<Value> at;
    if (zeroPerRow || zeroPerColumn)
      at.push_back(zeroPerRow ? row : column);
    else
      at.resize(cast<RankedTensorType>(zeroPoint.getType()).getRank(),
                s.index(0));
    return s.sub(x, s.convert(s.read(zeroPoint, at), type, isUnsigned));
  }
};
} // namespace

static Factor makeFactor(OnnxLowering &l, Value value) {
  return {l.get(value), shapeOf(value), isUnsigned(value.getType()),
          {},           false,          false};
}

/// The product of matrices, batches broadcast, summed in `type`. A vector on a
/// side is a row or a column.
static Value multiply(OnnxLowering &l, Factor a, Factor b, Type type,
                      ArrayRef<Polynomial> result) {
  auto asMatrix = [&](Factor &factor, bool isRow) {
    if (factor.shape.size() != 1)
      return false;
    Shape matrix = isRow ? Shape{Polynomial(1), factor.shape[0]}
                         : Shape{factor.shape[0], Polynomial(1)};
    factor.tensor = l.reshape(factor.tensor, factor.shape, matrix);
    factor.shape = matrix;
    return true;
  };
  bool isRow = asMatrix(a, true), isColumn = asMatrix(b, false);
  Shape full(result);
  if (isColumn)
    full.push_back(Polynomial(1));
  if (isRow)
    full.insert(full.end() - 1, Polynomial(1));
  Value zero = l.makeScalar(type, 0);
  Value sum = l.fold(full, {a.shape.back()}, zero,
                     [&](Scalars &s, Indices i, Indices k, Value before) {
                       Indices batch = i.drop_back(2);
                       Value x = a.read(s, batch, i[i.size() - 2], k[0], type);
                       Value y = b.read(s, batch, k[0], i.back(), type);
                       return s.add(before, s.mul(x, y));
                     });
  return l.reshape(sum, full, result);
}

/// Exchanges the last two dimensions of a factor, and for FusedMatMul moves the
/// dimension before the last one from the front.
static void orient(OnnxLowering &l, Factor &factor, bool trans,
                   bool transBatch) {
  size_t rank = factor.shape.size();
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(rank));
  if (rank > 2 && transBatch)
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (rank > 1 && trans)
    std::swap(perm[rank - 1], perm[rank - 2]);
  if (llvm::equal(perm, llvm::seq<int64_t>(rank)))
    return;
  Shape shape;
  for (int64_t dim : perm)
    shape.push_back(factor.shape[dim]);
  Value tensor = factor.tensor;
  factor.tensor = l.generate(shape, getElementTypeOrSelf(tensor.getType()),
                             [&](Scalars &s, Indices i) {
                               SmallVector<Value> place(rank);
                               for (auto [to, from] : llvm::enumerate(perm))
                                 place[from] = i[to];
                               return s.read(tensor, place);
                             });
  factor.shape = shape;
}

static Value scaled(OnnxLowering &l, Value tensor, ArrayRef<Polynomial> shape,
                    double factor, Type element) {
  if (factor == 1)
    return l.convert(tensor, shape, element);
  return l.map(shape, element, {{tensor, Shape(shape)}},
               [&](Scalars &s, ValueRange x) {
                 Value number = s.number(x[0].getType(), factor);
                 return s.narrow(s.mul(x[0], number), element);
               });
}

static Value lowerGemm(OnnxLowering &l, onnx::GemmOp op) {
  Factor a = makeFactor(l, op.getLhs()), b = makeFactor(l, op.getRhs());
  orient(l, a, op.getTransA(), false);
  orient(l, b, op.getTransB(), false);
  Shape shape = shapeOf(op.getResult());
  Type element = elementOf(op.getResult()), wide = getWideType(element);
  Value product = multiply(l, a, b, wide, shape);
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  if (!op.getBias() || beta == 0)
    return scaled(l, product, shape, alpha, element);
  return l.map(shape, element,
               {{product, shape}, {l.get(op.getBias()), shapeOf(op.getBias())}},
               [&](Scalars &s, ValueRange x) {
                 Value sum = s.mul(x[0], s.number(wide, alpha));
                 Value bias = s.mul(s.widen(x[1]), s.number(wide, beta));
                 return s.narrow(s.add(sum, bias), element);
               });
}

static Value lowerEinsum(OnnxLowering &l, onnx::EinsumOp op) {
  SmallVector<Shape> shapes;
  SmallVector<Value> tensors;
  for (Value input : op.getInputs()) {
    shapes.push_back(shapeOf(input));
    tensors.push_back(l.get(input));
  }
  auto equation = *onnx::EinsumEquation::parse(
      op.getEquation(),
      llvm::map_to_vector(shapes, [](const Shape &s) { return s.size(); }));
  // Loops: those of the output, then those that are summed.
  std::map<std::string, unsigned> loops;
  for (const std::string &label : equation.output)
    loops.try_emplace(label, loops.size());
  Shape summed;
  for (auto [labels, shape] : llvm::zip_equal(equation.inputs, shapes))
    for (auto [label, size] : llvm::zip_equal(labels, shape))
      if (loops.try_emplace(label, loops.size()).second)
        summed.push_back(size);
  Type element = elementOf(op.getResult()), wide = getWideType(element);
  Shape shape = shapeOf(op.getResult());
  Value sum = l.fold(shape, summed, l.makeScalar(wide, 0),
                     [&](Scalars &s, Indices i, Indices j, Value before) {
                       SmallVector<Value> all(i);
                       llvm::append_range(all, j);
                       Value product;
                       for (size_t n = 0; n < tensors.size(); ++n) {
                         SmallVector<Value> place;
                         for (auto [label, size] :
                              llvm::zip_equal(equation.inputs[n], shapes[n]))
                           place.push_back(size == Polynomial(1)
                                               ? s.index(0)
                                               : all[loops.at(label)]);
                         Value x = s.widen(s.read(tensors[n], place));
                         product = product ? s.mul(product, x) : x;
                       }
                       return s.add(before, product);
                     });
  return l.convert(sum, shape, element);
}

/// A factor of integers with its zero point, which may be one for each row of
/// the left or each column of the right.
static Factor makeInteger(OnnxLowering &l, Value value, Value zeroPoint,
                          bool isLeft) {
  Factor factor = makeFactor(l, value);
  if (!zeroPoint)
    return factor;
  factor.zeroPoint = l.get(zeroPoint);
  Shape shape = shapeOf(zeroPoint);
  bool isList = shape.size() == 1 && shape[0] != Polynomial(1);
  factor.zeroPerRow = isLeft && isList;
  factor.zeroPerColumn = !isLeft && isList;
  return factor;
}

static Value lowerQLinearMatMul(OnnxLowering &l, onnx::QLinearMatMulOp op) {
  Shape shape = shapeOf(op.getResult());
  Type i32 = l.builder.getI32Type(), f32 = l.builder.getF32Type();
  Value sum = multiply(
      l, makeInteger(l, op.getLhs(), op.getLhsZeroPoint(), true),
      makeInteger(l, op.getRhs(), op.getRhsZeroPoint(), false), i32, shape);
  Type element = elementOf(op.getResult());
  bool hasNoSign = isUnsigned(op.getResult().getType());
  Value scales[] = {l.get(op.getLhsScale()), l.get(op.getRhsScale()),
                    l.get(op.getResultScale())};
  Value zero = l.get(op.getResultZeroPoint());
  return l.map(shape, element, {{sum, shape}}, [&](Scalars &s, ValueRange x) {
    auto first = [&](Value tensor) {
      int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
      return s.read(tensor, SmallVector<Value>(rank, s.index(0)));
    };
    Value factor = s.mul(s.convert(first(scales[0]), f32),
                         s.convert(first(scales[1]), f32));
    factor = s.div(factor, s.convert(first(scales[2]), f32));
    Value y = s.make<math::RoundEvenOp>(s.mul(s.convert(x[0], f32), factor));
    y = s.add(y, s.convert(first(zero), f32, hasNoSign));
    y = s.min(s.max(y, s.number(f32, hasNoSign ? 0 : -128)),
              s.number(f32, hasNoSign ? 255 : 127));
    return s.convert(y, element, false, hasNoSign);
  });
}

bool OnnxLowering::lowerProduct(Operation *op) {
  if (auto product = dyn_cast<onnx::MatMulOp>(op)) {
    Type element = elementOf(product.getResult());
    Shape shape = shapeOf(product.getResult());
    set(product.getResult(),
        convert(multiply(*this, makeFactor(*this, product.getLhs()),
                         makeFactor(*this, product.getRhs()),
                         getWideType(element), shape),
                shape, element));
    return true;
  }
  if (auto product = dyn_cast<onnx::MicrosoftFusedMatMulOp>(op)) {
    Factor a = makeFactor(*this, product.getLhs());
    Factor b = makeFactor(*this, product.getRhs());
    orient(*this, a, product.getTransA(), product.getTransBatchA());
    orient(*this, b, product.getTransB(), product.getTransBatchB());
    Type element = elementOf(product.getResult());
    Shape shape = shapeOf(product.getResult());
    set(product.getResult(),
        scaled(*this, multiply(*this, a, b, getWideType(element), shape), shape,
               product.getAlpha().convertToDouble(), element));
    return true;
  }
  if (auto product = dyn_cast<onnx::MatMulIntegerOp>(op)) {
    set(product.getResult(),
        multiply(*this,
                 makeInteger(*this, product.getLhs(), product.getLhsZeroPoint(),
                             true),
                 makeInteger(*this, product.getRhs(), product.getRhsZeroPoint(),
                             false),
                 builder.getI32Type(), shapeOf(product.getResult())));
    return true;
  }
  if (auto product = dyn_cast<onnx::QLinearMatMulOp>(op)) {
    set(product.getResult(), lowerQLinearMatMul(*this, product));
    return true;
  }
  if (auto gemm = dyn_cast<onnx::GemmOp>(op)) {
    set(gemm.getResult(), lowerGemm(*this, gemm));
    return true;
  }
  if (auto einsum = dyn_cast<onnx::EinsumOp>(op)) {
    set(einsum.getResult(), lowerEinsum(*this, einsum));
    return true;
  }
  return false;
}
