//===- TileAttrs.td - Attributes of the kernel-level dialect -*- tablegen -*-=//

#ifndef WEFT_DIALECTS_TILE_ATTRS_TD
#define WEFT_DIALECTS_TILE_ATTRS_TD

include "dialects/Tile/TileDialect.td"
include "dialects/Tile/TileInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"

class Tile_Enum<string name, string description, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, description, cases> {
  let cppNamespace = "::weft::tile";
  let genSpecializedAttr = 0;
}

def Tile_Merge : Tile_Enum<"Merge", "how two states of a fold are merged", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Softmax", 2, "softmax">,
  I32EnumAttrCase<"AddMax", 3, "add_max">,
  I32EnumAttrCase<"ArgMax", 4, "argmax">
]>;
def Tile_MergeAttr : EnumAttr<Tile_Dialect, Tile_Merge, "merge">;

def Tile_Reduction : Tile_Enum<"Reduction", "reduction over one dimension of a tile", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Max", 1, "max">
]>;
def Tile_ReductionAttr : EnumAttr<Tile_Dialect, Tile_Reduction, "reduction">;

def Tile_MmaInstruction : Tile_Enum<"MmaInstruction", "instruction of a tile multiplication", [
  I32EnumAttrCase<"Fma", 0, "fma">,
  I32EnumAttrCase<"DotBf16", 1, "dot_bf16">,
  I32EnumAttrCase<"Tensor", 2, "tensor">
]>;
def Tile_MmaInstructionAttr : EnumAttr<Tile_Dialect, Tile_MmaInstruction, "mma_instruction">;

def Tile_AccumulatorAttr : AttrDef<Tile_Dialect, "Accumulator"> {
  let mnemonic = "accumulator";
  let summary = "encoding of a tile that tensor cores accumulate";
  let description = [{
    The warps of a pipelined kernel hold the tile as the results of mma.sync,
    and warps that divide a step hold parts of a sum. Only multiplications and
    `tile.share` take it.
  }];
}

def Tile_CpuScheduleAttr : AttrDef<Tile_Dialect, "CpuSchedule",
                                   [Tile_ScheduleInterface]> {
  let mnemonic = "cpu_schedule";
  let summary = "how a dispatch becomes a kernel of one CPU level";
  let description = [{
    `level` names the instruction set ("x86-64-v2", "x86-64-v3", "x86-64-v4",
    "x86-64-v4-bf16"). A register tile has `rows` x `columns` elements and
    takes `unroll` steps of the innermost fold at a time; the rows that do not
    fill a tile (in decoding, the only one) are computed one by one,
    `row_columns` wide with `row_unroll` steps. If there is one row in all, up
    to `row_panels` panels of the packed weight are computed in one fold, over
    the work items of a call: a core reads memory faster from several places at
    a time than from one. A work item covers `row_block` rows and `column_block`
    columns; `mma` is the instruction. `row_block` and `column_block` are the
    same for all levels of a dispatch, since they share one grid.
  }];
  let parameters = (ins
    StringRefParameter<"CPU level">:$level,
    "int64_t":$rows, "int64_t":$columns,
    "int64_t":$unroll,
    "int64_t":$row_columns, "int64_t":$row_panels, "int64_t":$row_unroll,
    "int64_t":$row_block, "int64_t":$column_block,
    EnumParameter<Tile_MmaInstruction>:$mma);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    bool hasSeveralItems() const { return true; }
    int64_t getCluster() const { return 1; }
  }];
}

def Tile_CudaScheduleAttr : AttrDef<Tile_Dialect, "CudaSchedule",
                                    [Tile_ScheduleInterface]> {
  let mnemonic = "cuda_schedule";
  let summary = "how a dispatch becomes a kernel of one GPU architecture";
  let description = [{
    `level` names the architecture ("sm_90a"). A work item is a block of
    `threads` threads that share the elements of a tile, or a cluster of
    `cluster` such blocks that divide the folds of the item; what else the
    parameters say is as in `#tile.cpu_schedule`.
  }];
  let parameters = (ins
    StringRefParameter<"GPU architecture">:$level,
    "int64_t":$threads,
    "int64_t":$rows, "int64_t":$columns,
    "int64_t":$unroll,
    "int64_t":$row_columns, "int64_t":$row_unroll,
    "int64_t":$row_block, "int64_t":$column_block,
    DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRowPanels() const { return 1; }
    bool hasSeveralItems() const { return false; }
    MmaInstruction getMma() const { return MmaInstruction::Fma; }
  }];
}

