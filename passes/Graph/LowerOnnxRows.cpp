//===- LowerOnnxRows.cpp - Values as rows of model operations -------------===//
//
// Model operations work on rows: [rows, columns] or [rows, heads, size]. A
// value [batch, sequence, columns] is rows of all its leading dimensions; as
// long as one model operation follows the other, its own shape is never made.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/LowerOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

/// {0, ..., count - 1}, {count}, ...: `count` dimensions joined, `rest` alone.
static SmallVector<ReassociationIndices> joinLeading(int64_t count,
                                                     int64_t rest) {
  SmallVector<ReassociationIndices> groups = {
      llvm::to_vector<2>(llvm::seq<int64_t>(0, count))};
  for (int64_t dim = 0; dim < rest; ++dim)
    groups.push_back({count + dim});
  return groups;
}

static RankedTensorType getRowsType(RankedTensorType type,
                                    ArrayRef<int64_t> trailing) {
  SmallVector<int64_t> shape = {type.getDimSize(0)};
  llvm::append_range(shape, trailing);
  return type.clone(shape);
}

Value OnnxLowering::reshapeTrailing(Value rows, ArrayRef<int64_t> trailing) {
  auto type = cast<RankedTensorType>(rows.getType());
  ArrayRef<int64_t> found = type.getShape().drop_front();
  if (found == trailing)
    return rows;
  RankedTensorType wanted = getRowsType(type, trailing);
  SmallVector<ReassociationIndices> groups = {{0}};
  auto all = [](size_t count) {
    return llvm::to_vector<2>(llvm::seq<int64_t>(1, int64_t(count) + 1));
  };
  if (trailing.size() == 1) {
    if (auto expand = rows.getDefiningOp<tensor::ExpandShapeOp>())
      if (expand.getSrc().getType() == wanted)
        return expand.getSrc();
    groups.push_back(all(found.size()));
    return tensor::CollapseShapeOp::create(builder, loc, wanted, rows, groups);
  }
  if (found.size() == 1) {
    if (auto collapse = rows.getDefiningOp<tensor::CollapseShapeOp>())
      if (collapse.getSrc().getType() == wanted)
        return collapse.getSrc();
    groups.push_back(all(trailing.size()));
    return tensor::ExpandShapeOp::create(builder, loc, wanted, rows, groups);
  }
  int64_t columns = ShapedType::getNumElements(found);
  return reshapeTrailing(reshapeTrailing(rows, {columns}), trailing);
}

/// The last dimensions of a shape that hold `columns` elements; nothing if none
/// do, or nothing is in front of them.
static std::optional<SmallVector<int64_t>>
getTrailing(ArrayRef<Polynomial> shape, int64_t columns) {
  SmallVector<int64_t> trailing;
  int64_t count = 1;
  while (trailing.size() + 1 < shape.size()) {
    std::optional<int64_t> size =
        shape[shape.size() - 1 - trailing.size()].getConstant();
    if (!size)
      return std::nullopt;
    trailing.insert(trailing.begin(), *size);
    count *= *size;
    if (count == columns)
      return trailing;
  }
  return std::nullopt;
}

static int64_t countColumns(Value rows) {
  return ShapedType::getNumElements(
      cast<RankedTensorType>(rows.getType()).getShape().drop_front());
}

Value OnnxLowering::expandRows(Value rows, ArrayRef<Polynomial> shape) {
  auto trailing = getTrailing(shape, countColumns(rows));
  assert(trailing && "a value that became rows has their columns");
  rows = reshapeTrailing(rows, *trailing);
  int64_t leading = int64_t(shape.size()) - int64_t(trailing->size());
  if (leading == 1)
    return rows;
  return tensor::ExpandShapeOp::create(
      builder, loc, getType(shape, getElementTypeOrSelf(rows.getType())), rows,
      joinLeading(leading, trailing->size()), sizes(shape));
}

Value OnnxLowering::getRows(Value value, size_t trailing) {
  Shape shape = shapeOf(value);
  if (shape.size() <= trailing || llvm::is_contained(shape, Polynomial(0)))
    return {};
  SmallVector<int64_t> columns;
  for (const Polynomial &extent : ArrayRef(shape).take_back(trailing)) {
    std::optional<int64_t> size = extent.getConstant();
    if (!size)
      return {};
    columns.push_back(*size);
  }
  if (Value rows = rowsOf.lookup(value))
    if (countColumns(rows) == ShapedType::getNumElements(columns))
      return reshapeTrailing(rows, columns);
  if (onlyRows)
    return {};
  Value tensor = get(value);
  int64_t leading = int64_t(shape.size() - trailing);
  if (leading > 1) {
    Polynomial count = onnx::countElements(ArrayRef(shape).drop_back(trailing));
    Shape joined = {count};
    llvm::append_range(joined, ArrayRef(shape).take_back(trailing));
    tensor = tensor::CollapseShapeOp::create(
        builder, loc, getType(joined, getElementTypeOrSelf(tensor.getType())),
        tensor, joinLeading(leading, trailing));
  }
  rowsOf.try_emplace(value, tensor);
  return tensor;
}

Value OnnxLowering::getHeads(Value value, int64_t heads) {
  std::optional<int64_t> columns = shapeOf(value).back().getConstant();
  Value rows = rowsOf.lookup(value);
  if (!rows || countColumns(rows) != columns)
    rows = getRows(value);
  return rows ? splitColumns(rows, heads) : rows;
}

Value OnnxLowering::splitColumns(Value rows, int64_t heads) {
  return reshapeTrailing(rows, {heads, countColumns(rows) / heads});
}

bool OnnxLowering::shareRows(Value from, Value to) {
  Value rows = rowsOf.lookup(from);
  if (!rows)
    return false;
  Shape source = shapeOf(from), target = shapeOf(to);
  int64_t columns = countColumns(rows);
  auto before = getTrailing(source, columns),
       after = getTrailing(target, columns);
  if (!before || !after ||
      onnx::countElements(ArrayRef(source).drop_back(before->size())) !=
          onnx::countElements(ArrayRef(target).drop_back(after->size())))
    return false;
  setRows(to, reshapeTrailing(rows, *after));
  return true;
}
