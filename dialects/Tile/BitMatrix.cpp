//===- BitMatrix.cpp - Linear algebra over the field of two elements ------===//

#include "dialects/Tile/BitMatrix.h"

#include <bit>
#include <cassert>

using namespace weft::tile;

/// The word without the bits from `count` on.
static uint64_t getLowBits(uint64_t word, unsigned count) {
  return count >= BitMatrix::mostBits ? word
                                      : word & ((uint64_t(1) << count) - 1);
}

namespace {

/// A vector of a basis of the columns' span, and which columns add up to it.
struct BasisVector {
  uint64_t vector, combination;
  /// The bit that this vector alone has of the basis.
  unsigned pivot;
};

/// Gauss-Jordan elimination over the columns, the lowest number first.
struct Elimination {
  std::vector<BasisVector> basis;
  std::vector<uint64_t> kernel;

  explicit Elimination(const BitMatrix &matrix) {
    for (unsigned c = 0; c < matrix.columns(); ++c) {
      BasisVector next = {matrix.column(c), uint64_t(1) << c, 0};
      for (const BasisVector &known : basis)
        if (next.vector >> known.pivot & 1)
          add(next, known);
      if (next.vector == 0) {
        kernel.push_back(next.combination);
        continue;
      }
      next.pivot = static_cast<unsigned>(std::countr_zero(next.vector));
      for (BasisVector &known : basis)
        if (known.vector >> next.pivot & 1)
          add(known, next);
      basis.push_back(next);
    }
  }

  static void add(BasisVector &to, const BasisVector &from) {
    to.vector ^= from.vector;
    to.combination ^= from.combination;
  }
};

} // namespace

BitMatrix::BitMatrix(unsigned rows, std::vector<uint64_t> columns)
    : rowCount(rows), words(std::move(columns)) {
  assert(rows <= mostBits && words.size() <= mostBits);
  for ([[maybe_unused]] uint64_t word : words)
    assert(word == getLowBits(word, rows) && "bits behind the last row");
}

BitMatrix BitMatrix::identity(unsigned size) {
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < size; ++i)
    columns.push_back(uint64_t(1) << i);
  return {size, std::move(columns)};
}

uint64_t BitMatrix::apply(uint64_t vector) const {
  uint64_t image = 0;
  vector = getLowBits(vector, columns());
  for (; vector != 0; vector &= vector - 1)
    image ^= words[static_cast<unsigned>(std::countr_zero(vector))];
  return image;
}

BitMatrix BitMatrix::operator*(const BitMatrix &right) const {
  assert(right.rows() == columns());
  std::vector<uint64_t> product;
  for (uint64_t word : right.words)
    product.push_back(apply(word));
  return {rowCount, std::move(product)};
}

BitMatrix BitMatrix::slice(unsigned first, unsigned count) const {
  assert(first + count <= columns());
  return {rowCount, std::vector<uint64_t>(words.begin() + first,
                                          words.begin() + first + count)};
}

unsigned BitMatrix::rank() const {
  return static_cast<unsigned>(Elimination(*this).basis.size());
}

std::vector<uint64_t> BitMatrix::kernel() const {
  return Elimination(*this).kernel;
}

std::optional<uint64_t> BitMatrix::solve(uint64_t image) const {
  uint64_t solution = pseudoInverse().apply(image);
  if (apply(solution) != image)
    return std::nullopt;
  return solution;
}

BitMatrix BitMatrix::pseudoInverse() const {
  // A word is the sum of the basis vectors whose pivots it has, and of unit
  // vectors that are no pivots, which become zero.
  std::vector<uint64_t> inverse(rowCount, 0);
  for (const BasisVector &known : Elimination(*this).basis)
    inverse[known.pivot] = known.combination;
  return {columns(), std::move(inverse)};
}
