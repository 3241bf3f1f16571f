//===- RandomLayouts.h - Layouts and matrices for tests ---------*- C++ -*-===//
//
// From printed seeds: a failure names the seed, which gives the same layout.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_DIALECTS_TILE_RANDOMLAYOUTS_H
#define WEFT_TEST_DIALECTS_TILE_RANDOMLAYOUTS_H

#include "dialects/Tile/Layout.h"

#include "gtest/gtest.h"

#include <random>

namespace weft::tile {

constexpr unsigned seedCount = 200;

class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : generator(seed) {}

  uint64_t word(unsigned bits) {
    uint64_t all = std::uniform_int_distribution<uint64_t>()(generator);
    return bits == 64 ? all : all & ((uint64_t(1) << bits) - 1);
  }

  unsigned number(unsigned least, unsigned most) {
    return std::uniform_int_distribution<unsigned>(least, most)(generator);
  }

  /// Any rank.
  BitMatrix matrix(unsigned rows, unsigned columns) {
    std::vector<uint64_t> words;
    for (unsigned i = 0; i < columns; ++i)
      words.push_back(word(rows));
    // Often less than the full rank.
    for (unsigned i = 2; i < columns; i += number(1, 4))
      words[i] = words[i - 1] ^ words[i - 2];
    return {rows, std::move(words)};
  }

  BitMatrix invertible(unsigned size) {
    BitMatrix result = BitMatrix::identity(size);
    while (true) {
      std::vector<uint64_t> words;
      for (unsigned i = 0; i < size; ++i)
        words.push_back(word(size));
      result = BitMatrix(size, std::move(words));
      if (result.rank() == size)
        return result;
    }
  }

  /// 2^0 to 2^most coordinates along each axis.
  std::vector<AxisBits> axes(std::initializer_list<Axis> names, unsigned most) {
    std::vector<AxisBits> result;
    for (Axis axis : names)
      result.push_back({axis, number(0, most)});
    return result;
  }

  static unsigned count(const std::vector<AxisBits> &axes) {
    unsigned bits = 0;
    for (const AxisBits &axis : axes)
      bits += axis.bits;
    return bits;
  }

  Layout layout(std::vector<AxisBits> inputs, std::vector<AxisBits> outputs) {
    BitMatrix map = matrix(count(outputs), count(inputs));
    return {std::move(inputs), std::move(outputs), std::move(map)};
  }

private:
  std::mt19937 generator;
};

/// Calls `body` with generators of different seeds.
template <class Body> void forSeeds(Body body) {
  for (unsigned seed = 0; seed < seedCount; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLayouts random(seed);
    body(random);
    if (::testing::Test::HasFailure())
      return;
  }
}

} // namespace weft::tile

#endif // WEFT_TEST_DIALECTS_TILE_RANDOMLAYOUTS_H
