//===- WeftCost.cpp - Work of model operations ----------------------------===//
//
// What a machine must at least do: FLOPs of the arithmetic (a multiply-add
// counts two; an exponential, a square root, a tangent one), and bytes of
// memory traffic when every operand is read once and every result written
// once. Of tables, caches and expert weights only what is used counts.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/KeyCount.h"
#include "dialects/Weft/WeftDialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t getElementBytes(Value value) {
  return typeOf(value).getElementTypeBitWidth() / 8;
}

static Polynomial countElements(DimFn dims, Value value) {
  Polynomial product(1);
  for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
    product = product * dims(value, dim);
  return product;
}

static Polynomial countBytes(DimFn dims, Value value) {
  return countElements(dims, value) * Polynomial(getElementBytes(value));
}

/// All operands read, each once, and all results written.
static Polynomial countAllBytes(DimFn dims, Operation *op) {
  Polynomial sum;
  llvm::SmallSetVector<Value, 8> tensors(op->operand_begin(),
                                         op->operand_end());
  tensors.insert(op->result_begin(), op->result_end());
  for (Value tensor : tensors)
    sum += countBytes(dims, tensor);
  return sum;
}

/// FLOPs of an activation of one element, beside a multiplication by a gate.
static int64_t countActivationFlops(Activation function) {
  switch (function) {
  case Activation::Relu:
  case Activation::Tanh:
    return 1;
  case Activation::Silu: // negate, exp, add, divide
    return 4;
  case Activation::QuickGelu: // and the factor
  case Activation::Gelu:      // scale, erf, add, half, multiply
    return 5;
  case Activation::GeluTanh: // cube (2), fma, scale, tanh, add, half, multiply
    return 9;
  }
  llvm_unreachable("every activation is handled");
}

//===----------------------------------------------------------------------===//
// Rows, norms, linear layers
//===----------------------------------------------------------------------===//

Polynomial EmbedOp::getFlops(DimFn dims) {
  if (getScale().convertToFloat() == 1.0f)
    return {};
  return countElements(dims, getResult());
}

Polynomial EmbedOp::getBytes(DimFn dims) {
  Polynomial rows = countElements(dims, getResult()) *
                    Polynomial(getElementBytes(getTable()));
  return countBytes(dims, getIds()) + rows + countBytes(dims, getResult());
}

/// Squares are summed (2) and every element is scaled and weighted (2).
Polynomial RmsNormOp::getFlops(DimFn dims) {
  return countElements(dims, getInput()) * Polynomial(4);
}

Polynomial RmsNormOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

/// Sum (1), squared differences (3), scale and weight (3), bias (1).
Polynomial LayerNormOp::getFlops(DimFn dims) {
  return countElements(dims, getInput()) * Polynomial(getBias() ? 8 : 7);
}

Polynomial LayerNormOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

Polynomial LinearOp::getFlops(DimFn dims) {
  int64_t perOutput = 2 * getInputSize() + (getBias() ? 1 : 0);
  return countElements(dims, getResult()) * Polynomial(perOutput);
}

/// A packed weight counts with its padding: it is read.
Polynomial LinearOp::getBytes(DimFn dims) { return countAllBytes(dims, *this); }

//===----------------------------------------------------------------------===//
// Positions and attention
//===----------------------------------------------------------------------===//

/// An angle, a cosine, a sine and two scalings.
Polynomial RopeTableOp::getFlops(DimFn dims) {
  return countElements(dims, getCosine()) * Polynomial(5);
}

Polynomial RopeTableOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

/// Two multiplications and an addition per rotated element.
Polynomial RopeOp::getFlops(DimFn dims) {
  Polynomial rotated = dims(getInput(), 0) * dims(getInput(), 1) *
                       dims(getCosine(), 1) * Polynomial(2);
  return rotated * Polynomial(3);
}

Polynomial RopeOp::getBytes(DimFn dims) { return countAllBytes(dims, *this); }

Polynomial CacheAppendOp::getFlops(DimFn) { return {}; }

Polynomial CacheAppendOp::getBytes(DimFn dims) {
  Polynomial written =
      countElements(dims, getInput()) * Polynomial(getElementBytes(getCache()));
  return countBytes(dims, getInput()) + countBytes(dims, getSlots()) + written;
}

static Polynomial countKeys(AttentionOp op, KeyCount::Kind kind) {
  KeyCount count = {kind, op.getCausal(),
                    static_cast<int64_t>(op.getWindow().value_or(0))};
  return Polynomial::symbol(count.getSymbol());
}

