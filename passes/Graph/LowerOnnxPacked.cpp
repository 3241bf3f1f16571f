//===- LowerOnnxPacked.cpp - Products and rows of packed weights ----------===//

#include "passes/Graph/PackedWeights.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

Value graph::flatten(OnnxLowering &l, Value value) {
  Shape shape = shapeOf(value);
  return l.reshape(l.get(value), shape, {onnx::countElements(shape)});
}

static Value divide(Scalars &s, Value x, int64_t y) {
  return y == 1 ? x : s.make<arith::DivUIOp>(x, s.index(y));
}

static Value remainder(Scalars &s, Value x, int64_t y) {
  return s.make<arith::RemUIOp>(x, s.index(y));
}

/// Element `column` of packed elements that begin at byte `start`, as a byte.
static Value unpack(Scalars &s, Value bytes, Value start, Value column,
                    int64_t bits) {
  int64_t perByte = 8 / bits;
  Value byte = s.read(bytes, s.add(start, divide(s, column, perByte)));
  if (perByte == 1)
    return byte;
  Value shift = s.mul(remainder(s, column, perByte), s.index(bits));
  shift = s.fromIndex(shift, byte.getType());
  return s.extendBits(s.make<arith::ShRUIOp>(byte, shift), bits, true);
}

Value PackedWeights::read(Scalars &s, Value row, Value column) const {
  Type f32 = s.b.getF32Type();
  Value start = s.mul(row, s.index(rowBytes));
  Value x = s.convert(unpack(s, bytes, start, column, bits), f32, true);
  Value inRow = divide(s, column, block);
  Value at = s.add(s.mul(row, s.index(rowBlocks)), inRow);
  Value zero = s.number(f32, double(1 << (bits - 1)));
  if (zeroPoints && isZeroNumber) {
    zero = s.convert(s.read(zeroPoints, at), f32);
  } else if (zeroPoints) {
    int64_t zeroBytes = llvm::divideCeil(zeroRows * rowBlocks * bits, 8);
    Value first = s.mul(divide(s, row, zeroRows), s.index(zeroBytes));
    Value place = inRow;
    if (zeroRows > 1)
      place =
          s.add(s.mul(remainder(s, row, zeroRows), s.index(rowBlocks)), inRow);
    zero = s.convert(unpack(s, zeroPoints, first, place, bits), f32, true);
  }
  return s.mul(s.sub(x, zero), s.convert(s.read(scales, at), f32));
}

/// Whether a tensor has so many elements.
static bool hasElements(Value value, int64_t count) {
  return onnx::countElements(shapeOf(value)) == Polynomial(count);
}

/// input [..., K] times weights whose element of an output and an input is
/// `read`, plus a bias.
static Value multiply(OnnxLowering &l, Value input, Value result,
                      int64_t inputs,
                      function_ref<Value(Scalars &, Value, Value)> read,
                      Value bias) {
  Value source = l.get(input);
  Shape shape = shapeOf(result);
  Type element = elementOf(result), f32 = l.builder.getF32Type();
  Value sum = l.fold(shape, {Polynomial(inputs)}, l.makeScalar(f32, 0),
                     [&](Scalars &s, Indices i, Indices k, Value before) {
                       SmallVector<Value> place(i);
                       place.back() = k[0];
                       Value x = s.convert(s.read(source, place), f32);
                       return s.add(before, s.mul(x, read(s, i.back(), k[0])));
                     });
  if (!bias)
    return l.convert(sum, shape, element);
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    Value added = s.convert(s.read(bias, i.back()), f32);
    return s.narrow(s.add(s.read(sum, i), added), element);
  });
}

