//===- WeftDecompose.cpp - The meaning of rows, norms, linear layers ------===//
//
// The decomposition of an operation is its definition, the reference that
// tests compare with, and its lowering where there is no kernel. Clarity comes
// before speed here; the numerics are those that the operation promises.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/DecomposeBuilder.h"

using namespace mlir;
using namespace weft;

using Operand = DecomposeBuilder::Operand;
using Sizes = DecomposeBuilder::Sizes;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Loops that index a tensor of this rank directly.
static SmallVector<int64_t> identity(int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(rank));
}

//===----------------------------------------------------------------------===//
// Rows and norms
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> EmbedOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  RankedTensorType type = typeOf(getResult());
  float scale = getScale().convertToFloat();
  // Of a packed table only the result knows the width.
  OpFoldResult width = getLayout() ? b.getIndexAttr(type.getDimSize(1))
                                   : b.sizesOf(getTable())[1];
  Sizes sizes = {b.sizesOf(getIds())[0], width};
  Value rows = b.parallel(
      sizes, type.getElementType(), {{getIds(), {0}}}, [&](ValueRange id) {
        Value x = b.loadMatrix(getTable(), getLayout(), {}, b.toIndex(id[0]),
                               b.loop(1));
        if (scale == 1.0f && x.getType() == type.getElementType())
          return x;
        x = b.extend(x);
        return b.round(scale == 1.0f ? x : b.mul(x, b.f32(scale)),
                       type.getElementType());
      });
  return SmallVector<Value>{b.castTo(rows, type)};
}

/// Size of the last dimension of a tensor as an f32 value.
static Value lastSizeAsFloat(DecomposeBuilder &b, Value tensor) {
  RankedTensorType type = typeOf(tensor);
  if (!ShapedType::isDynamic(type.getShape().back()))
    return b.f32(static_cast<float>(type.getShape().back()));
  Value size = b.toI32(b.sizeOf(tensor, type.getRank() - 1));
  return arith::SIToFPOp::create(b, b.getF32Type(), size);
}

/// Mean over the last dimension of `element(x, ...)`; `operands` begins with
/// the tensor, whose last loop is the reduction.
static Value meanOfLast(DecomposeBuilder &b, ArrayRef<Operand> operands,
                        function_ref<Value(ValueRange)> element) {
  Value tensor = operands[0].tensor;
  Sizes sizes = b.sizesOf(tensor);
  sizes.pop_back();
  Value sums =
      b.reduce(sizes, b.getF32FloatAttr(0.0f), operands, [&](ValueRange x) {
        return b.add(x.back(), element(x.drop_back()));
      });
  Value count = lastSizeAsFloat(b, tensor);
  return b.parallel(sizes, b.getF32Type(), {{sums, identity(sizes.size())}},
                    [&](ValueRange x) { return b.div(x[0], count); });
}

FailureOr<SmallVector<Value>>
RmsNormOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  RankedTensorType type = getType();
  int64_t last = type.getRank() - 1;
  Operand input{getInput(), identity(type.getRank())};
  Value meanSquare = meanOfLast(b, {input}, [&](ValueRange x) {
    Value wide = b.extend(x[0]);
    return b.mul(wide, wide);
  });
  float offset = getWeightOffset().convertToFloat();
  Value result =
      b.parallel(b.sizesOf(getInput()), type.getElementType(),
                 {input, {meanSquare, identity(last)}, {getWeight(), {last}}},
                 [&](ValueRange x) {
                   Value norm = math::SqrtOp::create(
                       b, b.add(x[1], b.f32(getEpsilon().convertToFloat())));
                   Value weight = b.extend(x[2]);
                   if (offset != 0.0f)
                     weight = b.add(weight, b.f32(offset));
                   return b.round(b.mul(b.div(b.extend(x[0]), norm), weight),
                                  type.getElementType());
                 });
  return SmallVector<Value>{result};
}

