//===- TilePipelineOps.td - Channels and roles of kernels --*- tablegen -*-===//

#ifndef WEFT_DIALECTS_TILE_PIPELINEOPS_TD
#define WEFT_DIALECTS_TILE_PIPELINEOPS_TD

include "dialects/Tile/TileAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// How the warps of a GPU kernel share its work. weft-pipeline-folds writes a
// kernel whose schedule asks for it with these operations; the program above
// stays what it computes.

def Tile_ChannelType : TypeDef<Tile_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "a ring of slots between two roles";
  let description = [{
    Each slot holds one piece of shared memory per part:
    `!tile.channel<memref<128x128xbf16, #tile.core_matrices>, memref<8x128xbf16>>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::MemRefType">:$parts);
  let assemblyFormat = "`<` $parts `>`";
}

def Tile_ChannelOp : Tile_Op<"channel", [MemoryEffects<[MemAlloc]>]> {
  let summary = "the only synchronisation between roles";
  let description = [{
    Piece n of a stream lies in slot n % `slots`. One role produces the pieces in
    ascending order, another consumes them in the same order: a slot is written
    again when all warps that consume its piece have released it, and read when
    all its bytes have arrived. What barriers this takes is derived.

    ```mlir
    %ring = tile.channel slots 6 : !tile.channel<memref<128x128xbf16>, memref<8x128xbf16>>
    ```
  }];
  let arguments = (ins I64Attr:$slots);
  let results = (outs Tile_ChannelType:$result);
  let assemblyFormat = "`slots` $slots attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_RoleOp : Tile_Op<"role", [SingleBlock, NoTerminator,
                                   HasParent<"::weft::tile::KernelOp">]> {
  let summary = "what some warps of the block do, beside the other roles";
  let description = [{
    Roles run at the same time, on warps in the order of the operations. A role
    ends the kernel for its warps.

    ```mlir
    tile.program @roles symbols [] grid [#tile.extent<"1", 1>] {
      tile.kernel @k level "sm_90a" () symbols () item (%i) {
        %rank = tile.cluster_rank
        tile.role "math" warps 8 {
          tile.wait_dependency
        }
        tile.role "load" warps 1 {
          tile.wait_dependency
        }
        tile.return
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `warps` $warps attr-dict-with-keyword $body";
}

def Tile_ProducePart : Tile_Enum<"ProducePart", "which copies of a piece are made", [
  I32EnumAttrCase<"All", 0, "all">,
  I32EnumAttrCase<"Early", 1, "early">,
  I32EnumAttrCase<"Late", 2, "late">
]>;
def Tile_ProducePartAttr : EnumAttr<Tile_Dialect, Tile_ProducePart, "produce_part">;

def Tile_ProduceOp : Tile_Op<"produce", [SingleBlock, NoTerminator]> {
  let summary = "fills the slot of a piece";
  let description = [{
    The body's `tile.copy` operations fill the parts of the slot, which are its
    arguments. `all` waits until the slot is free. The first pieces, whose slots
    are free, may be filled in two steps: `early` makes the copies of constants
    only, which may start while earlier kernels still run, and `late` the others.

    ```mlir
    tile.produce all %ring[%n] (%w : memref<128x128xbf16>, %x : memref<8x128xbf16>) {
      tile.copy %weight[%column, %k] to %w rows %columns : memref<4096x4096xbf16>, memref<128x128xbf16>
    }
    ```
  }];
  let arguments = (ins Tile_ProducePartAttr:$part, Tile_ChannelType:$channel, Index:$piece);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_CopyOp : Tile_Op<"copy", [HasParent<"::weft::tile::ProduceOp">,
                                   MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying rows of a view into a part of a slot";
  let description = [{
    The target's columns of `rows` rows (at least 1) from the indices on. Both
    views have the same layout, in which the rows are made of consecutive pieces.
    `constant` says that no kernel writes the view.
  }];
  let arguments = (ins Arg<Tile_View, "", [MemRead]>:$view, Variadic<Index>:$indices,
                       Arg<Tile_View, "", [MemWrite]>:$target, Index:$rows,
                       UnitAttr:$constant);
  let assemblyFormat = [{
    (`constant` $constant^)? $view `[` $indices `]` `to` $target `rows` $rows attr-dict `:` type($view) `,` type($target)
  }];
}

def Tile_ConsumeOp : Tile_Op<"consume", [SingleBlock, RecursiveMemoryEffects,
    AllTypesMatch<["init", "results"]>]> {
  let summary = "waits for a piece, computes with it and releases its slot";
  let description = [{
    The body's arguments are the parts of the slot, then the state.

    ```mlir
    %next = tile.consume %ring[%n] (%w : memref<128x128xbf16>, %x : memref<8x128xbf16>)
        init (%s = %sum : tensor<8x128xf32>) {
      tile.yield %s : tensor<8x128xf32>
    }
    ```
  }];
  let arguments = (ins Tile_ChannelType:$channel, Index:$piece, Variadic<Tile_Tile>:$init);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::Block::BlockArgListType getParts();
    ::mlir::Block::BlockArgListType getState();
  }];
}

def Tile_WaitDependencyOp : Tile_Op<"wait_dependency", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all earlier kernels have ended";
  let description = [{
    In a kernel that has none it is implied at the start. What comes before it
    reads constants and inputs of the step only (see `tile.kernel`).

    In a kernel with a `#tile.flash_schedule`, `settled` says that the steps of
    the softmax fold behind it whose number is lower read nothing that kernels of
    this step write: the fold may begin to copy their tiles before the wait.

    ```mlir
    tile.wait_dependency settled %blocks
    ```
  }];
  let arguments = (ins Optional<Index>:$settled);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "(`settled` $settled^)? attr-dict";
}

def Tile_ClusterRankOp : Tile_Op<"cluster_rank", [Pure]> {
  let summary = "which of the blocks that compute a work item together this one is";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_AllGatherOp : Tile_Op<"all_gather", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what each block of a work item has written, in all of them";
  let description = [{
    Of n elements of a view of scratch memory in row-major order, block r of c has
    written [r * n / c, (r + 1) * n / c); afterwards every block has all of them.
    With one block nothing happens. All blocks come to it equally often.

    ```mlir
    tile.program @gather symbols [] grid [#tile.extent<"1", 1>] {
      tile.kernel @k level "sm_90a" () symbols () item (%i) {
        %sums = tile.scratch : memref<1x16xf32>
        %ids = tile.scratch : memref<1x8xi32>
        tile.all_gather %sums, %ids : memref<1x16xf32>, memref<1x8xi32>
        tile.return
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_View>:$views);
  let assemblyFormat = "$views attr-dict `:` type($views)";
  let hasVerifier = 1;
}

def Tile_ClusterBarrierOp : Tile_Op<"cluster_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for a phase of the cluster's barrier, arrives for the next";
  let description = [{
    The blocks of a cluster have one barrier. Its phases count from 0; one is
    complete when every role of every block has arrived. A role arrives for
    phase 0 when it begins, and ends when the phase that it arrived for last is
    complete, so all roles of all blocks pass the same phases, in their order.

    `tile.share` of round r passes phases 2r (all blocks are through with the
    sums of the round before) and 2r + 1 (the sums of this one can be read). A
    role that does not share takes part with this operation, which orders no
    memory for it. With one block it is nothing.

    ```mlir
    tile.cluster_barrier phase %n
    ```
  }];
  let arguments = (ins Index:$phase);
  let assemblyFormat = "`phase` $phase attr-dict";
}

def Tile_ShareOp : Tile_Op<"share", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a block's columns of sums over all blocks of a work item";
  let description = [{
    The blocks of a cluster have cut a fold with merge `add` into parts; block r
    of n goes on with columns [r * C / n, (r + 1) * C / n) of each sum. A sum of
    one column, one number per row, is repeated in all columns of its result.
    `round` counts the shares of a kernel from 0; the blocks meet at the phases
    2 `round` and 2 `round` + 1 of their barrier (`tile.cluster_barrier`). With
    one block it is the tile itself.

    ```mlir
    %part = tile.share %sum round %r : tensor<8x128xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_F32Tile>:$inputs, Index:$round);
  let results = (outs Variadic<Tile_F32Tile>:$outputs);
  let assemblyFormat = "$inputs `round` $round attr-dict `:` type($inputs) `->` type($outputs)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_TILE_PIPELINEOPS_TD
