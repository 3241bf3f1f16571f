//===- LowerOnnxModelAttention.cpp - weft.rope and weft.attention ---------===//
//
// The batches of an operator are the sequences of weft.attention, all of the
// same length: sequence b has the rows b * length to (b + 1) * length.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/LowerOnnxModelOps.h"
#include "passes/Graph/OnnxPatterns.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

//===----------------------------------------------------------------------===//
// Rotary embeddings
//===----------------------------------------------------------------------===//

/// Cosines or sines of each row, f32 [rows, pairs]: a table of rows, or one
/// whose row the position of each row says.
static Value makeTableRows(OnnxLowering &l, Value table, Value positions,
                           const Polynomial &batch, const Polynomial &length) {
  Shape source = shapeOf(table);
  Type f32 = l.builder.getF32Type();
  Value numbers = positions ? l.get(positions) : Value();
  Value values = l.get(table);
  Value rows = l.size(source[0]), step = l.size(length);
  return l.generate(
      {batch * length, source.back()}, f32, [&](Scalars &s, Indices i) {
        Value sequence = s.make<arith::DivUIOp>(i[0], step),
              row = s.make<arith::RemUIOp>(i[0], step);
        if (!positions) {
          if (source[0] == Polynomial(1))
            sequence = s.index(0);
          return s.convert(s.read(values, {sequence, row, i[1]}), f32);
        }
        Value position = s.toIndex(s.read(numbers, {sequence, row}));
        position = s.max(s.min(position, s.sub(rows, s.index(1))), s.index(0));
        return s.convert(s.read(values, {position, i[1]}), f32);
      });
}

static bool lowerRotary(OnnxLowering &l, Value input, Value cosine, Value sine,
                        Value positions, int64_t heads, int64_t width,
                        bool isInterleaved, Value result) {
  Shape shape = shapeOf(input), table = shapeOf(cosine);
  std::optional<int64_t> columns = shape.back().getConstant(),
                         pairs = table.back().getConstant();
  if (shape.size() != 3 || heads <= 0 || !columns || *columns % heads ||
      !pairs || table != shapeOf(sine) || !isModelType(input))
    return false;
  int64_t size = *columns / heads;
  bool fits =
      positions
          ? table.size() == 2 && shapeOf(positions) == Shape{shape[0], shape[1]}
          : table.size() == 3 && table[1] == shape[1] &&
                (table[0] == shape[0] || table[0] == Polynomial(1));
  if (!fits || 2 * *pairs != (width ? width : size) || 2 * *pairs > size)
    return false;
  Value rows = l.getHeads(input, heads);
  if (!rows)
    return false;
  Value cosines = makeTableRows(l, cosine, positions, shape[0], shape[1]),
        sines = makeTableRows(l, sine, positions, shape[0], shape[1]);
  l.setRows(result, RopeOp::create(
                        l.builder, l.loc, rows.getType(), rows, cosines, sines,
                        isInterleaved ? l.builder.getUnitAttr() : UnitAttr()));
  return true;
}

bool graph::lowerToRope(OnnxLowering &l, onnx::RotaryEmbeddingOp op) {
  return lowerRotary(l, op.getInput(), op.getCosine(), op.getSine(),
                     op.getPositionIds(), op.getNumHeads(),
                     op.getRotaryEmbeddingDim(), op.getInterleaved() != 0,
                     op.getResult());
}

