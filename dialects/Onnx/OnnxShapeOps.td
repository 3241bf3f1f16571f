//===- OnnxShapeOps.td - Operators that move elements ------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_SHAPE_OPS_TD
#define WEFT_DIALECTS_ONNX_SHAPE_OPS_TD

include "dialects/Onnx/OnnxBase.td"

class Onnx_Mover<string operator, dag inputs, dag attributes, string example,
                   list<Trait> traits = []>
    : Onnx_Op<operator, "infer" # operator, inputs, attributes,
              (outs Onnx_T:$result), example, traits>;

//===----------------------------------------------------------------------===//
// Shapes as values, constants
//===----------------------------------------------------------------------===//

def Onnx_ShapeOp : Onnx_Mover<"Shape", (ins Onnx_T:$data),
  (ins Onnx_Int<"0">:$start, OptionalAttr<Onnx_I64>:$end),
  "(%x) : (tensor<2x?xf32, #onnx.dims<\"n\">>) -> tensor<2xi64>">;
def Onnx_SizeOp : Onnx_Mover<"Size", (ins Onnx_T:$data), (ins),
  "(%x) : (tensor<2x3xf32>) -> tensor<i64>">;
def Onnx_RangeOp : Onnx_Mover<"Range",
  (ins Onnx_T:$start, Onnx_T:$limit, Onnx_T:$delta), (ins),
  "(%a, %b, %c) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, #onnx.dims<\"n\">>">;
def Onnx_ConstantOfShapeOp : Onnx_Mover<"ConstantOfShape", (ins Onnx_T:$shape),
  (ins OptionalAttr<ElementsAttr>:$value),
  "(%s) {value = dense<1.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<2x3xf32>">;
def Onnx_EyeLikeOp : Onnx_Mover<"EyeLike", (ins Onnx_T:$input),
  (ins OptionalAttr<TypeAttr>:$dtype, Onnx_Int<"0">:$k),
  "(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>">;
def Onnx_OneHotOp : Onnx_Mover<"OneHot",
  (ins Onnx_T:$indices, Onnx_T:$depth, Onnx_T:$values), (ins Onnx_Int<"-1">:$axis),
  "(%i, %d, %v) : (tensor<2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<2x5xf32>">;
def Onnx_NonZeroOp : Onnx_Mover<"NonZero", (ins Onnx_T:$input), (ins),
  "(%x) : (tensor<2x3xi1>) -> tensor<2x?xi64, #onnx.dims<\"found\">>">;

//===----------------------------------------------------------------------===//
// The same elements in another shape
//===----------------------------------------------------------------------===//

def Onnx_ReshapeOp : Onnx_Mover<"Reshape", (ins Onnx_T:$data, Onnx_T:$shape),
  (ins Onnx_Int<"0">:$allowzero),
  "(%x, %s) : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<3x4xf32>">;
def Onnx_FlattenOp : Onnx_Mover<"Flatten", (ins Onnx_T:$input), (ins Onnx_Int<"1">:$axis),
  "(%x) : (tensor<2x3x4xf32>) -> tensor<2x12xf32>">;
def Onnx_SqueezeOp : Onnx_Mover<"Squeeze", (ins Onnx_T:$data, Onnx_Maybe:$axes), (ins),
  "(%x, none) : (tensor<1x3xf32>, none) -> tensor<3xf32>">;
def Onnx_UnsqueezeOp : Onnx_Mover<"Unsqueeze", (ins Onnx_T:$data, Onnx_T:$axes), (ins),
  "(%x, %a) : (tensor<3xf32>, tensor<1xi64>) -> tensor<1x3xf32>">;
def Onnx_TransposeOp : Onnx_Mover<"Transpose", (ins Onnx_T:$data),
  (ins OptionalAttr<Onnx_Ints>:$perm),
  "(%x) {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>">;
foreach name = ["DepthToSpace", "SpaceToDepth"] in
  def Onnx_#name#Op : Onnx_Mover<name, (ins Onnx_T:$input),
    (ins Onnx_I64:$blocksize, Onnx_String<"DCR">:$mode),
    "(%x) {blocksize = 2 : i64} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>">;

//===----------------------------------------------------------------------===//
// Joining, cutting, repeating
//===----------------------------------------------------------------------===//

def Onnx_ConcatOp : Onnx_Mover<"Concat", (ins Onnx_Many:$inputs), (ins Onnx_I64:$axis),
  "(%x, %b) {axis = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>">;
