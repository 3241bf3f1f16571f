//===- WeftDecomposeExperts.cpp - The meaning of mixtures of experts ------===//

#include "dialects/Weft/DecomposeBuilder.h"

using namespace mlir;
using namespace weft;

using Operand = DecomposeBuilder::Operand;
using Sizes = DecomposeBuilder::Sizes;

/// Softmax over the columns of a matrix, in f32.
static Value buildSoftmax(DecomposeBuilder &b, Value logits) {
  Sizes sizes = b.sizesOf(logits);
  Value maxima = b.reduce(
      sizes[0], b.getF32FloatAttr(-std::numeric_limits<float>::infinity()),
      {{logits, {0, 1}}}, [&](ValueRange x) -> Value {
        return arith::MaximumFOp::create(b, x[1], b.extend(x[0]));
      });
  Value weights =
      b.parallel(sizes, b.getF32Type(), {{logits, {0, 1}}, {maxima, {0}}},
                 [&](ValueRange x) -> Value {
                   return math::ExpOp::create(b, b.sub(b.extend(x[0]), x[1]));
                 });
  Value sums = b.reduce(sizes[0], b.getF32FloatAttr(0.0f), {{weights, {0, 1}}},
                        [&](ValueRange x) { return b.add(x[1], x[0]); });
  return b.parallel(sizes, b.getF32Type(), {{weights, {0, 1}}, {sums, {0}}},
                    [&](ValueRange x) { return b.div(x[0], x[1]); });
}

FailureOr<SmallVector<Value>> RouteOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  Value probabilities = buildSoftmax(b, getLogits());
  Sizes sizes = b.sizesOf(getLogits());
  Sizes chosenSizes = {sizes[0],
                       b.getIndexAttr(static_cast<int64_t>(getTopK()))};

  // ranks[t, e]: how many experts come before expert e: larger ones, and equal
  // ones with a lower number.
  Value ranks = b.reduce(
      sizes, b.getI32IntegerAttr(0),
      {{probabilities, {0, 1}}, {probabilities, {0, 2}}}, [&](ValueRange x) {
        Value isLower = b.less(b.loop(2), b.loop(1));
        Value isTie = arith::AndIOp::create(b, b.equal(x[1], x[0]), isLower);
        Value isBefore = arith::OrIOp::create(b, b.less(x[0], x[1]), isTie);
        return b.add(x.back(), b.select(isBefore, b.i32(1), b.i32(0)));
      });
  // The expert of rank i. The maximum keeps the number in range even when
  // the logits are not numbers and ranks repeat.
  Value experts = b.reduce(chosenSizes, b.getI32IntegerAttr(0),
                           {{ranks, {0, 2}}}, [&](ValueRange x) -> Value {
                             Value isChosen = b.equal(x[0], b.toI32(b.loop(1)));
                             Value expert = b.select(
                                 isChosen, b.toI32(b.loop(2)), b.i32(0));
                             return arith::MaxSIOp::create(b, x.back(), expert);
                           });
  Value weights = b.parallel(
      chosenSizes, b.getF32Type(), {{experts, {0, 1}}}, [&](ValueRange x) {
        return b.load(probabilities, {b.loop(0), b.toIndex(x[0])});
      });
  if (getRenormalize()) {
    Value sums =
        b.reduce(sizes[0], b.getF32FloatAttr(0.0f), {{weights, {0, 1}}},
                 [&](ValueRange x) { return b.add(x[1], x[0]); });
    weights = b.parallel(chosenSizes, b.getF32Type(),
                         {{weights, {0, 1}}, {sums, {0}}},
                         [&](ValueRange x) { return b.div(x[0], x[1]); });
  }
  return SmallVector<Value>{b.castTo(experts, getExperts().getType()),
                            b.castTo(weights, getWeights().getType())};
}

FailureOr<SmallVector<Value>>
GroupedLinearOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  auto type = cast<RankedTensorType>(getResult().getType());
  bool isShared = cast<RankedTensorType>(getInput().getType()).getRank() == 2;
  Sizes chosen = b.sizesOf(getExperts());
  Sizes sizes = {chosen[0], chosen[1], b.getIndexAttr(type.getShape()[2])};
  // Loops: token, choice, output, input.
  Operand input{getInput(), isShared ? SmallVector<int64_t>{0, 3}
                                     : SmallVector<int64_t>{0, 1, 3}};
  Value sums = b.reduce(
      sizes, b.getF32FloatAttr(0.0f), {input, {getExperts(), {0, 1}}},
      [&](ValueRange x) {
        Value weight = b.loadMatrix(getWeight(), getLayout(), b.toIndex(x[1]),
                                    b.loop(2), b.loop(3));
        return b.add(x.back(), b.mul(b.extend(x[0]), b.extend(weight)));
      });
  Value result = b.roundTensor(sums, type.getElementType());
  return SmallVector<Value>{b.castTo(result, type)};
}

FailureOr<SmallVector<Value>>
CombineOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  auto type = cast<RankedTensorType>(getResult().getType());
  Sizes input = b.sizesOf(getInput());
  // Loops: token, element, choice.
  Value sums = b.reduce({input[0], input[2]}, b.getF32FloatAttr(0.0f),
                        {{getInput(), {0, 2, 1}}, {getWeights(), {0, 2}}},
                        [&](ValueRange x) {
                          return b.add(x.back(), b.mul(b.extend(x[0]), x[1]));
                        });
  Value result = b.roundTensor(sums, type.getElementType());
  return SmallVector<Value>{b.castTo(result, type)};
}
