//===- RecomposeAttention.cpp - Attention from single operators -----------===//
//
// What is recognised becomes onnx.Attention of [batch, length, heads * size]
// with as many key heads as the model has: neither the transposes around an
// attention nor the repeated key heads are left.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/OnnxElements.h"
#include "passes/Graph/OnnxPatterns.h"
#include "passes/Graph/Passes.h"

namespace weft::graph {
#define GEN_PASS_DEF_RECOMPOSEATTENTION
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {

constexpr StringLiteral passName = "recompose-attention";

//===----------------------------------------------------------------------===//
// Repeated key heads
//===----------------------------------------------------------------------===//

/// Heads and how often each is repeated, one repetition behind the other.
struct Repeated {
  Value heads;
  int64_t times = 1;
};

/// Looks through an Expand or Tile that repeats the heads of dimension
/// `headDim` of four.
std::optional<Repeated> matchRepeat(Value value, int64_t headDim) {
  auto join = value.getDefiningOp<onnx::ReshapeOp>();
  Operation *repeat = join ? join.getData().getDefiningOp() : nullptr;
  if (!isa_and_nonnull<onnx::ExpandOp, onnx::TileOp>(repeat))
    return std::nullopt;
  Operation *insert = repeat->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<onnx::UnsqueezeOp, onnx::ReshapeOp>(insert))
    return std::nullopt;
  Value heads = insert->getOperand(0);
  onnx::Shape joined = getShape(value), source = getShape(heads);
  onnx::Shape repeated = getShape(repeat->getResult(0)),
              inserted = getShape(insert->getResult(0));
  if (source.size() != 4 || joined.size() != 4 || repeated.size() != 5)
    return std::nullopt;
  std::optional<int64_t> times = repeated[headDim + 1].getConstant();
  if (!times)
    return std::nullopt;
  // [.., heads, ..], [.., heads, 1, ..], [.., heads, times, ..], [.., all, ..]
  onnx::Shape wanted = source;
  wanted.insert(wanted.begin() + headDim + 1, Polynomial(1));
  if (inserted != wanted)
    return std::nullopt;
  wanted[headDim + 1] = Polynomial(*times);
  if (repeated != wanted)
    return std::nullopt;
  wanted = source;
  wanted[headDim] = source[headDim] * Polynomial(*times);
  if (joined != wanted)
    return std::nullopt;
  return Repeated{heads, *times};
}

/// Key or value heads [batch, heads, length, size] without their repetition.
Repeated stripRepeat(OpBuilder &builder, Location loc, Value value) {
  if (std::optional<Repeated> repeated = matchRepeat(value, 1))
    return *repeated;
  auto transpose = value.getDefiningOp<onnx::TransposeOp>();
  if (transpose && transpose.getPerm() == ArrayRef<int64_t>{0, 2, 1, 3})
    if (std::optional<Repeated> repeated = matchRepeat(transpose.getData(), 2))
      return {exchangeHeads(builder, loc, repeated->heads), repeated->times};
  return {value, 1};
}

//===----------------------------------------------------------------------===//
// Products, scales, masks
//===----------------------------------------------------------------------===//

/// A value and the number that it is multiplied by.
struct Scaled {
  Value value;
  double factor = 1;
};

/// Looks through multiplications and divisions by numbers, and conversions.
Scaled stripScale(Value value) {
  Scaled scaled{value};
  while (true) {
    scaled.value = stripCasts(scaled.value);
    if (auto mul = scaled.value.getDefiningOp<onnx::MulOp>()) {
      auto split =
          splitOperands(mul, [](Value v) { return getScalar(v).has_value(); });
      if (!split)
        return scaled;
      scaled.factor *= *getScalar(split->first);
      scaled.value = split->second;
    } else if (auto div = scaled.value.getDefiningOp<onnx::DivOp>()) {
      std::optional<double> number = getScalar(div.getRhs());
      if (!number || *number == 0)
        return scaled;
      scaled.factor /= *number;
      scaled.value = div.getLhs();
    } else {
      return scaled;
    }
  }
}

/// Keys [batch, heads, length, size] of what has the last two dimensions
/// exchanged.
Value exchangeLast(OpBuilder &builder, Location loc, Value value) {
  if (auto transpose = value.getDefiningOp<onnx::TransposeOp>()) {
    if (std::optional<ArrayRef<int64_t>> perm = transpose.getPerm()) {
      SmallVector<int64_t> exchanged(*perm);
      std::swap(exchanged[2], exchanged[3]);
      if (llvm::equal(exchanged, llvm::seq<int64_t>(4)))
        return transpose.getData();
      if (exchanged == SmallVector<int64_t>{0, 2, 1, 3})
        return exchangeHeads(builder, loc, transpose.getData());
    }
  }
  onnx::Shape shape = getShape(value);
  std::swap(shape[2], shape[3]);
  Type type = onnx::makeType(getElementTypeOrSelf(value.getType()), shape);
  // Batches and heads joined around the transpose.
  if (auto split = value.getDefiningOp<onnx::ReshapeOp>())
    if (auto transpose = split.getData().getDefiningOp<onnx::TransposeOp>())
      if (auto join = transpose.getData().getDefiningOp<onnx::ReshapeOp>())
        if (transpose.getPerm() == ArrayRef<int64_t>{0, 2, 1} &&
            join.getData().getType() == type &&
            getShape(join.getResult())[1] == shape[2])
          return join.getData();
  return onnx::TransposeOp::create(builder, loc, type, value,
                                   builder.getDenseI64ArrayAttr({0, 1, 3, 2}));
}

/// softmax(scores) of an attention, and what they are made of.
struct Scores {
  onnx::MatMulOp product;
  double scale = 1, softcap = 0;
  SmallVector<Value, 2> masks; ///< Numbers that are added.
  /// Whether a mask puts a number in the place of a score that is not low
  /// enough to be the same as added to one.
  bool replaces = false;
  std::string missed; ///< Why they are none.
};

/// Whether a value leads to a product through what may stand behind it.
bool leadsToProduct(Value value) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    Operation *op = stripScale(value).value.getDefiningOp();
    if (!op)
      return false;
    if (isa<onnx::MatMulOp>(op))
      return getShape(op->getResult(0)).size() == 4;
    if (isa<onnx::TanhOp>(op)) {
      value = op->getOperand(0);
    } else if (isa<onnx::AddOp>(op)) {
      if (leadsToProduct(op->getOperand(0)))
        return true;
      value = op->getOperand(1);
    } else if (isa<onnx::WhereOp>(op)) {
      if (leadsToProduct(op->getOperand(1)))
        return true;
      value = op->getOperand(2);
    } else {
      return false;
    }
  }
  return false;
}

