//===- LowerOnnxExperts.cpp - Mixtures of experts of com.microsoft --------===//
//
// Only the experts that a token is routed to are computed: which ones is read
// where their weights are.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/PackedWeights.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

namespace {
/// One of the layers that every expert has: [experts, outputs, inputs].
struct ExpertLayer {
  int64_t outputs = 0, inputs = 0;
  /// Element of an expert, an output and an input, as f32.
  std::function<Value(Scalars &, Value, Value, Value)> read;
  Value bias; ///< [experts, outputs]; null: none.

  Value readBias(Scalars &s, Value expert, Value output) const {
    return s.convert(s.read(bias, {expert, output}), s.b.getF32Type());
  }
};

/// What MoE and QMoE have in common.
struct Experts {
  Operation *op;
  int64_t count; ///< Of a token.
  Value router, mixing;
  std::optional<ExpertLayer> first, second, third;
  StringRef activation;
  bool isNormalized;
  int64_t fusion;
  double alpha, beta;
  std::optional<double> limit;
};
} // namespace

template <typename Op> static Experts readAttributes(OnnxLowering &l, Op op) {
  Experts experts;
  experts.op = op;
  experts.count = op.getK();
  experts.router = l.get(op.getRouterProbs());
  experts.activation = op.getActivationType();
  experts.isNormalized = op.getNormalizeRoutingWeights() != 0;
  experts.fusion = op.getSwigluFusion();
  experts.alpha = op.getActivationAlpha().convertToDouble();
  experts.beta = op.getActivationBeta().convertToDouble();
  if (op.getSwigluLimit())
    experts.limit = op.getSwigluLimit()->convertToDouble();
  return experts;
}

static std::optional<ExpertLayer> makeLayer(OnnxLowering &l, Value weight,
                                            Value bias) {
  Shape shape = shapeOf(weight);
  auto outputs = shape.size() == 3 ? shape[1].getConstant() : std::nullopt;
  auto inputs = shape.size() == 3 ? shape[2].getConstant() : std::nullopt;
  if (!outputs || !inputs)
    return std::nullopt;
  ExpertLayer layer;
  layer.outputs = *outputs;
  layer.inputs = *inputs;
  Value tensor = l.get(weight);
  layer.read = [tensor](Scalars &s, Value expert, Value row, Value column) {
    return s.convert(s.read(tensor, {expert, row, column}), s.b.getF32Type());
  };
  layer.bias = bias ? l.get(bias) : Value();
  return layer;
}

static std::optional<ExpertLayer> makePacked(OnnxLowering &l,
                                             onnx::MicrosoftQMoEOp op,
                                             Value weight, Value scales,
                                             Value zeroPoints, Value bias) {
  auto layer = makeLayer(l, weight, bias);
  if (!layer || !scales)
    return std::nullopt;
  PackedWeights packed;
  packed.bits = op.getExpertWeightBits();
  if (packed.bits != 2 && packed.bits != 4 && packed.bits != 8)
    return std::nullopt;
  packed.rowBytes = layer->inputs;
  layer->inputs *= 8 / packed.bits;
  packed.block = op.getBlockSize() > 0 ? op.getBlockSize() : layer->inputs;
  packed.rowBlocks = llvm::divideCeil(layer->inputs, packed.block);
  Polynomial experts = shapeOf(weight)[0];
  // Without blocks the zero points of an expert's outputs lie together.
  packed.zeroRows = op.getBlockSize() > 0 ? 1 : layer->outputs;
  auto hasWidth = [&](Value value, int64_t width) {
    return onnx::countElements(shapeOf(value)) == experts * Polynomial(width);
  };
  int64_t zeroBytes =
      llvm::divideCeil(packed.zeroRows * packed.rowBlocks * packed.bits, 8);
  if (!hasWidth(scales, layer->outputs * packed.rowBlocks) ||
      (zeroPoints &&
       !hasWidth(zeroPoints, layer->outputs / packed.zeroRows * zeroBytes)))
    return std::nullopt;
  packed.bytes = flatten(l, weight);
  packed.scales = flatten(l, scales);
  if (zeroPoints)
    packed.zeroPoints = flatten(l, zeroPoints);
  int64_t outputs = layer->outputs;
  layer->read = [packed, outputs](Scalars &s, Value expert, Value row,
                                  Value column) {
    return packed.read(s, s.add(s.mul(expert, s.index(outputs)), row), column);
  };
  return layer;
}

