//===- Passes.td - Passes of the kernel phase --------------*- tablegen -*-===//

#ifndef WEFT_PASSES_KERNEL_PASSES_TD
#define WEFT_PASSES_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTileToVector : Pass<"weft-lower-tile-to-vector", "::mlir::ModuleOp"> {
  let summary = "writes each tile kernel as vector code of its CPU level";
  let description = [{
    For each `tile.kernel` a `builtin.module` named `<program>.<level>` appears
    behind the program, with the attributes `tile.program`, `tile.level` and
    `tile.function` and one function of the kernel ABI (docs/architecture.md)
    that loops over a range of work items. Tiles become rows of vectors of one
    register's width, memory becomes pointers and loads, `tile.mma` becomes
    register tiles with a loop over k. The programs stay.

    Stands behind the plan phase, when code is made for the programs that the
    commands launch: up to there a program is the same for all targets.

    Conditions (what else a kernel holds is a located error):

    * operations of `tile`, `arith` and `math`, `memref.load`, `scf.for`,
      `scf.if` and `scf.while`;
    * tiles have one or two dimensions; three only as the right-hand side of
      `tile.mma`;
    * the left-hand side of `tile.mma`, and a packed right-hand side, are read by
      a `tile.load`, and no store to the same view stands in between;
    * `dot_bf16` needs a level that has the instruction and consecutive
      elements on the left;
    * numbers of f16 and bf16 are rounded from f32 only.

    Remarks: none.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ChooseStreamSchedules : Pass<"weft-choose-stream-schedules"> {
  let summary = "streams the weights of linear layers through tensor cores";
  let description = [{
    Gives a `weft.dispatch` of linear layers `#tile.stream_schedule`s instead of
    the schedules that work for every shape: one each for a single row and for up
    to 8, 16 and 32 rows, and one for any number, in tiles of 64. A launch takes
    the one for its rows. Few rows have narrow tiles, which all multiprocessors
    have the same number of; a single row is kept in shared memory.

    What a row gives does not depend on the other rows of its launch, but on the
    schedule: one may add up the same products in another order than the next.
    With `batch-invariant` all of them add up in one order, so the rows of a step
    do not change what a row gives.

    Stands behind `weft-assign-layouts`, which puts the inputs into the panels
    that such kernels copy.

    Conditions:

    * one linear layer or a gated pair, with weights in core matrices, and an input
      in panels;
    * the architecture has asynchronous copies (from sm_80); without bulk copies
      (before sm_90) all warps copy and there are no clusters.

    Remarks: none; the attribute is what was decided.
  }];
  let options = [
    Option<"batchInvariant", "batch-invariant", "bool", "false",
           "The same sums for any number of rows">
  ];
  let dependentDialects = ["::weft::tile::TileDialect"];
}

def ChooseFlashSchedules : Pass<"weft-choose-flash-schedules"> {
  let summary = "computes attention on tensor cores";
  let description = [{
    Gives a `weft.dispatch` of attention `#tile.flash_schedule`s instead of the
    schedules that work for every shape. Where an architecture has clusters of 8
    blocks there are some for few rows, in which 8, 4 or 2 blocks divide the keys
    of a work item: as many as make at most one block for each multiprocessor.
    For more rows a block has all keys of an item, of few tokens up to 256 rows,
    as in decoding. These compute the same in the same order, so the rows of a
    step do not change what a row gives. Beyond, as in prompts, a block has 64
    rows, which its warps divide instead of the keys: another order. With
    `batch-invariant`, or heads above 128, there are 16 rows, beyond 128, in the
    order of all others. Where
    an architecture has no room to merge the splits of wide heads, there is one
    split and no cluster. The largest tiles, of 64 rows or of 16 of heads above
    128, may need too many registers: 16 or 8 rows are an alternative.

    Stands behind `weft-choose-schedules`, which says the architectures.

    Conditions:

    * the paged form with blocks of 64 positions;
    * query and cache have the same type, f16 or bf16;
    * the head size is a multiple of 16 up to 256, and at most 16 query heads
      share a key head;
    * two blocks of keys and values fit into the shared memory of every
      architecture of the dispatch.

    Remarks: none; the attribute is what was decided.
  }];
  let options = [
    Option<"early", "early", "bool", "true",
           "Look up keys and values, and copy those of earlier steps, before the "
           "kernels ahead are done, where an architecture starts kernels early.">,
    Option<"batchInvariant", "batch-invariant", "bool", "false",
           "Compute a row in the same order whatever rows are beside it.">
  ];
  let dependentDialects = ["::weft::tile::TileDialect"];
}

def PipelineFolds : Pass<"weft-pipeline-folds", "::mlir::ModuleOp"> {
  let summary = "divides a kernel's warps into roles around a ring of tiles";
  let description = [{
    In a `tile.kernel` whose schedule is a `#tile.stream_schedule` the operands
    of the fold's multiplications come through a `tile.channel`: a role `load`
    copies pieces of them, all tiles of the kernel in one stream, and a role
    `math` does everything else. The blocks of a cluster divide the fold's range,
    and `load` takes part in their barrier by `tile.cluster_barrier`, at pieces
    where it does not wait for longer than for the next slot.
    The copies of constants of the first pieces stand before the wait for earlier
    kernels.

    Stands before `weft-lower-tile-to-cuda`; up to there a program says what is
    computed only.

    Conditions (an error otherwise):

    * one `tile.fold` with multiplications on tensor cores, in a loop over tiles
      at the top level of the kernel;
    * what these multiply is read by `tile.load` from buffers, at indices that
      do not depend on other loads;
    * the range of the fold is a multiple of its step.

    Remarks: none.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::weft::tile::TileDialect"
  ];
}

def LowerTileToCuda : Pass<"weft-lower-tile-to-cuda", "::mlir::ModuleOp"> {
  let summary = "writes each tile kernel as code of a thread of its GPU";
  let description = [{
    For each `tile.kernel` of a GPU architecture a `builtin.module` named
    `<program>.<architecture>` appears behind the program, with the attributes
    `tile.program`, `tile.level`, `tile.description` and `tile.schedule` and one
    `cuda.kernel`. A block of threads computes a work item: element e of a tile
    [R, C] (e = r * C + c) is register e / threads of thread e % threads; tiles
    of one column are held by every thread. Kernels of CPU levels are left to
    `weft-lower-tile-to-vector`. The programs stay.

    Works for every shape: elements that another thread needs go through shared
    memory behind the kernel's scratch views, with a barrier between a write and
    a read of the same memory. `tile.mma` is a loop over k of fused
    multiply-adds, in the order in which a CPU computes them. The order of a
    reduction depends on the number of columns and threads only.

    Stands behind the plan phase, as `weft-lower-tile-to-vector` does.

    Conditions (what else a kernel holds is a located error):

    * operations of `tile`, `arith` and `math`, `memref.load`, `scf.for`,
      `scf.if` and `scf.while`;
    * numbers that decide about control flow come from memory that no other work
      item writes, so that all threads of a block take the same path;
    * tiles have one or two dimensions; three only as the right-hand side of
      `tile.mma`, read by a `tile.load`;
    * constant tiles have one number or one column;
    * the instruction of `tile.mma` is `fma`;
    * scratch views and staged tiles fit into the shared memory of a block.

    Remarks: none.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::weft::cuda::CudaDialect"
  ];
}

def ExpandKernelMath : Pass<"weft-expand-kernel-math", "::mlir::ModuleOp"> {
  let summary = "writes functions of the math dialect as arithmetic";
  let description = [{
    Runs on the modules that `weft-lower-tile-to-vector` makes (those with
    `tile.level`), so that no call to a mathematical library is left: exp, log,
    tanh, erf, sin and cos become polynomials, others expressions of these,
    `math.rsqrt` a division by the square root. On levels without FMA,
    `math.fma` becomes a multiplication and an addition.

    In the modules of `weft-lower-tile-to-cuda` sin and cos only: CUDA has all
    functions, but these two need memory of each thread there.

    Stands after the lowering of tiles, because the polynomials are those
    of the level, and before the lowering to LLVM, which would make calls of
    what is left.

    Conditions:

    * the module has the attribute `tile.level`; others are left alone;
    * the level is known (an error otherwise).

    Remarks: none.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ChooseSchedules : Pass<"weft-choose-schedules"> {
  let summary = "decides register tiles, blocks and instructions of each kernel";
  let description = [{
    Gives every `weft.dispatch` the attribute `schedules`: one
    `#tile.cpu_schedule` per CPU level of the target, baseline first, or one
    `#tile.cuda_schedule` per GPU architecture. Nothing
    after this pass decides anything about a kernel's shape, so that a schedule
    can be edited as text, or taken from elsewhere, and replayed. Stands first
    in the phase.

    Conditions: the levels are all of a CPU or all of GPUs (an error otherwise),
    since their work items differ.

    Conditions on what it writes:

    * `row_block` and `column_block` are equal for all levels of a dispatch,
      whose kernels share one grid;
    * `row_block` is a multiple of every register tile's height and
      `column_block` of every width;
    * `mma` is `dot_bf16` only where the level has the instruction, both
      operands are bf16 and the inner size is even.

    Remarks: none; the attribute is what was decided.
  }];
  let dependentDialects = ["::weft::tile::TileDialect"];
  let options = [
    ListOption<"levels", "levels", "std::string",
               "CPU levels, baseline first, or GPU architectures">
  ];
}

def AssignLayouts : Pass<"weft-assign-layouts"> {
  let summary = "decides which results of kernels are stored in panels";
  let description = [{
    On GPUs, a value that a dispatch makes and that a linear layer multiplies by
    a weight in core matrices is stored as `#tile.panels<columns = 128>`: the matrix
    kernel copies 128 columns of its rows at a time, as consecutive bytes, and
    tensor cores read them where they lie in shared memory. The attributes
    `result_layouts` of the dispatch that makes the value and `input_layouts` of
    those that read it have the layout, and `unit` for what is row-major; a
    dispatch without the attributes has row-major values only.

    Stands after `weft-choose-schedules`, which says what is for a GPU, and
    before `weft-build-tile-programs`, which types the kernels' arguments by it.

    Conditions on the value:

    * its elements are of f16 or bf16 and its columns (the product of all
      dimensions but the first) a multiple of 128;
    * only dispatches read it, and its rows are the rows of all their programs
      and of the one that makes it, since the number of rows is part of an
      address;
    * it is not an update of an input.

    Remarks: `no-panels`, missed: why a value that a linear layer multiplies by
    a weight in core matrices stays row-major.
  }];
  let dependentDialects = ["::weft::tile::TileDialect"];
}

def VerifyChannels : Pass<"weft-verify-channels", "::mlir::ModuleOp"> {
  let summary = "runs the roles of kernels on paper and reports what would hang or be overwritten";
  let description = [{
    Follows each role of a `tile.kernel` with channels through its loops, for the
    first and the last work item, one row, one tile of rows and several, in all
    blocks of the cluster, and keeps the state of every slot. What is an error:

    * a piece that is out of order, never consumed, or waited for in vain, and
      roles or blocks that wait for each other;
    * a slot that is filled before its last piece is released: `early` copies do
      not wait, so they are for the first pieces only;
    * a part of a slot that is copied twice or not at all, early and late
      together, with more rows than it has, from outside of the view, or with
      other numbers of rows early and late;
    * copies of what earlier kernels write before `tile.wait_dependency`, and
      roles without it;
    * phases of the cluster's barrier (`tile.share`, `tile.cluster_barrier`) that
      do not count from 0, or that a role of some block misses.

    One order of the roles is enough: each of them waits at places that its own
    control flow fixes, so whether they come to their ends depends on no other
    order (Kahn 1974). Bytes, barriers and fences are derived when the kernel is
    lowered; `test/e2e/cuda` runs these in random orders.

    Stands behind `weft-pipeline-folds`. Changes nothing. Kernels in which all
    warps copy have no roles and are left out.

    Conditions (an error otherwise): loops and branches around operations on
    channels depend on sizes, work item and rank only.

    Remarks: none.
  }];
}

def BuildTilePrograms : Pass<"weft-build-tile-programs", "::mlir::ModuleOp"> {
  let summary = "writes each dispatch as a tile program and launches it";
  let description = [{
    A `weft.dispatch` becomes a `tile.launch` of a `tile.program` that holds one
    `tile.kernel` per schedule. Dispatches with equal bodies and schedules share
    a program: a model with 32 equal layers is compiled once. Architectures whose
    schedules make different grids get programs of their own, among which a launch
    chooses (`#tile.variant`). Attention becomes
    a `tile.fold` over blocks of keys with the softmax merge, in which no matrix
    of scores exists.

    Stands after `weft-choose-schedules`, whose decisions it follows. It ends the
    model level: the plan sees launches and their costs only.

    Conditions:

    * dispatches have schedules;
    * weight matrices are packed;
    * the operations of a dispatch are of a form that there is a kernel for
      (those that `weft-form-dispatches` makes are).

    Remarks: none.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::weft::tile::TileDialect"
  ];
}

#endif // WEFT_PASSES_KERNEL_PASSES_TD
