//===- RecomposeRope.cpp - Rotary embeddings from single operators --------===//
//
// What is recognised becomes onnx.RotaryEmbedding of [batch, length, heads *
// size]: the transpose that exporters put before the rotation comes behind it,
// where the attention takes it.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/OnnxPatterns.h"
#include "passes/Graph/Passes.h"

namespace weft::graph {
#define GEN_PASS_DEF_RECOMPOSEROPE
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {

constexpr StringLiteral passName = "recompose-rope";

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

/// A part [start, end) of the last dimension of `source`.
struct Columns {
  Value source;
  int64_t start = 0, end = 0;
};

/// What part of which value this is: a Slice or a result of a Split.
std::optional<Columns> matchColumns(Value value) {
  if (auto slice = value.getDefiningOp<onnx::SliceOp>()) {
    std::optional<int64_t> size = getColumns(slice.getData());
    int64_t rank = getShape(slice.getData()).size();
    std::optional<SmallVector<int64_t, 4>> axes = getIntegers(slice.getAxes());
    std::optional<double> start = getScalar(slice.getStarts()),
                          end = getScalar(slice.getEnds());
    bool hasSteps = slice.getSteps() && !isScalar(slice.getSteps(), 1);
    if (!size || !axes || axes->size() != 1 || !start || !end || hasSteps ||
        (axes->front() != -1 && axes->front() != rank - 1))
      return std::nullopt;
    auto place = [&](double at) {
      double counted = at < 0 ? at + double(*size) : at;
      return int64_t(std::clamp(counted, 0.0, double(*size)));
    };
    return Columns{slice.getData(), place(*start), place(*end)};
  }
  auto split = value.getDefiningOp<onnx::SplitOp>();
  if (!split)
    return std::nullopt;
  int64_t rank = getShape(split.getInput()).size();
  if (split.getAxis() != -1 && split.getAxis() != rank - 1)
    return std::nullopt;
  int64_t start = 0;
  for (Value part : split.getOutputs()) {
    std::optional<int64_t> size = getColumns(part);
    if (!size)
      return std::nullopt;
    if (part == value)
      return Columns{split.getInput(), start, start + *size};
    start += *size;
  }
  return std::nullopt;
}

bool isLastAxis(onnx::ConcatOp concat) {
  int64_t rank = getShape(concat.getResult()).size();
  return concat.getAxis() == -1 || concat.getAxis() == rank - 1;
}

/// Whether `value` is (-second half, first half) of `x`.
bool isRotatedHalf(Value value, Value x) {
  auto concat = value.getDefiningOp<onnx::ConcatOp>();
  std::optional<int64_t> size = getColumns(x);
  if (!concat || concat.getInputs().size() != 2 || !isLastAxis(concat) ||
      !size || *size % 2)
    return false;
  auto neg = concat.getInputs()[0].getDefiningOp<onnx::NegOp>();
  std::optional<Columns> second =
                             neg ? matchColumns(neg.getInput()) : std::nullopt,
                         first = matchColumns(concat.getInputs()[1]);
  int64_t half = *size / 2;
  return first && second && first->source == x && second->source == x &&
         first->start == 0 && first->end == half && second->start == half &&
         second->end == *size;
}

/// The first half of a table whose second half is the same; null if that is
/// not known. Operators on single elements are repeated on the half.
Value buildHalf(OpBuilder &builder, Value table) {
  Operation *op = table.getDefiningOp();
  if (!op)
    return {};
  if (auto concat = dyn_cast<onnx::ConcatOp>(op)) {
    bool isTwice = concat.getInputs().size() == 2 && isLastAxis(concat) &&
                   concat.getInputs()[0] == concat.getInputs()[1];
    return isTwice ? concat.getInputs()[0] : Value();
  }
  Value source;
  if (isa<onnx::CosOp, onnx::SinOp, onnx::CastOp>(op))
    source = op->getOperand(0);
  unsigned number = 0;
  if (isa<onnx::MulOp, onnx::DivOp>(op)) {
    number = getScalar(op->getOperand(0)) && isa<onnx::MulOp>(op) ? 1 : 0;
    if (getScalar(op->getOperand(1 - number)))
      source = op->getOperand(number);
  }
  Value half = source && getColumns(source) == getColumns(table)
                   ? buildHalf(builder, source)
                   : Value();
  if (!half)
    return {};
  onnx::Shape shape = getShape(table);
  shape.back() = getShape(half).back();
  IRMapping mapping;
  mapping.map(source, half);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(op);
  // Scalars stand before `op`, the half before what it is the half of.
  Operation *copy = builder.clone(*op, mapping);
  copy->getResult(0).setType(
      onnx::makeType(getElementTypeOrSelf(table.getType()), shape));
  return copy->getResult(0);
}

/// The table [batch, length, size] that was given a dimension for heads.
Value getTable(Value value, int64_t headDim) {
  auto unsqueeze = value.getDefiningOp<onnx::UnsqueezeOp>();
  if (!unsqueeze || getShape(value).size() != 4)
    return {};
  std::optional<SmallVector<int64_t, 4>> axes =
      getIntegers(unsqueeze.getAxes());
  if (!axes || axes->size() != 1)
    return {};
  int64_t axis = axes->front() < 0 ? axes->front() + 4 : axes->front();
  return axis == headDim ? unsqueeze.getData() : Value();
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// x * cosine + rotated half of x * sine.
struct Rotation {
  Value x, cosine, sine;
};

std::optional<Rotation> matchRotation(onnx::AddOp add) {
  auto a = add.getLhs().getDefiningOp<onnx::MulOp>(),
       b = add.getRhs().getDefiningOp<onnx::MulOp>();
  if (!a || !b)
    return std::nullopt;
  for (auto [plain, turned] : {std::pair(a, b), std::pair(b, a)})
    for (auto [x, cosine] : {std::pair(plain.getLhs(), plain.getRhs()),
                             std::pair(plain.getRhs(), plain.getLhs())})
      for (auto [half, sine] : {std::pair(turned.getLhs(), turned.getRhs()),
                                std::pair(turned.getRhs(), turned.getLhs())})
        if (isRotatedHalf(half, x))
          return Rotation{x, cosine, sine};
  return std::nullopt;
}

/// Rotates heads `x`, [batch, heads, length, size] or, if `headDim` is 2,
/// [batch, length, heads, size].
Value buildRotary(PatternRewriter &rewriter, Location loc, Value x,
                  int64_t headDim, Value cosine, Value sine, Value positions,
                  bool isInterleaved, int64_t width) {
  auto type = cast<RankedTensorType>(x.getType());
  Value flat = joinHeads(rewriter, loc, x, headDim);
  int64_t heads = *getShape(x)[headDim].getConstant();
  Value rotated = onnx::RotaryEmbeddingOp::create(
      rewriter, loc, flat.getType(), flat, cosine, sine, positions,
      rewriter.getI64IntegerAttr(isInterleaved),
      rewriter.getI64IntegerAttr(heads), rewriter.getI64IntegerAttr(width));
  return splitHeads(rewriter, loc, rotated, type, headDim);
}

/// Sizes of heads that are numbers.
bool hasStaticHeads(Value x, int64_t headDim) {
  onnx::Shape shape = getShape(x);
  return shape.size() == 4 && shape[headDim].isConstant() &&
         shape[3].isConstant();
}

struct FindRotation : OpRewritePattern<onnx::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::AddOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Rotation> rotation = matchRotation(op);
    if (!rotation)
      return failure();
    auto missed = [&](const Twine &reason) {
      remarkMissed(op, passName, reason);
      return failure();
    };
    for (int64_t headDim : {1, 2}) {
      Value cosine = getTable(rotation->cosine, headDim),
            sine = getTable(rotation->sine, headDim);
      if (!cosine || !sine || !hasStaticHeads(rotation->x, headDim))
        continue;
      Value halfCosine = buildHalf(rewriter, cosine),
            halfSine = halfCosine ? buildHalf(rewriter, sine) : Value();
      if (!halfSine)
        return missed("nothing shows that both halves of the tables of cosines "
                      "and sines are the same");
      // Part of each head, with the rest behind it.
      std::optional<Columns> part = matchColumns(rotation->x);
      int64_t width = *getColumns(rotation->x);
      if (part && part->start == 0 && op->hasOneUse())
        if (auto concat = dyn_cast<onnx::ConcatOp>(*op->user_begin());
            concat && isLastAxis(concat) && concat.getInputs().size() == 2 &&
            concat.getInputs()[0] == op.getResult()) {
          std::optional<Columns> rest = matchColumns(concat.getInputs()[1]);
          if (rest && rest->source == part->source && rest->start == width &&
              concat.getResult().getType() == part->source.getType()) {
            remarkApplied(op, passName, "RotaryEmbedding of a part of heads");
            rewriter.setInsertionPoint(concat);
            rewriter.replaceOp(concat,
                               buildRotary(rewriter, op.getLoc(), part->source,
                                           headDim, halfCosine, halfSine, {},
                                           false, width));
            return success();
          }
        }
      if (rotation->x.getType() != op.getType())
        continue;
      remarkApplied(op, passName, "RotaryEmbedding");
      rewriter.replaceOp(op, buildRotary(rewriter, op.getLoc(), rotation->x,
                                         headDim, halfCosine, halfSine, {},
                                         false, 0));
      return success();
    }
    return missed("cosines and sines are not [batch, length, size] with a "
                  "dimension for heads");
  }
};

/// RotaryEmbedding of [batch, heads, length, size].
struct FlattenRotary : OpRewritePattern<onnx::RotaryEmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::RotaryEmbeddingOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasStaticHeads(op.getInput(), 1))
      return failure();
    rewriter.replaceOp(op, buildRotary(rewriter, op.getLoc(), op.getInput(), 1,
                                       op.getCosine(), op.getSine(),
                                       op.getPositionIds(), op.getInterleaved(),
                                       op.getRotaryEmbeddingDim()));
    return success();
  }
};

class RecomposeRope : public graph::impl::RecomposeRopeBase<RecomposeRope> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FindRotation, FlattenRotary>(&getContext());
    addSimplifyPatterns(patterns);
    if (failed(applyOnnxPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
