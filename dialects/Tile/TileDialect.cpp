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
