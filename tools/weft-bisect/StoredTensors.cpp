//===- StoredTensors.cpp - weft-bisect: tensors as plans store them -------===//

#include "tools/weft-bisect/StoredTensors.h"

#include "dialects/Tile/TileDialect.h"

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
  using tile::PanelsAttr;
  if (getDType(type.getElementType()) != dtype || shape.size() != 3 ||
      type.getRank() < 2 || !shape[0].isConstant() || !shape[2].isConstant() ||
      ShapedType::isDynamicShape(type.getShape().drop_front()))
    return std::nullopt;
  if (type.isDynamicDim(0) && shape[1].isConstant())
    return std::nullopt;
  if (!type.isDynamicDim(0) &&
      shape[1] != rt::Expr::constant(int64_t(llvm::alignTo(
                      type.getDimSize(0), PanelsAttr::groupRows))))
    return std::nullopt;
  int64_t row = ShapedType::getNumElements(type.getShape().drop_front());
  int64_t count = *shape[0].evaluate({}), columns = *shape[2].evaluate({});
  if (count < 1 || count * columns != row ||
      columns % PanelsAttr::groupColumns != 0)
    return std::nullopt;
  return Panels{count, columns};
}

int64_t weft::bisect::countRows(int64_t storedRows, RankedTensorType type) {
  return type.isDynamicDim(0) ? storedRows - tile::PanelsAttr::spareRows
                              : type.getDimSize(0);
}

std::vector<uint8_t> weft::bisect::unpackPanels(ArrayRef<uint8_t> stored,
                                                const Panels &panels,
                                                int64_t storedRows,
                                                int64_t rows,
                                                size_t elementBytes) {
  constexpr int64_t groupRows = tile::PanelsAttr::groupRows,
                    width = tile::PanelsAttr::groupColumns;
  std::vector<uint8_t> bytes;
  bytes.reserve(rows * panels.count * panels.columns * elementBytes);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t panel = 0; panel < panels.count; ++panel)
      for (int64_t column = 0; column < panels.columns; column += width) {
        int64_t at = (panel * storedRows + row / groupRows * groupRows) *
                         panels.columns +
                     column * groupRows + row % groupRows * width;
        ArrayRef<uint8_t> part =
            stored.slice(at * elementBytes, width * elementBytes);
        bytes.insert(bytes.end(), part.begin(), part.end());
      }
  return bytes;
}
