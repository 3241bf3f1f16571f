//===- Layout.cpp - Layouts as linear maps over F2 ------------------------===//

#include "dialects/Tile/Layout.h"

#include <algorithm>
#include <cassert>

using namespace weft::tile;

std::string_view weft::tile::getName(Axis axis) {
  switch (axis) {
  case Axis::Register:
    return "register";
  case Axis::Lane:
    return "lane";
  case Axis::Warp:
    return "warp";
  case Axis::Block:
    return "block";
  case Axis::Offset:
    return "offset";
  case Axis::Row:
    return "row";
  case Axis::Column:
    return "column";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

static unsigned countBits(const std::vector<AxisBits> &axes) {
  unsigned count = 0;
  for (const AxisBits &axis : axes)
    count += axis.bits;
  return count;
}

/// The axis's bits among those of all axes: the first and their number; no bits
/// if it is not there.
static std::pair<unsigned, unsigned> find(const std::vector<AxisBits> &axes,
                                          Axis axis) {
  unsigned first = 0;
  for (const AxisBits &candidate : axes) {
    if (candidate.axis == axis)
      return {first, candidate.bits};
    first += candidate.bits;
  }
  return {first, 0};
}

/// `count` bits of a word from `first` on.
static uint64_t getBits(uint64_t word, unsigned first, unsigned count) {
  if (count == 0)
    return 0;
  uint64_t high = word >> first;
  return count == BitMatrix::mostBits ? high
                                      : high & ((uint64_t(1) << count) - 1);
}

/// Bits of some axes among those of others that hold them: bit i of the first
/// is bit result[i] of the second. `before` are lower bits of the same axes.
static std::vector<unsigned>
getPlaces(const std::vector<AxisBits> &axes, const std::vector<AxisBits> &among,
          const std::vector<AxisBits> &before = {}) {
  std::vector<unsigned> places;
  for (const AxisBits &axis : axes) {
    unsigned first = find(among, axis.axis).first;
    unsigned lower = find(before, axis.axis).second;
    for (unsigned i = 0; i < axis.bits; ++i)
      places.push_back(first + lower + i);
  }
  return places;
}

/// The word that has bit i of `word` at places[i].
static uint64_t spread(uint64_t word, const std::vector<unsigned> &places) {
  uint64_t result = 0;
  for (unsigned i = 0; i < places.size(); ++i)
    result |= getBits(word, i, 1) << places[i];
  return result;
}

/// The word that has bit places[i] of `word` as bit i.
static uint64_t gather(uint64_t word, const std::vector<unsigned> &places) {
  uint64_t result = 0;
  for (unsigned i = 0; i < places.size(); ++i)
    result |= getBits(word, places[i], 1) << i;
  return result;
}

/// The axes of both, with the bits of both.
static std::vector<AxisBits> join(std::vector<AxisBits> axes,
                                  const std::vector<AxisBits> &others) {
  for (const AxisBits &other : others) {
    auto found =
        std::find_if(axes.begin(), axes.end(), [&](const AxisBits &axis) {
          return axis.axis == other.axis;
        });
    if (found == axes.end())
      axes.push_back(other);
    else
      found->bits += other.bits;
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

Layout::Layout(std::vector<AxisBits> inputs, std::vector<AxisBits> outputs,
               BitMatrix matrix)
    : inputAxes(std::move(inputs)), outputAxes(std::move(outputs)),
      map(std::move(matrix)) {
  assert(countBits(inputAxes) == map.columns());
  assert(countBits(outputAxes) == map.rows());
}

Layout Layout::identity(Axis input, Axis output, unsigned bits) {
  return {{{input, bits}}, {{output, bits}}, BitMatrix::identity(bits)};
}

Layout Layout::copies(Axis input, Axis output, unsigned bits) {
  return {{{input, bits}},
          {{output, 0}},
          BitMatrix(0, std::vector<uint64_t>(bits, 0))};
}

Layout Layout::swizzle(Axis axis, unsigned bits, unsigned count, unsigned from,
                       unsigned to) {
  assert(from + count <= bits && to + count <= bits);
  assert(from + count <= to || to + count <= from);
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < bits; ++i) {
    uint64_t image = uint64_t(1) << i;
    if (i >= from && i < from + count)
      image |= uint64_t(1) << (i - from + to);
    columns.push_back(image);
  }
  return {{{axis, bits}}, {{axis, bits}}, BitMatrix(bits, std::move(columns))};
}

unsigned Layout::inputBits(Axis axis) const {
  return find(inputAxes, axis).second;
}

unsigned Layout::outputBits(Axis axis) const {
  return find(outputAxes, axis).second;
}

uint64_t Layout::at(Coordinates inputs, Axis output) const {
  uint64_t word = 0;
  for (auto [axis, coordinate] : inputs) {
    auto [first, count] = find(inputAxes, axis);
    assert(coordinate == getBits(coordinate, 0, count));
    if (count > 0)
      word |= coordinate << first;
  }
  auto [first, count] = find(outputAxes, output);
  return getBits(map.apply(word), first, count);
}

std::vector<BitField> Layout::fields(Axis input, Axis output) const {
  auto [firstInput, inputCount] = find(inputAxes, input);
  auto [firstOutput, outputCount] = find(outputAxes, output);
  std::vector<BitField> result;
  // A bit that stands for a sum starts a field of its own for each part.
  for (unsigned i = 0; i < inputCount; ++i) {
    uint64_t image =
        getBits(map.column(firstInput + i), firstOutput, outputCount);
    for (unsigned to = 0; to < outputCount; ++to) {
      if (getBits(image, to, 1) == 0)
        continue;
      auto longer =
          std::find_if(result.begin(), result.end(), [&](const BitField &f) {
            return f.from + f.count == i && f.to + f.count == to;
          });
      if (longer == result.end())
        result.push_back({i, 1, to});
      else
        ++longer->count;
    }
  }
  return result;
}

Layout Layout::then(const Layout &next) const {
  std::vector<unsigned> places = getPlaces(outputAxes, next.inputAxes);
  assert(countBits(next.inputAxes) == map.rows());
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < map.columns(); ++i)
    columns.push_back(next.map.apply(spread(map.column(i), places)));
  return {inputAxes, next.outputAxes,
          BitMatrix(next.map.rows(), std::move(columns))};
}

Layout Layout::operator*(const Layout &outer) const {
  std::vector<AxisBits> inputs = join(inputAxes, outer.inputAxes);
  std::vector<AxisBits> outputs = join(outputAxes, outer.outputAxes);
  std::vector<uint64_t> columns(countBits(inputs), 0);
  auto put = [&](const Layout &part, const std::vector<AxisBits> &inputsBefore,
                 const std::vector<AxisBits> &outputsBefore) {
    std::vector<unsigned> inputPlaces =
        getPlaces(part.inputAxes, inputs, inputsBefore);
    std::vector<unsigned> outputPlaces =
        getPlaces(part.outputAxes, outputs, outputsBefore);
    for (unsigned i = 0; i < inputPlaces.size(); ++i)
      columns[inputPlaces[i]] = spread(part.map.column(i), outputPlaces);
  };
  put(*this, {}, {});
  put(outer, inputAxes, outputAxes);
  unsigned rows = countBits(outputs);
  return {std::move(inputs), std::move(outputs),
          BitMatrix(rows, std::move(columns))};
}

/// What is left of the axes without the lowest bits; none if there are not as
/// many.
static std::optional<std::vector<AxisBits>>
removeLow(std::vector<AxisBits> axes, const std::vector<AxisBits> &lowest) {
  for (const AxisBits &low : lowest) {
    auto found =
        std::find_if(axes.begin(), axes.end(), [&](const AxisBits &axis) {
          return axis.axis == low.axis;
        });
    if (low.bits == 0)
      continue;
    if (found == axes.end() || found->bits < low.bits)
      return std::nullopt;
    found->bits -= low.bits;
  }
  return axes;
}

std::optional<Layout> Layout::divide(const Layout &inner) const {
  auto inputs = removeLow(inputAxes, inner.inputAxes);
  auto outputs = removeLow(outputAxes, inner.outputAxes);
  if (!inputs || !outputs)
    return std::nullopt;
  std::vector<unsigned> inputPlaces =
      getPlaces(*inputs, inputAxes, inner.inputAxes);
  std::vector<unsigned> outputPlaces =
      getPlaces(*outputs, outputAxes, inner.outputAxes);
  std::vector<uint64_t> columns;
  for (unsigned place : inputPlaces)
    columns.push_back(gather(map.column(place), outputPlaces));
  Layout quotient = {*inputs, *outputs,
                     BitMatrix(countBits(*outputs), std::move(columns))};
  // Whatever does not fit the two parts is not in their product.
  auto axesOf = [](const std::vector<AxisBits> &all) {
    std::vector<Axis> axes;
    for (const AxisBits &axis : all)
      axes.push_back(axis.axis);
    return axes;
  };
  Layout product = inner * quotient;
  if (product.withInputs(axesOf(inputAxes)).withOutputs(axesOf(outputAxes)) !=
      *this)
    return std::nullopt;
  return quotient;
}

std::optional<Layout> Layout::inverse() const {
  if (!isInjective() || !isSurjective())
    return std::nullopt;
  return pseudoInverse();
}

Layout Layout::pseudoInverse() const {
  return {outputAxes, inputAxes, map.pseudoInverse()};
}

Layout Layout::renamed(Axis axis, Axis name) const {
  Layout result = *this;
  for (std::vector<AxisBits> *axes : {&result.inputAxes, &result.outputAxes})
    for (AxisBits &candidate : *axes)
      if (candidate.axis == axis)
        candidate.axis = name;
  return result;
}

Layout Layout::transposed() const {
  Layout result = *this;
  for (std::vector<AxisBits> *axes : {&result.inputAxes, &result.outputAxes})
    for (AxisBits &candidate : *axes) {
      if (candidate.axis == Axis::Row)
        candidate.axis = Axis::Column;
      else if (candidate.axis == Axis::Column)
        candidate.axis = Axis::Row;
    }
  return result;
}

Layout Layout::withInputs(const std::vector<Axis> &axes) const {
  std::vector<AxisBits> chosen;
  for (Axis axis : axes)
    chosen.push_back({axis, inputBits(axis)});
  std::vector<uint64_t> columns;
  for (unsigned place : getPlaces(chosen, inputAxes))
    columns.push_back(map.column(place));
  return {chosen, outputAxes, BitMatrix(map.rows(), std::move(columns))};
}

Layout Layout::withOutputs(const std::vector<Axis> &axes) const {
  std::vector<AxisBits> chosen;
  for (Axis axis : axes)
    chosen.push_back({axis, outputBits(axis)});
  std::vector<unsigned> places = getPlaces(chosen, outputAxes);
  std::vector<uint64_t> columns;
  for (unsigned i = 0; i < map.columns(); ++i)
    columns.push_back(gather(map.column(i), places));
  return {inputAxes, chosen, BitMatrix(countBits(chosen), std::move(columns))};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "row 1 + column 4"
static std::string describe(uint64_t word, const std::vector<AxisBits> &axes) {
  std::string text;
  unsigned first = 0;
  for (const AxisBits &axis : axes) {
    if (uint64_t coordinate = getBits(word, first, axis.bits))
      text += (text.empty() ? "" : " + ") + std::string(getName(axis.axis)) +
              " " + std::to_string(coordinate);
    first += axis.bits;
  }
  return text.empty() ? "0" : text;
}

std::string Layout::toString() const {
  std::string text;
  unsigned bit = 0;
  for (const AxisBits &axis : inputAxes) {
    text += (text.empty() ? "" : ", ") + std::string(getName(axis.axis)) + " [";
    for (unsigned i = 0; i < axis.bits; ++i)
      text += (i ? ", " : "") + describe(map.column(bit++), outputAxes);
    text += "]";
  }
  text += " ->";
  for (const AxisBits &axis : outputAxes)
    text += (&axis == &outputAxes.front() ? " " : ", ") +
            std::string(getName(axis.axis)) + " " +
            std::to_string(uint64_t(1) << axis.bits);
  return text;
}
