//===- WeftDecomposeSample.cpp - The meaning of sampling ------------------===//
//
// Every id is compared with every other one of its row: what comes before it in
// descending order says whether it stays. That is quadratic in the number of
// ids and needs no sorting.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/DecomposeBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace weft;

using Operand = DecomposeBuilder::Operand;
using Sizes = DecomposeBuilder::Sizes;

//===----------------------------------------------------------------------===//
// Adjustments
//===----------------------------------------------------------------------===//

static Value isFinite(DecomposeBuilder &b, Value x) {
  return b.less(math::AbsFOp::create(b, x),
                b.f32(std::numeric_limits<float>::infinity()));
}

FailureOr<SmallVector<Value>>
AdjustLogitsOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  constexpr float most = std::numeric_limits<float>::max();
  auto adjusted = [&](Value x, Value repetition, Value bias) {
    Value penalised = b.select(b.less(b.f32(0.0f), x), b.div(x, repetition),
                               b.mul(x, repetition));
    Value sum = b.add(penalised, bias);
    sum = arith::MinimumFOp::create(b, sum, b.f32(most));
    sum = arith::MaximumFOp::create(b, sum, b.f32(-most));
    return b.select(isFinite(b, x), sum, x);
  };
  auto loop = scf::ForOp::create(
      b, b.index(0), b.sizeOf(getPlaces(), 0), b.index(1), getLogits(),
      [&](OpBuilder &nested, Location, Value entry, ValueRange state) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        Value row = b.load(getPlaces(), {entry, b.index(0)});
        Value isUsed =
            arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, b.i32(0));
        // A skipped entry writes what is there.
        Value place[] = {
            b.toIndex(b.select(isUsed, row, b.i32(0))),
            b.toIndex(b.select(isUsed, b.load(getPlaces(), {entry, b.index(1)}),
                               b.i32(0)))};
        Value x = b.load(state[0], place);
        Value next = adjusted(x, b.load(getValues(), {entry, b.index(0)}),
                              b.load(getValues(), {entry, b.index(1)}));
        Value result = tensor::InsertOp::create(b, b.select(isUsed, next, x),
                                                state[0], place);
        scf::YieldOp::create(b, result);
      });
  return SmallVector<Value>{loop.getResult(0)};
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

namespace {

/// Loops: row, id, another id.
class SampleDecomposer {
public:
  SampleDecomposer(DecomposeBuilder &b, SampleOp op)
      : b(b), op(op), logits{op.getLogits(), {0, 1}},
        others{op.getLogits(), {0, 2}}, sizes(b.sizesOf(op.getLogits())),
        topK(column(op.getCounts(), 0)), ids(column(op.getCounts(), 1)),
        temperature(column(op.getOptions(), 0)),
        topP(column(op.getOptions(), 1)), minP(column(op.getOptions(), 2)),
        uniform(column(op.getOptions(), 3)) {}

  Value build() {
    Value bad = firstId([&](ValueRange x) {
      Value finite = isFinite(b, x[0]);
      return arith::XOrIOp::create(
          b, finite, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    });
    largest = b.reduce(
        sizes[0], b.getF32FloatAttr(-std::numeric_limits<float>::infinity()),
        {logits, ofRow(ids)}, [&](ValueRange x) {
          Value isLarger = both(isBelow(b.loop(1), x[1]), b.less(x[2], x[0]));
          return b.select(isLarger, x[0], x[2]);
        });
    Value greedy = firstId([&](ValueRange x) { return b.equal(x[0], x[1]); });
    Value drawn = drawIfWanted();
    return b.parallel(
        sizes[0], b.getI32Type(),
        {ofRow(bad), ofRow(temperature), ofRow(greedy), ofRow(drawn)},
        [&](ValueRange x) {
          Value id = b.select(b.equal(x[1], b.f32(0.0f)), x[2], x[3]);
          return b.select(b.equal(x[0], b.i32(none)), id,
                          b.sub(b.i32(-1), x[0]));
        });
  }

private:
  static constexpr int32_t none = std::numeric_limits<int32_t>::max();

  /// A parameter of each row.
  Value column(Value table, int64_t number) {
    Type element = cast<RankedTensorType>(table.getType()).getElementType();
    return b.parallel(b.sizesOf(table)[0], element, {}, [&](ValueRange) {
      return b.load(table, {b.loop(0), b.index(number)});
    });
  }

  static Operand ofRow(Value tensor) { return {tensor, {0}}; }
  static Operand ofId(Value tensor) { return {tensor, {0, 1}}; }

  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value isBelow(Value position, Value count) {
    return b.less(b.toI32(position), count);
  }

  /// The lowest id of each row for which `holds`, given its logit and the
  /// largest one of the row.
  Value firstId(function_ref<Value(ValueRange)> holds) {
    SmallVector<Operand> operands = {logits, ofRow(ids)};
    if (largest)
      operands.insert(operands.begin() + 1, ofRow(largest));
    return b.reduce(
        sizes[0], b.getI32IntegerAttr(none), operands, [&](ValueRange x) {
          Value count = x[operands.size() - 1];
          Value isFound = both(isBelow(b.loop(1), count), holds(x));
          Value id = b.select(isFound, b.toI32(b.loop(1)), b.i32(none));
          return arith::MinSIOp::create(b, x.back(), id).getResult();
        });
  }

  /// Sum over the other ids that come before an id and at it, or only before:
  /// `order` says whether id 2 with its logit comes before id 1.
  Value sumBefore(Value summands,
                  function_ref<Value(Value x, Value other)> order) {
    return b.reduce(sizes, b.getF32FloatAttr(0.0f),
                    {logits, others, {summands, {0, 2}}}, [&](ValueRange x) {
                      Value summand =
                          b.select(order(x[0], x[1]), x[2], b.f32(0.0f));
                      return b.add(x.back(), summand);
                    });
  }

  Value sumOf(Value summands) {
    return b.reduce(sizes[0], b.getF32FloatAttr(0.0f), {ofId(summands)},
                    [&](ValueRange x) { return b.add(x[1], x[0]); });
  }

  /// What is drawn; zeros if all temperatures are 0, because a draw takes
  /// long.
  Value drawIfWanted() {
    Value hottest = b.reduce({}, b.getF32FloatAttr(0.0f), {{temperature, {0}}},
                             [&](ValueRange x) -> Value {
                               return arith::MaximumFOp::create(b, x[1], x[0]);
                             });
    Value isWanted = b.less(
        b.f32(0.0f), tensor::ExtractOp::create(b, hottest, ValueRange{}));
    Value zeros = b.parallel(sizes[0], b.getI32Type(), {},
                             [&](ValueRange) -> Value { return b.i32(0); });
    auto branch = scf::IfOp::create(b, TypeRange(zeros.getType()), isWanted,
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, draw());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, zeros);
    return branch.getResult(0);
  }

