//===- CheckOperands.cpp - Shapes that operands must have -----------------===//
//
// Rules find the types of results and look at the operands that these depend
// on. Loops read the others, such as biases and scales, where the result says:
// what is too small would be read behind its end.
//
//===----------------------------------------------------------------------===//

#include "dialects/Onnx/InferTypes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Shape shapeOf(Value value) { return getShape(value.getType()); }

namespace {

class OperandChecker {
public:
  OperandChecker(Operation *op, TypeInference &inference)
      : op(op), inference(inference) {}

  LogicalResult check();

private:
  LogicalResult fail(Value value, StringRef name, const Twine &expected) {
    return inference.fail("found the " + name + " of shape " +
                          print(shapeOf(value)) + ", expected " + expected);
  }
  LogicalResult expectShape(Value value, StringRef name,
                            ArrayRef<Polynomial> expected) {
    if (value && !unify(shapeOf(value), expected))
      return fail(value, name, print(expected));
    return success();
  }
  LogicalResult expectOne(Value value, StringRef name) {
    if (value && countElements(shapeOf(value)) != Polynomial(1))
      return fail(value, name, "one element");
    return success();
  }
  LogicalResult expectRank(Value value, StringRef name, size_t least,
                           size_t most) {
    size_t rank = shapeOf(value).size();
    if (rank < least || rank > most)
      return fail(value, name,
                  (least == most ? "" : "at least ") + Twine(least) +
                      " dimensions");
    return success();
  }
  LogicalResult expectBroadcast(Value value, StringRef name, Shape target);

  bool unify(ArrayRef<Polynomial> found, ArrayRef<Polynomial> expected) {
    return found.size() == expected.size() &&
           llvm::all_of(llvm::zip(found, expected), [&](auto sizes) {
             auto [a, b] = sizes;
             return succeeded(inference.unify(b, a));
           });
  }
  int64_t getInt(StringRef name) {
    return op->getAttrOfType<IntegerAttr>(name).getInt();
  }

  LogicalResult checkChannels(ArrayRef<std::pair<Value, StringRef>> values);
  LogicalResult checkGroups(GroupNormalizationOp norm);
  LogicalResult checkSkip(Value skip);
  LogicalResult checkAttention(AttentionOp attention);
  LogicalResult checkRotary(Value cosine, Value sine, Value positions);
  LogicalResult checkScale(Value scale, Value zeroPoint);
  LogicalResult checkZeroPoint(Value value, StringRef name, Value factor,
                               size_t dim);
  LogicalResult checkIndices(Value data, Value indices);
  LogicalResult checkScatterND(ScatterNDOp scatter);
  LogicalResult checkTensorScatter(TensorScatterOp scatter);
  LogicalResult checkReverse(ReverseSequenceOp reverse);

  static constexpr size_t any = std::numeric_limits<size_t>::max();
  Operation *op;
  TypeInference &inference;
};

} // namespace

/// One that is broadcast to `target` and does not make it larger.
LogicalResult OperandChecker::expectBroadcast(Value value, StringRef name,
                                              Shape target) {
  if (!value)
    return success();
  Shape shape = shapeOf(value);
  bool fits = shape.size() <= target.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    const Polynomial &size = shape[shape.size() - 1 - i];
    fits = size == Polynomial(1) ||
           succeeded(inference.unify(target[target.size() - 1 - i], size));
  }
  return fits ? success()
              : fail(value, name, "one that is broadcast to " + print(target));
}

//===----------------------------------------------------------------------===//
// Norms and activations
//===----------------------------------------------------------------------===//

/// One element for each channel of the input.
LogicalResult
OperandChecker::checkChannels(ArrayRef<std::pair<Value, StringRef>> values) {
  Value input = op->getOperand(0);
  if (failed(expectRank(input, "input", 2, any)))
    return failure();
  Shape channels = {shapeOf(input)[1]};
  for (auto [value, name] : values)
    if (failed(expectShape(value, name, channels)))
      return failure();
  return success();
}

