//===- LowerOnnxModelOps.cpp - Operators that are model operations --------===//
//
// What is tried first: an operator in a form that a model operation computes
// becomes that one, whose kernels are fast and take what stands around them.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/LowerOnnxModelOps.h"
#include "passes/Graph/OnnxPatterns.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

//===----------------------------------------------------------------------===//
// Rows of a table
//===----------------------------------------------------------------------===//

static bool lowerModelOp(OnnxLowering &l, onnx::GatherOp op) {
  auto table = op.getData().getDefiningOp<onnx::InitializerOp>();
  Shape shape = shapeOf(op.getData()), places = shapeOf(op.getIndices());
  if (!table || !isModelType(op.getData()) || shape.size() != 2 ||
      op.getAxis() != 0 || places.empty() ||
      llvm::is_contained(places, Polynomial(0)) ||
      llvm::is_contained(shape, Polynomial(0)))
    return false;
  int64_t rows = *shape[0].getConstant(), columns = *shape[1].getConstant();
  // Rows of weft.embed are in range and 32-bit; ONNX counts negative ones from
  // the end.
  Type i32 = l.builder.getI32Type();
  Value indices = l.get(op.getIndices());
  SmallVector<Value> sizes;
  for (const Polynomial &size : places)
    sizes.push_back(l.size(size));
  Value ids = l.generate(
      {onnx::countElements(places)}, i32, [&](Scalars &s, Indices i) {
        SmallVector<Value> at(places.size());
        Value left = i[0];
        for (size_t dim = places.size(); dim-- > 1;) {
          at[dim] = s.make<arith::RemUIOp>(left, sizes[dim]);
          left = s.make<arith::DivUIOp>(left, sizes[dim]);
        }
        at[0] = left;
        Value place = s.convert(s.read(indices, at), s.b.getI64Type());
        Value zero = s.number(place.getType(), 0),
              count = s.number(place.getType(), double(rows)),
              last = s.number(place.getType(), double(rows - 1));
        Value isNegative = s.compare(Scalars::Order::Less, place, zero);
        place = s.select(isNegative, s.add(place, count), place);
        place = s.max(s.min(place, last), zero);
        return s.convert(place, i32);
      });
  auto type = RankedTensorType::get(
      {cast<RankedTensorType>(ids.getType()).getDimSize(0), columns},
      elementOf(op.getData()));
  l.setRows(op.getResult(),
            EmbedOp::create(l.builder, l.loc, type, ids, l.get(op.getData()),
                            l.builder.getF32FloatAttr(1),
                            PackedLayoutInterface()));
  return true;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Whether a norm is one of the last dimension, with a weight for each element.
static bool isRowNorm(Value input, Value scale, int64_t axis, double epsilon,
                      Value result) {
  std::optional<int64_t> columns = getColumns(input);
  int64_t rank = shapeOf(input).size();
  return columns && (axis == -1 || axis == rank - 1) && epsilon > 0 &&
         isModelType(input) && isModelType(scale) &&
         isVector(scale, *columns) && input.getType() == result.getType();
}

/// Rows of a norm: heads stay apart if the value came as heads.
static Value getNormRows(OnnxLowering &l, Value input) {
  Value rows = l.findRows(input);
  bool isHeads = rows && cast<RankedTensorType>(rows.getType()).getRank() == 3;
  if (isHeads && cast<RankedTensorType>(rows.getType()).getShape().back() ==
                     getColumns(input))
    return rows;
  return l.getRows(input);
}

static bool lowerRmsNorm(OnnxLowering &l, Value input, Value scale,
                         int64_t axis, const APFloat &epsilon, Value result) {
  if (!isRowNorm(input, scale, axis, epsilon.convertToDouble(), result))
    return false;
  Value rows = getNormRows(l, input);
  if (!rows)
    return false;
  l.setRows(result, RmsNormOp::create(
                        l.builder, l.loc, rows.getType(), rows, l.get(scale),
                        l.builder.getF32FloatAttr(epsilon.convertToFloat()),
                        l.builder.getF32FloatAttr(0)));
  return true;
}

static bool lowerLayerNorm(OnnxLowering &l, Value input, Value scale,
                           Value bias, int64_t axis, const APFloat &epsilon,
                           Value result) {
  if (!isRowNorm(input, scale, axis, epsilon.convertToDouble(), result) ||
      (bias && (!isModelType(bias) || !isVector(bias, *getColumns(input)))))
    return false;
  Value rows = l.getRows(input);
  if (!rows)
    return false;
  l.setRows(result, LayerNormOp::create(
                        l.builder, l.loc, rows.getType(), rows, l.get(scale),
                        bias ? l.get(bias) : Value(),
                        l.builder.getF32FloatAttr(epsilon.convertToFloat())));
  return true;
}

static bool lowerModelOp(OnnxLowering &l, onnx::RMSNormalizationOp op) {
  return lowerRmsNorm(l, op.getInput(), op.getScale(), op.getAxis(),
                      op.getEpsilon(), op.getResult());
}

static bool lowerModelOp(OnnxLowering &l,
                         onnx::MicrosoftSimplifiedLayerNormalizationOp op) {
  return op.getInvStdDev().use_empty() &&
         lowerRmsNorm(l, op.getInput(), op.getScale(), op.getAxis(),
                      op.getEpsilon(), op.getResult());
}

static bool lowerModelOp(OnnxLowering &l, onnx::LayerNormalizationOp op) {
  return op.getMean().use_empty() && op.getInvStdDev().use_empty() &&
         lowerLayerNorm(l, op.getInput(), op.getScale(), op.getBias(),
                        op.getAxis(), op.getEpsilon(), op.getResult());
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static std::optional<Activation> getActivation(Operation *op) {
  if (auto swish = dyn_cast<onnx::SwishOp>(op)) {
    float alpha = swish.getAlpha().convertToFloat();
    return alpha == 1.0f     ? std::optional(Activation::Silu)
           : alpha == 1.702f ? std::optional(Activation::QuickGelu)
                             : std::nullopt;
  }
  if (auto gelu = dyn_cast<onnx::MicrosoftQuickGeluOp>(op)) {
    float alpha = gelu.getAlpha().convertToFloat();
    return alpha == 1.702f ? std::optional(Activation::QuickGelu)
                           : std::nullopt;
  }
  if (auto gelu = dyn_cast<onnx::GeluOp>(op))
    return gelu.getApproximate() == "tanh" ? Activation::GeluTanh
                                           : Activation::Gelu;
  if (isa<onnx::MicrosoftGeluOp>(op))
    return Activation::Gelu;
  if (auto gelu = dyn_cast<onnx::MicrosoftFastGeluOp>(op))
    return gelu.getBias() ? std::nullopt : std::optional(Activation::GeluTanh);
  if (isa<onnx::ReluOp>(op))
    return Activation::Relu;
  if (isa<onnx::TanhOp>(op))
    return Activation::Tanh;
  return std::nullopt;
}

static bool lowerActivation(OnnxLowering &l, Operation *op,
                            Activation function) {
  Value input = op->getOperand(0);
  Value rows = isModelType(input) ? l.getRows(input) : Value();
  if (!rows)
    return false;
  l.setRows(
      op->getResult(0),
      ActivationOp::create(l.builder, l.loc, rows.getType(), function, rows));
  return true;
}

static bool lowerModelOp(OnnxLowering &l, onnx::SwiGLUOp op) {
  if (op.getLhs().getType() != op.getRhs().getType() ||
      !isModelType(op.getLhs()) || op.getAlpha().convertToFloat() != 1)
    return false;
  Value gate = l.getRows(op.getLhs()), up = l.getRows(op.getRhs());
  if (!gate || !up)
    return false;
  l.setRows(op.getResult(),
            GatedActivationOp::create(l.builder, l.loc, gate.getType(),
                                      Activation::Silu, gate, up));
  return true;
}

/// activation(gate) * up.
static bool lowerGate(OnnxLowering &l, Value activated, Value up,
                      Value result) {
  Value rows = l.findRows(activated);
  auto activation = rows ? rows.getDefiningOp<ActivationOp>() : ActivationOp();
  if (!activation || !activated.hasOneUse() ||
      activated.getType() != up.getType())
    return false;
  Value other = l.getRows(up);
  if (!other || other.getType() != rows.getType())
    return false;
  l.setRows(result, GatedActivationOp::create(l.builder, l.loc, rows.getType(),
                                              activation.getFunction(),
                                              activation.getInput(), other));
  return true;
}

/// cap * tanh(x / cap).
static bool lowerSoftcap(OnnxLowering &l, onnx::MulOp op) {
  auto cap = splitOperands(
      op, [](Value value) { return getScalar(value).has_value(); });
  auto tanh = cap ? cap->second.getDefiningOp<onnx::TanhOp>() : onnx::TanhOp();
  if (!tanh || !tanh->hasOneUse() || !isModelType(op.getResult()))
    return false;
  Product inner = flattenProduct(tanh.getInput());
  double limit = *getScalar(cap->first);
  if (inner.factors.size() != 1 || limit <= 0 ||
      std::abs(inner.coefficient * limit - 1) > 1e-5 ||
      inner.factors[0].getType() != op.getType())
    return false;
  Value rows = l.getRows(inner.factors[0]);
  if (!rows)
    return false;
  l.setRows(op.getResult(),
            SoftcapOp::create(l.builder, l.loc, rows.getType(), rows,
                              l.builder.getF32FloatAttr(float(limit))));
  return true;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// The operation on rows that one of the operands has become.
template <typename ArithOp, typename Op>
static bool lowerElementwise(OnnxLowering &l, Op op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (lhs.getType() != rhs.getType() || !isModelType(lhs) ||
      (!l.findRows(lhs) && !l.findRows(rhs)))
    return false;
  Value x = l.getRows(lhs), y = l.getRows(rhs);
  if (!x || !y)
    return false;
  l.setRows(op.getResult(), ArithOp::create(l.builder, l.loc, x, y));
  return true;
}

static bool lowerModelOp(OnnxLowering &l, onnx::AddOp op) {
  return addLinearBias(l, op.getLhs(), op.getRhs(), op.getResult()) ||
         addLinearBias(l, op.getRhs(), op.getLhs(), op.getResult()) ||
         lowerElementwise<arith::AddFOp>(l, op);
}

static bool lowerModelOp(OnnxLowering &l, onnx::MulOp op) {
  return lowerGate(l, op.getLhs(), op.getRhs(), op.getResult()) ||
         lowerGate(l, op.getRhs(), op.getLhs(), op.getResult()) ||
         lowerSoftcap(l, op) || lowerElementwise<arith::MulFOp>(l, op);
}

/// A conversion of what has become rows.
static bool lowerModelOp(OnnxLowering &l, onnx::CastOp op) {
  Value rows = l.findRows(op.getInput());
  if (!rows || !isModelType(op.getInput()) || !isModelType(op.getResult()))
    return false;
  auto type = cast<RankedTensorType>(rows.getType());
  Type to = elementOf(op.getResult());
  RankedTensorType result = type.clone(to);
  if (type == result)
    l.setRows(op.getResult(), rows);
  else if (to.isF32())
    l.setRows(op.getResult(),
              arith::ExtFOp::create(l.builder, l.loc, result, rows));
  else if (type.getElementType().isF32())
    l.setRows(op.getResult(),
              arith::TruncFOp::create(l.builder, l.loc, result, rows));
  else
    return false;
  return true;
}

bool OnnxLowering::lowerToModelOp(Operation *op) {
  if (std::optional<Activation> function = getActivation(op))
    return lowerActivation(*this, op, *function);
  // The same elements in another shape.
  if (isa<onnx::ReshapeOp, onnx::FlattenOp, onnx::SqueezeOp, onnx::UnsqueezeOp,
          onnx::IdentityOp>(op))
    return shareRows(op->getOperand(0), op->getResult(0));
  return TypeSwitch<Operation *, bool>(op)
      .Case<onnx::GatherOp, onnx::RMSNormalizationOp,
            onnx::MicrosoftSimplifiedLayerNormalizationOp,
            onnx::LayerNormalizationOp, onnx::SwiGLUOp, onnx::AddOp,
            onnx::MulOp, onnx::CastOp>(
          [&](auto typed) { return lowerModelOp(*this, typed); })
      .Case<onnx::MatMulOp, onnx::GemmOp, onnx::MicrosoftFusedMatMulOp,
            onnx::MicrosoftMatMulNBitsOp, onnx::SplitOp>(
          [&](auto typed) { return lowerToLinear(*this, typed); })
      .Case<onnx::RotaryEmbeddingOp, onnx::MicrosoftRotaryEmbeddingOp>(
          [&](auto rotary) { return lowerToRope(*this, rotary); })
      .Case([&](onnx::AttentionOp attention) {
        return lowerToAttention(*this, attention);
      })
      .Default(false);
}
