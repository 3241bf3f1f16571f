//===- StoredTensors.cpp - weft-bisect: tensors as plans store them -------===//

#include "tools/weft-bisect/StoredTensors.h"

#include "compiler/Artifact/ExportPlan.h"

using namespace mlir;
using namespace weft;
using namespace weft::bisect;

static bool fitsDimension(const rt::Expr &size, RankedTensorType type,
                          unsigned dim) {
  return type.isDynamicDim(dim)
             ? !size.isConstant()
             : size == rt::Expr::constant(type.getDimSize(dim));
}

bool weft::bisect::isRowMajor(rt::DType dtype,
                              const std::vector<rt::Expr> &shape,
                              RankedTensorType type) {
  if (getDType(type.getElementType()) != dtype ||
      shape.size() != size_t(type.getRank()))
    return false;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (!fitsDimension(shape[dim], type, dim))
      return false;
  return true;
}

std::optional<Panels>
weft::bisect::findPanels(rt::DType dtype, const std::vector<rt::Expr> &shape,
                         RankedTensorType type) {
  if (getDType(type.getElementType()) != dtype || shape.size() != 3 ||
      type.getRank() < 2 || !shape[0].isConstant() || !shape[2].isConstant() ||
      ShapedType::isDynamicShape(type.getShape().drop_front()) ||
      !fitsDimension(shape[1], type, 0))
    return std::nullopt;
  int64_t row = ShapedType::getNumElements(type.getShape().drop_front());
  int64_t count = *shape[0].evaluate({}), stride = *shape[2].evaluate({});
  if (count < 1 || row % count != 0 || stride < row / count)
    return std::nullopt;
  return Panels{count, row / count, stride};
}

std::vector<uint8_t> weft::bisect::unpackPanels(ArrayRef<uint8_t> stored,
                                                const Panels &panels,
                                                int64_t rows,
                                                size_t elementBytes) {
  size_t stride = panels.stride * elementBytes;
  size_t width = panels.columns * elementBytes;
  assert(stored.size() == panels.count * rows * stride);
  std::vector<uint8_t> bytes;
  bytes.reserve(rows * panels.count * width);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t panel = 0; panel < panels.count; ++panel) {
      ArrayRef<uint8_t> part =
          stored.slice((panel * rows + row) * stride, width);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  return bytes;
}
