//===- InferWindows.cpp - Types of convolutions and pools -----------------===//

#include "dialects/Onnx/InferTypes.h"
#include "dialects/Onnx/Windows.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static std::optional<ArrayRef<int64_t>> getInts(Operation *op, StringRef name) {
  if (auto ints = op->getAttrOfType<DenseI64ArrayAttr>(name))
    return ints.asArrayRef();
  return std::nullopt;
}

static StringRef getAutoPad(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>("auto_pad");
  return text ? text.getValue() : "NOTSET";
}

/// How many windows of a dimension there are and how much it is padded.
static FailureOr<Polynomial> countWindows(Windows &windows, size_t i,
                                          const Polynomial &size,
                                          StringRef autoPad, bool isCeil,
                                          TypeInference &inference) {
  int64_t stride = windows.strides[i];
  int64_t extent = (windows.kernel[i] - 1) * windows.dilations[i] + 1;
  int64_t &before = windows.before[i], &after = windows.after[i];
  std::optional<int64_t> length = size.getConstant();
  if (!length) {
    if (autoPad.starts_with("SAME") && stride == 1) {
      before = (extent - 1) / 2;
      after = extent - 1 - before;
      if (autoPad == "SAME_LOWER")
        std::swap(before, after);
    } else if (autoPad.starts_with("SAME")) {
      (void)inference.fail("found auto_pad of a symbolic size, expected pads");
      return failure();
    }
    auto count = divide(size + Polynomial(before + after - extent + stride),
                        Polynomial(stride));
    if (count)
      return *count;
    (void)inference.fail("found windows " + Twine(stride) + " apart over " +
                         size.str() + " elements, expected a known size");
    return failure();
  }
  if (autoPad.starts_with("SAME")) {
    int64_t count = (*length + stride - 1) / stride;
    int64_t pad = std::max<int64_t>((count - 1) * stride + extent - *length, 0);
    before = autoPad == "SAME_LOWER" ? (pad + 1) / 2 : pad / 2;
    after = pad - before;
    return Polynomial(count);
  }
  int64_t room = *length + before + after - extent;
  if (room < 0) {
    (void)inference.fail("found a window of " + Twine(extent) + " over " +
                         Twine(*length + before + after) +
                         " elements, expected a smaller one");
    return failure();
  }
  int64_t count = room / stride + 1;
  if (isCeil) {
    count = (room + stride - 1) / stride + 1;
    // A window that starts in the padding behind the end does not count.
    if ((count - 1) * stride >= *length + before)
      --count;
  }
  return Polynomial(count);
}

/// Reads everything but `outputs`.
LogicalResult Windows::read(Operation *op, Value weight,
                            TypeInference &inference) {
  Shape shape = onnx::getShape(op->getOperand(0).getType());
  if (shape.size() < 3)
    return inference.fail("found an input of shape " + print(shape) +
                          ", expected [batch, channels, sizes...]");
  size_t rank = shape.size() - 2;
  Shape weights = weight ? onnx::getShape(weight.getType()) : Shape();
  if (weight && weights.size() != shape.size())
    return inference.fail("found a weight of shape " + print(weights) +
                          " for an input of shape " + print(shape) +
                          ", expected equal ranks");
  if (auto ints = getInts(op, "kernel_shape"))
    kernel.assign(ints->begin(), ints->end());
  else if (weight)
    for (const Polynomial &size : ArrayRef(weights).drop_front(2))
      kernel.push_back(size.getConstant().value_or(0));
  auto read = [&](StringRef name) {
    auto ints = getInts(op, name);
    return ints ? SmallVector<int64_t, 3>(*ints)
                : SmallVector<int64_t, 3>(rank, 1);
  };
  strides = read("strides");
  dilations = read("dilations");
  auto pads = getInts(op, "pads");
  SmallVector<int64_t> zeros(2 * rank, 0);
  StringRef autoPad = getAutoPad(op);
  ArrayRef<int64_t> used = pads && autoPad == "NOTSET" ? *pads : zeros;
  constexpr int64_t most = int64_t(1) << 31;
  bool isGood = kernel.size() == rank && strides.size() == rank &&
                dilations.size() == rank && used.size() == 2 * rank;
  for (ArrayRef<int64_t> list :
       {ArrayRef<int64_t>(kernel), ArrayRef<int64_t>(strides),
        ArrayRef<int64_t>(dilations)})
    isGood &= llvm::all_of(list, [](int64_t i) { return i > 0 && i <= most; });
  isGood &=
      llvm::all_of(used, [](int64_t i) { return i >= -most && i <= most; });
  if (!isGood)
    return inference.fail("found kernel_shape, strides, dilations or pads that "
                          "do not fit an input of shape " +
                          print(shape) +
                          ", expected positive numbers, one for "
                          "each spatial dimension");
  before.assign(used.begin(), used.begin() + rank);
  after.assign(used.begin() + rank, used.end());
  return success();
}

FailureOr<Windows> Windows::get(Operation *op, Value weight,
                                TypeInference &inference) {
  Windows windows;
  if (failed(windows.read(op, weight, inference)))
    return failure();
  Shape shape = onnx::getShape(op->getOperand(0).getType());
  StringRef autoPad = getAutoPad(op);
  auto ceilMode = op->getAttrOfType<IntegerAttr>("ceil_mode");
  for (size_t i = 0, rank = shape.size() - 2; i < rank; ++i) {
    FailureOr<Polynomial> count =
        countWindows(windows, i, shape[2 + i], autoPad,
                     ceilMode && ceilMode.getInt() != 0, inference);
    if (failed(count))
      return failure();
    windows.outputs.push_back(*count);
  }
  return windows;
}

