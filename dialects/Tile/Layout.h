//===- Layout.h - Layouts as linear maps over F2 ----------------*- C++ -*-===//
//
// A layout says what stands where: which element of a tile a register of a lane
// holds, or at which offset in memory an element lies. All sizes are powers of
// two, and a layout maps the bits of its input coordinates linearly to those of
// its output coordinates: addition is exclusive or, so a swizzle is a layout
// like any other. What tensor cores, ldmatrix, bulk copies and vectors of loads
// want are layouts, and all questions about them are linear algebra over bits.
//
// Source: Zhou et al., "Linear Layouts: Robust Code Generation of Efficient
// Tensor Computation Using F2" (2025), arXiv:2505.23819.
//
// This is plain C++: neither MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_TILE_LAYOUT_H
#define WEFT_DIALECTS_TILE_LAYOUT_H

#include "dialects/Tile/BitMatrix.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace weft::tile {

/// What a coordinate counts.
enum class Axis : uint8_t {
  Register, ///< Of a thread, an element each.
  Lane,     ///< Of a warp.
  Warp,     ///< Of a block, or of the warps that a tile is spread over.
  Block,    ///< Of a cluster.
  Offset,   ///< In memory, in elements unless it is said otherwise.
  Row,
  Column,
};

/// "register", "lane", ...
std::string_view getName(Axis axis);

/// Coordinates 0 .. 2^bits - 1 along an axis.
struct AxisBits {
  Axis axis;
  unsigned bits;

  bool operator==(const AxisBits &other) const = default;
};

/// Coordinates along different axes; 0 along all others.
using Coordinates = std::initializer_list<std::pair<Axis, uint64_t>>;

/// Consecutive bits of a coordinate that are consecutive bits of another one:
/// (coordinate >> from) % 2^count << to.
struct BitField {
  unsigned from, count, to;

  bool operator==(const BitField &other) const = default;
};

/// A linear map from coordinates along input axes to coordinates along output
/// axes. Both have a fixed order; an axis occurs once among the inputs and once
/// among the outputs, and may have no bits.
class Layout {
public:
  /// Column and row i of the matrix are bit i of the inputs and outputs, those
  /// of the first axis first, the lowest bit first.
  Layout(std::vector<AxisBits> inputs, std::vector<AxisBits> outputs,
         BitMatrix matrix);

  /// Coordinate c of `input` is coordinate c of `output`.
  static Layout identity(Axis input, Axis output, unsigned bits);
  /// All coordinates of `input` are coordinate 0 of `output`, which has no
  /// bits: copies of the same.
  static Layout copies(Axis input, Axis output, unsigned bits);
  /// From `axis` to itself: bits [to, to + count) of a coordinate are exchanged
  /// for their exclusive or with its bits [from, from + count). The two do not
  /// overlap.
  static Layout swizzle(Axis axis, unsigned bits, unsigned count, unsigned from,
                        unsigned to);

  const std::vector<AxisBits> &inputs() const { return inputAxes; }
  const std::vector<AxisBits> &outputs() const { return outputAxes; }
  const BitMatrix &matrix() const { return map; }
  /// 0 for an axis that is not there.
  unsigned inputBits(Axis axis) const;
  unsigned outputBits(Axis axis) const;

  /// The coordinate along `output` of what stands at the given inputs.
  uint64_t at(Coordinates inputs, Axis output) const;
  /// What bits of `input` contribute to the coordinate along `output`: their
  /// fields, in ascending order of `from`, as few as possible. The coordinate
  /// is the exclusive or of the fields of all inputs.
  std::vector<BitField> fields(Axis input, Axis output) const;

  /// No two inputs have the same output.
  bool isInjective() const { return map.rank() == map.columns(); }
  /// Every output has an input.
  bool isSurjective() const { return map.rank() == map.rows(); }

  /// This layout, then `next`, whose inputs are the outputs of this one in any
  /// order.
  Layout then(const Layout &next) const;
  /// This layout inside of `outer`: independent of each other, and of an axis
  /// that both have this one's bits are the low ones.
  Layout operator*(const Layout &outer) const;
  /// The layout q with inner * q == *this (but for the order of axes); none if
  /// there is none.
  std::optional<Layout> divide(const Layout &inner) const;
  /// None unless the layout is injective and surjective.
  std::optional<Layout> inverse() const;
  /// A layout from outputs to inputs that gives, for what stands somewhere, a
  /// place where it stands; of several that of the first inputs' low bits.
  Layout pseudoInverse() const;

  /// The same with an axis of the inputs or the outputs called otherwise.
  Layout renamed(Axis axis, Axis name) const;
  /// Rows as columns and columns as rows, of inputs and outputs.
  Layout transposed() const;
  /// Of the inputs only some axes, in that order; the others are 0.
  Layout withInputs(const std::vector<Axis> &axes) const;
  /// Of the outputs only some axes, in that order.
  Layout withOutputs(const std::vector<Axis> &axes) const;

  /// The same axes and bits in the same order, and the same map.
  bool operator==(const Layout &other) const = default;

  /// What each bit of the inputs stands for, and the sizes of the outputs:
  /// "register [column 1, row 8], lane [column 2, column 4, row 1, row 2, row
  /// 4] -> row 16, column 8". A bit of several places is a sum: "row 1 + column
  /// 4"; one of none is "0".
  std::string toString() const;

private:
  std::vector<AxisBits> inputAxes, outputAxes;
  BitMatrix map;
};

} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_LAYOUT_H
