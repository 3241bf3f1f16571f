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

def Weft_QuantizationAttr : Weft_Attr<"Quantization", "quantization"> {
  let summary = "what elements of few bits mean";
  let description = [{
    Rows of `columns` elements of 2, 4 or 8 bits without a sign, the first in the
    lowest bits of a byte; each row begins with a byte. Blocks of `block` elements
    of a row have a scale, and a zero point in `zero_points` or else the middle of
    the range: an element means (element - zero point) * scale. Zero points are
    numbers like the scales, or packed like the elements. Source: MatMulNBits in
    the operator reference of ONNX Runtime (ContribOperators.md).
  }];
  let parameters = (ins
    StringRefParameter<"tensor name of the scales">:$scales,
    OptionalParameter<"::mlir::StringAttr", "tensor name of the zero points">:$zero_points,
    "int64_t":$bits, "int64_t":$block, "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

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

    With `quantization` the checkpoint's tensor has bytes, and rows are those of
    the numbers that these mean, which are computed when the artifact is written.
  }];
  let parameters = (ins
    StringRefParameter<"tensor name in the checkpoint">:$name,
    DefaultValuedParameter<"int64_t", "0">:$start,
    DefaultValuedParameter<"int64_t", "0">:$block,
    DefaultValuedParameter<"int64_t", "0">:$stride,
    DefaultValuedParameter<"int64_t", "0">:$count,
    DefaultValuedParameter<"bool", "false">:$transposed,
    DefaultValuedParameter<"int64_t", "0">:$pairs,
    OptionalParameter<"QuantizationAttr">:$quantization);
  let builders = [
    AttrBuilder<(ins "llvm::StringRef":$name, CArg<"bool", "false">:$transposed), [{
      return $_get($_ctxt, name, 0, 0, 0, 0, transposed, 0, QuantizationAttr());
    }]>
  ];
  let assemblyFormat = [{
    `<` $name (`,` struct($start, $block, $stride, $count, $transposed, $pairs, $quantization)^)? `>`
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

def Weft_CoreMatrixLayoutAttr : Weft_Attr<"CoreMatrixLayout", "core_matrices", [
    DeclareAttrInterfaceMethods<Weft_PackedLayoutInterface, ["verifyMatrix"]>]> {
  let summary = "a matrix stored as 8x8 matrices, as tensor cores read them";
  let description = [{
    A weight `[N, K]` (out, in) of 16-bit elements, N a multiple of 16 and K of
    128, stored as `[N / 16, K / 128, 32, 8, 8]`: blocks of 16 outputs by 128
    inputs, 4 KiB that a bulk copy brings; in a block 8x8 matrices, row by row,
    first the 16 of the lower 8 outputs. In shared memory `wgmma` reads the
    matrices as they are, without swizzle (PTX ISA, "core matrices"), and
    `ldmatrix` loads them without conflicts of banks.
  }];
}

#endif // WEFT_DIALECTS_WEFT_ATTRS_TD