bool graph::lowerToRope(OnnxLowering &l, onnx::MicrosoftRotaryEmbeddingOp op) {
  if (op.getIsPackedBatching() || op.getScale().convertToDouble() != 1)
    return false;
  int64_t heads = op.getNumHeads();
  // Without a number of heads their size is that of the tables.
  std::optional<int64_t> columns = getColumns(op.getInput()),
                         pairs = getColumns(op.getCosine());
  if (!heads && columns && pairs && *pairs > 0)
    heads = *columns / (2 * *pairs);
  return lowerRotary(l, op.getInput(), op.getCosine(), op.getSine(),
                     op.getPositionIds(), heads, op.getRotaryEmbeddingDim(),
                     op.getInterleaved() != 0, op.getResult());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// One attention whose query is [batch, length, heads * size].
class AttentionLowering {
public:
  AttentionLowering(OnnxLowering &l, onnx::AttentionOp op)
      : l(l), op(op), query(shapeOf(op.getQuery())), key(shapeOf(op.getKey())),
        batch(query[0]), length(query[1]) {
    Value past = op.getPastKey();
    if (past && shapeOf(past)[2] != Polynomial(0))
      pastLength = shapeOf(past)[2];
    keyLength = key.size() == 3 ? key[1] + pastLength : Polynomial(0);
  }

  bool run();

private:
  bool isCovered();
  Value makeKeys(Value now, Value past, Value present);
  Value makeBias();
  /// An i32 tensor of one dimension.
  Value makeNumbers(const Polynomial &count,
                    function_ref<Value(Scalars &, Value)> body) {
    Type i32 = l.builder.getI32Type();
    return l.generate({count}, i32, [&](Scalars &s, Indices i) {
      return s.fromIndex(body(s, i[0]), i32);
    });
  }

  OnnxLowering &l;
  onnx::AttentionOp op;
  Shape query, key;
  Polynomial batch, length, pastLength, keyLength;
};
} // namespace

bool AttentionLowering::isCovered() {
  int64_t heads = op.getQNumHeads(), keyHeads = op.getKvNumHeads();
  Shape value = shapeOf(op.getValue());
  if (query.size() != 3 || key.size() != 3 || value.size() != 3 || heads <= 0 ||
      keyHeads <= 0 || heads % keyHeads || op.getNonpadKvSeqlen() ||
      !op.getScores().use_empty())
    return false;
  std::optional<int64_t> columns = query[2].getConstant(),
                         keyColumns = key[2].getConstant();
  for (Value x : {op.getQuery(), op.getKey(), op.getValue()})
    if (!isModelType(x) || elementOf(x) != elementOf(op.getQuery()) ||
        llvm::is_contained(shapeOf(x), Polynomial(0)))
      return false;
  if (!columns || !keyColumns || *columns % heads || value != key ||
      *columns / heads * keyHeads != *keyColumns)
    return false;
  // Keys behind a position: all or none of them.
  if (op.getRightWindowSize() > 0 && !op.getIsCausal())
    return false;
  return !op.getMask() || shapeOf(op.getMask()).size() <= 4;
}

/// Rows [batch * length of keys, heads, size] of the past and the new keys or
/// values.
Value AttentionLowering::makeKeys(Value now, Value past, Value present) {
  int64_t heads = op.getKvNumHeads();
  int64_t columns = *key[2].getConstant(), size = columns / heads;
  Type element = elementOf(now);
  Value rows;
  if (pastLength == Polynomial(0)) {
    rows = l.getHeads(now, heads);
  } else {
    Value before = l.get(past), after = l.get(now);
    Value count = l.size(pastLength), width = l.index(size);
    Value step = l.size(keyLength);
    Shape shape = {batch * keyLength, Polynomial(columns)};
    Value joined = l.generate(shape, element, [&](Scalars &s, Indices i) {
      Value sequence = s.make<arith::DivUIOp>(i[0], step),
            row = s.make<arith::RemUIOp>(i[0], step);
      return s.branch(
          s.compare(Order::Less, row, count), element,
          [&] {
            Value head = s.make<arith::DivUIOp>(i[1], width);
            Value at = s.make<arith::RemUIOp>(i[1], width);
            return s.read(before, {sequence, head, row, at});
          },
          [&] { return s.read(after, {sequence, s.sub(row, count), i[1]}); });
    });
    rows = l.splitColumns(joined, heads);
  }
  if (!present.use_empty()) {
    Value step = l.size(keyLength);
    l.set(present,
          l.generate(shapeOf(present), element, [&](Scalars &s, Indices i) {
            Value row = s.add(s.mul(i[0], step), i[2]);
            return s.read(rows, {row, i[1], i[3]});
          }));
  }
  return rows;
}

