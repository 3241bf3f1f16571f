//===- DecomposeOnnxAttention.cpp - Attention of com.microsoft ------------===//
//
// All of it becomes the Attention of the standard on [batch, heads, length,
// size], with masks as operators. Source: the operator reference of ONNX
// Runtime (ContribOperators.md).
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/DecomposeOnnx.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

static onnx::Shape shapeOf(Value value) {
  return onnx::getShape(value.getType());
}

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// [batch, length, heads * size] as [batch, heads, length, size].
static Value splitHeads(OnnxEmitter &e, Value value, int64_t heads) {
  return e.transpose(e.reshape(value, {0, 0, heads, -1}), {0, 2, 1, 3});
}

static Value joinHeads(OnnxEmitter &e, Value value) {
  return e.reshape(e.transpose(value, {0, 2, 1, 3}), {0, 0, -1});
}

namespace {
/// Inputs and attributes of Attention; null or 0: not there.
struct AttentionParts {
  Value query, key, value; ///< [batch, heads, length, size]
  Value mask, pastKey, pastValue, lengths;
  double scale = 0, softcap = 0;
  bool isCausal = false;
  int64_t window = 0; ///< Keys that a query sees, its own included.
};
} // namespace

/// The result as [batch, length, heads * size], the present keys and values.
static SmallVector<Value> attend(OnnxEmitter &e, const AttentionParts &parts) {
  SmallVector<std::pair<StringRef, Attribute>> attributes;
  if (parts.scale != 0)
    attributes.push_back({"scale", e.builder.getF32FloatAttr(parts.scale)});
  if (parts.softcap != 0)
    attributes.push_back({"softcap", e.builder.getF32FloatAttr(parts.softcap)});
  if (parts.isCausal)
    attributes.push_back({"is_causal", e.attribute(1)});
  if (parts.window > 0)
    attributes.push_back({"left_window_size", e.attribute(parts.window - 1)});
  SmallVector<Value> results =
      e.makeAll("Attention",
                {parts.query, parts.key, parts.value, parts.mask, parts.pastKey,
                 parts.pastValue, parts.lengths},
                attributes, 3);
  results[0] = joinHeads(e, results[0]);
  return results;
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

namespace {
/// Where the new rows of each sequence are; null if all start at 0.
struct GroupRows {
  Value past;    ///< [batch]: rows before the new ones.
  Value lengths; ///< [batch]: rows with the new ones.
};
} // namespace

/// A sequence of a prompt may be shorter than the others: its rows behind the
/// end are then as if they belonged to it, which no row before them sees.
static GroupRows
getRows(OnnxEmitter &e, onnx::MicrosoftGroupQueryAttentionOp op, Value length) {
  if (!op.getPastKey())
    return {};
  Type i64 = e.builder.getI64Type();
  Value lasts = e.reshape(e.cast(op.getSeqlensK(), i64), {-1});
  GroupRows rows;
  rows.lengths = e.make("Max", {e.make("Add", {lasts, e.integer(1)}), length});
  rows.past = e.make("Sub", {rows.lengths, length});
  return rows;
}

/// The position of each new row, [batch, length]. Of the positions that are
/// given a first prompt takes the first one only and counts on.
static Value getPositions(OnnxEmitter &e,
                          onnx::MicrosoftGroupQueryAttentionOp op,
                          const GroupRows &rows, Value length) {
  Type i64 = e.builder.getI64Type();
  Value places = e.unsqueeze(e.countTo(length), 0);
  Value full = e.concat({e.sizeOf(op.getQuery(), 0), length}, 0);
  if (Value given = op.getPositionIds()) {
    given = e.cast(given, i64);
    Value first = e.make(
        "Slice", {e.reshape(given, {-1}), e.list(0), e.list(1), e.list(0)});
    Value counted = e.make("Expand", {e.make("Add", {places, first}), full});
    if (!rows.past)
      return counted;
    Value total = e.cast(e.reshape(op.getTotalSequenceLength(), {-1}), i64);
    Value isPrompt = e.make("Equal", {total, length});
    return e.make("Where", {isPrompt, counted, given});
  }
  if (rows.past)
    return e.make("Add", {places, e.unsqueeze(rows.past, 1)});
  return e.make("Expand", {places, full});
}

/// The cache with the new rows at their places.
static Value updateCache(OnnxEmitter &e, Value past, Value rows,
                         const Polynomial &rowCount, Value present,
                         Value starts) {
  if (!past)
    return rows;
  Polynomial more = onnx::subtract(shapeOf(present)[2], shapeOf(past)[2]);
  if (more == rowCount)
    past = e.concat({past, rows}, 2);
  else if (std::optional<int64_t> count = more.getConstant(); count && *count)
    past = e.make("Pad", {past, e.list({0, 0, 0, 0, 0, 0, *count, 0})});
  return e.make("TensorScatter", {past, rows, starts});
}

/// One more key for each head that all queries see first: its score is that of
/// the sink and its value 0. What else is seen is said by the mask then.
static void addSink(OnnxEmitter &e, AttentionParts &parts, Value sink,
                    const GroupRows &rows, Value length, Type element) {
  Value batch = e.sizeOf(parts.query, 0), heads = e.sizeOf(parts.query, 1);
  // [batch or 1, 1, length, 1] and [keys].
  Value here = e.countTo(length);
  if (rows.past)
    here = e.make("Add", {e.unsqueeze(here, 0), e.unsqueeze(rows.past, 1)});
  here = e.reshape(here, rows.past ? ArrayRef<int64_t>{0, 1, -1, 1}
                                   : ArrayRef<int64_t>{1, 1, -1, 1});
  Value keys = e.countTo(e.sizeOf(parts.key, 2));
  Value isSeen;
  if (parts.isCausal)
    isSeen = e.make("LessOrEqual", {keys, here});
  if (parts.window > 0) {
    Value first = e.make("Sub", {here, e.integer(parts.window - 1)});
    Value isNear = e.make("GreaterOrEqual", {keys, first});
    isSeen = isSeen ? e.make("And", {isSeen, isNear}) : isNear;
  }
  Value mask = parts.mask ? e.cast(parts.mask, element) : e.number(element, 0);
  double lowest = -std::numeric_limits<double>::infinity();
  if (isSeen)
    mask = e.make("Where", {isSeen, mask, e.number(element, lowest)});
  Value one = e.list(1);
  Value full = e.concat({batch, heads, length, e.sizeOf(parts.key, 2)}, 0);
  mask = e.make("Expand", {mask, full});
  Value column = e.reshape(e.cast(sink, element), {1, -1, 1, 1});
  column = e.make("Expand", {column, e.concat({batch, heads, length, one}, 0)});
  parts.mask = e.concat({column, mask}, 3);
  for (Value *tensor : {&parts.key, &parts.value})
    *tensor = e.make("Pad", {*tensor, e.list({0, 0, 1, 0, 0, 0, 0, 0})});
  parts.isCausal = false;
  parts.window = 0;
  parts.lengths = {};
}

static OnnxResults decompose(OnnxEmitter &e,
                             onnx::MicrosoftGroupQueryAttentionOp op) {
  bool isPlain = op.getKQuantType() == "NONE" && op.getVQuantType() == "NONE" &&
                 op.getKvCacheBitWidth() == 0 && !op.getKScale() &&
                 !op.getVScale() && op.getSlidingWindowCache() == 0;
  // Without a causal mask rows behind the end of a sequence would be seen.
  bool isCovered = isPlain && op.getCausal() && op.getScores().use_empty() &&
                   (!op.getDoRotary() || op.getCosCache());
  if (!isCovered)
    return {};
  int64_t heads = op.getNumHeads(), keyHeads = op.getKvNumHeads();
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  if (!key) {
    auto size = shapeOf(op.getPresentKey())[3].getConstant();
    if (!size)
      return {};
    SmallVector<Value> parts =
        e.split(query, {heads * *size, keyHeads * *size, keyHeads * *size}, -1);
    query = parts[0];
    key = parts[1];
    value = parts[2];
  }
  Value length = e.sizeOf(op.getQuery(), 1);
  GroupRows rows = getRows(e, op, length);
  AttentionParts parts;
  parts.query = splitHeads(e, query, heads);
  parts.key = splitHeads(e, key, keyHeads);
  parts.value = splitHeads(e, value, keyHeads);
  Attribute epsilon = op.getQkNormEpsilonAttr();
  for (auto [tensor, weight] : {std::pair(&parts.query, op.getQNormWeight()),
                                std::pair(&parts.key, op.getKNormWeight())})
    if (weight)
      *tensor =
          e.make("RMSNormalization", {*tensor, weight}, {{"epsilon", epsilon}});
  if (op.getDoRotary()) {
    Value positions = getPositions(e, op, rows, length);
    auto half = shapeOf(op.getCosCache())[1].getConstant();
    if (!half)
      return {};
    for (Value *tensor : {&parts.query, &parts.key})
      *tensor =
          e.make("RotaryEmbedding",
                 {*tensor, op.getCosCache(), op.getSinCache(), positions},
                 {{"interleaved", e.attribute(op.getRotaryInterleaved() != 0)},
                  {"rotary_embedding_dim", e.attribute(2 * *half)}});
  }
  Polynomial rowCount = shapeOf(op.getQuery())[1];
  Type element = elementOf(op.getQuery());
  parts.key = updateCache(e, op.getPastKey(), parts.key, rowCount,
                          op.getPresentKey(), rows.past);
  parts.value = updateCache(e, op.getPastValue(), parts.value, rowCount,
                            op.getPresentValue(), rows.past);
  Value presentKey = parts.key, presentValue = parts.value;
  parts.mask = op.getAttentionBias();
  parts.lengths = rows.lengths;
  parts.scale = op.getScale().convertToDouble();
  parts.softcap = op.getSoftcap().convertToDouble();
  parts.isCausal = true;
  parts.window = std::max<int64_t>(op.getLocalWindowSize(), 0);
  if (op.getHeadSink() || op.getSmoothSoftmax() == 1) {
    Value sink = op.getHeadSink();
    if (!sink)
      sink = e.make("Expand", {e.number(element, 0), e.list(heads)});
    addSink(e, parts, sink, rows, length, element);
  }
  return {attend(e, parts)[0], presentKey, presentValue, {}};
}

//===----------------------------------------------------------------------===//
// Masks of keys
//===----------------------------------------------------------------------===//

/// What is added to scores [batch, heads, length, keys] where `mask` hides a
/// key, broadcast to them; null if the mask has an unknown form. `input` has
/// the batch as its first size.
static Value makeMask(OnnxEmitter &e, Value mask, Value input,
                      const Polynomial &keys, Value keyCount, double filter,
                      Type element) {
  onnx::Shape shape = shapeOf(mask);
  Polynomial batch = shapeOf(input)[0];
  Type i1 = e.builder.getI1Type(), i64 = e.builder.getI64Type();
  Value keep;
  if (shape.size() == 1) {
    // The end of each sequence, with the start behind all ends, or with lists
    // of sums of lengths behind them.
    bool hasStarts = shape[0] == batch * Polynomial(2);
    bool hasSums = shape[0] == batch * Polynomial(3) + Polynomial(2);
    if (shape[0] != batch && !hasStarts && !hasSums)
      return {};
    Value count = e.sizeOf(input, 0), zero = e.list(0);
    auto take = [&](Value from, Value to) {
      Value part = e.make("Slice", {mask, from, to, zero});
      return e.unsqueeze(e.cast(part, i64), {1, 2, 3});
    };
    Value places = e.countTo(keyCount);
    keep = e.make("Less", {places, take(zero, count)});
    if (hasStarts) {
      Value starts = take(count, e.make("Add", {count, count}));
      keep = e.make("And", {keep, e.make("GreaterOrEqual", {places, starts})});
    }
  } else if (shape.size() == 2 || shape.size() == 3) {
    if (shape.back() != keys)
      return {};
    keep = e.cast(mask, i1);
    keep = shape.size() == 2 ? e.unsqueeze(keep, {1, 2}) : e.unsqueeze(keep, 1);
  } else {
    return {};
  }
  return e.make("Where",
                {keep, e.number(element, 0), e.number(element, filter)});
}

static Value addMasks(OnnxEmitter &e, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return e.make("Add", {a, b});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// The parts of [3 * width], each repeated over the rows of a tensor.
static SmallVector<Value> splitBias(OnnxEmitter &e, Value bias, int64_t width,
                                    int64_t valueWidth) {
  if (!bias)
    return SmallVector<Value>(3);
  return e.split(bias, {width, width, valueWidth}, 0);
}

static Value addBias(OnnxEmitter &e, Value tensor, Value bias) {
  return bias ? e.make("Add", {tensor, bias}) : tensor;
}

static OnnxResults decompose(OnnxEmitter &e,
                             onnx::MicrosoftMultiHeadAttentionOp op) {
  if (op.getPastSequenceLength() || op.getCacheIndirection() ||
      !op.getScores().use_empty())
    return {};
  int64_t heads = op.getNumHeads();
  onnx::Shape present = shapeOf(op.getPresentKey());
  auto size = present[3].getConstant();
  auto valueSize = shapeOf(op.getPresentValue())[3].getConstant();
  if (!size || !valueSize)
    return {};
  SmallVector<Value> bias =
      splitBias(e, op.getBias(), heads * *size, heads * *valueSize);
  // A packed tensor [batch, length, heads, n, size].
  auto unpack = [&](Value packed, int64_t index, Value partOfBias) {
    Value part = e.pick(packed, index, 3);
    if (partOfBias)
      part = addBias(e, part, e.reshape(partOfBias, {heads, -1}));
    return e.transpose(part, {0, 2, 1, 3});
  };
  auto split = [&](Value flat, Value partOfBias) {
    return splitHeads(e, addBias(e, flat, partOfBias), heads);
  };
  AttentionParts parts;
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  if (shapeOf(query).size() == 5) {
    parts.query = unpack(query, 0, bias[0]);
    parts.key = unpack(query, 1, bias[1]);
    parts.value = unpack(query, 2, bias[2]);
  } else {
    parts.query = split(query, bias[0]);
    if (shapeOf(key).size() == 5) {
      parts.key = unpack(key, 0, bias[1]);
      parts.value = unpack(key, 1, bias[2]);
    } else if (shapeOf(key).size() == 4) {
      // A cache has its bias already.
      parts.key = key;
      parts.value = value;
    } else {
      parts.key = split(key, bias[1]);
      parts.value = split(value, bias[2]);
    }
  }
  parts.pastKey = op.getPastKey();
  parts.pastValue = op.getPastValue();
  parts.scale = op.getScale().convertToDouble();
  parts.isCausal = op.getUnidirectional() != 0;
  parts.mask = op.getAttentionBias();
  if (Value mask = op.getKeyPaddingMask()) {
    Value count = e.sizeOf(parts.key, 2);
    if (parts.pastKey)
      count = e.make("Add", {count, e.sizeOf(parts.pastKey, 2)});
    Value added =
        makeMask(e, mask, query, present[2], count,
                 op.getMaskFilterValue().convertToDouble(), elementOf(query));
    if (!added)
      return {};
    parts.mask = addMasks(e, added, parts.mask);
  }
  SmallVector<Value> results = attend(e, parts);
  return {results[0], results[1], results[2], {}};
}

//===----------------------------------------------------------------------===//
// Attention with its projection
//===----------------------------------------------------------------------===//

static OnnxResults decompose(OnnxEmitter &e, onnx::MicrosoftAttentionOp op) {
  if (op.getDoRotary() || op.getPastPresentShareBuffer() ||
      op.getPastSequenceLength())
    return {};
  int64_t heads = op.getNumHeads();
  auto valueWidth = shapeOf(op.getResult())[2].getConstant();
  auto size = shapeOf(op.getPresent())[4].getConstant();
  if (!size || !valueWidth)
    return {};
  Value input = op.getInput();
  Value all = e.make("MatMul", {input, op.getWeights()});
  all = addBias(e, all, op.getBias());
  SmallVector<Value> split =
      e.split(all, {heads * *size, heads * *size, *valueWidth}, -1);
  AttentionParts parts;
  parts.query = splitHeads(e, split[0], heads);
  parts.key = splitHeads(e, split[1], heads);
  parts.value = splitHeads(e, split[2], heads);
  if (op.getPast()) {
    parts.pastKey = e.pick(op.getPast(), 0, 0);
    parts.pastValue = e.pick(op.getPast(), 1, 0);
  }
  parts.scale = op.getScale().convertToDouble();
  parts.isCausal = op.getUnidirectional() != 0;
  parts.mask = op.getAttentionBias();
  if (Value mask = op.getMaskIndex()) {
    Polynomial keys = shapeOf(op.getPresent())[3];
    Value length = e.sizeOf(input, 1), count = length;
    if (parts.pastKey)
      count = e.make("Add", {length, e.sizeOf(parts.pastKey, 2)});
    if (shapeOf(mask).size() == 4) {
      // [batch, 1, most, most]: the rows of the queries.
      Value first = e.make("Sub", {count, length});
      mask = e.make("Slice", {mask, e.concat({first, e.list(0)}, 0),
                              e.concat({count, count}, 0), e.list({2, 3})});
      mask = e.make("Squeeze", {mask, e.list(1)});
    }
    Value added =
        makeMask(e, mask, input, keys, count,
                 op.getMaskFilterValue().convertToDouble(), elementOf(input));
    if (!added)
      return {};
    parts.mask = addMasks(e, added, parts.mask);
  }
  SmallVector<Value> results = attend(e, parts);
  OnnxResults replaced = {results[0], {}};
  if (!op.getPresent().use_empty())
    replaced[1] =
        e.concat({e.unsqueeze(results[1], 0), e.unsqueeze(results[2], 0)}, 0);
  return replaced;
}

//===----------------------------------------------------------------------===//
// PackedMultiHeadAttention
//===----------------------------------------------------------------------===//

/// What `bias`, [batch or 1, heads or 1, most, most], has for each pair of
/// tokens, [1, heads or 1, tokens, tokens]. Places are those in the sequence.
static Value pickPairs(OnnxEmitter &e, Value bias, Value sequence,
                       Value places) {
  Value count = e.sizeOf(places, 0);
  Value pairs = e.concat({count, count, e.list(1)}, 0);
  auto spread = [&](Value numbers, ArrayRef<int64_t> axes) {
    return e.make("Expand", {e.unsqueeze(numbers, axes), pairs});
  };
  if (shapeOf(bias)[0] == Polynomial(1))
    sequence = e.make("Sub", {sequence, sequence});
  Value at = e.concat({spread(sequence, {1, 2}), spread(places, {1, 2}),
                       spread(places, {0, 2})},
                      2);
  Value picked = e.make("GatherND", {e.transpose(bias, {0, 2, 3, 1}), at});
  return e.unsqueeze(e.transpose(picked, {2, 0, 1}), 0);
}

/// The tokens of all sequences are rows of one batch, and see those of their
/// own sequence.
static OnnxResults decompose(OnnxEmitter &e,
                             onnx::MicrosoftPackedMultiHeadAttentionOp op) {
  int64_t heads = op.getNumHeads();
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  auto valueWidth = shapeOf(op.getResult())[1].getConstant(),
       width = key ? shapeOf(query)[1].getConstant() : valueWidth;
  if (!width || !valueWidth)
    return {};
  if (!key) {
    // [tokens, heads, 3, size]
    Value packed = query;
    auto part = [&](int64_t index) {
      return e.reshape(e.pick(packed, index, 2), {0, -1});
    };
    query = part(0);
    key = part(1);
    value = part(2);
  }
  SmallVector<Value> bias = splitBias(e, op.getBias(), *width, *valueWidth);
  auto split = [&](Value rows, Value partOfBias) {
    return splitHeads(e, e.unsqueeze(addBias(e, rows, partOfBias), 0), heads);
  };
  AttentionParts parts;
  parts.query = split(query, bias[0]);
  parts.key = split(key, bias[1]);
  parts.value = split(value, bias[2]);
  parts.scale = op.getScale().convertToDouble();
  // How many sequences end before a token is the number of its own.
  Type i64 = e.builder.getI64Type();
  Value sums = e.cast(op.getCumulativeSequenceLength(), i64);
  Value ends =
      e.make("Slice", {sums, e.list(1),
                       e.list(std::numeric_limits<int64_t>::max()), e.list(0)});
  Value tokens = e.countTo(e.sizeOf(query, 0));
  Value isBehind = e.make("LessOrEqual", {ends, e.unsqueeze(tokens, 1)});
  Value sequence = e.make("ReduceSum", {e.cast(isBehind, i64), e.list(1)},
                          {{"keepdims", e.attribute(0)}});
  parts.mask =
      e.make("Equal", {e.unsqueeze(sequence, 1), e.unsqueeze(sequence, 0)});
  if (op.getAttentionBias()) {
    Value places = e.make("Sub", {tokens, e.make("Gather", {sums, sequence})});
    Value bias = pickPairs(e, op.getAttentionBias(), sequence, places);
    double lowest = -std::numeric_limits<double>::infinity();
    parts.mask =
        e.make("Where", {parts.mask, bias, e.number(elementOf(query), lowest)});
  }
  Value result = attend(e, parts)[0];
  return {e.make("Squeeze", {result, e.list(0)})};
}

OnnxResults graph::decomposeAttention(OnnxEmitter &e, Operation *op) {
  return llvm::TypeSwitch<Operation *, OnnxResults>(op)
      .Case<onnx::MicrosoftGroupQueryAttentionOp,
            onnx::MicrosoftMultiHeadAttentionOp, onnx::MicrosoftAttentionOp,
            onnx::MicrosoftPackedMultiHeadAttentionOp>(
          [&](auto attention) { return decompose(e, attention); })
      .Default([](Operation *) { return OnnxResults(); });
}