/// A number that hides a key: added to a score, or in its place, it leaves
/// nothing of it.
bool hides(double number) { return number <= -1e30; }

Scores matchScores(OpBuilder &builder, Value value) {
  Scores scores;
  while (true) {
    value = stripCasts(value);
    if (auto add = value.getDefiningOp<onnx::AddOp>()) {
      bool isLeft = leadsToProduct(add.getLhs());
      if (!isLeft && !leadsToProduct(add.getRhs()))
        break;
      scores.masks.push_back(isLeft ? add.getRhs() : add.getLhs());
      value = isLeft ? add.getLhs() : add.getRhs();
      continue;
    }
    auto where = value.getDefiningOp<onnx::WhereOp>();
    if (!where)
      break;
    bool isKept = leadsToProduct(where.getLhs());
    std::optional<double> number =
        getScalar(isKept ? where.getRhs() : where.getLhs());
    scores.replaces |= number && !hides(*number);
    if (!number || *number > -1e4) {
      scores.missed = "a mask puts another value than a low number in the "
                      "place of a score";
      return scores;
    }
    // The number where the key is hidden, else 0: as the sum means it.
    Location loc = where.getLoc();
    auto type = RankedTensorType::get({}, builder.getF32Type());
    auto scalar = [&](double x) -> Value {
      return onnx::ConstantOp::create(builder, loc,
                                      DenseElementsAttr::get(type, float(x)));
    };
    Type mask =
        onnx::makeType(builder.getF32Type(), getShape(where.getCondition()));
    scores.masks.push_back(onnx::WhereOp::create(
        builder, loc, mask, where.getCondition(), scalar(isKept ? 0 : *number),
        scalar(isKept ? *number : 0)));
    value = isKept ? where.getLhs() : where.getRhs();
  }
  Scaled scaled = stripScale(value);
  if (auto tanh = scaled.value.getDefiningOp<onnx::TanhOp>()) {
    Scaled inner = stripScale(tanh.getInput());
    scores.softcap = scaled.factor;
    scaled = {inner.value, inner.factor * scaled.factor};
  }
  scores.scale = scaled.factor;
  scores.product = scaled.value.getDefiningOp<onnx::MatMulOp>();
  if (!scores.product)
    scores.missed = "the scores are no product, scaled and masked";
  else if (getShape(scores.product.getResult()).size() != 4)
    scores.missed =
        "the product has " +
        std::to_string(getShape(scores.product.getResult()).size()) +
        " dimensions, expected batch, heads and two lengths";
  return scores;
}

