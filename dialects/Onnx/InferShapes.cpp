//===- InferShapes.cpp - Types of operators that move elements ------------===//

#include "dialects/Onnx/InferTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

using Elements = SymbolicValues::Elements;
using Numbers = SmallVector<int64_t, 4>;

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static Type getIndex(Operation *op) {
  return IntegerType::get(op->getContext(), 64);
}

//===----------------------------------------------------------------------===//
// Shapes as values, constants
//===----------------------------------------------------------------------===//

LogicalResult onnx::inferShape(ShapeOp op, TypeInference &inference) {
  int64_t rank = getShape(op.getData().getType()).size();
  auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  int64_t count = clamp(op.getEnd().value_or(rank)) - clamp(op.getStart());
  return inference.add(getIndex(op), {Polynomial(std::max<int64_t>(count, 0))});
}

LogicalResult onnx::inferSize(SizeOp op, TypeInference &inference) {
  return inference.add(getIndex(op), {});
}

LogicalResult onnx::inferRange(RangeOp op, TypeInference &inference) {
  FailureOr<Polynomial> start = inference.getElement(op.getStart());
  FailureOr<Polynomial> limit = inference.getElement(op.getLimit());
  FailureOr<Polynomial> delta = inference.getElement(op.getDelta());
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  std::optional<int64_t> step = delta->getConstant();
  if (!step || *step == 0)
    return inference.fail("found the step " + delta->str() +
                          ", expected a number that is not 0");
  Polynomial distance = subtract(*limit, *start);
  Polynomial count;
  if (std::optional<int64_t> number = distance.getConstant()) {
    bool isEmpty = *number == 0 || (*number > 0) != (*step > 0);
    // Both have one sign, and so has the distance to the last element.
    if (!isEmpty)
      count = Polynomial((*number - (*step > 0 ? 1 : -1)) / *step + 1);
  } else if (std::optional<Polynomial> quotient =
                 divide(distance, Polynomial(*step))) {
    count = *quotient;
  } else {
    return inference.fail("found " + distance.str() + " in steps of " +
                          Twine(*step) +
                          ", expected a number of steps that is a polynomial");
  }
  return inference.add(getElement(op.getStart()), {count});
}

LogicalResult onnx::inferConstantOfShape(ConstantOfShapeOp op,
                                         TypeInference &inference) {
  FailureOr<Elements> shape = inference.getElements(op.getShape());
  if (failed(shape))
    return failure();
  Type element = op.getValue() ? op.getValue()->getElementType()
                               : Float32Type::get(op.getContext());
  return inference.add(element, *shape);
}

LogicalResult onnx::inferEyeLike(EyeLikeOp op, TypeInference &inference) {
  return inference.add(op.getDtype() ? *op.getDtype()
                                     : getElement(op.getInput()),
                       getShape(op.getInput().getType()));
}

LogicalResult onnx::inferOneHot(OneHotOp op, TypeInference &inference) {
  Shape shape = getShape(op.getIndices().getType());
  FailureOr<Polynomial> depth = inference.getElement(op.getDepth());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), shape.size() + 1);
  if (failed(depth) || failed(axis))
    return failure();
  shape.insert(shape.begin() + *axis, *depth);
  return inference.add(getElement(op.getValues()), shape);
}

LogicalResult onnx::inferNonZero(NonZeroOp op, TypeInference &inference) {
  // A plan cannot have shapes that depend on data.
  FailureOr<Numbers> numbers = inference.getNumbers(op.getInput());
  if (failed(numbers))
    return failure();
  int64_t rank = getShape(op.getInput().getType()).size();
  int64_t found = numbers->size() - llvm::count(*numbers, 0);
  return inference.add(getIndex(op), {Polynomial(rank), Polynomial(found)});
}

//===----------------------------------------------------------------------===//
// The same elements in another shape
//===----------------------------------------------------------------------===//

