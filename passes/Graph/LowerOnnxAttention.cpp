//===- LowerOnnxAttention.cpp - Attention and rotary embeddings -----------===//

#include "passes/Graph/LowerOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

namespace {
/// A tensor [batch, heads, length, size] that may be stored as
/// [batch, length, heads * size].
struct Heads {
  Value tensor;
  Shape shape; ///< Of four dimensions.
  bool isFlat = false;
  Value size; ///< Of a head.

  Value read(Scalars &s, Value batch, Value head, Value row, Value at) const {
    if (isFlat)
      return s.read(tensor, {batch, row, s.add(s.mul(head, size), at)});
    return s.read(tensor, {batch, head, row, at});
  }
};
} // namespace

static Heads getHeads(OnnxLowering &l, Value value, int64_t heads) {
  Heads result{l.get(value), shapeOf(value), false, {}};
  if (result.shape.size() == 3) {
    Shape flat = result.shape;
    Polynomial size = *onnx::divide(flat[2], Polynomial(heads));
    result.isFlat = true;
    result.shape = {flat[0], Polynomial(heads), flat[1], size};
  }
  result.size = l.size(result.shape[3]);
  return result;
}

/// Keys or values with those of the past before them, as four dimensions.
static Value joinPast(OnnxLowering &l, const Heads &heads, Value past,
                      Value present) {
  Value before = past ? l.get(past) : Value();
  Value count = l.size(past ? shapeOf(past)[2] : Polynomial(0));
  Type element = elementOf(present);
  return l.generate(shapeOf(present), element, [&](Scalars &s, Indices i) {
    auto now = [&] {
      return heads.read(s, i[0], i[1], s.sub(i[2], count), i[3]);
    };
    if (!before)
      return now();
    return s.branch(
        s.compare(Order::Less, i[2], count), element,
        [&] { return s.read(before, i); }, now);
  });
}

