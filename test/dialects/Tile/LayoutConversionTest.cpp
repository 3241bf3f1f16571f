//===- LayoutConversionTest.cpp - How elements change places --------------===//

#include "dialects/Tile/LayoutConversion.h"
#include "dialects/Tile/TensorCoreLayouts.h"

#include "gtest/gtest.h"

#include "test/dialects/Tile/RandomLayouts.h"

#include <set>

using namespace weft::tile;

namespace {

constexpr Axis places[] = {Axis::Register, Axis::Lane, Axis::Warp, Axis::Block};

/// Calls `body` with the coordinates of every place of a layout.
template <class Body> void forPlaces(const Layout &layout, Body body) {
  auto count = [&](Axis axis) { return uint64_t(1) << layout.inputBits(axis); };
  for (uint64_t r = 0; r < count(Axis::Register); ++r)
    for (uint64_t l = 0; l < count(Axis::Lane); ++l)
      for (uint64_t w = 0; w < count(Axis::Warp); ++w)
        for (uint64_t k = 0; k < count(Axis::Block); ++k)
          body(std::array<uint64_t, 4>{r, l, w, k});
}

uint64_t at(const Layout &layout, const std::array<uint64_t, 4> &place,
            Axis axis) {
  return layout.at({{Axis::Register, place[0]},
                    {Axis::Lane, place[1]},
                    {Axis::Warp, place[2]},
                    {Axis::Block, place[3]}},
                   axis);
}

/// The nearest kind of movement by which every place of `to` can have its
/// element, by looking at all places of `from`.
std::optional<ConversionKind> findKind(const Layout &from, const Layout &to) {
  size_t farthest = 0;
  bool isComplete = true;
  forPlaces(to, [&](const std::array<uint64_t, 4> &wanted) {
    size_t nearest = 5;
    forPlaces(from, [&](const std::array<uint64_t, 4> &place) {
      for (Axis axis : {Axis::Row, Axis::Column})
        if (at(from, place, axis) != at(to, wanted, axis))
          return;
      size_t distance = 0;
      for (size_t i = 0; i < 4; ++i)
        if (place[i] != wanted[i])
          distance = i + 1;
      nearest = std::min(nearest, distance);
    });
    isComplete &= nearest < 5;
    farthest = std::max(farthest, nearest);
  });
  if (!isComplete)
    return std::nullopt;
  return static_cast<ConversionKind>(farthest);
}

/// The kinds that were found are added to `seen`.
void expectConversion(const Layout &from, const Layout &to,
                      std::set<ConversionKind> &seen) {
  std::optional<LayoutConversion> conversion = getConversion(from, to);
  std::optional<ConversionKind> expected = findKind(from, to);
  ASSERT_EQ(conversion.has_value(), expected.has_value());
  if (!expected)
    return;
  seen.insert(*expected);
  EXPECT_EQ(conversion->kind, *expected);
  forPlaces(to, [&](const std::array<uint64_t, 4> &wanted) {
    std::array<uint64_t, 4> place;
    for (size_t i = 0; i < 4; ++i)
      place[i] = at(conversion->source, wanted, places[i]);
    for (Axis axis : {Axis::Row, Axis::Column})
      EXPECT_EQ(at(from, place, axis), at(to, wanted, axis));
  });
}

} // namespace

TEST(LayoutConversionTest, BetweenRandomLayouts) {
  std::set<ConversionKind> seen;
  forSeeds([&](RandomLayouts &random) {
    std::vector<AxisBits> tile = {{Axis::Row, random.number(0, 2)},
                                  {Axis::Column, random.number(0, 2)}};
    auto make = [&] {
      return random.layout(
          random.axes({Axis::Register, Axis::Lane, Axis::Warp, Axis::Block}, 2),
          tile);
    };
    expectConversion(make(), make(), seen);
  });
  EXPECT_GE(seen.size(), 4u);
}