/// The softmax that gives the weights of values, through what may stand
/// between: conversions, and a 0 in the place of what is not a number.
struct Weights {
  onnx::SoftmaxOp softmax;
  bool isGuarded = false; ///< Rows that see nothing are 0, not NaN.
};

Weights matchWeights(Value value) {
  Weights weights;
  value = stripCasts(value);
  if (auto where = value.getDefiningOp<onnx::WhereOp>()) {
    auto isNaN = where.getCondition().getDefiningOp<onnx::IsNaNOp>();
    if (!isNaN || isNaN.getInput() != where.getRhs() ||
        !isScalar(where.getLhs(), 0))
      return weights;
    weights.isGuarded = true;
    value = stripCasts(where.getRhs());
  }
  weights.softmax = value.getDefiningOp<onnx::SoftmaxOp>();
  return weights;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Past and new keys or values of a Concat of lengths.
std::pair<Value, Value> splitPast(Value value) {
  auto concat = value.getDefiningOp<onnx::ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 ||
      (concat.getAxis() != 2 && concat.getAxis() != -2))
    return {Value(), value};
  return {concat.getInputs()[0], concat.getInputs()[1]};
}

/// What an attention computes, heads as [batch, heads, length, size].
struct Attention {
  Value query, key, value, pastKey, pastValue, mask;
  /// What holds the past and the new ones; null: nothing but the attention.
  Value presentKey, presentValue;
  double scale = 1, softcap = 0;
  int64_t causal = 0, left = -1, right = -1;

  /// Whether sizes that must be numbers are.
  bool hasStaticHeads() const {
    for (Value heads : {query, key, value}) {
      onnx::Shape shape = getShape(heads);
      if (shape.size() != 4 || !shape[1].isConstant() || !shape[3].isConstant())
        return false;
    }
    return true;
  }

  /// Takes a mask that is causal as what it means; false if it is not.
  bool recogniseMask() {
    Polynomial offset = pastKey ? getShape(pastKey)[2] : Polynomial(0);
    std::optional<CausalMask> found =
        mask && !causal && left < 0
            ? matchCausalMask(OnnxElements(), mask, offset)
            : std::nullopt;
    if (!found)
      return false;
    mask = Value();
    causal = 1;
    left = found->window ? found->window - 1 : -1;
    return true;
  }

  /// Removes what repeats key heads, if keys and values agree in it.
  void stripRepeats(OpBuilder &builder, Location loc) {
    Repeated keys = stripRepeat(builder, loc, key),
             values = stripRepeat(builder, loc, value);
    if (keys.times == values.times) {
      key = keys.heads;
      value = values.heads;
    }
  }

