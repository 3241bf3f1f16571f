//===- TileOps.td - Kernel-level operations ----------------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_TILE_OPS_TD
#define WEFT_DIALECTS_TILE_OPS_TD

include "dialects/Tile/TileAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Tile : StaticShapeTensorOf<[F32, F16, BF16, F64, I32, I1, Index]>;
def Tile_FloatTile : StaticShapeTensorOf<[F32, F16, BF16]>;
def Tile_F32Tile : StaticShapeTensorOf<[F32]>;
def Tile_View : MemRefOf<[F32, F16, BF16, I32]>;

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Programs and kernels
//===----------------------------------------------------------------------===//

def Tile_ProgramOp : Tile_Op<"program", [Symbol, SymbolTable, IsolatedFromAbove,
    NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "one piece of work, as a kernel per target level";
  let description = [{
    `symbols` names the dynamic sizes that every kernel gets as index
    arguments; the grid is the product of the extents. Work items are
    independent: they write disjoint memory and may run in any order.
    Kernels are ordered from the baseline level up.

    ```mlir
    tile.program @copy symbols ["tokens"] grid [#tile.extent<"tokens", 1>] {
      tile.kernel @baseline level "x86-64-v2" (%x: memref<?x64xf32>, %y: memref<?x64xf32>)
          symbols (%tokens) item (%i) {
        %zero = arith.constant 0 : index
        %t = tile.load %x[%i, %zero] : memref<?x64xf32> -> tensor<1x64xf32>
        tile.store %t, %y[%i, %zero] : tensor<1x64xf32>, memref<?x64xf32>
        tile.return
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols,
                       TypedArrayAttrBase<Tile_ExtentAttr, "array of extents">:$grid,
                       OptionalAttr<StrAttr>:$description);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `symbols` $symbols `grid` $grid attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Tile_KernelOp : Tile_Op<"kernel", [Symbol, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::weft::tile::ReturnOp">,
    HasParent<"::weft::tile::ProgramOp">]> {
  let summary = "a program's kernel for one target level";
  let description = [{
    Arguments: the buffers (memrefs with static strides), one index per symbol
    of the program, and the number of the work item in the flattened grid (the
    last extent varies fastest).

    With `items (%begin, %end)` instead of `item (%i)` the body computes all
    items of the range that one call of the kernel gets, which lets it share
    work between neighbours. What an item's result is must not depend on the
    range. `constants` lists the buffers that no kernel writes: weights.
    `step_inputs` lists those that are written before a step and by none of its
    kernels: both may be read before the kernels of the step are done.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$level,
                       OptionalAttr<Tile_ScheduleInterface>:$schedule,
                       UnitAttr:$ranged,
                       OptionalAttr<DenseI64ArrayAttr>:$constants,
                       OptionalAttr<DenseI64ArrayAttr>:$step_inputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ProgramOp getProgram();
    unsigned getBufferCount();
    llvm::ArrayRef<::mlir::BlockArgument> getBuffers();
    llvm::ArrayRef<::mlir::BlockArgument> getSymbolArguments();
    /// The work item, or the first of the range.
    ::mlir::BlockArgument getItem();
    /// The end of the range; null if the body computes one item.
    ::mlir::BlockArgument getItemEnd();
    /// Bytes of all scratch views, each rounded up to 64.
    int64_t getScratchBytes();
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, ReturnLike,
                                       HasParent<"::weft::tile::KernelOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_LaunchOp : Tile_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "computes tensors by a program";
  let description = [{
    Stands in an entry point after kernels are formed. The program's buffers
    are the inputs, then the outputs that are not tied; `tied` has for each
    result the input whose buffer it updates in place, or -1. `symbols` are the
    values of the program's symbols, `sizes` the dimensions of each result,
    `flops` and `bytes` the work of the model operations, all polynomials over
    the entry point's symbols. `variants` are programs for fewer rows, the
    smallest number first, and programs for other architectures, each with its
    numbers of rows: the first that has code for the GPU and is for so many rows
    runs, else `program`.

    ```mlir
    tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 1>] {
    }
    func.func @step(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
      %y = tile.launch @norm "layers.0.norm"(%x, %w) tied [-1] symbols ["tokens"]
          sizes [["tokens", "64"]] {flops = "256*tokens", bytes = "256 + 512*tokens"}
          : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$program, StrAttr:$label,
                       Variadic<AnyRankedTensor>:$inputs,
                       DenseI64ArrayAttr:$tied, StrArrayAttr:$symbols,
                       TypedArrayAttrBase<StrArrayAttr, "array of sizes">:$sizes,
                       OptionalAttr<StrAttr>:$flops, OptionalAttr<StrAttr>:$bytes,
                       OptionalAttr<Tile_VariantsAttr>:$variants);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $program $label `(` $inputs `)` `tied` $tied `symbols` $symbols `sizes` $sizes attr-dict `:` functional-type($inputs, $outputs)
  }];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_ScratchOp : Tile_Op<"scratch", [MemoryEffects<[MemAlloc]>]> {
  let summary = "memory of the worker that runs the kernel";
  let description = [{
    Row-major, 64-byte aligned, not initialised, private to the worker, valid
    during one work item. Stands at the top level of a kernel.

    ```mlir
    tile.program @square symbols [] grid [#tile.extent<"1", 1>] {
      tile.kernel @baseline level "x86-64-v2" (%x: memref<6x64xf32>) symbols () item (%i) {
        %zero = arith.constant 0 : index
        %weights = tile.scratch : memref<6x64xf32>
        %t = tile.load %x[%zero, %zero] : memref<6x64xf32> -> tensor<6x64xf32>
        %s = arith.mulf %t, %t : tensor<6x64xf32>
        tile.store %s, %weights[%zero, %zero] : tensor<6x64xf32>, memref<6x64xf32>
        tile.return
      }
    }
    ```
  }];
  let results = (outs Tile_View:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "reads a tile";
  let description = [{
    The tile starts at the indices (one per dimension of the view) and walks
    the view's dimensions `dims`, by default its last ones. With `rows` only
    that many rows (at least 1) of the first tile dimension are inside; rows
    behind them repeat the last one, and likewise columns with `columns`. (Rows
    are zeros instead where a `#tile.flash_schedule` copies the tile ahead; what
    multiplies them is 0.) The dimensions increase, but for a view in a packed
    layout, of which a tile may be a transposed part.

    ```mlir
    %q = tile.load %query[%t, %h, %zero] rows %n dims [0, 2]
        : memref<?x8x64xf32> -> tensor<6x64xf32>
    ```
  }];
  let arguments = (ins Arg<Tile_View, "view", [MemRead]>:$view,
                       Variadic<Index>:$indices, Optional<Index>:$rows,
                       Optional<Index>:$columns,
                       OptionalAttr<DenseI64ArrayAttr>:$dims);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` (`rows` $rows^)? (`columns` $columns^)? (`dims` $dims^)? attr-dict `:` type($view)
    `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The view's dimension that each tile dimension walks.
    llvm::SmallVector<int64_t> getTileDims();
  }];
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "writes a tile";
  let description = [{
    Like `tile.load`; with `rows` only that many rows are written, and with
    `columns` only that many elements of the last tile dimension.

    ```mlir
    tile.store %t, %result[%row, %column] rows %n columns %m
        : tensor<6x64xf32>, memref<?x96xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Arg<Tile_View, "view", [MemWrite]>:$view,
                       Variadic<Index>:$indices, Optional<Index>:$rows,
                       Optional<Index>:$columns,
                       OptionalAttr<DenseI64ArrayAttr>:$dims);
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` (`rows` $rows^)? (`columns` $columns^)?
    (`dims` $dims^)? attr-dict `:` type($tile) `,` type($view)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    llvm::SmallVector<int64_t> getTileDims();
  }];
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

