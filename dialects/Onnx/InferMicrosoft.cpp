//===- InferMicrosoft.cpp - Types of operators of com.microsoft -----------===//

#include "dialects/Onnx/InferTypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A size of one head; fails if the heads do not divide the width.
static FailureOr<Polynomial> getHeadSize(const Polynomial &width,
                                         const Polynomial &heads,
                                         TypeInference &inference) {
  if (auto size = divide(width, heads))
    return *size;
  (void)inference.fail("found a width of " + width.str() + " for " +
                       heads.str() + " heads, expected a multiple of them");
  return failure();
}

static LogicalResult checkRank(Value value, size_t rank, StringRef name,
                               TypeInference &inference) {
  Shape shape = getShape(value.getType());
  if (shape.size() == rank)
    return success();
  return inference.fail("found the " + name + " of shape " + print(shape) +
                        ", expected " + Twine(rank) + " dimensions");
}

/// Both or none.
static LogicalResult checkPair(Value a, Value b, StringRef names,
                               TypeInference &inference) {
  if (!a == !b)
    return success();
  return inference.fail("found one of " + names + ", expected both or none");
}

/// Keys that the present has: those of the past and the new ones, or as many as
/// a past has that is large enough for all.
static FailureOr<Polynomial> countPresentKeys(MicrosoftGroupQueryAttentionOp op,
                                              const Polynomial &length,
                                              TypeInference &inference) {
  Value past = op.getPastKey();
  if (!past)
    return length;
  Polynomial before = getShape(past.getType())[2];
  FailureOr<SymbolicValues::Elements> total =
      inference.getElements(op.getTotalSequenceLength());
  if (failed(total))
    return failure();
  if (total->size() != 1)
    return inference.fail("found a list as total_sequence_length, expected "
                          "one number");
  std::optional<int64_t> all = total->front().getConstant(),
                         old = before.getConstant();
  if (all && old)
    return Polynomial(std::max(*all, *old));
  return inference.unify(before + length, total->front());
}

LogicalResult onnx::inferGroupQueryAttention(MicrosoftGroupQueryAttentionOp op,
                                             TypeInference &inference) {
  if (failed(checkRank(op.getQuery(), 3, "query", inference)) ||
      failed(
          checkPair(op.getKey(), op.getValue(), "key and value", inference)) ||
      failed(checkPair(op.getPastKey(), op.getPastValue(),
                       "past_key and past_value", inference)) ||
      failed(checkPair(op.getCosCache(), op.getSinCache(),
                       "cos_cache and sin_cache", inference)) ||
      (op.getPastKey() &&
       (failed(checkRank(op.getPastKey(), 4, "past_key", inference)) ||
        failed(checkRank(op.getPastValue(), 4, "past_value", inference)))))
    return failure();
  Shape shape = getShape(op.getQuery().getType());
  Polynomial heads(op.getNumHeads()), keyHeads(op.getKvNumHeads());
  if (op.getNumHeads() < 1 || op.getKvNumHeads() < 1 ||
      !divide(heads, keyHeads))
    return inference.fail("found " + heads.str() + " query heads and " +
                          keyHeads.str() +
                          " key heads, expected a multiple of them");
  FailureOr<Polynomial> size = getHeadSize(
      shape[2], op.getKey() ? heads : heads + keyHeads + keyHeads, inference);
  if (failed(size))
    return failure();
  FailureOr<Polynomial> keys = countPresentKeys(op, shape[1], inference);
  if (failed(keys))
    return failure();
  Type element = getElement(op.getQuery());
  Type cached = op.getPastKey() ? getElement(op.getPastKey()) : element;
  (void)inference.add(element, {shape[0], shape[1], heads * *size});
  for (unsigned i = 0; i < 2; ++i)
    (void)inference.add(cached, {shape[0], keyHeads, *keys, *size});
  return inference.add(element, {shape[0], heads, shape[1], *keys});
}

