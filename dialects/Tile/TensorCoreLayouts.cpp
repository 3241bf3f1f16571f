//===- TensorCoreLayouts.cpp - What tensor cores take and give ------------===//

#include "dialects/Tile/TensorCoreLayouts.h"

#include <bit>
#include <cassert>

using namespace weft::tile;

/// Bits of the rows and columns of an 8x8 matrix, and of the pair of elements
/// that a lane has of it.
static constexpr unsigned matrixBits = 3, pairBits = 1;

Layout weft::tile::getMatrixFragment() {
  return Layout::identity(Axis::Register, Axis::Column, pairBits) *
         Layout::identity(Axis::Lane, Axis::Column, matrixBits - pairBits) *
         Layout::identity(Axis::Lane, Axis::Row, matrixBits);
}

Layout weft::tile::getMmaLhs() {
  return getMatrixFragment() * Layout::identity(Axis::Register, Axis::Row, 1) *
         Layout::identity(Axis::Register, Axis::Column, 1);
}

Layout weft::tile::getMmaRhs() {
  return getMatrixFragment().transposed() *
         Layout::identity(Axis::Register, Axis::Row, 1);
}

Layout weft::tile::getMmaAccumulator() {
  return getMatrixFragment() * Layout::identity(Axis::Register, Axis::Row, 1);
}

Layout weft::tile::getWarpgroupLhs() {
  return getMmaLhs() * Layout::identity(Axis::Warp, Axis::Row, 2);
}

Layout weft::tile::getWarpgroupAccumulator(unsigned columnsBits) {
  assert(columnsBits >= matrixBits);
  return getMmaAccumulator() *
         Layout::identity(Axis::Register, Axis::Column,
                          columnsBits - matrixBits) *
         Layout::identity(Axis::Warp, Axis::Row, 2);
}

Layout weft::tile::getTensorCopySwizzle(unsigned width, unsigned bits) {
  // Of 16-byte chunks: which of the `width` bytes a chunk is in is exchanged
  // with the number of the 128 bytes.
  constexpr unsigned chunkBits = 4, lineBits = 7;
  assert(width == 32 || width == 64 || width == 128);
  unsigned count = static_cast<unsigned>(std::countr_zero(width)) - chunkBits;
  return Layout::swizzle(Axis::Offset, bits, count, lineBits, chunkBits);
}

std::optional<MatrixAccess> weft::tile::getMatrixAccess(const Layout &held,
                                                        Axis contiguous,
                                                        unsigned matricesBits) {
  constexpr unsigned laneBits = 5, inRowBits = laneBits - matrixBits;
  unsigned registerBits = held.inputBits(Axis::Register);
  if (held.inputBits(Axis::Lane) != laneBits ||
      registerBits < pairBits + matricesBits || matricesBits > 2)
    return std::nullopt;
  Layout ordered = held.withInputs({Axis::Register, Axis::Lane});
  const BitMatrix &map = ordered.matrix();
  // Where bits 0, 1 and 2 of the contiguous coordinate stand in an image.
  unsigned first = 0;
  for (const AxisBits &axis : held.outputs()) {
    if (axis.axis == contiguous)
      break;
    first += axis.bits;
  }
  if (held.outputBits(contiguous) < matrixBits)
    return std::nullopt;
  uint64_t inChunk = ((uint64_t(1) << matrixBits) - 1) << first;
  // Which input bits count within 8 elements, lowest first, and which ones
  // count the 8 rows.
  auto lane = [&](unsigned bit) { return registerBits + bit; };
  std::vector<unsigned> plain = {0}, transposed;
  for (unsigned i = 0; i < inRowBits; ++i)
    plain.push_back(lane(i));
  for (unsigned i = 0; i < matrixBits; ++i)
    transposed.push_back(lane(inRowBits + i));
  for (bool isTransposed : {false, true}) {
    const std::vector<unsigned> &within = isTransposed ? transposed : plain;
    const std::vector<unsigned> &across = isTransposed ? plain : transposed;
    bool fits = true;
    for (unsigned i = 0; i < matrixBits; ++i)
      fits &= map.column(within[i]) == uint64_t(1) << (first + i);
    for (unsigned place : across)
      fits &= (map.column(place) & inChunk) == 0;
    for (unsigned i = pairBits; i < registerBits; ++i)
      fits &= (map.column(i) & inChunk) == 0;
    if (!fits)
      continue;
    std::vector<uint64_t> columns;
    unsigned further = registerBits - pairBits - matricesBits;
    for (unsigned i = 0; i < further; ++i)
      columns.push_back(map.column(pairBits + matricesBits + i));
    for (unsigned place : across)
      columns.push_back(map.column(place));
    // What lanes behind the last matrix give is not used.
    for (unsigned i = 0; i < laneBits - matrixBits; ++i)
      columns.push_back(i < matricesBits ? map.column(pairBits + i) : 0);
    return MatrixAccess{
        isTransposed,
        Layout({{Axis::Register, further}, {Axis::Lane, laneBits}},
               held.outputs(), BitMatrix(map.rows(), std::move(columns)))};
  }
  return std::nullopt;
}
