//===- InferProducts.cpp - Types of products, norms, quantization ---------===//

#include "dialects/Onnx/Einsum.h"
#include "dialects/Onnx/InferTypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The shape of a product with the rules of numpy.matmul.
static FailureOr<Shape> multiply(Shape a, Shape b, TypeInference &inference) {
  if (a.empty() || b.empty()) {
    (void)inference.fail("found a scalar, expected matrices or vectors");
    return failure();
  }
  bool isRow = a.size() == 1, isColumn = b.size() == 1;
  if (isRow)
    a.insert(a.begin(), Polynomial(1));
  if (isColumn)
    b.push_back(Polynomial(1));
  if (failed(inference.unify(a.back(), b[b.size() - 2])))
    return failure();
  FailureOr<Shape> shape = inference.broadcast(
      {Shape(ArrayRef(a).drop_back(2)), Shape(ArrayRef(b).drop_back(2))});
  if (failed(shape))
    return failure();
  if (!isRow)
    shape->push_back(a[a.size() - 2]);
  if (!isColumn)
    shape->push_back(b.back());
  return shape;
}

static LogicalResult addProduct(Value lhs, Value rhs, Type element,
                                TypeInference &inference) {
  FailureOr<Shape> shape =
      multiply(getShape(lhs.getType()), getShape(rhs.getType()), inference);
  return failed(shape) ? failure() : inference.add(element, *shape);
}

LogicalResult onnx::inferMatMul(MatMulOp op, TypeInference &inference) {
  return addProduct(op.getLhs(), op.getRhs(), getElement(op.getLhs()),
                    inference);
}

LogicalResult onnx::inferMatMulInteger(MatMulIntegerOp op,
                                       TypeInference &inference) {
  return addProduct(op.getLhs(), op.getRhs(),
                    IntegerType::get(op.getContext(), 32), inference);
}

LogicalResult onnx::inferQLinearMatMul(QLinearMatMulOp op,
                                       TypeInference &inference) {
  return addProduct(op.getLhs(), op.getRhs(),
                    getElement(op.getResultZeroPoint()), inference);
}

LogicalResult onnx::inferQuantizedMatMul(Operation *op,
                                         TypeInference &inference) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Shape a = getShape(lhs.getType()), b = getShape(rhs.getType());
  if (a.size() < 2 || b.size() < 2)
    return inference.fail("found factors of shapes " + print(a) + " and " +
                          print(b) + ", expected matrices");
  // The scale behind the factors has the type of the result.
  return addProduct(lhs, rhs, getElement(op->getOperand(2)), inference);
}

/// A shape as a factor of FusedMatMul: `transBatch` puts the dimension before
/// the last one first, `trans` exchanges the last two then.
static Shape orient(Shape shape, bool trans, bool transBatch) {
  if (shape.size() > 2 && transBatch)
    std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
  if (shape.size() > 1 && trans)
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

LogicalResult onnx::inferFusedMatMul(MicrosoftFusedMatMulOp op,
                                     TypeInference &inference) {
  FailureOr<Shape> shape = multiply(orient(getShape(op.getLhs().getType()),
                                           op.getTransA(), op.getTransBatchA()),
                                    orient(getShape(op.getRhs().getType()),
                                           op.getTransB(), op.getTransBatchB()),
                                    inference);
  return failed(shape) ? failure()
                       : inference.add(getElement(op.getLhs()), *shape);
}

LogicalResult onnx::inferGemm(GemmOp op, TypeInference &inference) {
  Shape a = getShape(op.getLhs().getType()),
        b = getShape(op.getRhs().getType());
  if (a.size() != 2 || b.size() != 2)
    return inference.fail("found factors of shapes " + print(a) + " and " +
                          print(b) + ", expected two matrices");
  FailureOr<Shape> shape =
      multiply(orient(a, op.getTransA(), false),
               orient(b, op.getTransB(), false), inference);
  if (failed(shape))
    return failure();
  if (op.getBias() &&
      failed(inference.broadcast({*shape, getShape(op.getBias().getType())})))
    return failure();
  return inference.add(getElement(op.getLhs()), *shape);
}

LogicalResult onnx::inferEinsum(EinsumOp op, TypeInference &inference) {
  SmallVector<Shape> shapes;
  for (Value input : op.getInputs())
    shapes.push_back(getShape(input.getType()));
  auto equation = EinsumEquation::parse(
      op.getEquation(),
      llvm::map_to_vector(shapes, [](const Shape &s) { return s.size(); }));
  if (!equation)
    return inference.fail("found the equation '" + op.getEquation() +
                          "', expected one like 'bij,bjk->bik' for the inputs");
  std::map<std::string, Polynomial> sizes;
  for (auto [labels, shape] : llvm::zip_equal(equation->inputs, shapes))
    for (auto [label, size] : llvm::zip_equal(labels, shape)) {
      auto [known, isNew] = sizes.try_emplace(label, size);
      if (isNew)
        continue;
      FailureOr<Polynomial> both = inference.broadcast(known->second, size);
      if (failed(both))
        return failure();
      known->second = *both;
    }
  Shape result;
  for (const std::string &label : equation->output)
    result.push_back(sizes.at(label));
  return inference.add(getElement(op.getInputs().front()), result);
}

std::optional<EinsumEquation> EinsumEquation::parse(StringRef text,
                                                    ArrayRef<size_t> ranks) {
  std::string compact;
  llvm::copy_if(text, std::back_inserter(compact),
                [](char c) { return c != ' '; });
  auto [left, right] = StringRef(compact).split("->");
  bool isImplicit = !StringRef(compact).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != ranks.size())
    return std::nullopt;
  EinsumEquation equation;
  // Dimensions behind "..." are named by their place from the end.
  size_t most = 0;
  auto split = [&](StringRef term, std::optional<size_t> rank)
      -> std::optional<SmallVector<std::string>> {
    auto [before, after] = term.split("...");
    bool hasDots = term.contains("...");
    size_t letters = before.size() + (hasDots ? after.size() : 0);
    if (!llvm::all_of(before, llvm::isAlpha) ||
        !llvm::all_of(after, llvm::isAlpha))
      return std::nullopt;
    size_t hidden = hasDots ? (rank ? *rank - letters : most) : 0;
    if (rank && (letters + hidden != *rank || *rank < letters))
      return std::nullopt;
    most = std::max(most, hidden);
    SmallVector<std::string> labels;
    for (char c : before)
      labels.push_back(std::string(1, c));
    for (size_t i = hidden; i > 0; --i)
      labels.push_back("." + std::to_string(i));
    if (hasDots)
      for (char c : after)
        labels.push_back(std::string(1, c));
    return labels;
  };
  std::map<std::string, unsigned> uses;
  for (auto [term, rank] : llvm::zip_equal(terms, ranks)) {
    auto labels = split(term, rank);
    if (!labels)
      return std::nullopt;
    for (const std::string &label : *labels)
      ++uses[label];
    equation.inputs.push_back(std::move(*labels));
  }
  if (!isImplicit) {
    auto labels = split(right, std::nullopt);
    if (!labels || !llvm::all_of(*labels, [&](const std::string &label) {
          return uses.contains(label);
        }))
      return std::nullopt;
    equation.output = std::move(*labels);
    return equation;
  }
  for (size_t i = most; i > 0; --i)
    equation.output.push_back("." + std::to_string(i));
  for (const auto &[label, count] : uses)
    if (count == 1 && label.front() != '.')
      equation.output.push_back(label);
  return equation;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The statistics have size 1 in the normalised dimensions.
static LogicalResult addStatistics(Shape shape, int64_t axis, Type element,
                                   unsigned count, TypeInference &inference) {
  for (size_t dim = axis; dim < shape.size(); ++dim)
    shape[dim] = Polynomial(1);
  for (unsigned i = 0; i < count; ++i)
    (void)inference.add(element, shape);
  return success();
}

LogicalResult onnx::inferLayerNormalization(LayerNormalizationOp op,
                                            TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), shape.size());
  if (failed(axis))
    return failure();
  (void)inference.add(getElement(op.getInput()), shape);
  return addStatistics(shape, *axis, Float32Type::get(op.getContext()), 2,
                       inference);
}