static bool lowerAttentionOp(OnnxLowering &l, onnx::AttentionOp op) {
  Heads query = getHeads(l, op.getQuery(), op.getQNumHeads());
  Heads keys = getHeads(l, op.getKey(), op.getKvNumHeads());
  Heads values = getHeads(l, op.getValue(), op.getKvNumHeads());
  Value key = joinPast(l, keys, op.getPastKey(), op.getPresentKey());
  Value value = joinPast(l, values, op.getPastValue(), op.getPresentValue());
  l.set(op.getPresentKey(), key);
  l.set(op.getPresentValue(), value);

  Type element = elementOf(op.getQuery()), wide = getWideType(element);
  Shape shape = shapeOf(op.getScores());
  auto grouped = onnx::divide(query.shape[1], keys.shape[1]);
  auto size = query.shape[3].getConstant();
  if (!grouped || (!op.getScale() && !size))
    return false;
  Value group = l.size(*grouped);
  double scale = op.getScale() ? op.getScale()->convertToDouble()
                               : 1 / std::sqrt(double(*size));
  Value products =
      l.fold(shape, {query.shape[3]}, l.makeScalar(wide, 0),
             [&](Scalars &s, Indices i, Indices k, Value before) {
               Value head = s.make<arith::DivUIOp>(i[1], group);
               Value x = s.widen(query.read(s, i[0], i[1], i[2], k[0]));
               Value y = s.widen(s.read(key, {i[0], head, i[3], k[0]}));
               return s.add(before, s.mul(x, y));
             });

  double softcap = op.getSoftcap().convertToDouble();
  Value mask = op.getMask() ? l.get(op.getMask()) : Value();
  Shape maskShape = op.getMask() ? shapeOf(op.getMask()) : Shape();
  bool isBool = mask && elementOf(op.getMask()).isInteger(1);
  Value maskEnd =
      mask && !maskShape.empty() ? l.size(maskShape.back()) : Value();
  bool maskIsShort = mask && !maskShape.empty() &&
                     maskShape.back() != shape[3] &&
                     maskShape.back() != Polynomial(1);
  Value lengths =
      op.getNonpadKvSeqlen() ? l.get(op.getNonpadKvSeqlen()) : Value();
  Value queries = l.size(shape[2]);
  Value past =
      l.size(op.getPastKey() ? shapeOf(op.getPastKey())[2] : Polynomial(0));
  int64_t left = op.getLeftWindowSize(), right = op.getRightWindowSize();
  double lowest = -std::numeric_limits<double>::infinity();
  auto readMask = [&](Scalars &s, Indices i) {
    SmallVector<Value> place;
    for (auto [dim, extent] : llvm::enumerate(maskShape))
      place.push_back(extent == Polynomial(1) ? s.index(0)
                                              : i[4 - maskShape.size() + dim]);
    return s.read(mask, place);
  };
  auto scaled = [&](Scalars &s, Indices i) {
    return s.mul(s.read(products, i), s.number(wide, scale));
  };
  auto capped = [&](Scalars &s, Indices i) {
    Value x = scaled(s, i);
    if (softcap == 0)
      return x;
    return s.mul(s.make<math::TanhOp>(s.div(x, s.number(wide, softcap))),
                 s.number(wide, softcap));
  };
  Value scores = l.generate(shape, wide, [&](Scalars &s, Indices i) {
    Value x = capped(s, i);
    Value isVisible = s.number(s.b.getI1Type(), -1);
    auto require = [&](Value condition) {
      isVisible = s.both(isVisible, condition);
    };
    Value offset = past;
    if (lengths) {
      Value length = s.toIndex(s.read(lengths, i[0]));
      require(s.compare(Order::Less, i[3], length));
      offset = s.sub(length, queries);
    }
    Value here = s.add(i[2], offset);
    if (op.getIsCausal())
      require(s.compare(Order::LessOrEqual, i[3], here));
    if (left >= 0)
      require(s.compare(Order::LessOrEqual, s.sub(here, s.index(left)), i[3]));
    if (right >= 0)
      require(s.compare(Order::LessOrEqual, i[3], s.add(here, s.index(right))));
    if (mask) {
      auto apply = [&] {
        Value m = readMask(s, i);
        if (isBool)
          return s.select(m, x, s.number(wide, lowest));
        return s.add(x, s.convert(m, wide));
      };
      x = maskIsShort ? s.branch(s.compare(Order::Less, i[3], maskEnd), wide,
                                 apply, [&] { return s.number(wide, lowest); })
                      : apply();
    }
    return s.select(isVisible, x, s.number(wide, lowest));
  });
  Value weights = l.softmax(scores, shape, 3, wide, /*zeroMasked=*/true);
  if (!op.getScores().use_empty()) {
    // The meaning of modes 1 and 2 since version 1.22 of the standard's files;
    // before, they were masked, and masked and then capped.
    int64_t mode = op.getQkMatmulOutputMode();
    Value shown = mode == 3   ? weights
                  : mode == 2 ? scores
                  : mode == 1 ? l.generate(shape, wide, capped)
                              : l.generate(shape, wide, scaled);
    l.set(op.getScores(), l.convert(shown, shape, elementOf(op.getScores())));
  }
  Shape result = {query.shape[0], query.shape[1], query.shape[2],
                  values.shape[3]};
  Value sum = l.fold(result, {shape[3]}, l.makeScalar(wide, 0),
                     [&](Scalars &s, Indices i, Indices k, Value before) {
                       Value head = s.make<arith::DivUIOp>(i[1], group);
                       Value weight = s.read(weights, {i[0], i[1], i[2], k[0]});
                       Value v =
                           s.widen(s.read(value, {i[0], head, k[0], i[3]}));
                       return s.add(before, s.mul(weight, v));
                     });
  Shape wanted = shapeOf(op.getResult());
  Value headSize = l.size(values.shape[3]);
  l.set(op.getResult(), l.generate(wanted, element, [&](Scalars &s, Indices i) {
    if (wanted.size() == 4)
      return s.narrow(s.read(sum, i), element);
    Value head = s.make<arith::DivUIOp>(i[2], headSize);
    Value at = s.make<arith::RemUIOp>(i[2], headSize);
    return s.narrow(s.read(sum, {i[0], head, i[1], at}), element);
  }));
  return true;
}

namespace {
/// What RotaryEmbedding of the standard and of com.microsoft have in common.
struct Rotary {
  Value input, cosine, sine, positions, result;
  int64_t heads, width; ///< width 0: the whole head.
  bool isInterleaved;
};
} // namespace

