//===- LayoutTest.cpp - Laws of layouts over all coordinates --------------===//

#include "dialects/Tile/Layout.h"

#include "gtest/gtest.h"

#include "test/dialects/Tile/RandomLayouts.h"

using namespace weft::tile;

namespace {

/// Calls `body` with all coordinates along two axes.
template <class Body>
void forCoordinates(const Layout &layout, Axis a, Axis c, Body body) {
  for (uint64_t i = 0; i < 1u << layout.inputBits(a); ++i)
    for (uint64_t j = 0; j < 1u << layout.inputBits(c); ++j)
      body(i, j);
}

Layout makeHeld(RandomLayouts &random) {
  return random.layout(random.axes({Axis::Register, Axis::Lane}, 4),
                       random.axes({Axis::Row, Axis::Column}, 4));
}

} // namespace

TEST(LayoutTest, Identity) {
  Layout layout = Layout::identity(Axis::Lane, Axis::Column, 5);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(layout.at({{Axis::Lane, lane}}, Axis::Column), lane);
  EXPECT_EQ(layout.at({{Axis::Lane, 3}}, Axis::Row), 0u);
}

TEST(LayoutTest, Composition) {
  forSeeds([](RandomLayouts &random) {
    Layout held = makeHeld(random);
    // The outputs of the one are the inputs of the other in another order.
    Layout memory =
        random.layout({{Axis::Column, held.outputBits(Axis::Column)},
                       {Axis::Row, held.outputBits(Axis::Row)}},
                      {{Axis::Offset, random.number(0, 10)}});
    Layout both = held.then(memory);
    forCoordinates(held, Axis::Register, Axis::Lane, [&](auto r, auto l) {
      uint64_t row = held.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Row);
      uint64_t column =
          held.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Column);
      EXPECT_EQ(
          both.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Offset),
          memory.at({{Axis::Row, row}, {Axis::Column, column}}, Axis::Offset));
    });
  });
}

TEST(LayoutTest, ProductIsInnerThenOuter) {
  forSeeds([](RandomLayouts &random) {
    Layout inner = makeHeld(random);
    Layout outer =
        random.layout(random.axes({Axis::Lane, Axis::Register, Axis::Warp}, 2),
                      random.axes({Axis::Column, Axis::Row}, 3));
    Layout product = inner * outer;
    unsigned registerBits = inner.inputBits(Axis::Register),
             laneBits = inner.inputBits(Axis::Lane);
    for (Axis output : {Axis::Row, Axis::Column}) {
      unsigned shift = inner.outputBits(output);
      EXPECT_EQ(product.outputBits(output), shift + outer.outputBits(output));
      forCoordinates(product, Axis::Register, Axis::Lane, [&](auto r, auto l) {
        for (uint64_t w = 0; w < 1u << outer.inputBits(Axis::Warp); ++w) {
          uint64_t low = inner.at({{Axis::Register, r % (1u << registerBits)},
                                   {Axis::Lane, l % (1u << laneBits)}},
                                  output);
          uint64_t high = outer.at({{Axis::Register, r >> registerBits},
                                    {Axis::Lane, l >> laneBits},
                                    {Axis::Warp, w}},
                                   output);
          EXPECT_EQ(product.at(
                        {{Axis::Register, r}, {Axis::Lane, l}, {Axis::Warp, w}},
                        output),
                    low | high << shift);
        }
      });
    }
  });
}

TEST(LayoutTest, ProductIsAssociative) {
  forSeeds([](RandomLayouts &random) {
    Layout a = makeHeld(random), b = makeHeld(random), c = makeHeld(random);
    EXPECT_EQ((a * b) * c, a * (b * c));
  });
}

TEST(LayoutTest, DivisionUndoesTheProduct) {
  forSeeds([](RandomLayouts &random) {
    Layout inner = makeHeld(random), outer = makeHeld(random);
    std::optional<Layout> quotient = (inner * outer).divide(inner);
    ASSERT_TRUE(quotient);
    EXPECT_EQ(*quotient, outer);
    // What mixes the bits of both parts is no product.
    unsigned bits = random.number(2, 6);
    Layout mixed = Layout::swizzle(Axis::Offset, bits, 1, bits - 1, 0);
    EXPECT_FALSE(mixed.divide(Layout::identity(Axis::Offset, Axis::Offset, 1)));
    EXPECT_FALSE(
        mixed.divide(Layout::identity(Axis::Offset, Axis::Offset, bits + 1)));
  });
}

TEST(LayoutTest, Inverse) {
  forSeeds([](RandomLayouts &random) {
    unsigned bits = random.number(2, 8), split = random.number(0, bits);
    Layout layout({{Axis::Register, split}, {Axis::Lane, bits - split}},
                  {{Axis::Row, 1}, {Axis::Column, bits - 1}},
                  random.invertible(bits));
    std::optional<Layout> inverse = layout.inverse();
    ASSERT_TRUE(inverse);
    forCoordinates(layout, Axis::Register, Axis::Lane, [&](auto r, auto l) {
      uint64_t row =
          layout.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Row);
      uint64_t column =
          layout.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Column);
      EXPECT_EQ(inverse->at({{Axis::Row, row}, {Axis::Column, column}},
                            Axis::Register),
                r);
      EXPECT_EQ(
          inverse->at({{Axis::Row, row}, {Axis::Column, column}}, Axis::Lane),
          l);
    });
  });
}