static Value lowerMatMulNBits(OnnxLowering &l,
                              onnx::MicrosoftMatMulNBitsOp op) {
  int64_t bits = op.getBits(), inputs = op.getK(), outputs = op.getN();
  if ((bits != 2 && bits != 4 && bits != 8) || op.getWeightPrepacked() ||
      op.getGIdx())
    return {};
  PackedWeights weights;
  weights.bits = bits;
  weights.block = op.getBlockSize();
  weights.rowBlocks = llvm::divideCeil(inputs, weights.block);
  weights.rowBytes =
      weights.rowBlocks * llvm::divideCeil(weights.block * bits, 8);
  if (!hasElements(op.getWeight(), outputs * weights.rowBytes) ||
      !hasElements(op.getScales(), outputs * weights.rowBlocks))
    return {};
  weights.bytes = flatten(l, op.getWeight());
  weights.scales = flatten(l, op.getScales());
  if (Value zero = op.getZeroPoints()) {
    weights.isZeroNumber = isa<FloatType>(elementOf(zero));
    int64_t count = weights.isZeroNumber
                        ? weights.rowBlocks
                        : llvm::divideCeil(weights.rowBlocks * bits, 8);
    if (!hasElements(zero, outputs * count))
      return {};
    weights.zeroPoints = flatten(l, zero);
  }
  return multiply(
      l, op.getInput(), op.getResult(), inputs,
      [&](Scalars &s, Value row, Value column) {
        return weights.read(s, row, column);
      },
      op.getBias() ? l.get(op.getBias()) : Value());
}

/// Numbers that 4 bits mean. Source: the data types FP4 and NF4 of
/// bitsandbytes; NF4 from Dettmers et al., QLoRA (2023), appendix E.
static constexpr float fp4Numbers[] = {0.0f,         5.208333333e-03f,
                                       0.66666667f,  1.0f,
                                       0.33333333f,  0.5f,
                                       0.16666667f,  0.25f,
                                       -0.0f,        -5.208333333e-03f,
                                       -0.66666667f, -1.0f,
                                       -0.33333333f, -0.5f,
                                       -0.16666667f, -0.25f};
static constexpr float nf4Numbers[] = {-1.0f,
                                       -0.6961928009986877f,
                                       -0.5250730514526367f,
                                       -0.39491748809814453f,
                                       -0.28444138169288635f,
                                       -0.18477343022823334f,
                                       -0.09105003625154495f,
                                       0.0f,
                                       0.07958029955625534f,
                                       0.16093020141124725f,
                                       0.24611230194568634f,
                                       0.33791524171829224f,
                                       0.44070982933044434f,
                                       0.5626170039176941f,
                                       0.7229568362236023f,
                                       1.0f};

/// Blocks go on over the ends of rows; the first of two elements has the upper
/// bits.
static Value lowerMatMulBnb4(OnnxLowering &l, onnx::MicrosoftMatMulBnb4Op op) {
  int64_t inputs = op.getK(), outputs = op.getN(), block = op.getBlockSize();
  int64_t count = inputs * outputs;
  if (!op.getTransB() || op.getQuantType() < 0 || op.getQuantType() > 1 ||
      !hasElements(op.getWeight(), llvm::divideCeil(count, 2)) ||
      !hasElements(op.getAbsmax(), llvm::divideCeil(count, block)))
    return {};
  Value bytes = flatten(l, op.getWeight()), scales = flatten(l, op.getAbsmax());
  Type f32 = l.builder.getF32Type();
  auto type = RankedTensorType::get(16, f32);
  Value numbers = arith::ConstantOp::create(
      l.builder, l.loc,
      DenseElementsAttr::get(type, op.getQuantType() ? ArrayRef(nf4Numbers)
                                                     : ArrayRef(fp4Numbers)));
  return multiply(
      l, op.getInput(), op.getResult(), inputs,
      [&](Scalars &s, Value row, Value column) {
        Value place = s.add(s.mul(row, s.index(inputs)), column);
        Value byte = s.read(bytes, divide(s, place, 2));
        Value isSecond =
            s.compare(Order::Equal, remainder(s, place, 2), s.index(1));
        Value upper = s.make<arith::ShRUIOp>(byte, s.number(byte.getType(), 4));
        Value code = s.extendBits(s.select(isSecond, byte, upper), 4, true);
        Value number = s.read(numbers, s.toIndex(code));
        Value scale = s.read(scales, divide(s, place, block));
        return s.mul(number, s.convert(scale, f32));
      },
      {});
}