/// Scores and weighted values are 4 FLOPs per element of a head and visible
/// key; each score is also scaled, compared, shifted, exponentiated and
/// summed, and divided, passed through tanh and multiplied by a cap. Each
/// result element is divided once.
Polynomial AttentionOp::getFlops(DimFn dims) {
  int64_t perScore =
      4 * getHeadSize() + 5 + (getSoftcap() ? 3 : 0) + (getBias() ? 1 : 0);
  // Where keys lie is data of its own then: at most all of them.
  Polynomial seen = getKeyStarts() ? dims(getQuery(), 0) * dims(getKey(), 0)
                                   : countKeys(*this, KeyCount::Kind::Seen);
  Polynomial scores = dims(getQuery(), 1) * seen;
  return scores * Polynomial(perScore) + countElements(dims, getResult());
}

/// A sequence's keys and values are read once for all tokens of the step. From
/// a cache that is what at least one of them sees; without one, every row.
Polynomial AttentionOp::getBytes(DimFn dims) {
  Polynomial sum;
  for (Value operand : getOperands())
    if (operand != getKey() && operand != getValue())
      sum += countBytes(dims, operand);
  sum += countBytes(dims, getResult());
  if (!isPaged())
    return sum + countBytes(dims, getKey()) + countBytes(dims, getValue());
  int64_t perPosition =
      getKeyHeads() * getHeadSize() *
      (getElementBytes(getKey()) + getElementBytes(getValue()));
  return sum + countKeys(*this, KeyCount::Kind::Read) * Polynomial(perPosition);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Polynomial ActivationOp::getFlops(DimFn dims) {
  return countElements(dims, getInput()) *
         Polynomial(countActivationFlops(getFunction()));
}

Polynomial ActivationOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

Polynomial GatedActivationOp::getFlops(DimFn dims) {
  return countElements(dims, getGate()) *
         Polynomial(countActivationFlops(getFunction()) + 1);
}

Polynomial GatedActivationOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

/// Division, tanh, multiplication.
Polynomial SoftcapOp::getFlops(DimFn dims) {
  return countElements(dims, getInput()) * Polynomial(3);
}

Polynomial SoftcapOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

/// Maximum, difference, exponential, sum and quotient of every logit, a
/// comparison of every logit per choice, and the renormalisation.
Polynomial RouteOp::getFlops(DimFn dims) {
  auto topK = static_cast<int64_t>(getTopK());
  Polynomial choices = dims(getLogits(), 0) * Polynomial(topK);
  Polynomial sum = countElements(dims, getLogits()) * Polynomial(5 + topK);
  if (getRenormalize())
    sum += choices * Polynomial(2);
  return sum;
}

Polynomial RouteOp::getBytes(DimFn dims) { return countAllBytes(dims, *this); }

Polynomial GroupedLinearOp::getFlops(DimFn dims) {
  int64_t inputs = typeOf(getInput()).getShape().back();
  return countElements(dims, getResult()) * Polynomial(2 * inputs);
}

/// Which experts are chosen is data. A step with a token reads at least the
/// `top_k` experts of that token, and exactly those when it has one token.
Polynomial GroupedLinearOp::getBytes(DimFn dims) {
  Polynomial weights = dims(getExperts(), 1);
  for (int64_t dim = 1; dim < typeOf(getWeight()).getRank(); ++dim)
    weights = weights * dims(getWeight(), dim);
  return countBytes(dims, getInput()) + countBytes(dims, getExperts()) +
         weights * Polynomial(getElementBytes(getWeight())) +
         countBytes(dims, getResult());
}

Polynomial CombineOp::getFlops(DimFn dims) {
  return countElements(dims, getInput()) * Polynomial(2);
}

Polynomial CombineOp::getBytes(DimFn dims) {
  return countAllBytes(dims, *this);
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

/// A comparison, a multiplication or division, an addition.
Polynomial AdjustLogitsOp::getFlops(DimFn dims) {
  return dims(getPlaces(), 0) * Polynomial(3);
}

/// Of the logits, those that change are read and written.
Polynomial AdjustLogitsOp::getBytes(DimFn dims) {
  return countBytes(dims, getPlaces()) + countBytes(dims, getValues()) +
         dims(getPlaces(), 0) * Polynomial(2 * getElementBytes(getLogits()));
}

/// The largest logit takes a comparison each. What is drawn beyond that is
/// data: nothing if the temperature is 0.
Polynomial SampleOp::getFlops(DimFn dims) {
  return countElements(dims, getLogits());
}

Polynomial SampleOp::getBytes(DimFn dims) { return countAllBytes(dims, *this); }
