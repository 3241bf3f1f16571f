//===- OnnxPatterns.cpp - What patterns of operators look for -------------===//

#include "passes/Graph/OnnxPatterns.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Chains of arithmetic on numbers are short.
static constexpr unsigned maxDepth = 12;

static std::optional<double> readElement(onnx::ConstantOp constant) {
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense || dense.getNumElements() != 1)
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType()))
    return (*dense.value_begin<APFloat>()).convertToDouble();
  if (dense.getElementType().isInteger(1))
    return *dense.value_begin<bool>() ? 1 : 0;
  if (isa<IntegerType>(dense.getElementType()))
    return double((*dense.value_begin<APInt>()).getSExtValue());
  return std::nullopt;
}

/// Element `position` of the shape of a value, counted from the end if it is
/// negative.
static std::optional<double> readSize(onnx::ShapeOp shape, int64_t position) {
  int64_t rank = cast<RankedTensorType>(shape.getData().getType()).getRank();
  int64_t start = shape.getStart();
  start = std::clamp(start < 0 ? start + rank : start, int64_t(0), rank);
  int64_t end = shape.getEnd().value_or(rank);
  end = std::clamp(end < 0 ? end + rank : end, int64_t(0), rank);
  int64_t dim = position < 0 ? end + position : start + position;
  if (dim < start || dim >= end)
    return std::nullopt;
  std::optional<int64_t> size =
      graph::getShape(shape.getData())[dim].getConstant();
  return size ? std::optional<double>(double(*size)) : std::nullopt;
}

static std::optional<double> evaluate(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (!op || depth > maxDepth || !type.hasStaticShape() ||
      type.getNumElements() != 1)
    return std::nullopt;
  if (auto constant = dyn_cast<onnx::ConstantOp>(op))
    return readElement(constant);
  if (auto shape = dyn_cast<onnx::ShapeOp>(op))
    return readSize(shape, 0);
  if (auto gather = dyn_cast<onnx::GatherOp>(op)) {
    auto shape = gather.getData().getDefiningOp<onnx::ShapeOp>();
    std::optional<double> place = evaluate(gather.getIndices(), depth + 1);
    return shape && place ? readSize(shape, int64_t(*place)) : std::nullopt;
  }
  if (auto slice = dyn_cast<onnx::SliceOp>(op)) {
    auto shape = slice.getData().getDefiningOp<onnx::ShapeOp>();
    std::optional<double> start = evaluate(slice.getStarts(), depth + 1);
    if (!shape || !start || slice.getSteps())
      return std::nullopt;
    return readSize(shape, int64_t(*start));
  }
  SmallVector<double, 2> x;
  for (Value operand : op->getOperands().take_front(2)) {
    // The shape of a Reshape and the axes of a Squeeze are no arithmetic.
    if (!x.empty() && isa<onnx::ReshapeOp, onnx::SqueezeOp, onnx::UnsqueezeOp,
                          onnx::ExpandOp>(op))
      break;
    std::optional<double> number = evaluate(operand, depth + 1);
    if (!number)
      return std::nullopt;
    x.push_back(*number);
  }
  if (isa<onnx::CastOp>(op) && !isa<FloatType>(type.getElementType()))
    return std::trunc(x[0]);
  if (isa<onnx::CastOp, onnx::ReshapeOp, onnx::SqueezeOp, onnx::UnsqueezeOp,
          onnx::ExpandOp, onnx::IdentityOp>(op))
    return x[0];
  bool isInteger = !isa<FloatType>(type.getElementType());
  if (isa<onnx::DivOp>(op))
    return isInteger ? std::trunc(x[0] / x[1]) : x[0] / x[1];
  if (isa<onnx::SqrtOp>(op))
    return std::sqrt(x[0]);
  if (isa<onnx::ReciprocalOp>(op))
    return 1 / x[0];
  if (isa<onnx::NegOp>(op))
    return -x[0];
  if (isa<onnx::AddOp>(op))
    return x[0] + x[1];
  if (isa<onnx::SubOp>(op))
    return x[0] - x[1];
  if (isa<onnx::MulOp>(op))
    return x[0] * x[1];
  if (isa<onnx::PowOp>(op))
    return std::pow(x[0], x[1]);
  return std::nullopt;
}

std::optional<double> graph::getScalar(Value value) {
  return evaluate(value, 0);
}

bool graph::isScalar(Value value, double number) {
  std::optional<double> found = getScalar(value);
  if (!found)
    return false;
  // What a type of so many bits makes of the number.
  Type element = getElementTypeOrSelf(value.getType());
  bool isSmall = element.isF16() || element.isBF16();
  double tolerance = isSmall ? 4e-3 : 1e-5;
  return std::abs(*found - number) <= tolerance * std::abs(number);
}

