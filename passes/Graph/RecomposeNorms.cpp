//===- RecomposeNorms.cpp - Norms from single operators -------------------===//

#include "passes/Graph/OnnxPatterns.h"
#include "passes/Graph/Passes.h"

namespace weft::graph {
#define GEN_PASS_DEF_RECOMPOSENORMS
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {

constexpr StringLiteral passName = "recompose-norms";

/// The input of a mean over the last dimension, which stays with a size of 1.
Value getMeanInput(Value value) {
  auto mean = value.getDefiningOp<onnx::ReduceMeanOp>();
  if (!mean || !mean.getKeepdims() || !mean.getAxes())
    return {};
  std::optional<SmallVector<int64_t, 4>> axes = getIntegers(mean.getAxes());
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (!axes || axes->size() != 1 ||
      (axes->front() != -1 && axes->front() != rank - 1))
    return {};
  return mean.getData();
}

/// The base of a square.
Value getSquareBase(Value value) {
  if (auto pow = value.getDefiningOp<onnx::PowOp>())
    return isScalar(pow.getRhs(), 2) ? pow.getLhs() : Value();
  auto mul = value.getDefiningOp<onnx::MulOp>();
  return mul && mul.getLhs() == mul.getRhs() ? mul.getLhs() : Value();
}

/// x / sqrt(mean(y^2) + epsilon).
struct Normalised {
  Value x, y;
  double epsilon = 0;
};

/// y of mean(y^2) + epsilon.
bool matchVariance(Value value, Normalised &norm) {
  auto add = value.getDefiningOp<onnx::AddOp>();
  if (!add)
    return false;
  auto split =
      splitOperands(add, [](Value v) { return getScalar(v).has_value(); });
  Value square = split ? getMeanInput(split->second) : Value();
  norm.y = square ? getSquareBase(square) : Value();
  if (!norm.y)
    return false;
  norm.epsilon = *getScalar(split->first);
  return norm.epsilon > 0;
}

/// y of sqrt(mean(y^2) + epsilon).
bool matchDeviation(Value value, Normalised &norm) {
  Value sum;
  if (auto sqrt = value.getDefiningOp<onnx::SqrtOp>())
    sum = sqrt.getInput();
  else if (auto pow = value.getDefiningOp<onnx::PowOp>();
           pow && isScalar(pow.getRhs(), 0.5))
    sum = pow.getLhs();
  return sum && matchVariance(sum, norm);
}

/// y of 1 / sqrt(mean(y^2) + epsilon).
bool matchInverseDeviation(Value value, Normalised &norm) {
  if (auto reciprocal = value.getDefiningOp<onnx::ReciprocalOp>())
    return matchDeviation(reciprocal.getInput(), norm);
  if (auto div = value.getDefiningOp<onnx::DivOp>())
    return isScalar(div.getLhs(), 1) && matchDeviation(div.getRhs(), norm);
  auto pow = value.getDefiningOp<onnx::PowOp>();
  return pow && isScalar(pow.getRhs(), -0.5) &&
         matchVariance(pow.getLhs(), norm);
}

std::optional<Normalised> matchNormalised(Value value) {
  Normalised norm;
  if (auto div = value.getDefiningOp<onnx::DivOp>()) {
    norm.x = div.getLhs();
    if (matchDeviation(div.getRhs(), norm))
      return norm;
  }
  if (auto mul = value.getDefiningOp<onnx::MulOp>())
    for (auto [x, factor] : {std::pair(mul.getLhs(), mul.getRhs()),
                             std::pair(mul.getRhs(), mul.getLhs())}) {
      norm.x = x;
      if (matchInverseDeviation(factor, norm))
        return norm;
    }
  return std::nullopt;
}

/// The input of x - mean(x).
Value getCentredInput(Value value) {
  auto sub = value.getDefiningOp<onnx::SubOp>();
  if (!sub || getMeanInput(sub.getRhs()) != sub.getLhs())
    return {};
  return sub.getLhs();
}

/// Whether both are the same difference from the mean.
bool isSameCentred(Value a, Value b) {
  return a == b ||
         (getCentredInput(a) && getCentredInput(a) == getCentredInput(b));
}

/// What a norm of `x` reads so that its result has the type of `result`: `x`
/// itself, or what was converted to it from that type.
Value getNormInput(Value x, Value result) {
  Value source = stripCasts(x);
  Value input = source.getType() == result.getType() ? source : x;
  // Arithmetic in less than f32 is not what a norm does.
  bool isExact = getElementTypeOrSelf(x.getType()).isF32();
  return input.getType() == result.getType() && isExact ? input : Value();
}

/// weight * x / sqrt(mean(x^2) + epsilon), and of x - mean(x).
struct FindNorm : OpRewritePattern<onnx::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::MulOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<int64_t> columns = getColumns(op.getResult());
    if (!columns || !isFloat(op.getResult()))
      return failure();
    for (auto [weight, value] : {std::pair(op.getLhs(), op.getRhs()),
                                 std::pair(op.getRhs(), op.getLhs())}) {
      if (!isVector(weight, *columns))
        continue;
      std::optional<Normalised> norm = matchNormalised(stripCasts(value));
      if (!norm)
        continue;
      // The norm is computed in the type of what is normalised.
      Value centred = getCentredInput(norm->x);
      bool isLayerNorm = centred && isSameCentred(norm->x, norm->y);
      if (!isLayerNorm && norm->x != norm->y)
        continue;
      Value input =
          getNormInput(isLayerNorm ? centred : norm->x, op.getResult());
      if (!input) {
        remarkMissed(op, passName,
                     "a norm that is computed in less than 32 bits, or whose "
                     "result has another type than its input");
        return failure();
      }
      auto epsilon = rewriter.getF32FloatAttr(float(norm->epsilon));
      auto axis = rewriter.getI64IntegerAttr(-1);
      auto stash = rewriter.getI64IntegerAttr(1);
      remarkApplied(op, passName,
                    isLayerNorm ? "LayerNormalization" : "RMSNormalization");
      if (isLayerNorm) {
        onnx::Shape rows = getShape(op.getResult());
        rows.back() = Polynomial(1);
        Type statistic = onnx::makeType(rewriter.getF32Type(), rows);
        auto layerNorm = onnx::LayerNormalizationOp::create(
            rewriter, op.getLoc(), op.getType(), statistic, statistic, input,
            weight, Value(), axis, epsilon, stash);
        rewriter.replaceOp(op, layerNorm.getResult());
      } else {
        rewriter.replaceOpWithNewOp<onnx::RMSNormalizationOp>(
            op, op.getType(), input, weight, axis, epsilon, stash);
      }
      return success();
    }
    return failure();
  }
};

