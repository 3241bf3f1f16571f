//===- Passes.h - Passes of the plan phase ----------------------*- C++ -*-===//

#ifndef WEFT_PASSES_PLAN_PASSES_H
#define WEFT_PASSES_PLAN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::plan {

#define GEN_PASS_DECL
#include "passes/Plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Plan/Passes.h.inc"

} // namespace weft::plan

#endif // WEFT_PASSES_PLAN_PASSES_H