LogicalResult onnx::inferReshape(ReshapeOp op, TypeInference &inference) {
  Shape data = getShape(op.getData().getType());
  FailureOr<Elements> wanted = inference.getElements(op.getShape());
  if (failed(wanted))
    return failure();
  Shape shape(wanted->begin(), wanted->end());
  std::optional<size_t> free;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == Polynomial(-1)) {
      if (free)
        return inference.fail("found two sizes of -1, expected at most one");
      free = dim;
    } else if (size == Polynomial(0) && !op.getAllowzero()) {
      if (dim >= data.size())
        return inference.fail("found 0 for dimension " + Twine(dim) +
                              ", expected it where the input has one");
      size = data[dim];
    }
  }
  Polynomial elements = countElements(data);
  if (free) {
    shape[*free] = Polynomial(1);
    std::optional<Polynomial> rest = divide(elements, countElements(shape));
    // Symbols of both, which may be sums, cancel one by one.
    if (!rest) {
      Polynomial left(1);
      SmallVector<Polynomial> over(shape.begin(), shape.end());
      for (const Polynomial &size : data) {
        auto *same = llvm::find(over, size);
        if (same != over.end())
          over.erase(same);
        else
          left = left * size;
      }
      rest = divide(left, countElements(over));
    }
    if (!rest)
      return inference.fail("found -1 in a shape of " + print(shape) + " for " +
                            elements.str() +
                            " elements, expected a size that divides them");
    shape[*free] = *rest;
  }
  if (countElements(shape) != elements)
    return inference.fail("found the shapes " + print(data) + " and " +
                          print(shape) +
                          ", expected the same number of elements");
  return inference.add(getElement(op.getData()), shape);
}

LogicalResult onnx::inferFlatten(FlattenOp op, TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  int64_t rank = shape.size(), axis = op.getAxis();
  if (axis < -rank || axis > rank)
    return inference.fail("found axis " + Twine(axis) +
                          ", expected one of a tensor of " + Twine(rank) +
                          " dimensions");
  if (axis < 0)
    axis += rank;
  ArrayRef<Polynomial> sizes(shape);
  return inference.add(getElement(op.getInput()),
                       {countElements(sizes.take_front(axis)),
                        countElements(sizes.drop_front(axis))});
}

LogicalResult onnx::inferSqueeze(SqueezeOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType());
  Numbers axes;
  if (op.getAxes()) {
    FailureOr<Numbers> valid = inference.getAxes(op.getAxes(), shape.size());
    if (failed(valid))
      return failure();
    axes = *valid;
  } else {
    for (auto [dim, size] : llvm::enumerate(shape))
      if (size == Polynomial(1))
        axes.push_back(dim);
  }
  Shape result;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, int64_t(dim)))
      result.push_back(size);
    else if (size != Polynomial(1))
      return inference.fail("found the size " + size.str() + " of dimension " +
                            Twine(dim) + ", expected 1");
  }
  return inference.add(getElement(op.getData()), result);
}

LogicalResult onnx::inferUnsqueeze(UnsqueezeOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType());
  FailureOr<Numbers> numbers = inference.getNumbers(op.getAxes());
  if (failed(numbers))
    return failure();
  size_t rank = shape.size() + numbers->size();
  FailureOr<Numbers> axes = inference.getAxes(*numbers, rank);
  if (failed(axes))
    return failure();
  Shape result;
  for (size_t dim = 0, next = 0; dim < rank; ++dim)
    result.push_back(llvm::is_contained(*axes, int64_t(dim)) ? Polynomial(1)
                                                             : shape[next++]);
  return inference.add(getElement(op.getData()), result);
}

LogicalResult onnx::inferTranspose(TransposeOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType()), result;
  if (!op.getPerm()) {
    result.assign(shape.rbegin(), shape.rend());
    return inference.add(getElement(op.getData()), result);
  }
  FailureOr<Numbers> perm = inference.getAxes(*op.getPerm(), shape.size());
  if (failed(perm))
    return failure();
  if (perm->size() != shape.size())
    return inference.fail("found a permutation of " + Twine(perm->size()) +
                          " dimensions, expected " + Twine(shape.size()));
  for (int64_t dim : *perm)
    result.push_back(shape[dim]);
  return inference.add(getElement(op.getData()), result);
}