/// The mask as numbers to add, [rows, heads, keys and 63 more].
Value AttentionLowering::makeBias() {
  Value mask = l.get(op.getMask());
  Shape shape = shapeOf(op.getMask());
  bool isBool = elementOf(op.getMask()).isInteger(1);
  bool hasHeads = shape.size() == 4 && shape[1] != Polynomial(1);
  // A mask of fewer keys hides the others.
  Polynomial keys =
      shape.empty() || shape.back() == Polynomial(1) ? keyLength : shape.back();
  Value rows = l.size(length), end = l.size(keys);
  Type f32 = l.builder.getF32Type();
  double lowest = -std::numeric_limits<double>::infinity();
  Shape result = {batch * length, Polynomial(hasHeads ? op.getQNumHeads() : 1),
                  keyLength + Polynomial(63)};
  return l.generate(result, f32, [&](Scalars &s, Indices i) {
    return s.branch(
        s.compare(Order::Less, i[2], end), f32,
        [&]() -> Value {
          Value place[] = {s.make<arith::DivUIOp>(i[0], rows), i[1],
                           s.make<arith::RemUIOp>(i[0], rows), i[2]};
          SmallVector<Value> at;
          for (auto [dim, extent] : llvm::enumerate(shape))
            at.push_back(extent == Polynomial(1)
                             ? s.index(0)
                             : place[4 - shape.size() + dim]);
          Value x = s.read(mask, at);
          if (isBool)
            return s.select(x, s.number(f32, 0), s.number(f32, lowest));
          return s.convert(x, f32);
        },
        [&] { return s.number(f32, lowest); });
  });
}

bool AttentionLowering::run() {
  if (!isCovered())
    return false;
  Value queries = l.getHeads(op.getQuery(), op.getQNumHeads());
  Value keys = makeKeys(op.getKey(), op.getPastKey(), op.getPresentKey());
  Value values =
      makeKeys(op.getValue(), op.getPastValue(), op.getPresentValue());
  OpBuilder &b = l.builder;
  Value step = l.size(length), offset = l.size(pastLength);
  Value positions = makeNumbers(batch * length, [&](Scalars &s, Value i) {
    return s.add(s.make<arith::RemUIOp>(i, step), offset);
  });
  Value sequences = makeNumbers(batch * length, [&](Scalars &s, Value i) {
    return s.make<arith::DivUIOp>(i, step);
  });
  auto makeStarts = [&](const Polynomial &each) {
    Value size = l.size(each);
    return makeNumbers(batch + Polynomial(1),
                       [&](Scalars &s, Value i) { return s.mul(i, size); });
  };
  int64_t left = op.getLeftWindowSize();
  bool isCausal = op.getIsCausal() || op.getRightWindowSize() == 0;
  int64_t size = *query[2].getConstant() / op.getQNumHeads();
  double scale = op.getScale() ? op.getScale()->convertToDouble()
                               : 1 / std::sqrt(double(size));
  double softcap = op.getSoftcap().convertToDouble();
  l.setRows(
      op.getResult(),
      weft::AttentionOp::create(
          b, l.loc, queries.getType(), queries, keys, values, positions,
          sequences, makeStarts(length), Value(), Value(),
          keyLength == length ? Value() : makeStarts(keyLength),
          op.getMask() ? makeBias() : Value(), b.getF32FloatAttr(float(scale)),
          isCausal ? b.getUnitAttr() : UnitAttr(),
          left >= 0 ? b.getI64IntegerAttr(left + 1) : IntegerAttr(),
          softcap != 0 ? b.getF32FloatAttr(float(softcap)) : FloatAttr()));
  return true;
}

bool graph::lowerToAttention(OnnxLowering &l, onnx::AttentionOp op) {
  return AttentionLowering(l, op).run();
}
