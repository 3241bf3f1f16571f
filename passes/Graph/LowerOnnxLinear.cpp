//===- LowerOnnxLinear.cpp - Products that are linear layers --------------===//

#include "passes/Graph/LowerOnnxModelOps.h"
#include "passes/Graph/OnnxPatterns.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

/// The type of rows with other columns.
static RankedTensorType withColumns(Value rows, int64_t columns) {
  auto type = cast<RankedTensorType>(rows.getType());
  return type.clone({type.getDimSize(0), columns});
}

namespace {
/// A matrix [K, N] of the file as `weft.linear` has it: [N, K].
struct WeightMatrix {
  onnx::InitializerOp initializer;
  bool isTransposed = false; ///< The file has [K, N].

  Value make(OnnxLowering &l) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(initializer.getType()).getShape();
    SmallVector<int64_t> outByIn(shape);
    if (isTransposed)
      std::swap(outByIn[0], outByIn[1]);
    Type type = RankedTensorType::get(
        outByIn, getElementTypeOrSelf(initializer.getType()));
    return WeightOp::create(l.builder, l.loc, type, initializer.getName(),
                            isTransposed);
  }
};
} // namespace

/// The matrix [K, N] that a value is, or [N, K] if the operator transposes it.
static std::optional<WeightMatrix> findMatrix(Value value, bool isOutByIn) {
  bool isTransposed = !isOutByIn;
  if (auto transpose = value.getDefiningOp<onnx::TransposeOp>()) {
    // The default reverses the dimensions.
    std::optional<ArrayRef<int64_t>> perm = transpose.getPerm();
    if (shapeOf(value).size() != 2 || (perm && (*perm)[0] == 0))
      return std::nullopt;
    isTransposed = !isTransposed;
    value = transpose.getData();
  }
  auto initializer = value.getDefiningOp<onnx::InitializerOp>();
  if (!initializer || !isModelType(value) || shapeOf(value).size() != 2 ||
      llvm::is_contained(shapeOf(value), Polynomial(0)))
    return std::nullopt;
  return WeightMatrix{initializer, isTransposed};
}

static bool lowerLinear(OnnxLowering &l, Value input, Value matrix,
                        bool isOutByIn, Value bias, Value result) {
  std::optional<WeightMatrix> weight = findMatrix(matrix, isOutByIn);
  std::optional<int64_t> columns = getColumns(result);
  if (!weight || !columns || elementOf(input) != elementOf(matrix))
    return false;
  Value rows = l.getRows(input);
  if (!rows)
    return false;
  l.setRows(result,
            LinearOp::create(l.builder, l.loc, withColumns(rows, *columns),
                             rows, weight->make(l), bias ? l.get(bias) : bias,
                             PackedLayoutInterface()));
  return true;
}

bool graph::lowerToLinear(OnnxLowering &l, onnx::MatMulOp op) {
  return lowerLinear(l, op.getLhs(), op.getRhs(), /*isOutByIn=*/false, {},
                     op.getResult());
}

bool graph::lowerToLinear(OnnxLowering &l, onnx::GemmOp op) {
  std::optional<int64_t> columns = getColumns(op.getResult());
  Value bias = op.getBias();
  bool isPlain = !op.getTransA() && op.getAlpha().convertToDouble() == 1 &&
                 (!bias || op.getBeta().convertToDouble() == 1);
  if (!isPlain || !columns || (bias && !isVector(bias, *columns)))
    return false;
  return lowerLinear(l, op.getLhs(), op.getRhs(), op.getTransB() != 0, bias,
                     op.getResult());
}

bool graph::lowerToLinear(OnnxLowering &l, onnx::MicrosoftFusedMatMulOp op) {
  if (op.getTransA() || op.getTransBatchA() || op.getTransBatchB() ||
      op.getAlpha().convertToDouble() != 1)
    return false;
  return lowerLinear(l, op.getLhs(), op.getRhs(), op.getTransB() != 0, {},
                     op.getResult());
}

bool graph::addLinearBias(OnnxLowering &l, Value input, Value bias,
                          Value result) {
  Value rows = l.findRows(input);
  auto linear = rows ? rows.getDefiningOp<LinearOp>() : LinearOp();
  auto weight = bias.getDefiningOp<onnx::InitializerOp>();
  std::optional<int64_t> columns = getColumns(input);
  if (!linear || linear.getBias() || !input.hasOneUse() || !weight ||
      !columns || !isVector(bias, *columns) || !isModelType(bias) ||
      input.getType() != result.getType())
    return false;
  OpBuilder::InsertionGuard guard(l.builder);
  l.builder.setInsertionPoint(linear);
  auto type = RankedTensorType::get({*columns}, elementOf(bias));
  linear.getBiasMutable().assign(
      WeightOp::create(l.builder, l.loc, type, weight.getName()));
  l.setRows(result, rows);
  return true;
}

//===----------------------------------------------------------------------===//
// Elements of few bits
//===----------------------------------------------------------------------===//

/// The name of a tensor of the file of `count` elements; null if a value is
/// none.
static StringAttr getTensorName(Value value, int64_t count) {
  auto initializer = value.getDefiningOp<onnx::InitializerOp>();
  if (!initializer || onnx::countElements(shapeOf(value)) != Polynomial(count))
    return {};
  return initializer.getNameAttr();
}