FailureOr<Windows> Windows::getTransposed(ConvTransposeOp op,
                                          TypeInference &inference) {
  Windows windows;
  if (failed(windows.read(op, op.getWeight(), inference)))
    return failure();
  Shape shape = onnx::getShape(op.getInput().getType());
  size_t rank = shape.size() - 2;
  auto padding = op.getOutputPadding();
  auto wanted = op.getOutputShape();
  if ((padding && padding->size() != rank) ||
      (wanted && wanted->size() < rank)) {
    (void)inference.fail(
        "found an output_padding or output_shape that does not "
        "fit an input of shape " +
        print(shape) + ", expected a number for each spatial dimension");
    return failure();
  }
  StringRef autoPad = getAutoPad(op);
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = (windows.kernel[i] - 1) * windows.dilations[i] + 1;
    Polynomial stride(windows.strides[i]);
    // Without pads.
    Polynomial full = (shape[2 + i] + Polynomial(-1)) * stride +
                      Polynomial(extent + (padding ? (*padding)[i] : 0));
    if (!wanted && !autoPad.starts_with("SAME")) {
      windows.outputs.push_back(
          full + Polynomial(-windows.before[i] - windows.after[i]));
      continue;
    }
    Polynomial output =
        wanted ? Polynomial(wanted->take_back(rank)[i]) : shape[2 + i] * stride;
    std::optional<int64_t> total = subtract(full, output).getConstant();
    if (!total) {
      (void)inference.fail("found the size " + shape[2 + i].str() +
                           " with an output_shape, expected a known size");
      return failure();
    }
    total = std::max<int64_t>(*total, 0);
    int64_t less = *total / 2, more = *total - less;
    windows.before[i] = autoPad == "SAME_UPPER" ? less : more;
    windows.after[i] = *total - windows.before[i];
    windows.outputs.push_back(output);
  }
  return windows;
}

LogicalResult onnx::inferConv(Operation *op, TypeInference &inference) {
  Value weight = op->getOperand(1);
  Shape shape = onnx::getShape(op->getOperand(0).getType());
  Shape kernel = onnx::getShape(weight.getType());
  FailureOr<Windows> windows = Windows::get(op, weight, inference);
  if (failed(windows))
    return failure();
  int64_t group = op->getAttrOfType<IntegerAttr>("group").getInt();
  if (kernel.size() != shape.size() || group < 1 ||
      kernel[1] * Polynomial(group) != shape[1] ||
      !divide(kernel[0], Polynomial(group)))
    return inference.fail("found a weight of shape " + print(kernel) + " in " +
                          Twine(group) + " groups for an input of shape " +
                          print(shape) +
                          ", expected a part of the channels for each group");
  Shape result = {shape[0], kernel[0]};
  llvm::append_range(result, windows->outputs);
  Type element = isa<ConvIntegerOp>(op) ? IntegerType::get(op->getContext(), 32)
                                        : getElement(op->getOperand(0));
  return inference.add(element, result);
}

LogicalResult onnx::inferConvTranspose(ConvTransposeOp op,
                                       TypeInference &inference) {
  Shape shape = onnx::getShape(op.getInput().getType());
  Shape weight = onnx::getShape(op.getWeight().getType());
  FailureOr<Windows> windows = Windows::getTransposed(op, inference);
  if (failed(windows))
    return failure();
  if (weight[0] != shape[1] || op.getGroup() < 1 ||
      !divide(weight[0], Polynomial(op.getGroup())))
    return inference.fail("found a weight of shape " + print(weight) + " in " +
                          Twine(op.getGroup()) +
                          " groups for an input of shape " + print(shape) +
                          ", expected one for each channel of the input");
  Shape result = {shape[0], weight[1] * Polynomial(op.getGroup())};
  llvm::append_range(result, windows->outputs);
  return inference.add(getElement(op.getInput()), result);
}

static LogicalResult addPool(Operation *op, ArrayRef<Type> elements,
                             TypeInference &inference) {
  FailureOr<Windows> windows = Windows::get(op, Value(), inference);
  if (failed(windows))
    return failure();
  Shape shape = onnx::getShape(op->getOperand(0).getType());
  Shape result = {shape[0], shape[1]};
  llvm::append_range(result, windows->outputs);
  for (Type element : elements)
    (void)inference.add(element, result);
  return success();
}

LogicalResult onnx::inferPool(Operation *op, TypeInference &inference) {
  return addPool(op, {getElement(op->getOperand(0))}, inference);
}

LogicalResult onnx::inferMaxPool(MaxPoolOp op, TypeInference &inference) {
  return addPool(
      op, {getElement(op.getInput()), IntegerType::get(op.getContext(), 64)},
      inference);
}

LogicalResult onnx::inferGlobalPool(Operation *op, TypeInference &inference) {
  Shape shape = onnx::getShape(op->getOperand(0).getType());
  for (size_t dim = 2; dim < shape.size(); ++dim)
    shape[dim] = Polynomial(1);
  return inference.add(getElement(op->getOperand(0)), shape);
}