LogicalResult onnx::inferRmsNormalization(RMSNormalizationOp op,
                                          TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  if (failed(inference.getAxis(op.getAxis(), shape.size())))
    return failure();
  return inference.add(getElement(op.getScale()), shape);
}

LogicalResult
onnx::inferSimplifiedNormalization(MicrosoftSimplifiedLayerNormalizationOp op,
                                   TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), shape.size());
  if (failed(axis))
    return failure();
  (void)inference.add(getElement(op.getScale()), shape);
  return addStatistics(shape, *axis, Float32Type::get(op.getContext()), 1,
                       inference);
}

LogicalResult onnx::inferBatchNormalization(BatchNormalizationOp op,
                                            TypeInference &inference) {
  (void)inferSame(op, inference);
  (void)inference.add(getElement(op.getMean()),
                      getShape(op.getMean().getType()));
  return inference.add(getElement(op.getVariance()),
                       getShape(op.getVariance().getType()));
}

LogicalResult onnx::inferSkipNormalization(Operation *op,
                                           TypeInference &inference) {
  Shape shape = getShape(op->getOperand(0).getType());
  if (shape.empty())
    return inference.fail("found a scalar, expected rows");
  FailureOr<Shape> sum =
      inference.broadcast({shape, getShape(op->getOperand(1).getType())});
  if (failed(sum))
    return failure();
  Type element = getElement(op->getOperand(0));
  (void)inference.add(element, *sum);
  (void)addStatistics(*sum, sum->size() - 1, Float32Type::get(op->getContext()),
                      2, inference);
  return inference.add(element, *sum);
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

LogicalResult onnx::inferQuantizeLinear(QuantizeLinearOp op,
                                        TypeInference &inference) {
  Type element = IntegerType::get(op.getContext(), 8, IntegerType::Unsigned);
  if (op.getZeroPoint())
    element = getElement(op.getZeroPoint());
  else if (op.getOutputDtype())
    element = *op.getOutputDtype();
  return inference.add(element, getShape(op.getInput().getType()));
}

LogicalResult onnx::inferDequantizeLinear(DequantizeLinearOp op,
                                          TypeInference &inference) {
  return inference.add(op.getOutputDtype() ? *op.getOutputDtype()
                                           : getElement(op.getScale()),
                       getShape(op.getInput().getType()));
}

LogicalResult onnx::inferDynamicQuantizeLinear(DynamicQuantizeLinearOp op,
                                               TypeInference &inference) {
  Type byte = IntegerType::get(op.getContext(), 8, IntegerType::Unsigned);
  (void)inference.add(byte, getShape(op.getInput().getType()));
  (void)inference.add(Float32Type::get(op.getContext()), {});
  return inference.add(byte, {});
}