LogicalResult onnx::inferDepthToSpace(DepthToSpaceOp op,
                                      TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  Polynomial block(op.getBlocksize());
  auto depth = shape.size() == 4 ? divide(shape[1], block * block)
                                 : std::optional<Polynomial>();
  if (!depth)
    return inference.fail("found the shape " + print(shape) +
                          ", expected four dimensions and channels that the "
                          "square of the block size divides");
  return inference.add(getElement(op.getInput()),
                       {shape[0], *depth, shape[2] * block, shape[3] * block});
}

LogicalResult onnx::inferSpaceToDepth(SpaceToDepthOp op,
                                      TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  Polynomial block(op.getBlocksize());
  if (shape.size() == 4) {
    auto height = divide(shape[2], block), width = divide(shape[3], block);
    if (height && width)
      return inference.add(
          getElement(op.getInput()),
          {shape[0], shape[1] * block * block, *height, *width});
  }
  return inference.fail("found the shape " + print(shape) +
                        ", expected four dimensions and sizes that the block "
                        "size divides");
}

//===----------------------------------------------------------------------===//
// Joining, cutting, repeating
//===----------------------------------------------------------------------===//

LogicalResult onnx::inferConcat(ConcatOp op, TypeInference &inference) {
  if (op.getInputs().empty())
    return inference.fail("found no inputs, expected at least one");
  Shape result = getShape(op.getInputs().front().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), result.size());
  if (failed(axis))
    return failure();
  for (Value input : op.getInputs().drop_front()) {
    Shape shape = getShape(input.getType());
    if (shape.size() != result.size())
      return inference.fail("found the shapes " + print(result) + " and " +
                            print(shape) + ", expected equal ranks");
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (int64_t(dim) == *axis) {
        result[dim] += shape[dim];
        continue;
      }
      FailureOr<Polynomial> both = inference.unify(result[dim], shape[dim]);
      if (failed(both))
        return failure();
      result[dim] = *both;
    }
  }
  return inference.add(getElement(op.getInputs().front()), result);
}

LogicalResult onnx::inferSplit(SplitOp op, TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), shape.size());
  if (failed(axis))
    return failure();
  size_t count = op.getNumResults();
  SmallVector<Polynomial> sizes;
  if (op.getSplit()) {
    FailureOr<Elements> wanted = inference.getElements(op.getSplit());
    if (failed(wanted))
      return failure();
    sizes.assign(wanted->begin(), wanted->end());
  } else if (auto equal = divide(shape[*axis], Polynomial(count))) {
    sizes.assign(count, *equal);
  } else if (std::optional<int64_t> size = shape[*axis].getConstant();
             size && count > 0) {
    int64_t part = llvm::divideCeil(*size, int64_t(count));
    for (size_t i = 0; i < count; ++i)
      sizes.push_back(std::clamp<int64_t>(*size - int64_t(i) * part, 0, part));
  }
  if (sizes.size() != count)
    return inference.fail("found " + Twine(sizes.size()) + " sizes for " +
                          Twine(count) +
                          " outputs, expected one for each or a size that "
                          "their number divides");
  Polynomial total(0);
  for (const Polynomial &size : sizes)
    total += size;
  if (failed(inference.unify(shape[*axis], total)))
    return failure();
  for (const Polynomial &size : sizes) {
    shape[*axis] = size;
    (void)inference.add(getElement(op.getInput()), shape);
  }
  return success();
}

LogicalResult onnx::inferSlice(SliceOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType());
  FailureOr<Elements> starts = inference.getElements(op.getStarts());
  FailureOr<Elements> ends = inference.getElements(op.getEnds());
  if (failed(starts) || failed(ends))
    return failure();
  Numbers axes = llvm::to_vector<4>(llvm::seq<int64_t>(starts->size()));
  Numbers steps(starts->size(), 1);
  for (auto [value, numbers] :
       {std::pair(op.getAxes(), &axes), std::pair(op.getSteps(), &steps)}) {
    if (!value)
      continue;
    FailureOr<Numbers> found = inference.getNumbers(value);
    if (failed(found))
      return failure();
    *numbers = *found;
  }
  FailureOr<Numbers> valid = inference.getAxes(axes, shape.size());
  if (failed(valid))
    return failure();
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return inference.fail("found " + Twine(starts->size()) + " starts, " +
                          Twine(ends->size()) + " ends, " + Twine(axes.size()) +
                          " axes and " + Twine(steps.size()) +
                          " steps, expected as many");
  for (auto [i, axis] : llvm::enumerate(*valid)) {
    auto range = getSliceRange(shape[axis], (*starts)[i], (*ends)[i], steps[i]);
    if (!range)
      return inference.fail("found a slice from " + (*starts)[i].str() +
                            " to " + (*ends)[i].str() + " in steps of " +
                            Twine(steps[i]) + " of " + shape[axis].str() +
                            " elements, expected one of a known size");
    shape[axis] = range->count;
  }
  return inference.add(getElement(op.getData()), shape);
}