TEST(LayoutConversionTest, BetweenPermutationsOfTheSameBits) {
  std::set<ConversionKind> seen;
  forSeeds([&](RandomLayouts &random) {
    // The same map with its input bits in another order: mostly convertible,
    // in all ways.
    Layout from({{Axis::Register, 2},
                 {Axis::Lane, 2},
                 {Axis::Warp, 1},
                 {Axis::Block, 1}},
                {{Axis::Row, 3}, {Axis::Column, 3}}, random.invertible(6));
    std::vector<uint64_t> columns;
    for (unsigned i = 0; i < 6; ++i)
      columns.push_back(from.matrix().column(i));
    for (unsigned n = random.number(0, 2); n > 0; --n)
      std::swap(columns[random.number(0, 5)], columns[random.number(0, 5)]);
    if (random.number(0, 1))
      columns[random.number(0, 1)] ^= columns[random.number(2, 5)];
    Layout to(from.inputs(), from.outputs(), BitMatrix(6, columns));
    expectConversion(from, to, seen);
  });
  EXPECT_EQ(seen.size(), 5u);
}

TEST(LayoutConversionTest, KindsAndShuffles) {
  auto registers = [](Axis axis, unsigned bits) {
    return Layout::identity(Axis::Register, axis, bits);
  };
  auto lanes = [](Axis axis, unsigned bits) {
    return Layout::identity(Axis::Lane, axis, bits);
  };
  Layout rows = registers(Axis::Column, 2) * lanes(Axis::Row, 5);
  auto same = getConversion(rows, rows);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->kind, ConversionKind::None);

  // A lane that has two columns, in the other order of registers.
  Layout turned({{Axis::Register, 2}, {Axis::Lane, 5}}, rows.outputs(),
                BitMatrix(7, {2, 1, 4, 8, 16, 32, 64}));
  auto permuted = getConversion(rows, turned);
  ASSERT_TRUE(permuted);
  EXPECT_EQ(permuted->kind, ConversionKind::Registers);
  EXPECT_EQ(permuted->source.at({{Axis::Register, 1}}, Axis::Register), 2u);

  // The lanes' lowest bit and the registers' highest one change places: half of
  // the registers go to the other lane.
  Layout exchanged({{Axis::Register, 2}, {Axis::Lane, 5}}, rows.outputs(),
                   BitMatrix(7, {1, 4, 2, 8, 16, 32, 64}));
  auto shuffled = getConversion(rows, exchanged);
  ASSERT_TRUE(shuffled);
  EXPECT_EQ(shuffled->kind, ConversionKind::Lanes);
  // Two lanes want both registers of a lane: two turns for each register.
  EXPECT_EQ(shuffled->shuffles, 8u);

  // All registers come from the lane of another number.
  Layout reversed({{Axis::Register, 2}, {Axis::Lane, 5}}, rows.outputs(),
                  BitMatrix(7, {1, 2, 64, 32, 16, 8, 4}));
  EXPECT_EQ(getConversion(rows, reversed)->shuffles, 4u);

  // Half of a tile is not all of it.
  Layout half = registers(Axis::Column, 1) * lanes(Axis::Row, 5);
  EXPECT_FALSE(getConversion(half, rows));
}

TEST(LayoutConversionTest, SumsBecomeOperands) {
  // What makes attention's second multiplication free: the accumulators of two
  // times 8 columns are the left-hand operand of 16 values of k.
  Layout sums =
      getMmaAccumulator() * Layout::identity(Axis::Register, Axis::Column, 1);
  auto conversion = getConversion(sums, getMmaLhs());
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->kind, ConversionKind::None);
  // In the order of the right-hand operand of two times 8 columns, transposed,
  // the registers stand otherwise.
  Layout right =
      getMmaRhs() * Layout::identity(Axis::Register, Axis::Column, 1);
  EXPECT_EQ(getConversion(sums, right.transposed())->kind,
            ConversionKind::Registers);
  // Rows of a thread each go through shared memory.
  Layout rows = Layout::identity(Axis::Register, Axis::Column, 6) *
                Layout::identity(Axis::Warp, Axis::Row, 2) *
                Layout::identity(Axis::Lane, Axis::Row, 4) *
                Layout::copies(Axis::Lane, Axis::Row, 1);
  EXPECT_EQ(getConversion(getWarpgroupAccumulator(6), rows)->kind,
            ConversionKind::SharedMemory);
}