  /// Takes the past off keys and values, if both have one.
  void splitPasts() {
    auto [earlierKey, newKey] = splitPast(key);
    auto [earlierValue, newValue] = splitPast(value);
    if (!earlierKey || !earlierValue)
      return;
    pastKey = earlierKey;
    pastValue = earlierValue;
    presentKey = key;
    presentValue = value;
    key = newKey;
    value = newValue;
  }

  /// The result [batch, heads, length, size].
  Value build(PatternRewriter &rewriter, Location loc, RankedTensorType type) {
    onnx::Shape queries = getShape(query), keys = getShape(key),
                values = getShape(value);
    onnx::Shape allKeys = keys, allValues = values;
    if (pastKey) {
      allKeys[2] += getShape(pastKey)[2];
      allValues[2] += getShape(pastValue)[2];
    }
    Value flatQuery = joinHeads(rewriter, loc, query, 1),
          flatKey = joinHeads(rewriter, loc, key, 1),
          flatValue = joinHeads(rewriter, loc, value, 1);
    Type element = getElementTypeOrSelf(query.getType());
    auto i64 = [&](int64_t x) { return rewriter.getI64IntegerAttr(x); };
    auto attention = onnx::AttentionOp::create(
        rewriter, loc,
        onnx::makeType(element,
                       {queries[0], queries[2], queries[1] * values[3]}),
        onnx::makeType(element, allKeys), onnx::makeType(element, allValues),
        onnx::makeType(element,
                       {queries[0], queries[1], queries[2], allKeys[2]}),
        flatQuery, flatKey, flatValue, mask, pastKey, pastValue, Value(),
        i64(causal), i64(*keys[1].getConstant()),
        i64(*queries[1].getConstant()), i64(0),
        rewriter.getF32FloatAttr(float(scale)),
        rewriter.getF32FloatAttr(float(softcap)), TypeAttr(), i64(left),
        i64(right));
    // Joined behind the attention, so that one set of tensors is left.
    for (auto [joined, present] :
         {std::pair(presentKey, attention.getPresentKey()),
          std::pair(presentValue, attention.getPresentValue())})
      if (joined && joined.getType() == present.getType())
        rewriter.replaceUsesWithIf(joined, present, [&](OpOperand &use) {
          return isa<func::ReturnOp>(use.getOwner());
        });
    return splitHeads(rewriter, loc, attention.getResult(), type, 1);
  }
};

