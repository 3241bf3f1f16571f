//===- LayoutConversion.h - From one layout to another ----------*- C++ -*-===//
//
// Two layouts of the same tile over registers, lanes, warps and blocks: how
// elements get from where the one has them to where the other one has them.
//
// Source: Zhou et al. (see Layout.h), "Layout Conversions".
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_TILE_LAYOUTCONVERSION_H
#define WEFT_DIALECTS_TILE_LAYOUTCONVERSION_H

#include "dialects/Tile/Layout.h"

namespace weft::tile {

/// By what elements move, the cheapest first.
enum class ConversionKind {
  None,          ///< Every register has its element already.
  Registers,     ///< Threads give their registers another order.
  Lanes,         ///< Lanes of a warp exchange registers by shuffles.
  SharedMemory,  ///< Warps of a block write and read shared memory.
  ClusterMemory, ///< Blocks of a cluster read each other's shared memory.
};

struct LayoutConversion {
  ConversionKind kind;
  /// (register, lane, warp, block) of the target -> the same of the source:
  /// where what stands there comes from. Of several places the nearest one.
  Layout source;
  /// Of kind `Lanes`: shuffles of one register of every lane each.
  unsigned shuffles = 0;
};

/// How what lies as `from` comes to lie as `to`; both have the same output
/// axes. None if `from` lacks elements of `to`.
std::optional<LayoutConversion> getConversion(const Layout &from,
                                              const Layout &to);

} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_LAYOUTCONVERSION_H
