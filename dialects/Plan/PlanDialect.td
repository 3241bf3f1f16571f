//===- PlanDialect.td - The command-level dialect ----------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_PLAN_DIALECT_TD
#define WEFT_DIALECTS_PLAN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::weft::plan";
  let summary = "what the runtime does";
  let description = [{
    Straight command lists over buffers at planned places: one operation is one
    record of the artifact. Sizes and offsets are polynomials over the symbols
    of the plan, written as text ("64 + 2048*tokens").
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // WEFT_DIALECTS_PLAN_DIALECT_TD