def Tile_StreamScheduleAttr : AttrDef<Tile_Dialect, "StreamSchedule",
                                      [Tile_ScheduleInterface]> {
  let mnemonic = "stream_schedule";
  let summary = "a matrix kernel on tensor cores that streams its weights";
  let description = [{
    For few rows, where the time is that of reading the weights. A work item is a
    tile of `rows` rows by one of `ranges` equal ranges of columns, computed by a
    cluster of `cluster` blocks that share the inner dimension. Pieces of the
    weight (`columns` columns, together for all matrices of the kernel, by `step`
    values of k) and of the input are copied into `slots` slots. `column_warps` x
    `step_warps` warps multiply, each its columns and its part of a step.

    With `resident_rows`, 1, a block reads the only row of the input once, for all
    values of k, and keeps it; pieces are of the weight alone.

    Of `load_warps` 1 that warp copies by `cp.async.bulk`, and starts with weights
    before the kernels ahead have ended. With 0, for architectures without bulk
    copies, the warps that multiply copy too, 16 bytes at a time (`cp.async`);
    then there are no clusters.

    With `warpgroups`, four column warps at a time multiply all rows of the tile,
    16 each, by their columns, which the tensor cores read in shared memory
    (`wgmma`).

    Of several schedules of a dispatch that differ in `most_rows` a launch takes
    the first that has as many rows as it needs; 0 is any number, in tiles of
    `rows`. They stand in ascending order, 0 last.
  }];
  let parameters = (ins
    StringRefParameter<"GPU architecture">:$level,
    "int64_t":$most_rows,
    "int64_t":$rows, "int64_t":$columns, "int64_t":$step,
    "int64_t":$slots, "int64_t":$ranges, "int64_t":$cluster,
    "int64_t":$column_warps, "int64_t":$step_warps,
    DefaultValuedParameter<"int64_t", "0">:$resident_rows,
    DefaultValuedParameter<"int64_t", "1">:$load_warps,
    DefaultValuedParameter<"bool", "false">:$warpgroups);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Warps of the role `math`; those of `load` are `load_warps`.
    int64_t getMathWarps() const { return getColumnWarps() * getStepWarps(); }

    bool hasSeveralItems() const { return false; }
    int64_t getUnroll() const { return getStep(); }
    int64_t getRowColumns() const { return getColumns(); }
    int64_t getRowPanels() const { return 1; }
    int64_t getRowUnroll() const { return getStep(); }
    int64_t getRowBlock() const { return getRows(); }
    int64_t getColumnBlock() const { return getColumns(); }
    MmaInstruction getMma() const { return MmaInstruction::Tensor; }
  }];
}

def Tile_FlashScheduleAttr : AttrDef<Tile_Dialect, "FlashSchedule",
                                     [Tile_ScheduleInterface]> {
  let mnemonic = "flash_schedule";
  let summary = "attention on tensor cores";
  let description = [{
    A work item is up to `rows` (token, query head) pairs of one sequence and key
    head, which are at least the query heads of a key head. `row_warps` times
    `key_warps` warps divide it: the rows, 16 each, and each block of `keys` keys,
    of which `stages` are under way or in use.
    The blocks of keys are dealt out to `splits` states of each warp, block b to
    state b % `splits`. A warp's states are merged in ascending order, then the
    warps: what a row gives depends on its own keys only. A cluster of `cluster`
    blocks, which divides `splits`, computes a work item, block c the states c,
    c + `cluster`, ... .

    With `early` blocks look up where their keys and values lie, and begin to copy
    those of earlier steps, before the kernels ahead of this one are done.

    `most_rows` is as in `#tile.stream_schedule`.
  }];
  let parameters = (ins
    StringRefParameter<"GPU architecture">:$level,
    "int64_t":$most_rows,
    "int64_t":$rows, "int64_t":$keys, "int64_t":$key_warps,
    "int64_t":$stages, "int64_t":$splits, "int64_t":$cluster,
    DefaultValuedParameter<"int64_t", "1">:$row_warps,
    DefaultValuedParameter<"bool", "false">:$early);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasSeveralItems() const { return false; }
    int64_t getColumns() const { return getKeys(); }
    int64_t getUnroll() const { return getKeys(); }
    int64_t getRowColumns() const { return getKeys(); }
    int64_t getRowPanels() const { return 1; }
    int64_t getRowUnroll() const { return getKeys(); }
    int64_t getRowBlock() const { return 1; }
    int64_t getColumnBlock() const { return 1; }
    MmaInstruction getMma() const { return MmaInstruction::Tensor; }
  }];
}

