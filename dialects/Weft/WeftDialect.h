//===- WeftDialect.h - The model-level dialect ------------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_WEFT_WEFTDIALECT_H
#define WEFT_DIALECTS_WEFT_WEFTDIALECT_H

#include "dialects/Weft/PackedLayout.h"
#include "dialects/Weft/Polynomial.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Weft/WeftAttrInterfaces.h.inc"
#include "dialects/Weft/WeftDialect.h.inc"
#include "dialects/Weft/WeftEnums.h.inc"
#include "dialects/Weft/WeftInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Weft/WeftAttrs.h.inc"

// Declarations of upstream interfaces' methods in our ops use these names
// unqualified.
namespace weft {
using mlir::AffineMap;
using mlir::FailureOr;
using mlir::OpBuilder;
using mlir::SmallVector;
using mlir::Value;
using mlir::shard::ReductionKind;
} // namespace weft

#define GET_OP_CLASSES
#include "dialects/Weft/WeftOps.h.inc"

namespace weft {

/// Sizes of the dimensions of any value of an entry point (or of the body of a
/// dispatch in one), as polynomials over the symbols that the entry's
/// arguments name. Follows DimSourceInterface, elementwise `arith`, `math` and
/// reshaping `tensor` operations. A dimension that cannot be traced gets the
/// symbol "?".
Polynomial getDimSize(mlir::Value value, int64_t dim);

} // namespace weft

#endif // WEFT_DIALECTS_WEFT_WEFTDIALECT_H
