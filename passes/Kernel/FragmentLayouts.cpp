//===- FragmentLayouts.cpp - What lanes hold in tensor core kernels -------===//

#include "passes/Kernel/FragmentLayouts.h"

#include "llvm/Support/MathExtras.h"

using namespace weft::tile;

Layout weft::tile::getInputFragment() {
  return getMmaRhs().transposed() *
         Layout::identity(Axis::Register, Axis::Column, 1);
}

Layout weft::tile::getSumFragment(int64_t rows, int64_t columns) {
  constexpr int64_t matrixSize = 8;
  Layout further = Layout::identity(Axis::Register, Axis::Row,
                                    llvm::Log2_64_Ceil(rows / matrixSize));
  if (columns == 1)
    return Layout::copies(Axis::Lane, Axis::Column, 2) *
           Layout::identity(Axis::Lane, Axis::Row, 3) * further;
  unsigned matrices = llvm::divideCeil(columns, matrixSize);
  return getMatrixFragment() * further *
         Layout::identity(Axis::Register, Axis::Column,
                          llvm::Log2_32_Ceil(matrices));
}

MatrixAccess weft::tile::getInputAccess() {
  return getMatrixAccess(getInputFragment(), Axis::Column, 2).value();
}

MatrixAccess weft::tile::getLeftAccess() {
  return getMatrixAccess(getMmaLhs(), Axis::Column, 2).value();
}

MatrixAccess weft::tile::getRightAccess() {
  return getMatrixAccess(getMmaRhs() *
                             Layout::identity(Axis::Register, Axis::Column, 1),
                         Axis::Column, 2)
      .value();
}

PairPlace weft::tile::getPairPlace(const Layout &layout) {
  Layout places = layout.pseudoInverse();
  return {places.at({{Axis::Column, 1}}, Axis::Register),
          places.at({{Axis::Column, 1}}, Axis::Lane)};
}

std::vector<int64_t> weft::tile::getRowMasks(const Layout &layout) {
  std::vector<int64_t> masks;
  for (unsigned bit = 0; bit < layout.inputBits(Axis::Lane); ++bit) {
    uint64_t mask = uint64_t(1) << bit;
    if (layout.at({{Axis::Lane, mask}}, Axis::Row) == 0)
      masks.push_back(static_cast<int64_t>(mask));
  }
  return masks;
}
