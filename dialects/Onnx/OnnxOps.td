//===- OnnxOps.td - All operations of the dialect ----------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_OPS_TD
#define WEFT_DIALECTS_ONNX_OPS_TD

include "dialects/Onnx/OnnxElementwiseOps.td"
include "dialects/Onnx/OnnxMicrosoftOps.td"
include "dialects/Onnx/OnnxNeuralOps.td"
include "dialects/Onnx/OnnxQuantizationOps.td"
include "dialects/Onnx/OnnxReductionOps.td"
include "dialects/Onnx/OnnxShapeOps.td"
include "dialects/Onnx/OnnxStructureOps.td"
include "dialects/Onnx/OnnxTransformerOps.td"

#endif // WEFT_DIALECTS_ONNX_OPS_TD