static bool lowerRotary(OnnxLowering &l, const Rotary &op) {
  Shape shape = shapeOf(op.result);
  bool isFlat = shape.size() == 3;
  Shape table = shapeOf(op.cosine);
  std::optional<int64_t> half = table.back().getConstant();
  if (!half)
    return false;
  int64_t width = 2 * *half;
  // Without a number of heads their size is that of the tables.
  std::optional<int64_t> columns = shape.back().getConstant();
  if (!columns)
    return false;
  int64_t size = *columns;
  if (isFlat)
    size = op.heads ? *columns / op.heads : (op.width ? op.width : width);
  if (size == 0 || width > size)
    return false;
  Value source = l.get(op.input), cosine = l.get(op.cosine),
        sine = l.get(op.sine);
  Value positions = op.positions ? l.get(op.positions) : Value();
  bool isOffset = positions && (shapeOf(op.positions).size() == 1 ||
                                shapeOf(op.positions).empty());
  Value rows = positions ? l.size(table[0]) : Value();
  Type element = elementOf(op.result);
  l.set(op.result, l.generate(shape, element, [&](Scalars &s, Indices i) {
    Value batch = i[0], row = isFlat ? i[1] : i[2];
    Value at = s.make<arith::RemUIOp>(i.back(), s.index(size));
    Value x = s.read(source, i);
    auto rotate = [&] {
      Value pair, isSecond, other;
      Value one = s.index(1), middle = s.index(width / 2);
      if (op.isInterleaved) {
        pair = s.make<arith::DivUIOp>(at, s.index(2));
        isSecond = s.compare(Order::Equal,
                             s.make<arith::RemUIOp>(at, s.index(2)), one);
        other = s.select(isSecond, s.sub(i.back(), one), s.add(i.back(), one));
      } else {
        isSecond = s.compare(Order::LessOrEqual, middle, at);
        pair = s.select(isSecond, s.sub(at, middle), at);
        other = s.select(isSecond, s.sub(i.back(), middle),
                         s.add(i.back(), middle));
      }
      SmallVector<Value> place;
      if (positions) {
        Value position =
            isOffset ? s.add(s.toIndex(s.read(positions,
                                              SmallVector<Value>(
                                                  shapeOf(op.positions).size(),
                                                  s.index(0)))),
                             row)
                     : s.toIndex(s.read(positions, {batch, row}));
        position = s.max(s.min(position, s.sub(rows, one)), s.index(0));
        place = {position, pair};
      } else {
        place = {table[0] == Polynomial(1) ? s.index(0) : batch, row, pair};
      }
      Value c = s.widen(s.read(cosine, place)),
            n = s.widen(s.read(sine, place));
      SmallVector<Value> partner(i);
      partner.back() = other;
      Value a = s.widen(x), b = s.widen(s.read(source, partner));
      Value turned = s.mul(b, n);
      Value first = s.sub(s.mul(a, c), turned);
      Value second = s.add(s.mul(a, c), turned);
      return s.narrow(s.select(isSecond, second, first), element);
    };
    if (width == size)
      return rotate();
    return s.branch(s.compare(Order::Less, at, s.index(width)), element, rotate,
                    [&] { return x; });
  }));
  return true;
}

bool OnnxLowering::lowerAttention(Operation *op) {
  if (auto attention = dyn_cast<onnx::AttentionOp>(op))
    return lowerAttentionOp(*this, attention);
  if (auto rotary = dyn_cast<onnx::RotaryEmbeddingOp>(op))
    return lowerRotary(*this,
                       {rotary.getInput(), rotary.getCosine(), rotary.getSine(),
                        rotary.getPositionIds(), rotary.getResult(),
                        rotary.getNumHeads(), rotary.getRotaryEmbeddingDim(),
                        rotary.getInterleaved() != 0});
  if (auto rotary = dyn_cast<onnx::MicrosoftRotaryEmbeddingOp>(op)) {
    if (rotary.getIsPackedBatching() ||
        rotary.getScale().convertToDouble() != 1)
      return false;
    return lowerRotary(*this,
                       {rotary.getInput(), rotary.getCosine(), rotary.getSine(),
                        rotary.getPositionIds(), rotary.getResult(),
                        rotary.getNumHeads(), rotary.getRotaryEmbeddingDim(),
                        rotary.getInterleaved() != 0});
  }
  return false;
}