std::optional<SmallVector<int64_t, 4>> graph::getIntegers(Value value) {
  auto constant = value ? value.getDefiningOp<onnx::ConstantOp>() : nullptr;
  auto dense =
      constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : nullptr;
  if (!dense)
    return std::nullopt;
  SmallVector<int64_t, 4> numbers;
  for (const APInt &number : dense.getValues<APInt>())
    numbers.push_back(number.getSExtValue());
  return numbers;
}

Value graph::makeIntegers(OpBuilder &builder, Location loc,
                          ArrayRef<int64_t> numbers) {
  auto type =
      RankedTensorType::get({int64_t(numbers.size())}, builder.getI64Type());
  return onnx::ConstantOp::create(builder, loc,
                                  DenseElementsAttr::get(type, numbers));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool graph::isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

Value graph::stripCasts(Value value) {
  while (auto cast = value.getDefiningOp<onnx::CastOp>()) {
    if (!isFloat(cast.getInput()) || !isFloat(value))
      break;
    value = cast.getInput();
  }
  return value;
}

std::optional<int64_t> graph::getColumns(Value value) {
  onnx::Shape shape = getShape(value);
  return shape.empty() ? std::nullopt : shape.back().getConstant();
}

bool graph::isVector(Value value, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 1 && type.getDimSize(0) == size;
}

static void flatten(Value value, graph::Product &product, bool isRoot) {
  bool isInner = isRoot || value.hasOneUse();
  if (auto mul = value.getDefiningOp<onnx::MulOp>(); mul && isInner) {
    for (Value operand : {mul.getLhs(), mul.getRhs()}) {
      if (std::optional<double> number = graph::getScalar(operand))
        product.coefficient *= *number;
      else
        flatten(operand, product, false);
    }
    return;
  }
  if (auto div = value.getDefiningOp<onnx::DivOp>(); div && isInner)
    if (std::optional<double> number = graph::getScalar(div.getRhs());
        number && *number != 0) {
      product.coefficient /= *number;
      return flatten(div.getLhs(), product, false);
    }
  product.factors.push_back(value);
}

graph::Product graph::flattenProduct(Value value) {
  Product product;
  flatten(value, product, true);
  return product;
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

Value graph::exchangeHeads(OpBuilder &builder, Location loc, Value heads) {
  if (auto transpose = heads.getDefiningOp<onnx::TransposeOp>())
    if (transpose.getPerm() == ArrayRef<int64_t>{0, 2, 1, 3})
      return transpose.getData();
  onnx::Shape shape = getShape(heads);
  std::swap(shape[1], shape[2]);
  return onnx::TransposeOp::create(
      builder, loc,
      onnx::makeType(getElementTypeOrSelf(heads.getType()), shape), heads,
      builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
}

Value graph::joinHeads(OpBuilder &builder, Location loc, Value heads,
                       int64_t headDim) {
  if (headDim == 1)
    heads = exchangeHeads(builder, loc, heads);
  onnx::Shape shape = getShape(heads);
  shape[2] = shape[2] * shape[3];
  shape.pop_back();
  Type type = onnx::makeType(getElementTypeOrSelf(heads.getType()), shape);
  if (auto reshape = heads.getDefiningOp<onnx::ReshapeOp>())
    if (reshape.getData().getType() == type)
      return reshape.getData();
  // 0 stands for the size that the input has.
  Value wanted = makeIntegers(builder, loc, {0, 0, *shape[2].getConstant()});
  return onnx::ReshapeOp::create(builder, loc, type, heads, wanted,
                                 builder.getI64IntegerAttr(0));
}

Value graph::splitHeads(OpBuilder &builder, Location loc, Value joined,
                        RankedTensorType type, int64_t headDim) {
  onnx::Shape shape = onnx::getShape(type);
  if (headDim == 1)
    std::swap(shape[1], shape[2]);
  Value wanted = makeIntegers(
      builder, loc, {0, 0, *shape[2].getConstant(), *shape[3].getConstant()});
  Value heads = onnx::ReshapeOp::create(
      builder, loc, onnx::makeType(type.getElementType(), shape), joined,
      wanted, builder.getI64IntegerAttr(0));
  return headDim == 1 ? exchangeHeads(builder, loc, heads) : heads;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

LogicalResult graph::applyOnnxPatterns(ModuleOp module,
                                       RewritePatternSet &&patterns) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
      .setUseTopDownTraversal(true);
  FrozenRewritePatternSet frozen(std::move(patterns));
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(applyPatternsGreedily(function, frozen, config)))
      return failure();
  return success();
}

void graph::remarkApplied(Operation *op, StringRef pass, const Twine &what) {
  remark::passed(op->getLoc(), remark::RemarkOpts::name(pass).category("graph"))
      << what.str();
}

void graph::remarkMissed(Operation *op, StringRef pass, const Twine &reason) {
  remark::missed(op->getLoc(), remark::RemarkOpts::name(pass).category("graph"))
      << remark::reason("{0}", reason.str());
}
