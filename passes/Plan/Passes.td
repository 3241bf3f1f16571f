//===- Passes.td - Passes of the plan phase ----------------*- tablegen -*-===//

#ifndef WEFT_PASSES_PLAN_PASSES_TD
#define WEFT_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildPlan : Pass<"weft-build-plan", "::mlir::ModuleOp"> {
  let summary = "turns entry points into command lists over buffers";
  let description = [{
    Each entry function becomes a `plan.entry`: arguments and results become
    input, output and state buffers, weights and constants become `plan.param`s
    shared by all entries, every other tensor a temporary, and every
    `tile.launch` a `plan.launch`. A launch result that is tied to an input uses
    the input's buffer; a result that the function returns is written straight
    to the output. Stands first in the phase: memory is planned for buffers.

    Conditions:

    * an entry holds launches, weights and constants only;
    * an argument has either `weft.name` or `weft.state`;
    * an output is a launch's result that is returned once;
    * a returned state is the updated argument of the same name, and a state has
      the same type in all entries.

    Remarks: none.
  }];
  let dependentDialects = ["::weft::plan::PlanDialect"];
}

def PlanMemory : Pass<"weft-plan-memory", "::mlir::ModuleOp"> {
  let summary = "places temporaries in a workspace";
  let description = [{
    Temporaries that are alive at different times share memory. Those whose
    sizes are multiples of the same symbols (all that grow with `tokens`, say)
    form a class; inside a class offsets are multiples of the symbols too, so
    one placement serves every value of them: largest first, each at the lowest
    offset that no overlapping lifetime uses. Sizes are rounded up to 64 bytes.
    Stands last: lifetimes are those of the final order of commands. The lower
    bound that it writes is the largest sum of temporaries alive at one command.

    Conditions: the size of a temporary is one product of symbols and a number.

    Remarks:

    * `memory`, analysis: the bytes of each entry's workspace.
  }];
  let dependentDialects = ["::weft::plan::PlanDialect"];
}

#endif // WEFT_PASSES_PLAN_PASSES_TD
