//===- WeftAttrs.td - Attributes of the model-level dialect -*- tablegen -*-==//

#ifndef WEFT_DIALECTS_WEFT_ATTRS_TD
#define WEFT_DIALECTS_WEFT_ATTRS_TD

include "dialects/Weft/WeftDialect.td"
include "dialects/Weft/WeftInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Weft_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Weft_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Weft_Activation : I32EnumAttr<"Activation", "pointwise activation function", [
  I32EnumAttrCase<"Silu", 0, "silu">,
  I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
  I32EnumAttrCase<"Relu", 3, "relu">,
  I32EnumAttrCase<"QuickGelu", 4, "quick_gelu">,
  I32EnumAttrCase<"Tanh", 5, "tanh">
]> {
  let cppNamespace = "::weft";
  let genSpecializedAttr = 0;
}
def Weft_ActivationAttr : EnumAttr<Weft_Dialect, Weft_Activation, "activation">;

def Weft_CacheKind : I32EnumAttr<"CacheKind", "which half of a key/value cache", [
  I32EnumAttrCase<"Key", 0, "key">,
  I32EnumAttrCase<"Value", 1, "value">
]> {
  let cppNamespace = "::weft";
  let genSpecializedAttr = 0;
}
def Weft_CacheKindAttr : EnumAttr<Weft_Dialect, Weft_CacheKind, "cache">;

def Weft_SourceAttr : Weft_Attr<"Source", "source"> {
  let summary = "rows of one checkpoint tensor";
  let description = [{
    `count` blocks of `block` consecutive rows (elements of the leading
    dimension), the first at row `start`, then every `stride` rows. A whole
    tensor has `count = 0`. With `transposed` the checkpoint's tensor is
    `[in, out]` and is read as `[out, in]`; rows then count its columns.

    Example: the query rows of a fused GPT-NeoX projection with 4 heads of
    size 16 are `#weft.source<"qkv.weight", start = 0, block = 16, stride = 48, count = 4>`.

    With `pairs`, the first 2 * `pairs` rows of a block come in the order 0,
    `pairs`, 1, `pairs` + 1, ...: the two halves of a head that rotary embedding
    pairs (see `weft-interleave-rope`).
  }];
  let parameters = (ins
    StringRefParameter<"tensor name in the checkpoint">:$name,
    DefaultValuedParameter<"int64_t", "0">:$start,
    DefaultValuedParameter<"int64_t", "0">:$block,
    DefaultValuedParameter<"int64_t", "0">:$stride,
    DefaultValuedParameter<"int64_t", "0">:$count,
    DefaultValuedParameter<"bool", "false">:$transposed,
    DefaultValuedParameter<"int64_t", "0">:$pairs);
  let builders = [
    AttrBuilder<(ins "llvm::StringRef":$name, CArg<"bool", "false">:$transposed), [{
      return $_get($_ctxt, name, 0, 0, 0, 0, transposed, 0);
    }]>
  ];
  let assemblyFormat = [{
    `<` $name (`,` struct($start, $block, $stride, $count, $transposed, $pairs)^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Weft_PanelLayoutAttr : Weft_Attr<"PanelLayout", "panels", [
    DeclareAttrInterfaceMethods<Weft_PackedLayoutInterface>]> {
  let summary = "a matrix stored as column panels for a matrix multiplication";
  let description = [{
    A weight `[N, K]` (out, in) stored as `[ceil(N / columns), ceil(K / group),
    columns, group]`: panels of `columns` outputs; inside a panel `group`
    consecutive elements of K are adjacent, as dot-product instructions want
    them (`group = 2` for bf16 pairs, 1 for a plain outer product). Missing
    columns and a missing tail of K are zero. A stack of matrices `[E, N, K]`
    is stored as E such matrices.
  }];
  let parameters = (ins "int64_t":$columns, "int64_t":$group);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Weft_FragmentLayoutAttr : Weft_Attr<"FragmentLayout", "fragments", [
    DeclareAttrInterfaceMethods<Weft_PackedLayoutInterface, ["verifyMatrix"]>]> {
  let summary = "a matrix stored as operands of a tensor core's instruction";
  let description = [{
    A weight `[N, K]` (out, in) of 16-bit elements, N and K multiples of 16,
    stored as `[N / 16, K / 16, 32, 8]`: blocks of 16 x 16 elements, and of a
    block for each of the 32 lanes of a warp the eight elements that it passes
    as left-hand operand to `mma.m16n8k16` (PTX ISA, "Matrix Fragments for
    mma.m16n8k16 with floating point type"). With g = lane / 4 and t = lane % 4
    they are, as (n, k) of the block: (g, 2t), (g, 2t + 1), (g + 8, 2t),
    (g + 8, 2t + 1), (g, 2t + 8), (g, 2t + 9), (g + 8, 2t + 8),
    (g + 8, 2t + 9). So a lane reads its operand with one load of 16 bytes and
    a warp reads 512 consecutive bytes.
  }];
}

#endif // WEFT_DIALECTS_WEFT_ATTRS_TD