  Value draw() {
    auto comesBefore = [&](Value x, Value other) {
      Value isLower = b.less(b.loop(2), b.loop(1));
      return either(b.less(x, other), both(b.equal(x, other), isLower));
    };
    // Halves, so that the difference of the largest numbers is one.
    Value weights = b.parallel(
        sizes, b.getF32Type(),
        {logits, ofRow(largest), ofRow(temperature), ofRow(ids)},
        [&](ValueRange x) {
          Value half = b.f32(0.5f);
          Value difference = b.sub(b.mul(x[0], half), b.mul(x[1], half));
          Value scaled = b.mul(difference, b.div(b.f32(2.0f), x[2]));
          Value weight = math::ExpOp::create(b, scaled);
          return b.select(isBelow(b.loop(1), x[3]), weight, b.f32(0.0f));
        });
    Value ones =
        b.parallel(sizes, b.getF32Type(), {ofRow(ids)}, [&](ValueRange x) {
          return b.select(isBelow(b.loop(1), x[0]), b.f32(1.0f), b.f32(0.0f));
        });
    Value ranks = sumBefore(ones, comesBefore);
    weights = b.parallel(
        sizes, b.getF32Type(), {ofId(weights), ofId(ranks), ofRow(topK)},
        [&](ValueRange x) {
          Value limit = arith::SIToFPOp::create(b, b.getF32Type(), x[2]);
          Value stays = either(b.equal(x[2], b.i32(0)), b.less(x[1], limit));
          return b.select(stays, x[0], b.f32(0.0f));
        });
    Value before = sumBefore(weights, comesBefore), whole = sumOf(weights);
    weights = b.parallel(
        sizes, b.getF32Type(),
        {ofId(weights), ofId(before), ofId(ranks), ofRow(whole), ofRow(topP),
         ofRow(minP)},
        [&](ValueRange x) {
          constexpr float tolerance = 1e-6f;
          Value isFirst = b.equal(x[2], b.f32(0.0f));
          Value wanted = b.mul(b.sub(x[4], b.f32(tolerance)), x[3]);
          Value inPrefix =
              either(arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x[4],
                                           b.f32(1.0f)),
                     b.less(x[1], wanted));
          Value least = b.mul(x[5], b.f32(1.0f - tolerance));
          Value isLikely =
              arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x[0], least);
          Value stays = either(isFirst, both(inPrefix, isLikely));
          return b.select(stays, x[0], b.f32(0.0f));
        });
    Value upTo = sumBefore(weights, [&](Value, Value) {
      Value isAbove = b.less(b.loop(1), b.loop(2));
      return arith::XOrIOp::create(
          b, isAbove, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    });
    whole = sumOf(weights);
    // The last id that is left takes what rounding leaves over.
    Value last = b.reduce(
        sizes[0], b.getI32IntegerAttr(0), {ofId(weights)}, [&](ValueRange x) {
          Value id =
              b.select(b.less(b.f32(0.0f), x[0]), b.toI32(b.loop(1)), b.i32(0));
          return arith::MaxSIOp::create(b, x[1], id).getResult();
        });
    Value crossing =
        b.reduce(sizes[0], b.getI32IntegerAttr(none),
                 {ofId(upTo), ofRow(whole), ofRow(uniform)}, [&](ValueRange x) {
                   Value isBeyond = b.less(b.mul(x[2], x[1]), x[0]);
                   Value id =
                       b.select(isBeyond, b.toI32(b.loop(1)), b.i32(none));
                   return arith::MinSIOp::create(b, x.back(), id).getResult();
                 });
    return b.parallel(
        sizes[0], b.getI32Type(), {ofRow(crossing), ofRow(last)},
        [&](ValueRange x) {
          return arith::MinSIOp::create(b, x[0], x[1]).getResult();
        });
  }

  DecomposeBuilder &b;
  SampleOp op;
  Operand logits, others;
  Sizes sizes;
  Value topK, ids, temperature, topP, minP, uniform; ///< Of each row.
  Value largest; ///< Null until it is known.
};

} // namespace

FailureOr<SmallVector<Value>> SampleOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  Value ids = SampleDecomposer(b, *this).build();
  return SmallVector<Value>{b.castTo(ids, getIds().getType())};
}
