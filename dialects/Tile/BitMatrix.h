//===- BitMatrix.h - Linear algebra over the field of two elements -*- C++ -*-//
//
// Addition is exclusive or, multiplication is and. A vector of up to 64
// elements is a word whose bit i is element i; a matrix is the list of the
// words that it maps the unit vectors to.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_TILE_BITMATRIX_H
#define WEFT_DIALECTS_TILE_BITMATRIX_H

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::tile {

/// A matrix of at most 64 rows and 64 columns over F2.
class BitMatrix {
public:
  static constexpr unsigned mostBits = 64;

  /// Bit r of columns[c] is the element in row r of column c; bits behind the
  /// last row are zero.
  BitMatrix(unsigned rows, std::vector<uint64_t> columns);
  static BitMatrix identity(unsigned size);

  unsigned rows() const { return rowCount; }
  unsigned columns() const { return static_cast<unsigned>(words.size()); }
  uint64_t column(unsigned number) const { return words[number]; }

  /// The image of a vector. Bits behind the last column do not count.
  uint64_t apply(uint64_t vector) const;
  /// The map that applies `right` first; it has as many rows as this has
  /// columns.
  BitMatrix operator*(const BitMatrix &right) const;
  bool operator==(const BitMatrix &other) const = default;

  /// Columns first, first + 1, ... first + count - 1.
  BitMatrix slice(unsigned first, unsigned count) const;

  unsigned rank() const;
  /// Independent vectors that span all those whose image is zero.
  std::vector<uint64_t> kernel() const;
  /// A vector with that image, of the columns of the lowest numbers that span
  /// the same; none if no vector has it.
  std::optional<uint64_t> solve(uint64_t image) const;
  /// G with A G A = A and G A G = G. It gives what solve() gives, and for other
  /// words the solution of some part of them. The inverse where there is one.
  BitMatrix pseudoInverse() const;

private:
  unsigned rowCount;
  std::vector<uint64_t> words;
};

} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_BITMATRIX_H
