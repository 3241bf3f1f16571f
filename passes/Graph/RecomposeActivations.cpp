//===- RecomposeActivations.cpp - Gelu, Swish from single operators -------===//

#include "passes/Graph/OnnxPatterns.h"
#include "passes/Graph/Passes.h"

namespace weft::graph {
#define GEN_PASS_DEF_RECOMPOSEACTIVATIONS
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {

constexpr StringLiteral passName = "recompose-activations";
constexpr double squareRootOfHalf = 0.70710678118654752440;
constexpr double squareRootOf2ByPi = 0.79788456080286535588;
constexpr double cubeFactor = 0.044715;

bool isNear(double x, double y) {
  // Constants of 16-bit models are rounded to 8 bits.
  return std::abs(x - y) <= 4e-3 * std::abs(y);
}

/// Factor `x` of sigmoid(factor * x), if `value` is that.
std::optional<double> getSigmoidFactor(Value value, Value x) {
  auto sigmoid = value.getDefiningOp<onnx::SigmoidOp>();
  if (!sigmoid)
    return std::nullopt;
  if (sigmoid.getInput() == x)
    return 1.0;
  Product product = flattenProduct(sigmoid.getInput());
  if (product.factors.size() != 1 || product.factors[0] != x)
    return std::nullopt;
  return product.coefficient;
}

/// `sum` as 1 + something.
Value getAddendOfOne(Value sum) {
  auto add = sum.getDefiningOp<onnx::AddOp>();
  if (!add)
    return {};
  auto split = splitOperands(add, [](Value v) { return isScalar(v, 1); });
  return split ? split->second : Value();
}

/// Whether a value is x^3, or its product with a number, which is returned.
std::optional<double> getCubeFactor(Value value, Value x) {
  Product product = flattenProduct(value);
  if (product.factors.size() == 1)
    if (auto pow = product.factors[0].getDefiningOp<onnx::PowOp>())
      if (pow.getLhs() == x && isScalar(pow.getRhs(), 3))
        return product.coefficient;
  int64_t degree = 0;
  for (Value factor : product.factors) {
    auto pow = factor.getDefiningOp<onnx::PowOp>();
    if (factor == x)
      ++degree;
    else if (pow && pow.getLhs() == x && isScalar(pow.getRhs(), 2))
      degree += 2;
    else
      return std::nullopt;
  }
  return degree == 3 ? std::optional(product.coefficient) : std::nullopt;
}

/// Whether a value is x^2 times a number.
std::optional<double> getSquareFactor(Value value, Value x) {
  Product product = flattenProduct(value);
  ArrayRef<Value> factors = product.factors;
  if (factors.size() == 2 && factors[0] == x && factors[1] == x)
    return product.coefficient;
  auto pow = factors.size() == 1 ? factors[0].getDefiningOp<onnx::PowOp>()
                                 : onnx::PowOp();
  if (pow && pow.getLhs() == x && isScalar(pow.getRhs(), 2))
    return product.coefficient;
  return std::nullopt;
}

/// Whether a value is sqrt(2 / pi) (x + 0.044715 x^3).
bool isTanhArgument(Value value, Value x) {
  Product product = flattenProduct(value);
  auto isSum = [&](Value candidate, Value other, double scale) {
    auto add = candidate.getDefiningOp<onnx::AddOp>();
    if (!add)
      return false;
    if (!other) { // x + c x^3
      auto split = splitOperands(add, [&](Value v) { return v == x; });
      auto factor = split ? getCubeFactor(split->second, x) : std::nullopt;
      return factor && isNear(scale, squareRootOf2ByPi) &&
             isNear(*factor, cubeFactor);
    }
    // x (a + b x^2)
    for (auto [constant, square] : {std::pair(add.getLhs(), add.getRhs()),
                                    std::pair(add.getRhs(), add.getLhs())}) {
      std::optional<double> one = getScalar(constant);
      std::optional<double> factor = getSquareFactor(square, x);
      if (other == x && one && factor &&
          isNear(scale * *one, squareRootOf2ByPi) &&
          isNear(scale * *factor, squareRootOf2ByPi * cubeFactor))
        return true;
    }
    return false;
  };
  ArrayRef<Value> factors = product.factors;
  if (factors.size() == 1)
    return isSum(factors[0], {}, product.coefficient);
  return factors.size() == 2 &&
         (isSum(factors[0], factors[1], product.coefficient) ||
          isSum(factors[1], factors[0], product.coefficient));
}

/// x sigmoid(alpha x), x / (1 + exp(-x)).
struct FindSwish : OpRewritePattern<onnx::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, sigmoid] : {std::pair(op.getLhs(), op.getRhs()),
                              std::pair(op.getRhs(), op.getLhs())}) {
      std::optional<double> alpha = getSigmoidFactor(sigmoid, x);
      if (!alpha || x.getType() != op.getType())
        continue;
      remarkApplied(op, passName, "Swish");
      rewriter.replaceOpWithNewOp<onnx::SwishOp>(
          op, op.getType(), x, rewriter.getF32FloatAttr(float(*alpha)));
      return success();
    }
    return failure();
  }
};

struct FindSwishOfExp : OpRewritePattern<onnx::DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::DivOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), addend = getAddendOfOne(op.getRhs());
    auto exp = addend ? addend.getDefiningOp<onnx::ExpOp>() : onnx::ExpOp();
    auto neg =
        exp ? exp.getInput().getDefiningOp<onnx::NegOp>() : onnx::NegOp();
    if (!neg || neg.getInput() != x || x.getType() != op.getType())
      return failure();
    remarkApplied(op, passName, "Swish");
    rewriter.replaceOpWithNewOp<onnx::SwishOp>(op, op.getType(), x,
                                               rewriter.getF32FloatAttr(1));
    return success();
  }
};

/// x / 2 (1 + erf(x / sqrt(2))), x / 2 (1 + tanh(...)).
template <typename Op> struct FindGelu : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat(op.getResult()))
      return failure();
    Product product = flattenProduct(op.getResult());
    if (product.factors.size() != 2 || !isNear(product.coefficient, 0.5))
      return failure();
    for (unsigned i : {0u, 1u}) {
      Value x = product.factors[i];
      Value addend = getAddendOfOne(product.factors[1 - i]);
      if (!addend || x.getType() != op.getType())
        continue;
      StringRef approximate;
      if (auto erf = addend.template getDefiningOp<onnx::ErfOp>()) {
        Product inner = flattenProduct(erf.getInput());
        if (inner.factors.size() == 1 && inner.factors[0] == x &&
            isNear(inner.coefficient, squareRootOfHalf))
          approximate = "none";
      } else if (auto tanh = addend.template getDefiningOp<onnx::TanhOp>()) {
        if (isTanhArgument(tanh.getInput(), x))
          approximate = "tanh";
      }
      if (approximate.empty())
        continue;
      remarkApplied(op, passName, "Gelu, approximate: " + approximate);
      rewriter.replaceOpWithNewOp<onnx::GeluOp>(
          op, op.getType(), x, rewriter.getStringAttr(approximate));
      return success();
    }
    return failure();
  }
};

class RecomposeActivations
    : public graph::impl::RecomposeActivationsBase<RecomposeActivations> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FindSwish, FindSwishOfExp, FindGelu<onnx::MulOp>,
                 FindGelu<onnx::DivOp>>(&getContext());
    if (failed(applyOnnxPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