LogicalResult OperandChecker::checkGroups(GroupNormalizationOp norm) {
  if (failed(checkChannels(
          {{norm.getScale(), "scale"}, {norm.getBias(), "bias"}})))
    return failure();
  Polynomial channels = shapeOf(norm.getInput())[1];
  if (norm.getNumGroups() < 1 ||
      !divide(channels, Polynomial(norm.getNumGroups())))
    return inference.fail("found num_groups " + Twine(norm.getNumGroups()) +
                          ", expected a divisor of the " + channels.str() +
                          " channels");
  return success();
}

/// Norms of sums: all but the first two operands have an element a column.
LogicalResult OperandChecker::checkSkip(Value skip) {
  Value input = op->getOperand(0);
  if (failed(expectRank(input, "input", 1, any)) ||
      failed(expectBroadcast(skip, "skip", shapeOf(input))))
    return failure();
  Shape columns = {shapeOf(input).back()};
  for (Value value : op->getOperands().drop_front(2))
    if (failed(expectShape(value, "gamma, beta or bias", columns)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

LogicalResult OperandChecker::checkAttention(AttentionOp attention) {
  auto heads = [](Value value, int64_t count) -> std::optional<Shape> {
    Shape shape = shapeOf(value);
    if (shape.size() == 4)
      return shape;
    auto size = shape.size() == 3 && count > 0
                    ? divide(shape[2], Polynomial(count))
                    : std::nullopt;
    return size ? std::optional(
                      Shape{shape[0], Polynomial(count), shape[1], *size})
                : std::nullopt;
  };
  auto query = heads(attention.getQuery(), attention.getQNumHeads()),
       key = heads(attention.getKey(), attention.getKvNumHeads()),
       value = heads(attention.getValue(), attention.getKvNumHeads());
  // The rule of the type says what is wrong with them.
  if (!query || !key || !value)
    return success();
  if (!unify({(*key)[0], (*key)[3]}, {(*query)[0], (*query)[3]}) ||
      !unify(ArrayRef(*value).take_front(3), ArrayRef(*key).take_front(3)))
    return inference.fail(
        "found queries " + print(*query) + ", keys " + print(*key) +
        " and values " + print(*value) +
        " as [batch, heads, length, size], expected the same batch, as many "
        "keys as values and heads of queries and keys of one size");
  Polynomial length = (*key)[2];
  if (attention.getPastKey() && attention.getPastValue()) {
    if (failed(expectRank(attention.getPastKey(), "past_key", 4, 4)))
      return failure();
    Polynomial past = shapeOf(attention.getPastKey())[2];
    (*key)[2] = (*value)[2] = past;
    if (failed(expectShape(attention.getPastKey(), "past_key", *key)) ||
        failed(expectShape(attention.getPastValue(), "past_value", *value)))
      return failure();
    length += past;
  }
  if (failed(expectShape(attention.getNonpadKvSeqlen(), "nonpad_kv_seqlen",
                         {(*query)[0]})))
    return failure();
  if (!attention.getMask() || shapeOf(attention.getMask()).empty())
    return success();
  // The mask may have fewer keys; the others are hidden.
  Shape scores = {(*query)[0], (*query)[1], (*query)[2],
                  shapeOf(attention.getMask()).back()};
  if (getSign(subtract(length, scores[3])) == -1)
    scores[3] = length;
  return expectBroadcast(attention.getMask(), "mask", scores);
}

/// Tables of [positions, pairs], or of [batch, length, pairs] without
/// positions.
LogicalResult OperandChecker::checkRotary(Value cosine, Value sine,
                                          Value positions) {
  Shape input = shapeOf(op->getOperand(0)), table = shapeOf(cosine);
  if (failed(expectRank(op->getOperand(0), "input", 3, 4)) ||
      failed(expectRank(cosine, "cosine table", positions ? 2 : 3,
                        positions ? 2 : 3)) ||
      failed(expectShape(sine, "sine table", table)))
    return failure();
  int64_t heads = getInt("num_heads"), width = getInt("rotary_embedding_dim");
  if (heads < 0 || width < 0 || width % 2 != 0)
    return inference.fail("found num_heads " + Twine(heads) +
                          " and rotary_embedding_dim " + Twine(width) +
                          ", expected none below 0 and an even width");
  Polynomial size = input.back(), length = input[input.size() - 2];
  if (input.size() == 3 && heads > 0) {
    auto perHead = divide(size, Polynomial(heads));
    if (!perHead)
      return inference.fail("found " + Twine(heads) + " heads in " +
                            size.str() + " columns, expected a divisor");
    size = *perHead;
  }
  Polynomial pairs = table.back(), rotated = pairs * Polynomial(2);
  bool fits = width == 0 || rotated == Polynomial(width);
  if (input.size() == 3 && heads == 0)
    fits &= divide(size, rotated).has_value() || width != 0;
  else
    fits &= getSign(subtract(size, rotated)) != -1 &&
            (width != 0 || rotated == size);
  if (!fits)
    return fail(cosine, "cosine table",
                "half of the " + (width ? Polynomial(width) : size).str() +
                    " rotated elements of a head as columns");
  if (!positions)
    return expectBroadcast(cosine, "cosine table", {input[0], length, pairs});
  bool isOffset = countElements(shapeOf(positions)) == Polynomial(1);
  return isOffset ? success()
                  : expectShape(positions, "position_ids", {input[0], length});
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// One for all, one for each place along the axis, or one for each block.
LogicalResult OperandChecker::checkScale(Value scale, Value zeroPoint) {
  Shape input = shapeOf(op->getOperand(0)), found = shapeOf(scale);
  int64_t block = getInt("block_size");
  if (block < 0)
    return inference.fail("found block_size " + Twine(block) +
                          ", expected one that is not negative");
  if (block == 0 && countElements(found) == Polynomial(1))
    return expectOne(zeroPoint, "zero point");
  FailureOr<int64_t> axis = inference.getAxis(getInt("axis"), input.size());
  if (failed(axis))
    return failure();
  Shape expected = {input[*axis]};
  if (block != 0) {
    expected = input;
    std::optional<int64_t> size = input[*axis].getConstant();
    auto blocks = size ? std::optional(Polynomial((*size + block - 1) / block))
                       : divide(input[*axis], Polynomial(block));
    if (!blocks)
      return inference.fail("found blocks of " + Twine(block) + " of " +
                            input[*axis].str() +
                            " elements, expected a known number of them");
    expected[*axis] = *blocks;
  }
  if (failed(expectShape(scale, "scale", expected)))
    return failure();
  return expectShape(zeroPoint, "zero point", expected);
}

/// One for all, or one for each row or column of a factor.
LogicalResult OperandChecker::checkZeroPoint(Value value, StringRef name,
                                             Value factor, size_t dim) {
  if (!value || countElements(shapeOf(value)) == Polynomial(1))
    return success();
  Shape shape = shapeOf(factor);
  size_t place = dim < shape.size() ? dim : 0;
  if (shape.empty() || shapeOf(value).size() != 1)
    return fail(value, name, "a number, or one for each row or column");
  return expectShape(value, name, {shape[place]});
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// As many dimensions as the data, and no larger but along the axis.
LogicalResult OperandChecker::checkIndices(Value data, Value indices) {
  Shape from = shapeOf(data), at = shapeOf(indices);
  FailureOr<int64_t> axis = inference.getAxis(getInt("axis"), from.size());
  if (failed(axis))
    return failure();
  bool fits = from.size() == at.size();
  for (size_t dim = 0; fits && dim < from.size(); ++dim) {
    if (int64_t(dim) == *axis)
      continue;
    std::optional<int> sign = getSign(subtract(from[dim], at[dim]));
    fits = sign ? *sign >= 0 : succeeded(inference.unify(from[dim], at[dim]));
  }
  return fits ? success()
              : fail(indices, "indices",
                     "one that is no larger than " + print(from) +
                         " but along the axis");
}

LogicalResult OperandChecker::checkScatterND(ScatterNDOp scatter) {
  Shape data = shapeOf(scatter.getData()), list = shapeOf(scatter.getIndices());
  std::optional<int64_t> depth =
      list.empty() ? std::nullopt : list.back().getConstant();
  if (!depth || *depth > int64_t(data.size()))
    return fail(scatter.getIndices(), "indices",
                "at most " + Twine(data.size()) + " numbers for each place");
  Shape expected(ArrayRef(list).drop_back());
  llvm::append_range(expected, ArrayRef(data).drop_front(*depth));
  return expectShape(scatter.getUpdates(), "updates", expected);
}

LogicalResult OperandChecker::checkTensorScatter(TensorScatterOp scatter) {
  Shape past = shapeOf(scatter.getPast()),
        update = shapeOf(scatter.getUpdate());
  FailureOr<int64_t> axis = inference.getAxis(scatter.getAxis(), past.size());
  if (failed(axis))
    return failure();
  Shape expected = past;
  if (update.size() == past.size())
    expected[*axis] = update[*axis];
  if (failed(expectShape(scatter.getUpdate(), "update", expected)))
    return failure();
  return expectShape(scatter.getWriteIndices(), "write_indices", {past[0]});
}

LogicalResult OperandChecker::checkReverse(ReverseSequenceOp reverse) {
  Shape shape = shapeOf(reverse.getInput());
  auto batch = inference.getAxis(reverse.getBatchAxis(), shape.size()),
       time = inference.getAxis(reverse.getTimeAxis(), shape.size());
  if (failed(batch) || failed(time))
    return failure();
  if (*batch == *time)
    return inference.fail("found the axis " + Twine(*batch) +
                          " as batch and time, expected two");
  return expectShape(reverse.getSequenceLens(), "sequence_lens",
                     {shape[*batch]});
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

LogicalResult OperandChecker::check() {
  using Result = LogicalResult;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](BatchNormalizationOp norm) {
        return checkChannels({{norm.getScale(), "scale"},
                              {norm.getBias(), "bias"},
                              {norm.getMean(), "mean"},
                              {norm.getVariance(), "variance"}});
      })
      .Case([&](InstanceNormalizationOp norm) {
        return checkChannels(
            {{norm.getScale(), "scale"}, {norm.getBias(), "bias"}});
      })
      .Case([&](GroupNormalizationOp norm) { return checkGroups(norm); })
      .Case([&](LayerNormalizationOp norm) {
        Shape shape = shapeOf(norm.getInput());
        return failed(expectBroadcast(norm.getScale(), "scale", shape))
                   ? failure()
                   : expectBroadcast(norm.getBias(), "bias", shape);
      })
      .Case<RMSNormalizationOp, MicrosoftSimplifiedLayerNormalizationOp>(
          [&](auto norm) {
            return expectBroadcast(norm.getScale(), "scale",
                                   shapeOf(norm.getInput()));
          })
      .Case<MicrosoftSkipLayerNormalizationOp,
            MicrosoftSkipSimplifiedLayerNormalizationOp>(
          [&](auto norm) { return checkSkip(norm.getSkip()); })
      .Case<MicrosoftBiasGeluOp, MicrosoftFastGeluOp>([&](auto gelu) -> Result {
        if (failed(expectRank(gelu.getInput(), "input", 1, any)))
          return failure();
        return expectShape(gelu.getBias(), "bias",
                           {shapeOf(gelu.getInput()).back()});
      })
      .Case([&](AttentionOp attention) { return checkAttention(attention); })
      .Case<RotaryEmbeddingOp, MicrosoftRotaryEmbeddingOp>([&](auto rotary) {
        return checkRotary(rotary.getCosine(), rotary.getSine(),
                           rotary.getPositionIds());
      })
      .Case<QuantizeLinearOp, DequantizeLinearOp>([&](auto quantize) {
        return checkScale(quantize.getScale(), quantize.getZeroPoint());
      })
      .Case([&](MatMulIntegerOp product) -> Result {
        size_t rows = shapeOf(product.getLhs()).size() - 2,
               columns = shapeOf(product.getRhs()).size() - 1;
        if (failed(checkZeroPoint(product.getLhsZeroPoint(),
                                  "zero point of the left factor",
                                  product.getLhs(), rows)))
          return failure();
        return checkZeroPoint(product.getRhsZeroPoint(),
                              "zero point of the right factor",
                              product.getRhs(), columns);
      })
      .Case([&](QLinearMatMulOp product) -> Result {
        for (Value value :
             {product.getLhsScale(), product.getLhsZeroPoint(),
              product.getRhsScale(), product.getRhsZeroPoint(),
              product.getResultScale(), product.getResultZeroPoint()})
          if (failed(expectOne(value, "scale or zero point")))
            return failure();
        return success();
      })
      .Case([&](ConvOp conv) -> Result {
        if (failed(expectRank(conv.getWeight(), "weight", 3, any)))
          return failure();
        return expectShape(conv.getBias(), "bias",
                           {shapeOf(conv.getWeight())[0]});
      })
      .Case([&](ConvTransposeOp conv) -> Result {
        if (failed(expectRank(conv.getWeight(), "weight", 3, any)))
          return failure();
        return expectShape(
            conv.getBias(), "bias",
            {shapeOf(conv.getWeight())[1] * Polynomial(conv.getGroup())});
      })
      .Case([&](ConvIntegerOp conv) -> Result {
        if (failed(
                expectOne(conv.getInputZeroPoint(), "zero point of the input")))
          return failure();
        return checkZeroPoint(conv.getWeightZeroPoint(),
                              "zero point of the weight", conv.getWeight(), 0);
      })
      .Case([&](GatherElementsOp gather) {
        return checkIndices(gather.getData(), gather.getIndices());
      })
      .Case([&](GatherNDOp gather) -> Result {
        Shape data = shapeOf(gather.getData()),
              indices = shapeOf(gather.getIndices());
        size_t batch = gather.getBatchDims();
        // The rule of the type says what is wrong with other numbers.
        if (batch >= indices.size() || batch > data.size() ||
            unify(ArrayRef(indices).take_front(batch),
                  ArrayRef(data).take_front(batch)))
          return success();
        return fail(gather.getIndices(), "indices",
                    "the first " + Twine(batch) + " sizes of " + print(data));
      })
      .Case([&](ScatterElementsOp scatter) -> Result {
        if (failed(checkIndices(scatter.getData(), scatter.getIndices())))
          return failure();
        return expectShape(scatter.getUpdates(), "updates",
                           shapeOf(scatter.getIndices()));
      })
      .Case([&](ScatterNDOp scatter) { return checkScatterND(scatter); })
      .Case(
          [&](TensorScatterOp scatter) { return checkTensorScatter(scatter); })
      .Case([&](ReverseSequenceOp reverse) { return checkReverse(reverse); })
      .Case([&](OneHotOp oneHot) {
        return expectShape(oneHot.getValues(), "values", {Polynomial(2)});
      })
      .Case([&](ClipOp clip) -> Result {
        if (failed(expectOne(clip.getMin(), "min")))
          return failure();
        return expectOne(clip.getMax(), "max");
      })
      .Case([&](TriluOp trilu) -> Result {
        if (failed(expectRank(trilu.getInput(), "input", 2, any)))
          return failure();
        return expectOne(trilu.getK(), "k");
      })
      .Case([&](EyeLikeOp eye) {
        return expectRank(eye.getInput(), "input", 2, 2);
      })
      .Case([&](PadOp pad) {
        return expectOne(pad.getConstantValue(), "constant_value");
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult onnx::checkOperands(Operation *op, TypeInference &inference) {
  if (failed(checkElements(op, inference)))
    return failure();
  return OperandChecker(op, inference).check();
}