def Tile_FoldOp : Tile_Op<"fold", [SingleBlockImplicitTerminator<"::weft::tile::YieldOp">,
    RecursiveMemoryEffects, AllTypesMatch<["init", "results"]>]> {
  let summary = "a loop whose state has an associative merge";
  let description = [{
    Runs the body for %i = lower, lower + step, ... < upper, like `scf.for`
    with the state as iteration arguments. `merge` says how the states of two
    halves of the range are merged, so that the range may be cut anywhere:

    * `add`, `max`: elementwise;
    * `add_max`: of the first half of the state's values the sum, of the second
      half the maximum, elementwise;
    * `argmax`: the state is (value, number): elementwise the larger value with
      its number, the lower number among equals;
    * `softmax`: the state is (m, l, o...): running maximum, sum of exponentials
      and weighted sums; with m = max(m1, m2), l = l1 exp(m1 - m) + l2 exp(m2 - m)
      and likewise o (Milakov and Gimelshein, 2018; FlashAttention, 2022).

    ```mlir
    %sum = tile.fold %k = %zero to %size step %c8 merge add init (%s = %init : tensor<6x64xf32>) {
      %a = tile.load %x[%i, %k] : memref<?x512xf32> -> tensor<6x8xf32>
      %b = tile.load %w[%p, %k, %zero, %zero] : memref<4x512x64x1xf32> -> tensor<8x64x1xf32>
      %n = tile.mma fma %a, %b, %s : tensor<6x8xf32>, tensor<8x64x1xf32>, tensor<6x64xf32>
      tile.yield %n : tensor<6x64xf32>
    }
    ```
  }];
  let arguments = (ins Index:$lower, Index:$upper, Index:$step,
                       Tile_MergeAttr:$merge, Variadic<Tile_Tile>:$init);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lower, "::mlir::Value":$upper,
                   "::mlir::Value":$step, "Merge":$merge, "::mlir::ValueRange":$init,
                   "llvm::function_ref<llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::Location, ::mlir::Value, ::mlir::ValueRange)>":$body)>
  ];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::BlockArgument getIndex() { return getBlock().getArgument(0); }
    ::mlir::Block::BlockArgListType getState() {
      return getBlock().getArguments().drop_front();
    }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike,
                                     ParentOneOf<["::weft::tile::FoldOp",
                                                  "::weft::tile::ConsumeOp"]>]> {
  let summary = "ends a fold's iteration with its next state";
  let arguments = (ins Variadic<Tile_Tile>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* Yields nothing. */ }]>];
}

