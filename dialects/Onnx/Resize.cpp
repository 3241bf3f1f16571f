//===- Resize.cpp - How Resize makes elements along an axis ---------------===//

#include "dialects/Onnx/Resize.h"

#include "dialects/Onnx/InferTypes.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Whether an optional input is there: older versions leave lists empty.
static bool isGiven(Value list) {
  return list && getShape(list.getType()) != Shape{Polynomial(0)};
}

/// Most elements of an axis, so that a small file makes no large tables.
static constexpr double maxOutput = 1 << 20;

FailureOr<SmallVector<ResizedAxis>>
onnx::getResizedAxes(ResizeOp op, TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  SmallVector<int64_t, 4> axes =
      llvm::to_vector<4>(llvm::seq<int64_t>(shape.size()));
  if (op.getAxes()) {
    FailureOr<SmallVector<int64_t, 4>> valid =
        inference.getAxes(*op.getAxes(), shape.size());
    if (failed(valid))
      return failure();
    axes = *valid;
  }
  bool hasSizes = isGiven(op.getSizes());
  if (hasSizes == isGiven(op.getScales()))
    return inference.fail("found both or none of scales and sizes, expected "
                          "one of them");
  FailureOr<SmallVector<double, 4>> list =
      inference.getReals(hasSizes ? op.getSizes() : op.getScales());
  if (failed(list))
    return failure();
  bool isCrop = op.getCoordinateTransformationMode() == "tf_crop_and_resize";
  SmallVector<double, 4> roi;
  if (isCrop) {
    if (!isGiven(op.getRoi()))
      return inference.fail("found no roi, expected one");
    FailureOr<SmallVector<double, 4>> found = inference.getReals(op.getRoi());
    if (failed(found))
      return failure();
    roi = *found;
  }
  if (list->size() != axes.size() || (isCrop && roi.size() != 2 * axes.size()))
    return inference.fail("found " + Twine(list->size()) +
                          " scales or sizes and " + Twine(roi.size()) +
                          " numbers of a roi, expected one and two for each "
                          "of " +
                          Twine(axes.size()) + " axes");
  SmallVector<ResizedAxis> result;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    std::optional<int64_t> input = shape[axis].getConstant();
    bool isSame = !isCrop && (hasSizes ? input && double(*input) == (*list)[i]
                                       : (*list)[i] == 1);
    if (isSame && (!hasSizes || op.getKeepAspectRatioPolicy() == "stretch"))
      continue;
    if (!input || *input < 1)
      return inference.fail("found " + shape[axis].str() +
                            " elements to resize, expected a known number");
    ResizedAxis resized = {axis, *input, 0, (*list)[i]};
    if (hasSizes)
      resized.scale /= double(*input);
    if (isCrop) {
      resized.start = roi[i];
      resized.end = roi[i + axes.size()];
    }
    double output = hasSizes ? (*list)[i] : std::floor(*input * (*list)[i]);
    if (!(output >= 1 && output <= maxOutput && resized.scale > 1e-4))
      return inference.fail("found the scale or size " +
                            llvm::Twine(std::to_string((*list)[i])) +
                            ", expected one of at least one element and at "
                            "most 2^20");
    resized.output = int64_t(output);
    result.push_back(resized);
  }
  StringRef policy = op.getKeepAspectRatioPolicy();
  if (!hasSizes || policy == "stretch" || result.empty())
    return result;
  double scale = result.front().scale;
  for (const ResizedAxis &axis : result)
    scale = policy == "not_larger" ? std::min(scale, axis.scale)
                                   : std::max(scale, axis.scale);
  for (ResizedAxis &axis : result) {
    axis.scale = scale;
    axis.output = std::max<int64_t>(std::floor(scale * axis.input + 0.5), 1);
    if (axis.output > maxOutput)
      return inference.fail("found sizes of more than 2^20 elements, expected "
                            "smaller ones");
  }
  return result;
}

LogicalResult onnx::inferResize(ResizeOp op, TypeInference &inference) {
  FailureOr<SmallVector<ResizedAxis>> axes = getResizedAxes(op, inference);
  if (failed(axes))
    return failure();
  Shape shape = getShape(op.getInput().getType());
  for (const ResizedAxis &axis : *axes)
    shape[axis.axis] = Polynomial(axis.output);
  return inference.add(
      cast<RankedTensorType>(op.getInput().getType()).getElementType(), shape);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The place in the input of element `x` of the output.
static double getPlace(StringRef mode, const ResizedAxis &axis, double x) {
  double input = axis.input, scale = axis.scale, output = scale * input;
  if (mode == "asymmetric")
    return x / scale;
  if (mode == "align_corners")
    return output == 1 ? 0 : x * (input - 1) / (output - 1);
  if (mode == "tf_crop_and_resize") {
    double width = (axis.end - axis.start) * (input - 1);
    return axis.start * (input - 1) +
           (output > 1 ? x * width / (output - 1) : width / 2);
  }
  double centred = (x + 0.5) / scale - 0.5;
  if (mode == "pytorch_half_pixel" && axis.output == 1)
    return 0;
  if (mode == "half_pixel_symmetric")
    return input / 2 * (1 - double(axis.output) / output) + centred;
  if (mode == "tf_half_pixel_for_nn")
    return (x + 0.5) / scale;
  return centred;
}

static bool takesNext(StringRef mode, double fraction) {
  if (mode == "floor" || fraction == 0)
    return false;
  if (mode == "ceil")
    return true;
  return mode == "round_prefer_ceil" ? fraction >= 0.5 : fraction > 0.5;
}

/// Weight of an element at a distance from the place.
static double getWeight(ResizeOp op, double distance) {
  distance = std::abs(distance);
  if (op.getMode() == "linear")
    return std::max(1 - distance, 0.0);
  double a = op.getCubicCoeffA().convertToDouble();
  if (distance <= 1)
    return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  if (distance < 2)
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  return 0;
}

ResizeTaps onnx::getResizeTaps(ResizeOp op, const ResizedAxis &axis) {
  StringRef mode = op.getCoordinateTransformationMode();
  bool isNearest = op.getMode() == "nearest";
  double reach = op.getMode() == "cubic" ? 2 : 1;
  // Antialiasing stretches the filter over what becomes one element.
  double stretch = op.getAntialias() ? std::min(axis.scale, 1.0) : 1.0;
  int64_t first = isNearest ? 0 : int64_t(std::floor(-reach / stretch)) + 1;
  ResizeTaps result;
  result.taps = isNearest ? 1 : 2 - 2 * first;
  for (int64_t x = 0; x < axis.output; ++x) {
    double place = getPlace(mode, axis, double(x));
    result.isOutside.push_back(mode == "tf_crop_and_resize" &&
                               (place < 0 || place > double(axis.input - 1)));
    double base = std::floor(place), total = 0;
    SmallVector<double> weights;
    for (int64_t tap = 0; tap < result.taps; ++tap) {
      int64_t at = int64_t(base) + first + tap;
      if (isNearest)
        at += takesNext(op.getNearestMode(), place - base);
      double weight =
          isNearest ? 1 : getWeight(op, (double(at) - place) * stretch);
      bool isInside = at >= 0 && at < axis.input;
      if (op.getExcludeOutside() && !isInside)
        weight = 0;
      total += weight;
      weights.push_back(weight);
      result.places.push_back(std::clamp<int64_t>(at, 0, axis.input - 1));
    }
    for (double weight : weights)
      result.weights.push_back(float(total == 0 ? weight : weight / total));
  }
  return result;
}