LogicalResult onnx::inferMultiHeadAttention(MicrosoftMultiHeadAttentionOp op,
                                            TypeInference &inference) {
  Shape query = getShape(op.getQuery().getType());
  Polynomial heads(op.getNumHeads());
  if (op.getNumHeads() < 1)
    return inference.fail("found " + heads.str() +
                          " heads, expected at least one");
  if (failed(checkPair(op.getPastKey(), op.getPastValue(),
                       "past_key and past_value", inference)))
    return failure();
  // [batch, length, heads, 3, size] holds keys and values, too.
  bool isPacked = query.size() == 5;
  if (!isPacked && (query.size() != 3 || !op.getKey()))
    return inference.fail(
        "found a query of shape " + print(query) +
        ", expected [batch, length, width] and a key, or [batch, length, "
        "heads, 3, size]");
  FailureOr<Polynomial> size = query.back();
  if (!isPacked)
    size = getHeadSize(query[2], heads, inference);
  if (failed(size))
    return failure();
  Polynomial length = query[1], valueSize = *size;
  if (!isPacked) {
    Shape key = getShape(op.getKey().getType());
    Shape value = op.getValue() ? getShape(op.getValue().getType()) : Shape();
    bool isFlat = key.size() == 3 && value.size() == 3;
    bool isCache = key.size() == 4 && value.size() == 4;
    // [batch, length, heads, 2, size]
    bool isPair = key.size() == 5 && value.empty();
    if (!isFlat && !isCache && !isPair)
      return inference.fail("found a key of shape " + print(key) +
                            " and a value of shape " + print(value) +
                            ", expected three or four dimensions, or a key of "
                            "five that holds values");
    length = isCache ? key[2] : key[1];
    FailureOr<Polynomial> found = isFlat
                                      ? getHeadSize(value[2], heads, inference)
                                      : FailureOr<Polynomial>(key.back());
    if (isCache)
      found = value[3];
    if (failed(found))
      return failure();
    valueSize = *found;
  }
  if (op.getPastKey()) {
    if (failed(checkRank(op.getPastKey(), 4, "past_key", inference)) ||
        failed(checkRank(op.getPastValue(), 4, "past_value", inference)))
      return failure();
    length += getShape(op.getPastKey().getType())[2];
  }
  Type element = getElement(op.getQuery());
  (void)inference.add(element, {query[0], query[1], heads * valueSize});
  (void)inference.add(element, {query[0], heads, length, *size});
  (void)inference.add(element, {query[0], heads, length, valueSize});
  return inference.add(element, {query[0], heads, query[1], length});
}

LogicalResult onnx::inferMicrosoftAttention(MicrosoftAttentionOp op,
                                            TypeInference &inference) {
  if (failed(checkRank(op.getInput(), 3, "input", inference)) ||
      failed(checkRank(op.getWeights(), 2, "weights", inference)))
    return failure();
  Shape shape = getShape(op.getInput().getType());
  Polynomial width = getShape(op.getWeights().getType())[1];
  Polynomial heads(op.getNumHeads());
  Polynomial valueWidth;
  FailureOr<Polynomial> size;
  if (auto sizes = op.getQkvHiddenSizes()) {
    if (sizes->size() != 3 || (*sizes)[0] != (*sizes)[1] ||
        Polynomial((*sizes)[0] + (*sizes)[1] + (*sizes)[2]) != width)
      return inference.fail("found qkv_hidden_sizes that do not fit weights of "
                            "width " +
                            width.str() + ", expected three whose sum it is");
    valueWidth = Polynomial((*sizes)[2]);
    size = getHeadSize(Polynomial((*sizes)[0]), heads, inference);
  } else {
    FailureOr<Polynomial> third = getHeadSize(width, Polynomial(3), inference);
    if (failed(third))
      return failure();
    valueWidth = *third;
    size = getHeadSize(*third, heads, inference);
  }
  if (failed(size))
    return failure();
  Polynomial keys = shape[1];
  if (op.getPast()) {
    if (failed(checkRank(op.getPast(), 5, "past", inference)))
      return failure();
    keys += getShape(op.getPast().getType())[3];
  }
  Type element = getElement(op.getInput());
  (void)inference.add(element, {shape[0], shape[1], valueWidth});
  return inference.add(element, {Polynomial(2), shape[0], heads, keys, *size});
}