static Value sigmoid(Scalars &s, Value x) {
  Value one = s.number(x.getType(), 1);
  Value power = s.make<math::ExpOp>(s.make<arith::NegFOp>(x));
  return s.div(one, s.add(one, power));
}

/// The activation of one number; null if it is unknown.
static Value activate(Scalars &s, StringRef name, Value x) {
  Type type = x.getType();
  if (name == "identity")
    return x;
  if (name == "relu")
    return s.max(x, s.number(type, 0));
  if (name == "silu")
    return s.mul(x, sigmoid(s, x));
  if (name == "gelu") {
    Value scaled = s.mul(x, s.number(type, 0.70710678118654752));
    Value erf = s.make<math::ErfOp>(scaled);
    return s.mul(s.mul(x, s.number(type, 0.5)), s.add(erf, s.number(type, 1)));
  }
  return {};
}

/// min(gate, limit) * sigmoid(alpha * gate) * (clamp(linear) + beta)
static Value applyGate(Scalars &s, const Experts &experts, Value gate,
                       Value linear) {
  Type type = gate.getType();
  if (experts.limit) {
    Value high = s.number(type, *experts.limit);
    gate = s.min(gate, high);
    linear = s.max(s.min(linear, high), s.number(type, -*experts.limit));
  }
  Value scaled = s.mul(gate, s.number(type, experts.alpha));
  Value shifted = s.add(linear, s.number(type, experts.beta));
  return s.mul(s.mul(gate, sigmoid(s, scaled)), shifted);
}

static Value computeExperts(OnnxLowering &l, const Experts &experts) {
  Value input = experts.op->getOperand(0), result = experts.op->getResult(0);
  Shape shape = shapeOf(input), router = shapeOf(experts.op->getOperand(1));
  bool isGated = experts.activation == "swiglu";
  bool isFused = isGated && experts.fusion != 0;
  bool isKnown = llvm::is_contained(
      {"identity", "relu", "silu", "gelu", "swiglu"}, experts.activation);
  if (!isKnown || !experts.first || !experts.second || router.size() != 2 ||
      shape.empty() || (isGated && !isFused && !experts.third) ||
      (isFused && experts.third) || experts.fusion < 0 || experts.fusion > 2)
    return {};
  const ExpertLayer &first = *experts.first, &second = *experts.second;
  std::optional<int64_t> width = shape.back().getConstant();
  if (width != first.inputs || width != second.outputs ||
      second.inputs * (isFused ? 2 : 1) != first.outputs ||
      (experts.third && experts.third->outputs != second.inputs))
    return {};
  Type f32 = l.builder.getF32Type();
  Polynomial tokens = router[0], slots(experts.count);
  Shape rows = {tokens, shape.back()}, chosen = {tokens, slots};
  Value source = l.reshape(l.get(input), shape, rows);

  // Routing.
  Value weights = l.softmax(experts.router, router, 1, f32);
  Value places = l.topPlaces(weights, router, chosen, 1, true, false);
  auto getExpert = [&](Scalars &s, Value token, Value slot) {
    return s.toIndex(s.read(places, {token, slot}));
  };
  if (experts.mixing)
    weights = experts.mixing;
  auto getWeight = [&](Scalars &s, Value token, Value slot) {
    return s.convert(s.read(weights, {token, getExpert(s, token, slot)}), f32);
  };
  Value total;
  if (experts.isNormalized)
    total = l.fold({tokens}, {slots}, l.makeScalar(f32, 0),
                   [&](Scalars &s, Indices i, Indices j, Value before) {
                     return s.add(before, getWeight(s, i[0], j[0]));
                   });

  // The first layer, and the third beside it.
  auto apply = [&](const ExpertLayer &layer) {
    return l.fold({tokens, slots, Polynomial(layer.outputs)},
                  {Polynomial(layer.inputs)}, l.makeScalar(f32, 0),
                  [&](Scalars &s, Indices i, Indices k, Value before) {
                    Value x = s.convert(s.read(source, {i[0], k[0]}), f32);
                    Value w =
                        layer.read(s, getExpert(s, i[0], i[1]), i[2], k[0]);
                    return s.add(before, s.mul(x, w));
                  });
  };
  Value hidden = apply(first);
  Value beside = experts.third ? apply(*experts.third) : Value();
  auto readHidden = [&](Scalars &s, const ExpertLayer &layer, Value tensor,
                        Indices i, Value column) {
    Value x = s.read(tensor, {i[0], i[1], column});
    if (layer.bias)
      x = s.add(x, layer.readBias(s, getExpert(s, i[0], i[1]), column));
    return x;
  };
  Value inner = l.generate(
      {tokens, slots, Polynomial(second.inputs)}, f32,
      [&](Scalars &s, Indices i) {
        if (isFused) {
          // Interleaved, or one half behind the other.
          bool isInterleaved = experts.fusion == 1;
          Value gate = i[2], linear = s.add(i[2], s.index(second.inputs));
          if (isInterleaved) {
            gate = s.mul(i[2], s.index(2));
            linear = s.add(gate, s.index(1));
          }
          return applyGate(s, experts, readHidden(s, first, hidden, i, gate),
                           readHidden(s, first, hidden, i, linear));
        }
        Value x = readHidden(s, first, hidden, i, i[2]);
        if (!beside)
          return activate(s, experts.activation, x);
        Value y = readHidden(s, *experts.third, beside, i, i[2]);
        if (isGated)
          return applyGate(s, experts, x, y);
        return s.mul(activate(s, experts.activation, x), y);
      });

  // The second layer and the sum over experts.
  auto scaled = [&](Scalars &s, Value token, Value slot, Value x) {
    Value weight = getWeight(s, token, slot);
    if (total)
      weight = s.div(weight, s.read(total, token));
    return s.mul(weight, x);
  };
  Value sum =
      l.fold(rows, {slots, Polynomial(second.inputs)}, l.makeScalar(f32, 0),
             [&](Scalars &s, Indices i, Indices j, Value before) {
               Value w = second.read(s, getExpert(s, i[0], j[0]), i[1], j[1]);
               Value x = s.mul(w, s.read(inner, {i[0], j[0], j[1]}));
               return s.add(before, scaled(s, i[0], j[0], x));
             });
  if (second.bias)
    sum = l.fold(rows, {slots}, sum,
                 [&](Scalars &s, Indices i, Indices j, Value before) {
                   Value x = second.readBias(s, getExpert(s, i[0], j[0]), i[1]);
                   return s.add(before, scaled(s, i[0], j[0], x));
                 });
  return l.reshape(l.convert(sum, rows, elementOf(result)), rows, shape);
}

