//===- InferAttention.cpp - Types of attention ----------------------------===//

#include "dialects/Onnx/InferTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// The shape [batch, heads, length, head size] of one that may be
/// [batch, length, heads * head size].
static FailureOr<Shape> splitHeads(Shape shape, int64_t heads,
                                   TypeInference &inference) {
  if (shape.size() == 4)
    return shape;
  std::optional<Polynomial> size = shape.size() == 3 && heads > 0
                                       ? divide(shape[2], Polynomial(heads))
                                       : std::nullopt;
  if (size)
    return Shape{shape[0], Polynomial(heads), shape[1], *size};
  (void)inference.fail("found a tensor of shape " + print(shape) + " and " +
                       Twine(heads) +
                       " heads, expected [batch, heads, length, size] or "
                       "[batch, length, heads * size] with q_num_heads and "
                       "kv_num_heads");
  return failure();
}

LogicalResult onnx::inferAttention(AttentionOp op, TypeInference &inference) {
  Shape shape = getShape(op.getQuery().getType());
  FailureOr<Shape> query = splitHeads(shape, op.getQNumHeads(), inference);
  FailureOr<Shape> key = splitHeads(getShape(op.getKey().getType()),
                                    op.getKvNumHeads(), inference);
  FailureOr<Shape> value = splitHeads(getShape(op.getValue().getType()),
                                      op.getKvNumHeads(), inference);
  if (failed(query) || failed(key) || failed(value))
    return failure();
  if (!op.getPastKey() != !op.getPastValue())
    return inference.fail("found one of past_key and past_value, expected "
                          "both or none");
  if (op.getPastKey()) {
    Shape pastKey = getShape(op.getPastKey().getType());
    Shape pastValue = getShape(op.getPastValue().getType());
    if (pastKey.size() != 4 || pastValue.size() != 4)
      return inference.fail("found a past of shape " + print(pastKey) +
                            ", expected [batch, heads, length, size]");
    (*key)[2] += pastKey[2];
    (*value)[2] += pastValue[2];
  }
  if (!divide((*query)[1], (*key)[1]))
    return inference.fail("found " + (*query)[1].str() + " query heads and " +
                          (*key)[1].str() +
                          " key heads, expected a multiple of them");
  Shape scores = {(*query)[0], (*query)[1], (*query)[2], (*key)[2]};
  Shape result = shape.size() == 3
                     ? Shape{shape[0], shape[1], (*query)[1] * (*value)[3]}
                     : Shape{shape[0], shape[1], shape[2], (*value)[3]};
  (void)inference.add(getElement(op.getQuery()), result);
  (void)inference.add(getElement(op.getKey()), *key);
  (void)inference.add(getElement(op.getValue()), *value);
  return inference.add(getElement(op.getQuery()), scores);
}