LogicalResult
onnx::inferPackedMultiHeadAttention(MicrosoftPackedMultiHeadAttentionOp op,
                                    TypeInference &inference) {
  Shape query = getShape(op.getQuery().getType());
  Type element = getElement(op.getQuery());
  // [tokens, heads, 3, size] holds keys and values, too.
  if (query.size() == 4 && !op.getKey())
    return inference.add(element, {query[0], query[1] * query[3]});
  if (query.size() != 2 || !op.getKey() || !op.getValue())
    return inference.fail("found a query of shape " + print(query) +
                          ", expected [tokens, width] with a key and a value, "
                          "or [tokens, heads, 3, size]");
  Shape value = getShape(op.getValue().getType());
  return inference.add(element, {query[0], value.back()});
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult
onnx::inferEmbedLayerNormalization(MicrosoftEmbedLayerNormalizationOp op,
                                   TypeInference &inference) {
  if (failed(checkRank(op.getInputIds(), 2, "input_ids", inference)) ||
      failed(checkRank(op.getWordEmbedding(), 2, "word_embedding", inference)))
    return failure();
  Shape shape = getShape(op.getInputIds().getType());
  Shape result = {shape[0], shape[1],
                  getShape(op.getWordEmbedding().getType())[1]};
  Type element = getElement(op.getWordEmbedding());
  (void)inference.add(element, result);
  (void)inference.add(IntegerType::get(op.getContext(), 32), {shape[0]});
  return inference.add(element, result);
}

LogicalResult onnx::inferMatMulNBits(Operation *op, TypeInference &inference) {
  Shape shape = getShape(op->getOperand(0).getType());
  int64_t inputs = op->getAttrOfType<IntegerAttr>("K").getInt();
  int64_t outputs = op->getAttrOfType<IntegerAttr>("N").getInt();
  int64_t block = op->getAttrOfType<IntegerAttr>("block_size").getInt();
  if (shape.empty() || inputs < 1 || outputs < 1 || block < 1)
    return inference.fail(
        "found K = " + Twine(inputs) + ", N = " + Twine(outputs) +
        ", block_size = " + Twine(block) + " for an input of shape " +
        print(shape) + ", expected positive numbers and a matrix");
  if (failed(inference.unify(Polynomial(inputs), shape.back())))
    return failure();
  shape.back() = Polynomial(outputs);
  return inference.add(getElement(op->getOperand(0)), shape);
}

LogicalResult
onnx::inferGatherBlockQuantized(MicrosoftGatherBlockQuantizedOp op,
                                TypeInference &inference) {
  Shape data = getShape(op.getData().getType());
  Shape indices = getShape(op.getIndices().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getGatherAxis(), data.size());
  FailureOr<int64_t> quantized =
      inference.getAxis(op.getQuantizeAxis(), data.size());
  if (failed(axis) || failed(quantized))
    return failure();
  int64_t bits = op.getBits();
  if ((bits != 2 && bits != 4 && bits != 8) || op.getBlockSize() < 1)
    return inference.fail("found " + Twine(bits) + " bits in blocks of " +
                          Twine(op.getBlockSize()) +
                          ", expected 2, 4 or 8 bits in blocks of elements");
  // Elements of less than 8 bits lie together in the bytes of the last axis.
  if (getElement(op.getData()).isInteger(8))
    data.back() = data.back() * Polynomial(8 / bits);
  ArrayRef<Polynomial> sizes(data);
  Shape result(sizes.take_front(*axis));
  llvm::append_range(result, indices);
  llvm::append_range(result, sizes.drop_front(*axis + 1));
  return inference.add(getElement(op.getScales()), result);
}