Value graph::makeQuantizedWeight(OnnxLowering &l,
                                 const QuantizedMatrix &matrix) {
  int64_t rows = matrix.rows,
          blocks = llvm::divideCeil(matrix.columns, matrix.block);
  Shape shape = shapeOf(matrix.bytes);
  std::optional<int64_t> count = onnx::countElements(shape).getConstant();
  Type byte = getElementTypeOrSelf(matrix.bytes.getType());
  if (!count || shape.empty() || shape[0] != Polynomial(rows) ||
      !byte.isUnsignedInteger(8) || !isModelType(matrix.scales) ||
      *count <
          rows * int64_t(llvm::divideCeil(matrix.columns * matrix.bits, 8)))
    return {};
  StringAttr bytes = getTensorName(matrix.bytes, *count),
             scales = getTensorName(matrix.scales, rows * blocks), zeroPoints;
  if (Value zero = matrix.zeroPoints) {
    bool isPacked = getElementTypeOrSelf(zero.getType()).isUnsignedInteger(8);
    if (!isPacked && !isModelType(zero))
      return {};
    zeroPoints = getTensorName(
        zero,
        rows * (isPacked ? llvm::divideCeil(blocks * matrix.bits, 8) : blocks));
    if (!zeroPoints)
      return {};
  }
  if (!bytes || !scales)
    return {};
  MLIRContext *context = l.builder.getContext();
  auto quantization =
      QuantizationAttr::get(context, scales.getValue(), zeroPoints, matrix.bits,
                            matrix.block, matrix.columns);
  auto source =
      SourceAttr::get(context, bytes.getValue(), 0, 0, 0, 0,
                      /*transposed=*/false, /*pairs=*/0, quantization);
  auto type =
      RankedTensorType::get({rows, matrix.columns}, elementOf(matrix.scales));
  return WeightOp::create(l.builder, l.loc, type,
                          l.builder.getArrayAttr(source),
                          PackedLayoutInterface(), DenseI64ArrayAttr());
}

bool graph::lowerToLinear(OnnxLowering &l, onnx::MicrosoftMatMulNBitsOp op) {
  if (op.getWeightPrepacked() || op.getGIdx() || !isModelType(op.getInput()) ||
      elementOf(op.getInput()) != elementOf(op.getScales()))
    return false;
  Value rows = l.getRows(op.getInput());
  Value weight =
      rows ? makeQuantizedWeight(l, {op.getWeight(), op.getScales(),
                                     op.getZeroPoints(), int64_t(op.getBits()),
                                     int64_t(op.getBlockSize()),
                                     int64_t(op.getN()), int64_t(op.getK())})
           : Value();
  if (!weight)
    return false;
  Value bias = op.getBias() ? l.get(op.getBias()) : Value();
  l.setRows(op.getResult(),
            LinearOp::create(l.builder, l.loc, withColumns(rows, op.getN()),
                             rows, weight, bias, PackedLayoutInterface()));
  return true;
}

//===----------------------------------------------------------------------===//
// Parts of outputs
//===----------------------------------------------------------------------===//

/// Rows [start, start + count) of a weight of one tensor; null for others.
static Value sliceWeight(OpBuilder &builder, Value value, int64_t start,
                         int64_t count) {
  auto weight = value.getDefiningOp<WeightOp>();
  if (!weight || weight.getLayout() || weight.getSources().size() != 1)
    return {};
  auto source = cast<SourceAttr>(weight.getSources()[0]);
  if (source.getCount() != 0)
    return {};
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = count;
  auto part =
      SourceAttr::get(builder.getContext(), source.getName(), start, count, 0,
                      1, source.getTransposed(), 0, source.getQuantization());
  return WeightOp::create(builder, weight.getLoc(), type.clone(shape),
                          builder.getArrayAttr(part), PackedLayoutInterface(),
                          DenseI64ArrayAttr());
}

SmallVector<Value> graph::splitLinear(OnnxLowering &l, Value rows,
                                      ArrayRef<int64_t> columns) {
  auto linear = rows.getDefiningOp<LinearOp>();
  SmallVector<Value> parts;
  int64_t start = 0;
  for (int64_t count : columns) {
    Value weight =
        linear ? sliceWeight(l.builder, linear.getWeight(), start, count)
               : Value();
    Value bias = linear && linear.getBias()
                     ? sliceWeight(l.builder, linear.getBias(), start, count)
                     : Value();
    if (!weight || (linear.getBias() && !bias))
      return {};
    parts.push_back(LinearOp::create(l.builder, l.loc, withColumns(rows, count),
                                     linear.getInput(), weight, bias,
                                     PackedLayoutInterface()));
    start += count;
  }
  return parts;
}

bool graph::lowerToLinear(OnnxLowering &l, onnx::SplitOp op) {
  Value input = op.getInput();
  int64_t rank = shapeOf(input).size();
  Value rows = l.findRows(input);
  if (!rows || !input.hasOneUse() ||
      (op.getAxis() != -1 && op.getAxis() != rank - 1))
    return false;
  SmallVector<int64_t> columns;
  for (Value part : op.getOutputs()) {
    std::optional<int64_t> count = getColumns(part);
    if (!count)
      return false;
    columns.push_back(*count);
  }
  SmallVector<Value> parts = splitLinear(l, rows, columns);
  if (parts.empty())
    return false;
  for (auto [result, part] : llvm::zip_equal(op.getOutputs(), parts))
    l.setRows(result, part);
  return true;
}