def Tile_MmaOp : Tile_Op<"mma", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "multiplies two tiles and accumulates";
  let description = [{
    `accumulator[m, n] + sum_k lhs[m, k] * rhs[k, n]` in f32, k ascending, each
    step rounded (the order is part of the meaning, so that results do not
    depend on the number of rows of a tile). The right-hand side is `[K, N]`,
    or `[ceil(K / g), N, g]` as in a packed panel. With `dot_bf16` both sides
    are bf16, g is 2 and every step adds two products.

    On a CPU the left-hand side is read element by element from memory, so it
    must come from a `tile.load` whose value is used by multiplications only.

    ```mlir
    %a = tile.load %x[%i, %k] : memref<?x512xbf16> -> tensor<6x8xbf16>
    %b = tile.load %w[%p, %j, %zero, %zero] : memref<4x256x64x2xbf16> -> tensor<4x64x2xbf16>
    %next = tile.mma dot_bf16 %a, %b, %sum
        : tensor<6x8xbf16>, tensor<4x64x2xbf16>, tensor<6x64xf32>
    ```
  }];
  let arguments = (ins Tile_MmaInstructionAttr:$instruction,
                       Tile_FloatTile:$lhs, Tile_FloatTile:$rhs, Tile_F32Tile:$accumulator);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = [{
    `` $instruction $lhs `,` $rhs `,` $accumulator attr-dict `:` type($lhs) `,` type($rhs) `,`
    type($accumulator)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "reduces the columns of a tile";
  let description = [{
    `[R, C]` to `[R, 1]`, in an order that is fixed for a given shape and level.

    ```mlir
    %largest = tile.reduce max %scores : tensor<6x64xf32> -> tensor<6x1xf32>
    ```
  }];
  let arguments = (ins Tile_ReductionAttr:$kind, Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ExtractOp : Tile_Op<"extract", [Pure]> {
  let summary = "the number in a tile of one element";
  let description = [{
    For control flow and addresses that depend on what was computed.

    ```mlir
    %largest = tile.reduce max %scores : tensor<1x64xf32> -> tensor<1x1xf32>
    %number = tile.extract %largest : tensor<1x1xf32> -> f32
    ```
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs AnyTypeOf<[F32, F64, I32, I1, Index]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a row, a column or a single element";
  let description = [{
    Every dimension of the input is that of the result, or 1 and repeated.

    ```mlir
    %all = tile.broadcast %largest : tensor<6x1xf32> -> tensor<6x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile of one number";
  let description = [{
    Every element is the number.

    ```mlir
    %positions = tile.splat %position : i32 -> tensor<6x64xi32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, F16, BF16, F64, I32, I1, Index]>:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "a tile of coordinates";
  let description = [{
    `result[r, c] = base + (dim == 0 ? r : c)`.

    ```mlir
    %keys = tile.iota %first dim 1 : tensor<6x64xi32>
    ```
  }];
  let arguments = (ins I32:$base, I64Attr:$dim);
  let results = (outs StaticShapeTensorOf<[I32]>:$result);
  let assemblyFormat = "$base `dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "some columns of a tile";
  let description = [{
    Columns offset, offset + stride, ... of a tile `[R, C]`, as many as the
    result has.

    ```mlir
    %odd = tile.slice %x at 1 {stride = 2 : i64} : tensor<1x64xf32> -> tensor<1x32xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$input, I64Attr:$offset,
                       DefaultValuedAttr<I64Attr, "1">:$stride);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `at` $offset attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure]> {
  let summary = "columns of two tiles side by side";
  let description = [{
    `[lhs, rhs]`, or, when `interleaved`, lhs[0], rhs[0], lhs[1], rhs[1], ...

    ```mlir
    %x = tile.join %even, %odd {interleaved} : tensor<1x32xf32>, tensor<1x32xf32> -> tensor<1x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, UnitAttr:$interleaved);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

include "dialects/Tile/TileAttentionOps.td"
include "dialects/Tile/TilePipelineOps.td"

#endif // WEFT_DIALECTS_TILE_OPS_TD
