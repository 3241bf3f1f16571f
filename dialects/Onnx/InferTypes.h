//===- InferTypes.h - The rules that find types of results ------*- C++ -*-===//
//
// The definition of an operator names one of these. Source of all rules: the
// operator reference of the ONNX standard and, for com.microsoft, that of ONNX
// Runtime.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_ONNX_INFERTYPES_H
#define WEFT_DIALECTS_ONNX_INFERTYPES_H

#include "dialects/Onnx/OnnxDialect.h"

namespace weft::onnx {

using llvm::LogicalResult;
using mlir::Operation;

// Before the rule of an operator: operands that its types do not depend on.
// First their element types, where the operator takes some only; ONNX converts
// nothing by itself.
LogicalResult checkOperands(Operation *op, TypeInference &inference);
LogicalResult checkElements(Operation *op, TypeInference &inference);
LogicalResult checkTruth(mlir::Value value, llvm::StringRef name,
                         TypeInference &inference);
/// Null values are none.
LogicalResult checkSameElement(llvm::ArrayRef<mlir::Value> values,
                               TypeInference &inference);

// Elementwise: any operator.
LogicalResult inferSame(Operation *op, TypeInference &inference);
LogicalResult inferPredicate(Operation *op, TypeInference &inference);
LogicalResult inferBroadcast(Operation *op, TypeInference &inference);
LogicalResult inferComparison(Operation *op, TypeInference &inference);
LogicalResult inferCast(Operation *op, TypeInference &inference);
LogicalResult inferCastLike(Operation *op, TypeInference &inference);
LogicalResult inferWhere(WhereOp op, TypeInference &inference);
LogicalResult inferDropout(DropoutOp op, TypeInference &inference);
LogicalResult inferReduction(Operation *op, TypeInference &inference);
LogicalResult inferArgReduction(Operation *op, TypeInference &inference);
LogicalResult inferCumulative(Operation *op, TypeInference &inference);
LogicalResult inferTopK(TopKOp op, TypeInference &inference);

// Shapes.
LogicalResult inferShape(ShapeOp op, TypeInference &inference);
LogicalResult inferSize(SizeOp op, TypeInference &inference);
LogicalResult inferRange(RangeOp op, TypeInference &inference);
LogicalResult inferConstantOfShape(ConstantOfShapeOp op,
                                   TypeInference &inference);
LogicalResult inferEyeLike(EyeLikeOp op, TypeInference &inference);
LogicalResult inferOneHot(OneHotOp op, TypeInference &inference);
LogicalResult inferNonZero(NonZeroOp op, TypeInference &inference);
LogicalResult inferReshape(ReshapeOp op, TypeInference &inference);
LogicalResult inferFlatten(FlattenOp op, TypeInference &inference);
LogicalResult inferSqueeze(SqueezeOp op, TypeInference &inference);
LogicalResult inferUnsqueeze(UnsqueezeOp op, TypeInference &inference);
LogicalResult inferTranspose(TransposeOp op, TypeInference &inference);
LogicalResult inferDepthToSpace(DepthToSpaceOp op, TypeInference &inference);
LogicalResult inferSpaceToDepth(SpaceToDepthOp op, TypeInference &inference);
LogicalResult inferConcat(ConcatOp op, TypeInference &inference);
LogicalResult inferSplit(SplitOp op, TypeInference &inference);
LogicalResult inferSlice(SliceOp op, TypeInference &inference);
LogicalResult inferPad(PadOp op, TypeInference &inference);
LogicalResult inferExpand(ExpandOp op, TypeInference &inference);
LogicalResult inferTile(TileOp op, TypeInference &inference);
LogicalResult inferResize(ResizeOp op, TypeInference &inference);
LogicalResult inferGather(GatherOp op, TypeInference &inference);
LogicalResult inferGatherElements(GatherElementsOp op,
                                  TypeInference &inference);
LogicalResult inferGatherND(GatherNDOp op, TypeInference &inference);

// Products, norms, quantization.
LogicalResult inferMatMul(MatMulOp op, TypeInference &inference);
LogicalResult inferFusedMatMul(MicrosoftFusedMatMulOp op,
                               TypeInference &inference);
LogicalResult inferGemm(GemmOp op, TypeInference &inference);
LogicalResult inferEinsum(EinsumOp op, TypeInference &inference);
LogicalResult inferMatMulInteger(MatMulIntegerOp op, TypeInference &inference);
LogicalResult inferQLinearMatMul(QLinearMatMulOp op, TypeInference &inference);
LogicalResult inferLayerNormalization(LayerNormalizationOp op,
                                      TypeInference &inference);
LogicalResult inferRmsNormalization(RMSNormalizationOp op,
                                    TypeInference &inference);
LogicalResult
inferSimplifiedNormalization(MicrosoftSimplifiedLayerNormalizationOp op,
                             TypeInference &inference);
LogicalResult inferBatchNormalization(BatchNormalizationOp op,
                                      TypeInference &inference);
LogicalResult inferSkipNormalization(Operation *op, TypeInference &inference);
LogicalResult inferQuantizeLinear(QuantizeLinearOp op,
                                  TypeInference &inference);
LogicalResult inferDequantizeLinear(DequantizeLinearOp op,
                                    TypeInference &inference);
LogicalResult inferDynamicQuantizeLinear(DynamicQuantizeLinearOp op,
                                         TypeInference &inference);

// Windows: convolutions and pools share the attributes that say where windows
// are.
LogicalResult inferConv(Operation *op, TypeInference &inference);
LogicalResult inferConvTranspose(ConvTransposeOp op, TypeInference &inference);
LogicalResult inferPool(Operation *op, TypeInference &inference);
LogicalResult inferMaxPool(MaxPoolOp op, TypeInference &inference);
LogicalResult inferGlobalPool(Operation *op, TypeInference &inference);

LogicalResult inferAttention(AttentionOp op, TypeInference &inference);

// Operators of com.microsoft.
LogicalResult inferGroupQueryAttention(MicrosoftGroupQueryAttentionOp op,
                                       TypeInference &inference);
LogicalResult inferMultiHeadAttention(MicrosoftMultiHeadAttentionOp op,
                                      TypeInference &inference);
LogicalResult inferMicrosoftAttention(MicrosoftAttentionOp op,
                                      TypeInference &inference);
LogicalResult
inferPackedMultiHeadAttention(MicrosoftPackedMultiHeadAttentionOp op,
                              TypeInference &inference);
LogicalResult
inferEmbedLayerNormalization(MicrosoftEmbedLayerNormalizationOp op,
                             TypeInference &inference);
LogicalResult inferMatMulNBits(Operation *op, TypeInference &inference);
LogicalResult inferGatherBlockQuantized(MicrosoftGatherBlockQuantizedOp op,
                                        TypeInference &inference);
LogicalResult inferQuantizedMatMul(Operation *op, TypeInference &inference);

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_INFERTYPES_H