FailureOr<SmallVector<Value>>
LayerNormOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  RankedTensorType type = getType();
  int64_t last = type.getRank() - 1;
  Operand input{getInput(), identity(type.getRank())};
  Value mean =
      meanOfLast(b, {input}, [&](ValueRange x) { return b.extend(x[0]); });
  // A second pass over the centred values: the difference of the mean square
  // and the squared mean cancels when the mean is large.
  Operand means{mean, identity(last)};
  Value variance = meanOfLast(b, {input, means}, [&](ValueRange x) {
    Value centred = b.sub(b.extend(x[0]), x[1]);
    return b.mul(centred, centred);
  });
  SmallVector<Operand> operands = {
      input, means, {variance, identity(last)}, {getWeight(), {last}}};
  if (getBias())
    operands.push_back({getBias(), {last}});
  Value result =
      b.parallel(b.sizesOf(getInput()), type.getElementType(), operands,
                 [&](ValueRange x) {
                   Value deviation = math::SqrtOp::create(
                       b, b.add(x[2], b.f32(getEpsilon().convertToFloat())));
                   Value y = b.div(b.sub(b.extend(x[0]), x[1]), deviation);
                   y = b.mul(y, b.extend(x[3]));
                   if (getBias())
                     y = b.add(y, b.extend(x[4]));
                   return b.round(y, type.getElementType());
                 });
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> LinearOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  RankedTensorType type = typeOf(getResult());
  int64_t rank = type.getRank(), last = rank - 1;
  Sizes sizes = b.sizesOf(getInput());
  sizes.back() = b.getIndexAttr(getOutputSize());
  // Loops: the leading dimensions, the output n, the input k.
  SmallVector<int64_t> inputLoops = identity(rank);
  inputLoops.back() = rank;
  SmallVector<Operand> operands = {{getInput(), inputLoops}};
  if (!getLayout())
    operands.push_back({getWeight(), {last, rank}});
  Value sums =
      b.reduce(sizes, b.getF32FloatAttr(0.0f), operands, [&](ValueRange x) {
        Value weight = getLayout() ? b.loadMatrix(getWeight(), getLayout(), {},
                                                  b.loop(last), b.loop(rank))
                                   : x[1];
        return b.add(x.back(), b.mul(b.extend(x[0]), b.extend(weight)));
      });
  Value result = sums;
  if (getBias())
    result = b.parallel(
        sizes, type.getElementType(),
        {{sums, identity(rank)}, {getBias(), {last}}}, [&](ValueRange x) {
          return b.round(b.add(x[0], b.extend(x[1])), type.getElementType());
        });
  result = b.roundTensor(result, type.getElementType());
  return SmallVector<Value>{b.castTo(result, type)};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// One f32 function of the elements of tensors of the same type.
static SmallVector<Value>
decomposePointwise(DecomposeBuilder &b, ValueRange tensors,
                   function_ref<Value(ArrayRef<Value>)> function) {
  RankedTensorType type = typeOf(tensors[0]);
  SmallVector<Operand> operands;
  for (Value tensor : tensors)
    operands.push_back({tensor, identity(type.getRank())});
  Value result =
      b.parallel(b.sizesOf(tensors[0]), type.getElementType(), operands,
                 [&](ValueRange x) {
                   SmallVector<Value> wide;
                   for (Value value : x)
                     wide.push_back(b.extend(value));
                   return b.round(function(wide), type.getElementType());
                 });
  return {result};
}

FailureOr<SmallVector<Value>>
ActivationOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  return decomposePointwise(b, getInput(), [&](ArrayRef<Value> x) {
    return b.activate(getFunction(), x[0]);
  });
}

FailureOr<SmallVector<Value>>
GatedActivationOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  return decomposePointwise(b, {getGate(), getUp()}, [&](ArrayRef<Value> x) {
    return b.mul(b.activate(getFunction(), x[0]), x[1]);
  });
}

FailureOr<SmallVector<Value>>
SoftcapOp::decomposeOperation(OpBuilder &builder) {
  DecomposeBuilder b(builder, *this);
  return decomposePointwise(b, getInput(), [&](ArrayRef<Value> x) {
    return b.softcap(x[0], getCap().convertToFloat());
  });
}
