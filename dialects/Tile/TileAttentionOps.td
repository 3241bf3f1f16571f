//===- TileAttentionOps.td - Rows of heads, states of softmax *- tablegen -*-=//

#ifndef WEFT_DIALECTS_TILE_ATTENTIONOPS_TD
#define WEFT_DIALECTS_TILE_ATTENTIONOPS_TD

include "dialects/Tile/TileAttrs.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A tile whose rows are the query heads that share a key head, of one token or
// several: row r is head r % `heads` of token r / `heads`. Heads lie side by
// side in a row of the view, `head_size` columns each.

def Tile_LoadHeadsOp : Tile_Op<"load_heads", [MemoryEffects<[MemRead]>]> {
  let summary = "reads heads of some tokens as the rows of a tile";
  let description = [{
    Row r of the tile starts at row `row` + r / `heads` and column `column` +
    r % `heads` * `head_size` of the view. `rows` tokens (at least 1) are inside;
    tile rows behind them repeat the last one.

    ```mlir
    %q = tile.load_heads %query[%token, %column] rows %n heads 4 size 128
        : memref<?x4096xbf16> -> tensor<16x128xbf16, #tile.warp_tile<1>>
    ```
  }];
  let arguments = (ins Arg<Tile_View, "view", [MemRead]>:$view, Index:$row, Index:$column,
                       Index:$rows, I64Attr:$heads, I64Attr:$head_size);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $view `[` $row `,` $column `]` `rows` $rows `heads` $heads `size` $head_size attr-dict `:`
    type($view) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreHeadsOp : Tile_Op<"store_heads", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes the rows of a tile as heads of some tokens";
  let description = [{
    Like `tile.load_heads`; only rows of the first `rows` tokens are written. The
    tile may have a part of a head's columns.

    ```mlir
    tile.store_heads %o, %result[%token, %column] rows %n heads 4 size 128
        : tensor<16x16xbf16>, memref<?x4096xbf16>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Arg<Tile_View, "view", [MemWrite]>:$view,
                       Index:$row, Index:$column, Index:$rows,
                       I64Attr:$heads, I64Attr:$head_size);
  let assemblyFormat = [{
    $tile `,` $view `[` $row `,` $column `]` `rows` $rows `heads` $heads `size` $head_size attr-dict
    `:` type($tile) `,` type($view)
  }];
  let hasVerifier = 1;
}

def Tile_ShareSoftmaxOp : Tile_Op<"share_softmax", [MemoryEffects<[MemRead, MemWrite]>,
    AllTypesMatch<["maximum", "sum"]>]> {
  let summary = "a block's columns of the mean that a softmax state gives";
  let description = [{
    `result / sum` of the state that a `tile.fold` with merge `softmax` gives, of
    all warps and blocks that have parts of it; 0 in rows that have no part.
    Block r of a cluster of n goes on with columns [r * C / n, (r + 1) * C / n).
    The result has the first rows of the state.

    ```mlir
    %s:3 = tile.fold %n = %zero to %blocks step %one merge softmax init (%m = %m0 : tensor<16x1xf32, #tile.warp_tile<1>>,
        %l = %l0 : tensor<16x1xf32, #tile.warp_tile<1>>, %v = %v0 : tensor<16x128xf32, #tile.warp_tile<1>>) {
      tile.yield %m, %l, %v : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x128xf32, #tile.warp_tile<1>>
    }
    %o = tile.share_softmax %s#0, %s#1, %s#2
        : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x128xf32, #tile.warp_tile<1>> -> tensor<16x16xf32>
    ```
  }];
  let arguments = (ins Tile_F32Tile:$maximum, Tile_F32Tile:$sum, Tile_F32Tile:$values);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = [{
    $maximum `,` $sum `,` $values attr-dict `:` type($maximum) `,` type($values) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_RotateOp : Tile_Op<"rotate", [MemoryEffects<[MemRead]>,
                                       AllTypesMatch<["tile", "result"]>,
                                       AllTypesMatch<["cosine", "sine"]>]> {
  let summary = "rotates pairs of columns by the angles of their rows";
  let description = [{
    The tile stands at row `row` and column `column` of a matrix whose first
    `columns` columns are heads of `head_size` each. Columns 2i and 2i + 1 of a
    head are rotated by angle i of their row; behind the last angle, and behind
    the heads, columns stay. `cosine` and `sine` have a row for each of the
    matrix. `rows` rows (at least 1) are inside; those behind get the last one's
    angles.

    ```mlir
    %y = tile.rotate %x by %cos, %sin[%row, %column] rows %n size 128 columns 5120
        : tensor<8x16xf32>, memref<?x64xf32>
    ```
  }];
  let arguments = (ins Tile_F32Tile:$tile, Arg<Tile_View, "cosines", [MemRead]>:$cosine,
                       Arg<Tile_View, "sines", [MemRead]>:$sine, Index:$row, Index:$column,
                       Index:$rows, I64Attr:$head_size, I64Attr:$columns);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = [{
    $tile `by` $cosine `,` $sine `[` $row `,` $column `]` `rows` $rows `size` $head_size
    `columns` $columns attr-dict `:` type($tile) `,` type($cosine)
  }];
  let hasVerifier = 1;
}

def Tile_AppendHeadsOp : Tile_Op<"append_heads", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes columns of some tokens as heads into a cache";
  let description = [{
    The tile stands at row `row` and column `column` of a matrix in which the
    heads of the cache begin at column `first`. Of its first `rows` rows and
    `columns` columns, what is in these heads is written: row t to position `slots[t]` % B of block
    `slots[t]` / B. A cache is `[blocks, heads, B, size]`, or, with `keys`,
    `[blocks, heads, size, B]`.

    ```mlir
    tile.append_heads %k, %cache at %slots[%row, %column] rows %n columns %m first 4096 {keys}
        : tensor<8x16xbf16>, memref<?x8x128x64xbf16>, memref<?xi32>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Arg<Tile_View, "cache", [MemWrite]>:$cache,
                       Arg<Tile_View, "slots", [MemRead]>:$slots, Index:$row, Index:$column,
                       Index:$rows, Index:$columns, I64Attr:$first, UnitAttr:$keys);
  let assemblyFormat = [{
    $tile `,` $cache `at` $slots `[` $row `,` $column `]` `rows` $rows `columns` $columns
    `first` $first attr-dict `:`
    type($tile) `,` type($cache) `,` type($slots)
  }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_TILE_ATTENTIONOPS_TD
