//===- MemoryLayout.cpp - Layouts of packed weights and activations -------===//

#include "dialects/Tile/MemoryLayout.h"
#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/PackedLayout.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// "? x 96"
static std::string describe(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : " x ") +
            (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text;
}

/// One digit of dimension `dim`.
static AffineExpr getDigit(unsigned dim, int64_t divisor, int64_t count,
                           MLIRContext *context) {
  AffineExpr index = getAffineDimExpr(dim, context).floorDiv(divisor);
  return count ? index % count : index;
}

std::optional<Layout> weft::tile::getTileLayout(ArrayRef<DimAddress> address,
                                                unsigned rowBits,
                                                unsigned columnBits) {
  assert(address.size() == 2);
  std::vector<uint64_t> images;
  uint64_t used = 0;
  for (auto [dim, count] :
       llvm::zip_equal(address, std::array{rowBits, columnBits}))
    for (unsigned bit = 0; bit < count; ++bit) {
      uint64_t image = 0;
      for (const AddressDigit &digit : dim) {
        int64_t value = (int64_t(1) << bit) / digit.divisor;
        if (digit.count)
          value %= digit.count;
        if (value == 0)
          continue;
        uint64_t part = value * digit.stride;
        if (digit.isPerRow || !llvm::isPowerOf2_64(part) || (used & part) != 0)
          return std::nullopt;
        used |= part;
        image |= part;
      }
      images.push_back(image);
    }
  unsigned offsetBits = llvm::bit_width(used);
  return Layout({{Axis::Row, rowBits}, {Axis::Column, columnBits}},
                {{Axis::Offset, offsetBits}},
                BitMatrix(offsetBits, std::move(images)));
}

//===----------------------------------------------------------------------===//
// Core matrices
//===----------------------------------------------------------------------===//

AffineMap CoreMatricesAttr::getAffineMap() const {
  SmallVector<AffineExpr> digits;
  for (const PackedDim &dim : getCoreMatrixDims())
    for (const LayoutDigit &digit : dim)
      digits.push_back(
          getDigit(digit.isInner, digit.divisor, digit.count, getContext()));
  return AffineMap::get(2, 0, digits, getContext());
}

LogicalResult CoreMatricesAttr::verifyLayout(
    ArrayRef<int64_t> shape,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() == 2 && !ShapedType::isDynamicShape(shape) &&
      shape[0] % fragmentSize == 0 && shape[1] % coreMatrixInputs == 0)
    return success();
  return emitError() << "a view of core matrices has two static sizes that are "
                        "multiples of "
                     << fragmentSize << " and " << coreMatrixInputs
                     << ", found " << describe(shape);
}

LogicalResult CoreMatricesAttr::getStridesAndOffset(ArrayRef<int64_t>,
                                                    SmallVectorImpl<int64_t> &,
                                                    int64_t &) const {
  return failure();
}

SmallVector<DimAddress>
CoreMatricesAttr::getAddress(ArrayRef<int64_t> shape) const {
  SmallVector<DimAddress> address(2);
  int64_t stride = 1;
  SmallVector<PackedDim> dims = getCoreMatrixDims();
  for (const PackedDim &dim : llvm::reverse(dims))
    for (const LayoutDigit &digit : llvm::reverse(dim)) {
      address[digit.isInner].push_back({digit.divisor, digit.count, stride});
      stride *= digit.getSize(shape[digit.isInner]);
    }
  return address;
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

LogicalResult PanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t columns) {
  if (columns < groupColumns || !llvm::isPowerOf2_64(columns))
    return emitError() << "panels have a power of two of columns, at least "
                       << groupColumns << ", found " << columns;
  return success();
}

AffineMap PanelsAttr::getAffineMap() const {
  MLIRContext *context = getContext();
  return AffineMap::get(
      2, 0,
      {getDigit(1, getColumns(), 0, context),
       getDigit(0, groupRows, 0, context),
       getDigit(1, groupColumns, getColumns() / groupColumns, context),
       getDigit(0, 1, groupRows, context),
       getDigit(1, 1, groupColumns, context)},
      context);
}

LogicalResult
PanelsAttr::verifyLayout(ArrayRef<int64_t> shape,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() == 2 && !ShapedType::isDynamic(shape[1]) &&
      shape[1] % getColumns() == 0)
    return success();
  return emitError() << "a view of panels has rows of a multiple of "
                     << getColumns() << " columns, found " << describe(shape);
}

LogicalResult PanelsAttr::getStridesAndOffset(ArrayRef<int64_t>,
                                              SmallVectorImpl<int64_t> &,
                                              int64_t &) const {
  return failure();
}

SmallVector<DimAddress> PanelsAttr::getAddress(ArrayRef<int64_t>) const {
  constexpr int64_t matrix = groupRows * groupColumns;
  return {
      {{1, groupRows, groupColumns}, {groupRows, 0, groupRows * getColumns()}},
      {{1, groupColumns, 1},
       {groupColumns, getColumns() / groupColumns, matrix},
       {getColumns(), 0, getColumns(), true}}};
}

SmallVector<int64_t>
PanelsAttr::getPhysicalShape(ArrayRef<int64_t> shape) const {
  int64_t columns = 1;
  for (int64_t size : shape.drop_front())
    columns *= size;
  int64_t rows = shape.front();
  if (!ShapedType::isDynamic(rows))
    rows = llvm::alignTo(rows, groupRows);
  return {columns / getColumns(), rows, getColumns()};
}
