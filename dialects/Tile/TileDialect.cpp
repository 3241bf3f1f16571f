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

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
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
    int64_t rowUnroll, int64_t rowBlock, int64_t columnBlock) {
  if (threads < 32 || threads > 1024 || !llvm::isPowerOf2_64(threads))
    return emitError() << "a block has 32, 64, ... or 1024 threads, found "
                       << threads;
  for (int64_t size :
       {rows, columns, unroll, rowColumns, rowUnroll, rowBlock, columnBlock})
    if (size <= 0)
      return emitError() << "sizes of a schedule must be positive, found "
                         << size;
  return success();
}