/// The bias of a LayerNormalization that has none.
struct FindNormBias : OpRewritePattern<onnx::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::AddOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<int64_t> columns = getColumns(op.getResult());
    if (!columns)
      return failure();
    auto split =
        splitOperands(op, [&](Value v) { return isVector(v, *columns); });
    auto norm = split
                    ? split->second.getDefiningOp<onnx::LayerNormalizationOp>()
                    : onnx::LayerNormalizationOp();
    if (!norm || norm.getBias() || !norm->hasOneUse() || norm.getAxis() != -1 ||
        norm.getResult().getType() != op.getType())
      return failure();
    auto whole = onnx::LayerNormalizationOp::create(
        rewriter, norm.getLoc(), norm.getResult().getType(),
        norm.getMean().getType(), norm.getInvStdDev().getType(),
        norm.getInput(), norm.getScale(), split->first, norm.getAxisAttr(),
        norm.getEpsilonAttr(), norm.getStashTypeAttr());
    rewriter.replaceOp(op, whole.getResult());
    return success();
  }
};

/// The sum that a norm of com.microsoft normalises; null if other statistics of
/// it are wanted or the second operand is broadcast.
template <typename Op> Value makeSkipSum(PatternRewriter &rewriter, Op op) {
  if (!op.getMean().use_empty() || !op.getInvStdDev().use_empty() ||
      op.getInput().getType() != op.getSkip().getType() ||
      op.getSum().getType() != op.getInput().getType())
    return {};
  Type type = op.getInput().getType();
  Value sum = onnx::AddOp::create(rewriter, op.getLoc(), type, op.getInput(),
                                  op.getSkip());
  if (op.getBias())
    sum = onnx::AddOp::create(rewriter, op.getLoc(), type, sum, op.getBias());
  return sum;
}

/// SkipSimplifiedLayerNormalization as a sum and a norm.
struct SplitSkipRms
    : OpRewritePattern<onnx::MicrosoftSkipSimplifiedLayerNormalizationOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult
  matchAndRewrite(onnx::MicrosoftSkipSimplifiedLayerNormalizationOp op,
                  PatternRewriter &rewriter) const override {
    Value sum = makeSkipSum(rewriter, op);
    if (!sum)
      return failure();
    Value norm = onnx::RMSNormalizationOp::create(
        rewriter, op.getLoc(), op.getResult().getType(), sum, op.getGamma(),
        rewriter.getI64IntegerAttr(-1), op.getEpsilonAttr(),
        rewriter.getI64IntegerAttr(1));
    rewriter.replaceAllUsesWith(op.getSum(), sum);
    rewriter.replaceAllUsesWith(op.getResult(), norm);
    rewriter.eraseOp(op);
    return success();
  }
};

/// SkipLayerNormalization as a sum and a norm.
struct SplitSkipLayer
    : OpRewritePattern<onnx::MicrosoftSkipLayerNormalizationOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::MicrosoftSkipLayerNormalizationOp op,
                                PatternRewriter &rewriter) const override {
    Value sum = makeSkipSum(rewriter, op);
    if (!sum)
      return failure();
    auto norm = onnx::LayerNormalizationOp::create(
        rewriter, op.getLoc(), op.getResult().getType(), op.getMean().getType(),
        op.getInvStdDev().getType(), sum, op.getGamma(), op.getBeta(),
        rewriter.getI64IntegerAttr(-1), op.getEpsilonAttr(),
        rewriter.getI64IntegerAttr(1));
    rewriter.replaceAllUsesWith(op.getSum(), sum);
    rewriter.replaceAllUsesWith(op.getResult(), norm.getResult());
    rewriter.eraseOp(op);
    return success();
  }
};

class RecomposeNorms : public graph::impl::RecomposeNormsBase<RecomposeNorms> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FindNorm, FindNormBias, SplitSkipRms, SplitSkipLayer>(
        &getContext());
    if (failed(applyOnnxPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