/// MatMul(softmax(MatMul(query, key)), value).
struct FindAttention : OpRewritePattern<onnx::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::MatMulOp op,
                                PatternRewriter &rewriter) const override {
    Weights weights = matchWeights(op.getLhs());
    if (!weights.softmax)
      return failure();
    auto missed = [&](const Twine &reason) {
      remarkMissed(op, passName, reason);
      return failure();
    };
    int64_t rank = getShape(weights.softmax.getInput()).size();
    if (weights.softmax.getAxis() != -1 &&
        weights.softmax.getAxis() != rank - 1)
      return missed("the softmax is over another dimension than the last");
    if (getShape(op.getResult()).size() != 4)
      return missed("the values have " + Twine(getShape(op.getRhs()).size()) +
                    " dimensions, expected batch, heads, length and size");
    Scores scores = matchScores(rewriter, weights.softmax.getInput());
    if (!scores.missed.empty())
      return missed(scores.missed);
    Location loc = op.getLoc();
    Attention attention;
    Scaled query = stripScale(scores.product.getLhs()),
           key = stripScale(scores.product.getRhs());
    if (getShape(query.value).size() != 4 || getShape(key.value).size() != 4)
      return missed("queries or keys are shared by all heads");
    attention.query = query.value;
    Value keys = exchangeLast(rewriter, loc, key.value);
    Scaled inner = stripScale(keys);
    attention.key = inner.value;
    attention.value = op.getRhs();
    attention.scale = scores.scale * query.factor * key.factor * inner.factor;
    attention.softcap = scores.softcap;
    if (attention.scale <= 0 || attention.softcap < 0)
      return missed(
          "the scores are multiplied by a number that is not positive");
    for (Value mask : scores.masks) {
      if (!attention.mask) {
        attention.mask = mask;
        continue;
      }
      onnx::Shape a = getShape(attention.mask), b = getShape(mask);
      if (a != b || getElementTypeOrSelf(mask.getType()) !=
                        getElementTypeOrSelf(attention.mask.getType()))
        return missed("several masks of different shapes are added");
      attention.mask = onnx::AddOp::create(rewriter, loc, mask.getType(),
                                           attention.mask, mask);
    }
    Type element = getElementTypeOrSelf(op.getType());
    for (Value heads : {attention.query, attention.key, attention.value})
      if (getElementTypeOrSelf(heads.getType()) != element)
        return missed("queries, keys and values are of different types");
    if (!attention.hasStaticHeads())
      return missed("the number of heads or their size is not known");
    onnx::Shape queries = getShape(attention.query),
                keyShape = getShape(attention.key),
                valueShape = getShape(attention.value);
    if (queries[0] != keyShape[0] || keyShape[0] != valueShape[0] ||
        queries[1] != keyShape[1] || keyShape[1] != valueShape[1])
      return missed("queries, keys and values differ in batch or heads");
    attention.stripRepeats(rewriter, loc);
    attention.splitPasts();
    bool isCausal = attention.recogniseMask();
    if (scores.replaces && !isCausal)
      return missed("a mask puts a number that is not very low in the place of "
                    "a score");
    remarkApplied(op, passName,
                  attention.mask ? "Attention with a mask"
                  : isCausal     ? "causal Attention"
                                 : "Attention");
    rewriter.replaceOp(op, attention.build(rewriter, loc, op.getType()));
    return success();
  }
};

/// Attention of [batch, heads, length, size].
struct FlattenAttention : OpRewritePattern<onnx::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (getShape(op.getQuery()).size() != 4 || op.getNonpadKvSeqlen() ||
        !op.getScores().use_empty())
      return failure();
    Attention attention;
    attention.query = op.getQuery();
    attention.key = op.getKey();
    attention.value = op.getValue();
    attention.pastKey = op.getPastKey();
    attention.pastValue = op.getPastValue();
    attention.mask = op.getMask();
    if (!attention.hasStaticHeads())
      return failure();
    int64_t size = *getShape(op.getQuery())[3].getConstant();
    attention.scale = op.getScale() ? op.getScale()->convertToDouble()
                                    : 1 / std::sqrt(double(size));
    attention.softcap = op.getSoftcap().convertToDouble();
    attention.causal = op.getIsCausal();
    attention.left = op.getLeftWindowSize();
    attention.right = op.getRightWindowSize();
    // Heads are repeated in the results that hold past and new ones, too.
    bool isShown =
        !op.getPresentKey().use_empty() || !op.getPresentValue().use_empty();
    if (!op.getPastKey() && !isShown) {
      attention.stripRepeats(rewriter, op.getLoc());
      if (!attention.causal)
        attention.splitPasts();
    }
    (void)attention.recogniseMask();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    OpBuilder::InsertionGuard guard(rewriter);
    Value result = attention.build(rewriter, op.getLoc(), type);
    Operation *whole = findAttention(result);
    rewriter.replaceAllUsesWith(op.getResult(), result);
    if (isShown) {
      rewriter.replaceAllUsesWith(op.getPresentKey(), whole->getResult(1));
      rewriter.replaceAllUsesWith(op.getPresentValue(), whole->getResult(2));
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// The attention behind the reshapes of its result.
  static Operation *findAttention(Value value) {
    while (!isa<onnx::AttentionOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value.getDefiningOp();
  }
};

class RecomposeAttention
    : public graph::impl::RecomposeAttentionBase<RecomposeAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FindAttention, FlattenAttention>(&getContext());
    addSimplifyPatterns(patterns);
    if (failed(applyOnnxPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