TEST(LayoutTest, PseudoInverseGivesAPlace) {
  forSeeds([](RandomLayouts &random) {
    Layout layout = makeHeld(random);
    Layout there = layout.pseudoInverse();
    forCoordinates(layout, Axis::Register, Axis::Lane, [&](auto r, auto l) {
      uint64_t row =
          layout.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Row);
      uint64_t column =
          layout.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Column);
      uint64_t reg =
          there.at({{Axis::Row, row}, {Axis::Column, column}}, Axis::Register);
      uint64_t lane =
          there.at({{Axis::Row, row}, {Axis::Column, column}}, Axis::Lane);
      EXPECT_EQ(
          layout.at({{Axis::Register, reg}, {Axis::Lane, lane}}, Axis::Row),
          row);
      EXPECT_EQ(
          layout.at({{Axis::Register, reg}, {Axis::Lane, lane}}, Axis::Column),
          column);
    });
    EXPECT_EQ(layout.inverse().has_value(),
              layout.isInjective() && layout.isSurjective());
  });
}

TEST(LayoutTest, CopiesOfTheSame) {
  Layout layout = Layout::identity(Axis::Lane, Axis::Row, 3) *
                  Layout::copies(Axis::Lane, Axis::Row, 2);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(layout.at({{Axis::Lane, lane}}, Axis::Row), lane % 8);
  EXPECT_FALSE(layout.isInjective());
  EXPECT_TRUE(layout.isSurjective());
  // Of the lanes that have a row, the first.
  EXPECT_EQ(layout.pseudoInverse().at({{Axis::Row, 5}}, Axis::Lane), 5u);
}

TEST(LayoutTest, Swizzle) {
  forSeeds([](RandomLayouts &random) {
    unsigned count = random.number(0, 3), to = random.number(0, 3);
    unsigned from = to + count + random.number(0, 2);
    unsigned bits = from + count + random.number(0, 2);
    Layout swizzle = Layout::swizzle(Axis::Offset, bits, count, from, to);
    for (uint64_t offset = 0; offset < 1u << bits; ++offset) {
      uint64_t exchanged = offset ^ (offset >> from & ((1u << count) - 1))
                                        << to;
      EXPECT_EQ(swizzle.at({{Axis::Offset, offset}}, Axis::Offset), exchanged);
    }
    EXPECT_EQ(swizzle.then(swizzle),
              Layout::identity(Axis::Offset, Axis::Offset, bits));
  });
}

TEST(LayoutTest, FieldsAddUp) {
  forSeeds([](RandomLayouts &random) {
    Layout layout = makeHeld(random);
    for (Axis output : {Axis::Row, Axis::Column})
      forCoordinates(layout, Axis::Register, Axis::Lane, [&](auto r, auto l) {
        uint64_t sum = 0;
        for (auto [input, coordinate] :
             {std::pair(Axis::Register, r), std::pair(Axis::Lane, l)})
          for (const BitField &field : layout.fields(input, output))
            sum ^= (coordinate >> field.from & ((1u << field.count) - 1))
                   << field.to;
        EXPECT_EQ(sum,
                  layout.at({{Axis::Register, r}, {Axis::Lane, l}}, output));
      });
  });
}

TEST(LayoutTest, FieldsAreAsLongAsTheyCanBe) {
  Layout layout = Layout::identity(Axis::Lane, Axis::Column, 2) *
                  Layout::identity(Axis::Lane, Axis::Row, 3);
  EXPECT_EQ(layout.fields(Axis::Lane, Axis::Row),
            (std::vector<BitField>{{2, 3, 0}}));
  EXPECT_EQ(layout.fields(Axis::Lane, Axis::Column),
            (std::vector<BitField>{{0, 2, 0}}));
  EXPECT_EQ(Layout::swizzle(Axis::Offset, 5, 2, 3, 0)
                .fields(Axis::Offset, Axis::Offset),
            (std::vector<BitField>{{0, 5, 0}, {3, 2, 0}}));
}

TEST(LayoutTest, AxesCanBeChosenAndRenamed) {
  forSeeds([](RandomLayouts &random) {
    Layout layout = makeHeld(random);
    Layout lanes = layout.withInputs({Axis::Lane}).withOutputs({Axis::Column});
    Layout turned = layout.transposed();
    Layout warps = layout.renamed(Axis::Lane, Axis::Warp);
    forCoordinates(layout, Axis::Register, Axis::Lane, [&](auto r, auto l) {
      EXPECT_EQ(lanes.at({{Axis::Lane, l}}, Axis::Column),
                layout.at({{Axis::Lane, l}}, Axis::Column));
      uint64_t row =
          layout.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Row);
      EXPECT_EQ(turned.at({{Axis::Register, r}, {Axis::Lane, l}}, Axis::Column),
                row);
      EXPECT_EQ(warps.at({{Axis::Register, r}, {Axis::Warp, l}}, Axis::Row),
                row);
    });
  });
}

TEST(LayoutTest, Text) {
  EXPECT_EQ((Layout::identity(Axis::Register, Axis::Column, 1) *
             Layout::identity(Axis::Lane, Axis::Row, 2) *
             Layout::copies(Axis::Warp, Axis::Row, 1))
                .toString(),
            "register [column 1], lane [row 1, row 2], warp [0] -> column 2, "
            "row 4");
  EXPECT_EQ(Layout({{Axis::Block, 1}}, {{Axis::Row, 1}, {Axis::Column, 3}},
                   BitMatrix(4, {0b1011}))
                .toString(),
            "block [row 1 + column 5] -> row 2, column 8");
  EXPECT_EQ(Layout::swizzle(Axis::Offset, 3, 1, 2, 0).toString(),
            "offset [offset 1, offset 2, offset 5] -> offset 8");
}
