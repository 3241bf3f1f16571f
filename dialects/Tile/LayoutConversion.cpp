//===- LayoutConversion.cpp - From one layout to another ------------------===//

#include "dialects/Tile/LayoutConversion.h"

#include <algorithm>
#include <array>

using namespace weft::tile;

/// From the nearest place to the farthest.
static constexpr std::array<Axis, 4> places = {Axis::Register, Axis::Lane,
                                               Axis::Warp, Axis::Block};

/// The output axes of a layout.
static std::vector<Axis> getOutputs(const Layout &layout) {
  std::vector<Axis> axes;
  for (const AxisBits &axis : layout.outputs())
    axes.push_back(axis.axis);
  return axes;
}

/// How often lanes shuffle a register. For each register of the target lanes
/// read from other lanes; one that several read, different registers of it,
/// takes as many turns.
static unsigned countShuffles(const Layout &source) {
  Layout lanes = source.withInputs({Axis::Lane}).withOutputs({Axis::Lane});
  Layout readers =
      source.withInputs({Axis::Lane}).withOutputs({Axis::Register});
  std::vector<uint64_t> chosen;
  for (uint64_t reader : lanes.matrix().kernel())
    chosen.push_back(readers.matrix().apply(reader));
  unsigned turns = 1u << BitMatrix(readers.matrix().rows(), chosen).rank();
  Layout registers =
      source.withInputs({Axis::Register}).withOutputs({Axis::Lane});
  unsigned count = 1u << registers.matrix().columns();
  // Registers that every lane has itself.
  bool staysInLane =
      lanes.matrix() == BitMatrix::identity(lanes.matrix().rows());
  unsigned own = staysInLane ? count >> registers.matrix().rank() : 0;
  return (count - own) * turns;
}

std::optional<LayoutConversion> weft::tile::getConversion(const Layout &from,
                                                          const Layout &to) {
  std::vector<Axis> axes(places.begin(), places.end());
  Layout have = from.withInputs(axes);
  Layout want = to.withInputs(axes).withOutputs(getOutputs(from));
  if (want.outputs() != have.outputs())
    return std::nullopt;
  // The first columns of `have`, those of places up to each one.
  std::array<BitMatrix, 4> nearest = {have.matrix(), have.matrix(),
                                      have.matrix(), have.matrix()};
  std::array<unsigned, 4> firstBit = {};
  unsigned bits = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    firstBit[i] = bits;
    bits += have.inputBits(places[i]);
    nearest[i] = have.matrix().slice(0, bits);
  }
  std::vector<uint64_t> columns;
  auto farthest = ConversionKind::None;
  unsigned column = 0;
  for (size_t place = 0; place < places.size(); ++place)
    for (unsigned i = 0; i < want.inputBits(places[place]); ++i) {
      uint64_t image = want.matrix().column(column++);
      // What the same place of the source has, then what is missing from the
      // nearest places that have it.
      bool isShared = i < have.inputBits(places[place]);
      uint64_t found = isShared ? uint64_t(1) << (firstBit[place] + i) : 0;
      uint64_t missing = image ^ have.matrix().apply(found);
      size_t farness = isShared ? 0 : place + 1;
      if (missing != 0) {
        size_t by = 0;
        std::optional<uint64_t> rest = nearest[by].solve(missing);
        while (!rest && ++by < places.size())
          rest = nearest[by].solve(missing);
        if (!rest)
          return std::nullopt;
        found ^= *rest;
        farness = std::max(farness, by + 1);
      }
      farthest = std::max(farthest, static_cast<ConversionKind>(farness));
      columns.push_back(found);
    }
  Layout source(want.inputs(), have.inputs(),
                BitMatrix(bits, std::move(columns)));
  LayoutConversion conversion = {farthest, source};
  if (farthest == ConversionKind::Lanes)
    conversion.shuffles = countShuffles(source);
  return conversion;
}