/// A row that is not there is one of zeros.
static Value lowerGatherRows(OnnxLowering &l,
                             onnx::MicrosoftGatherBlockQuantizedOp op) {
  Shape data = shapeOf(op.getData()), scaleShape = shapeOf(op.getScales());
  int64_t rank = data.size(), indexRank = shapeOf(op.getIndices()).size();
  auto wrap = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  int64_t axis = wrap(op.getGatherAxis()),
          quantized = wrap(op.getQuantizeAxis());
  // Bytes hold several elements of the last dimension; others hold one.
  Type stored = getElementTypeOrSelf(op.getData().getType());
  bool isByte = stored.isInteger(8);
  int64_t perByte = isByte ? 8 / op.getBits() : 1;
  if (scaleShape.size() != data.size() || axis == quantized ||
      (perByte > 1 && axis == rank - 1))
    return {};
  Value bytes = l.get(op.getData()), indices = l.get(op.getIndices());
  Value scales = l.get(op.getScales());
  Value zeros = op.getZeroPoints() ? l.get(op.getZeroPoints()) : Value();
  Value rows = l.size(data[axis]);
  bool hasNoSign = isUnsigned(op.getData().getType());
  double middle = isByte ? double(1 << (op.getBits() - 1)) : 0;
  Type element = elementOf(op.getResult()), f32 = l.builder.getF32Type();
  auto read = [&](Scalars &s, Value tensor, ArrayRef<Value> place) {
    SmallVector<Value> at(place);
    at.back() = divide(s, at.back(), perByte);
    Value byte = s.read(tensor, at);
    if (perByte == 1)
      return s.convert(byte, f32, hasNoSign);
    Value shift =
        s.mul(remainder(s, place.back(), perByte), s.index(op.getBits()));
    shift = s.fromIndex(shift, byte.getType());
    Value shifted = s.make<arith::ShRUIOp>(byte, shift);
    return s.convert(s.extendBits(shifted, op.getBits(), true), f32, true);
  };
  return l.generate(
      shapeOf(op.getResult()), element, [&](Scalars &s, Indices i) {
        Value row = s.toIndex(s.read(indices, i.slice(axis, indexRank)));
        Value zero = s.index(0);
        row =
            s.select(s.compare(Order::Less, row, zero), s.add(row, rows), row);
        Value isInside = s.both(s.compare(Order::LessOrEqual, zero, row),
                                s.compare(Order::Less, row, rows));
        SmallVector<Value> place(i.take_front(axis));
        place.push_back(row);
        llvm::append_range(place, i.drop_front(axis + indexRank));
        return s.branch(
            isInside, element,
            [&] {
              Value x = read(s, bytes, place);
              SmallVector<Value> block(place);
              block[quantized] = divide(s, block[quantized], op.getBlockSize());
              Value z = zeros ? read(s, zeros, block) : s.number(f32, middle);
              Value scale = s.convert(s.read(scales, block), f32);
              return s.narrow(s.mul(s.sub(x, z), scale), element);
            },
            [&] { return s.number(element, 0); });
      });
}

bool OnnxLowering::lowerPacked(Operation *op) {
  Value result;
  if (auto product = dyn_cast<onnx::MicrosoftMatMulNBitsOp>(op))
    result = lowerMatMulNBits(*this, product);
  else if (auto product = dyn_cast<onnx::MicrosoftMatMulBnb4Op>(op))
    result = lowerMatMulBnb4(*this, product);
  else if (auto gather = dyn_cast<onnx::MicrosoftGatherBlockQuantizedOp>(op))
    result = lowerGatherRows(*this, gather);
  if (result)
    set(op->getResult(0), result);
  return result != nullptr;
}
