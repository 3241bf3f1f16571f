//===- PlanDialect.h - The command-level dialect ----------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_PLAN_PLANDIALECT_H
#define WEFT_DIALECTS_PLAN_PLANDIALECT_H

#include "dialects/Weft/Polynomial.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanDialect.h.inc"
#include "dialects/Plan/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanTypes.h.inc"

namespace weft::plan {
class EntryOp;
} // namespace weft::plan

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

#endif // WEFT_DIALECTS_PLAN_PLANDIALECT_H
