//===- TileDialect.cpp - The kernel-level dialect -------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/Polynomial.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"
#include "dialects/Tile/TileInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
}

LogicalResult ExtentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef size, int64_t block) {
  if (!Polynomial::parse(size))
    return emitError() << "'" << size << "' is not a polynomial";
  if (block <= 0)
    return emitError() << "blocks must be positive, found " << block;
  return success();
}

LogicalResult CudaScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringRef, int64_t threads,
    int64_t rows, int64_t columns, int64_t unroll, int64_t rowColumns,
    int64_t rowUnroll, int64_t rowBlock, int64_t columnBlock, int64_t cluster) {
  if (threads < 32 || threads > 1024 || !llvm::isPowerOf2_64(threads))
    return emitError() << "a block has 32, 64, ... or 1024 threads, found "
                       << threads;
  for (int64_t size :
       {rows, columns, unroll, rowColumns, rowUnroll, rowBlock, columnBlock})
    if (size <= 0)
      return emitError() << "sizes of a schedule must be positive, found "
                         << size;
  if (cluster < 1 || cluster > 8)
    return emitError() << "a work item has a cluster of 1 to 8 blocks, found "
                       << cluster;
  return success();
}

LogicalResult StreamScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringRef, int64_t mostRows,
    int64_t rows, int64_t columns, int64_t step, int64_t slots, int64_t ranges,
    int64_t cluster, int64_t columnWarps, int64_t stepWarps,
    int64_t residentRows, int64_t loadWarps, bool warpgroups) {
  if (rows % 8 != 0 || rows < 8 || rows > 64)
    return emitError() << "a tile has 8, 16, ... or 64 rows, found " << rows;
  if (mostRows < 0 || mostRows > rows)
    return emitError() << "a schedule for at most " << mostRows
                       << " rows has tiles of fewer, found " << rows;
  if (columnWarps < 1 || stepWarps < 1 || columnWarps * stepWarps > 16)
    return emitError() << "expected 1 to 16 warps, found " << columnWarps
                       << " x " << stepWarps;
  // A warpgroup has 8 columns or a multiple, a warp 16.
  if (columns <= 0 || columns % ((warpgroups ? 2 : 16) * columnWarps) != 0)
    return emitError()
           << "columns must be 16 for each of the " << columnWarps
           << " column warps, or 8 for each of their warpgroups, or "
              "a multiple, found "
           << columns;
  if (step <= 0 || step % (32 * stepWarps) != 0 || step % 128 != 0)
    return emitError() << "a step must be a multiple of 128 with 32 values of "
                          "k or a multiple for each of the "
                       << stepWarps << " step warps, found " << step;
  if (slots < 2 || ranges < 1 || cluster < 1 || cluster > 8)
    return emitError() << "expected 2 slots or more, a range and a cluster of "
                          "1 to 8 blocks, found "
                       << slots << ", " << ranges << " and " << cluster;
  if (residentRows != 0 && (residentRows != 1 || mostRows != 1))
    return emitError() << "a block keeps no row of its input or, in a schedule "
                          "for one row, that one; found "
                       << residentRows << " for " << mostRows;
  if (warpgroups && (columnWarps % 4 != 0 || step != 128))
    return emitError() << "warpgroups have four column warps each and steps of "
                          "128, found "
                       << columnWarps << " and " << step;
  if (warpgroups && rows % 16 != 0 && rows != 8)
    return emitError() << "the warps of a warpgroup have 16 rows each, or the "
                          "first one 8, found a tile of "
                       << rows;
  if (loadWarps != 0 && loadWarps != 1)
    return emitError() << "one warp copies, or 0: all do, found " << loadWarps;
  if (loadWarps == 0 && cluster != 1)
    return emitError() << "blocks whose warps all copy form no clusters, found "
                          "one of "
                       << cluster;
  return success();
}

LogicalResult FlashScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringRef, int64_t mostRows,
    int64_t rows, int64_t keys, int64_t keyWarps, int64_t stages,
    int64_t splits, int64_t cluster, int64_t rowWarps, bool) {
  if (mostRows < 0)
    return emitError() << "a schedule is for a number of rows or, with 0, for "
                          "any, found "
                       << mostRows;
  if (rowWarps < 1 || rowWarps > 8)
    return emitError() << "expected 1 to 8 row warps, found " << rowWarps;
  if (rows < 1 || rows > 16 * rowWarps)
    return emitError() << "a tile of attention has 1 to " << 16 * rowWarps
                       << " rows, found " << rows;
  if (keyWarps < 1 || keyWarps > 8 || keys <= 0 || keys % (16 * keyWarps) != 0)
    return emitError()
           << "expected 1 to 8 key warps with 16 keys of a block or "
              "a multiple each, found "
           << keyWarps << " for " << keys << " keys";
  if (stages < 2 || splits < 1 || splits > 8)
    return emitError() << "expected 2 stages or more and 1 to 8 splits, found "
                       << stages << " and " << splits;
  if (cluster < 1 || splits % cluster != 0)
    return emitError() << "the blocks of a cluster divide " << splits
                       << " splits, found " << cluster;
  return success();
}

LogicalResult WarpTileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t columnWarps, int64_t rowWarps) {
  if (columnWarps < 1)
    return emitError() << "columns are divided among 1 warp or more, found "
                       << columnWarps;
  if (rowWarps < 1)
    return emitError() << "rows are divided among 1 warp or more, found "
                       << rowWarps;
  return success();
}