LogicalResult onnx::inferPad(PadOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType());
  FailureOr<Elements> pads = inference.getElements(op.getPads());
  if (failed(pads))
    return failure();
  Numbers axes;
  if (op.getAxes()) {
    FailureOr<Numbers> valid = inference.getAxes(op.getAxes(), shape.size());
    if (failed(valid))
      return failure();
    axes = *valid;
  } else {
    axes = llvm::to_vector<4>(llvm::seq<int64_t>(shape.size()));
  }
  if (pads->size() != 2 * axes.size())
    return inference.fail("found " + Twine(pads->size()) +
                          " pads, expected two for each of " +
                          Twine(axes.size()) + " axes");
  for (auto [i, axis] : llvm::enumerate(axes))
    shape[axis] = shape[axis] + (*pads)[i] + (*pads)[axes.size() + i];
  return inference.add(getElement(op.getData()), shape);
}

LogicalResult onnx::inferExpand(ExpandOp op, TypeInference &inference) {
  FailureOr<Elements> wanted = inference.getElements(op.getShape());
  if (failed(wanted))
    return failure();
  FailureOr<Shape> shape =
      inference.broadcast({getShape(op.getInput().getType()),
                           Shape(wanted->begin(), wanted->end())});
  return failed(shape) ? failure()
                       : inference.add(getElement(op.getInput()), *shape);
}

LogicalResult onnx::inferTile(TileOp op, TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  FailureOr<Elements> repeats = inference.getElements(op.getRepeats());
  if (failed(repeats))
    return failure();
  if (repeats->size() != shape.size())
    return inference.fail("found " + Twine(repeats->size()) +
                          " repeats, expected " + Twine(shape.size()));
  for (auto [size, repeat] : llvm::zip_equal(shape, *repeats))
    size = size * repeat;
  return inference.add(getElement(op.getInput()), shape);
}

//===----------------------------------------------------------------------===//
// Places that are data
//===----------------------------------------------------------------------===//

LogicalResult onnx::inferGather(GatherOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType());
  Shape indices = getShape(op.getIndices().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), shape.size());
  if (failed(axis))
    return failure();
  ArrayRef<Polynomial> sizes(shape);
  Shape result(sizes.take_front(*axis));
  llvm::append_range(result, indices);
  llvm::append_range(result, sizes.drop_front(*axis + 1));
  return inference.add(getElement(op.getData()), result);
}

LogicalResult onnx::inferGatherElements(GatherElementsOp op,
                                        TypeInference &inference) {
  return inference.add(getElement(op.getData()),
                       getShape(op.getIndices().getType()));
}

LogicalResult onnx::inferGatherND(GatherNDOp op, TypeInference &inference) {
  Shape data = getShape(op.getData().getType());
  Shape indices = getShape(op.getIndices().getType());
  std::optional<int64_t> depth =
      indices.empty() ? std::nullopt : indices.back().getConstant();
  int64_t batch = op.getBatchDims();
  if (!depth || batch < 0 || batch + *depth > int64_t(data.size()))
    return inference.fail("found indices of shape " + print(indices) +
                          " into a tensor of " + Twine(data.size()) +
                          " dimensions, expected at most as many numbers");
  Shape shape(ArrayRef(indices).drop_back());
  llvm::append_range(shape, ArrayRef(data).drop_front(batch + *depth));
  return inference.add(getElement(op.getData()), shape);
}