def Onnx_SplitOp : Onnx_Op<"Split", "inferSplit", (ins Onnx_T:$input, Onnx_Maybe:$split),
  (ins Onnx_Int<"0">:$axis, OptionalAttr<Onnx_I64>:$num_outputs), (outs Onnx_Many:$outputs),
  "(%x, none) {num_outputs = 2 : i64} : (tensor<4xf32>, none) -> (tensor<2xf32>, tensor<2xf32>)">;
def Onnx_SliceOp : Onnx_Mover<"Slice",
  (ins Onnx_T:$data, Onnx_T:$starts, Onnx_T:$ends, Onnx_Maybe:$axes, Onnx_Maybe:$steps), (ins),
  "(%x, %s, %e, %a, none) : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2xf32>",
  [AttrSizedOperandSegments]>;
def Onnx_PadOp : Onnx_Mover<"Pad",
  (ins Onnx_T:$data, Onnx_T:$pads, Onnx_Maybe:$constant_value, Onnx_Maybe:$axes),
  (ins Onnx_String<"constant">:$mode),
  "(%x, %p, none, none) : (tensor<2xf32>, tensor<2xi64>, none, none) -> tensor<4xf32>",
  [AttrSizedOperandSegments]>;
def Onnx_ExpandOp : Onnx_Mover<"Expand", (ins Onnx_T:$input, Onnx_T:$shape), (ins),
  "(%x, %s) : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>">;
def Onnx_TileOp : Onnx_Mover<"Tile", (ins Onnx_T:$input, Onnx_T:$repeats), (ins),
  "(%x, %r) : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>">;
def Onnx_TriluOp : Onnx_Op<"Trilu", "inferSame", (ins Onnx_T:$input, Onnx_Maybe:$k),
  (ins Onnx_Int<"1">:$upper), (outs Onnx_T:$result),
  "(%x, none) : (tensor<3x3xf32>, none) -> tensor<3x3xf32>">;
def Onnx_ReverseSequenceOp : Onnx_Op<"ReverseSequence", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$sequence_lens),
  (ins Onnx_Int<"1">:$batch_axis, Onnx_Int<"0">:$time_axis), (outs Onnx_T:$result),
  "(%x, %l) : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>">;
def Onnx_ResizeOp : Onnx_Mover<"Resize",
  (ins Onnx_T:$input, Onnx_Maybe:$roi, Onnx_Maybe:$scales, Onnx_Maybe:$sizes),
  (ins Onnx_Int<"0">:$antialias, OptionalAttr<Onnx_Ints>:$axes,
       Onnx_String<"half_pixel">:$coordinate_transformation_mode,
       Onnx_Float<"-0.75f">:$cubic_coeff_a, Onnx_Int<"0">:$exclude_outside,
       Onnx_Float<"0.0f">:$extrapolation_value,
       Onnx_String<"stretch">:$keep_aspect_ratio_policy,
       Onnx_String<"nearest">:$mode,
       Onnx_String<"round_prefer_floor">:$nearest_mode),
  "(%x, none, none, %s) : (tensor<1x1x2x2xf32>, none, none, tensor<4xi64>) -> tensor<1x1x4x4xf32>",
  [AttrSizedOperandSegments]>;

//===----------------------------------------------------------------------===//
// Places that are data
//===----------------------------------------------------------------------===//

def Onnx_GatherOp : Onnx_Mover<"Gather", (ins Onnx_T:$data, Onnx_T:$indices),
  (ins Onnx_Int<"0">:$axis),
  "(%w, %i) : (tensor<8x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>">;
def Onnx_GatherElementsOp : Onnx_Mover<"GatherElements",
  (ins Onnx_T:$data, Onnx_T:$indices), (ins Onnx_Int<"0">:$axis),
  "(%w, %i) : (tensor<8x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>">;
def Onnx_GatherNDOp : Onnx_Mover<"GatherND",
  (ins Onnx_T:$data, Onnx_T:$indices), (ins Onnx_Int<"0">:$batch_dims),
  "(%w, %i) : (tensor<8x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>">;
def Onnx_ScatterElementsOp : Onnx_Op<"ScatterElements", "inferSame",
  (ins Onnx_T:$data, Onnx_T:$indices, Onnx_T:$updates),
  (ins Onnx_Int<"0">:$axis, Onnx_String<"none">:$reduction), (outs Onnx_T:$result),
  "(%x, %i, %u) : (tensor<8x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<8x3xf32>">;
def Onnx_ScatterNDOp : Onnx_Op<"ScatterND", "inferSame",
  (ins Onnx_T:$data, Onnx_T:$indices, Onnx_T:$updates),
  (ins Onnx_String<"none">:$reduction), (outs Onnx_T:$result),
  "(%x, %i, %u) : (tensor<8x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<8x3xf32>">;

#endif // WEFT_DIALECTS_ONNX_SHAPE_OPS_TD