def Tile_WarpTileAttr : AttrDef<Tile_Dialect, "WarpTile"> {
  let mnemonic = "warp_tile";
  let summary = "encoding of a tile that warps hold";
  let description = [{
    Each warp holds the tile as mma.sync gives and takes it. `#tile.warp_tile<4>`
    is a tile whose columns four warps divide. Of `#tile.warp_tile<1>` every warp
    has all columns: its own copy, or, of the state of a fold whose steps the
    warps divide, what its part gives. With `#tile.warp_tile<1, rows = 4>` the
    warps, or groups of them, have 16 rows each of a tile of 64. Otherwise it has
    8 or 16 rows.
  }];
  let parameters = (ins "int64_t":$column_warps,
                        DefaultValuedParameter<"int64_t", "1">:$row_warps);
  let assemblyFormat = "`<` $column_warps (`,` `rows` `=` $row_warps^)? `>`";
  let genVerifyDecl = 1;
}

def Tile_VariantAttr : AttrDef<Tile_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "another program of a launch, for few rows or some GPUs";
  let description = [{
    `#tile.variant<@linear_rows8, 8>`: the launch runs this program instead when
    it has code for the GPU and the launch's first symbol is at most 8; 0 stands
    for any number. It takes the same buffers and symbols.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$program, "int64_t":$rows);
  let assemblyFormat = "`<` $program `,` $rows `>`";
}
def Tile_VariantsAttr : TypedArrayAttrBase<Tile_VariantAttr, "array of variants">;

def Tile_ExtentAttr : AttrDef<Tile_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "a grid dimension: a size divided into blocks, rounded up";
  let description = [{
    `#tile.extent<"tokens", 48>` is ceil(tokens / 48). The size is a
    polynomial over the program's symbols.
  }];
  let parameters = (ins StringRefParameter<"polynomial">:$size, "int64_t":$block);
  let assemblyFormat = "`<` $size `,` $block `>`";
  let genVerifyDecl = 1;
}

class Tile_MemoryLayoutAttr<string name, string attrMnemonic>
    : AttrDef<Tile_Dialect, name, [
        DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface,
            ["verifyLayout", "getStridesAndOffset"]>,
        DeclareAttrInterfaceMethods<Tile_MemoryLayoutInterface>]> {
  let mnemonic = attrMnemonic;
}

def Tile_CoreMatricesAttr : Tile_MemoryLayoutAttr<"CoreMatrices", "core_matrices"> {
  let summary = "a view of a weight that is stored in core matrices";
  let description = [{
    `memref<NxKxbf16, #tile.core_matrices>` is a matrix that lies in memory as
    `#weft.core_matrices` says: `[N / 16, K / 128, 32, 8, 8]`.
  }];
}

def Tile_PanelsAttr : Tile_MemoryLayoutAttr<"Panels", "panels"> {
  let summary = "a view of rows that are stored in panels of columns";
  let description = [{
    `memref<?xKxbf16, #tile.panels<columns = 128>>` lies in memory as
    `[K / 128, rows / 8, 16, 8, 8]`: for 128 columns after the other, groups of 8
    rows, each as 8x8 matrices of 8 columns, row by row. So one copy of
    consecutive bytes fetches 128 columns of consecutive groups, and tensor cores
    read the matrices, of 128 bytes, where they lie in shared memory ("core
    matrices" of `wgmma` without swizzle) and without conflicts of banks. What the
    last group has beyond the last row is not initialised, and no result depends
    on it.

    The number of rows, if dynamic, is the first symbol of the program; there is
    memory for 7 more.
  }];
  let parameters = (ins "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Rows and columns of a matrix, and the rows that there is memory for
    /// beyond a dynamic number of them.
    static constexpr int64_t groupRows = 8, groupColumns = 8;
    static constexpr int64_t spareRows = groupRows - 1;

    /// Shape in memory, `[panels, rows, columns]`, of an activation `[rows, ...]`
    /// whose trailing dimensions are the columns; a dynamic number of rows
    /// includes the spare ones.
    llvm::SmallVector<int64_t> getPhysicalShape(llvm::ArrayRef<int64_t> shape) const;
  }];
}

#endif // WEFT_DIALECTS_TILE_ATTRS_TD