bool OnnxLowering::lowerExperts(Operation *op) {
  std::optional<Experts> experts;
  bool hasThird = false;
  if (auto moe = dyn_cast<onnx::MicrosoftMoEOp>(op)) {
    if (moe.getUseSparseMixer())
      return false;
    hasThird = moe.getFc3Weights() != nullptr;
    experts = readAttributes(*this, moe);
    experts->first = makeLayer(*this, moe.getFc1Weights(), moe.getFc1Bias());
    experts->second = makeLayer(*this, moe.getFc2Weights(), moe.getFc2Bias());
    if (hasThird)
      experts->third = makeLayer(*this, moe.getFc3Weights(), moe.getFc3Bias());
  } else if (auto moe = dyn_cast<onnx::MicrosoftQMoEOp>(op)) {
    // Other values of weights_prepacked are layouts of some machines.
    if (moe.getUseSparseMixer() || moe.getQuantType() != "int" ||
        moe.getWeightsPrepacked() != 0)
      return false;
    hasThird = moe.getFc3Weights() != nullptr;
    experts = readAttributes(*this, moe);
    experts->first =
        makePacked(*this, moe, moe.getFc1Weights(), moe.getFc1Scales(),
                   moe.getFc1ZeroPoints(), moe.getFc1Bias());
    experts->second =
        makePacked(*this, moe, moe.getFc2Weights(), moe.getFc2Scales(),
                   moe.getFc2ZeroPoints(), moe.getFc2Bias());
    if (hasThird)
      experts->third =
          makePacked(*this, moe, moe.getFc3Weights(), moe.getFc3Scales(),
                     moe.getFc3ZeroPoints(), moe.getFc3Bias());
    if (Value mixing = moe.getRouterWeights())
      experts->mixing = get(mixing);
  }
  // A third layer in a form that is not covered must not be left out.
  bool isWhole = experts && hasThird == experts->third.has_value();
  Value result = isWhole ? computeExperts(*this, *experts) : Value();
  if (result)
    set(op->getResult(0), result);
  return result != nullptr;
}
