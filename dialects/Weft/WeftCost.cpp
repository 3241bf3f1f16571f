//===- WeftCost.cpp - Work of model operations ===//

#include "dialects/Weft/WeftDialect.h"

using namespace mlir;
using namespace weft;

Polynomial EmbedOp::getFlops(DimFn dims) { return {}; }
Polynomial EmbedOp::getBytes(DimFn dims) { return {}; }
Polynomial RmsNormOp::getFlops(DimFn dims) { return {}; }
Polynomial RmsNormOp::getBytes(DimFn dims) { return {}; }
Polynomial LayerNormOp::getFlops(DimFn dims) { return {}; }
Polynomial LayerNormOp::getBytes(DimFn dims) { return {}; }
Polynomial LinearOp::getFlops(DimFn dims) { return {}; }
Polynomial LinearOp::getBytes(DimFn dims) { return {}; }
Polynomial RopeTableOp::getFlops(DimFn dims) { return {}; }
Polynomial RopeTableOp::getBytes(DimFn dims) { return {}; }
Polynomial RopeOp::getFlops(DimFn dims) { return {}; }
Polynomial RopeOp::getBytes(DimFn dims) { return {}; }
Polynomial CacheAppendOp::getFlops(DimFn dims) { return {}; }
Polynomial CacheAppendOp::getBytes(DimFn dims) { return {}; }
Polynomial AttentionOp::getFlops(DimFn dims) { return {}; }
Polynomial AttentionOp::getBytes(DimFn dims) { return {}; }
Polynomial ActivationOp::getFlops(DimFn dims) { return {}; }
Polynomial ActivationOp::getBytes(DimFn dims) { return {}; }
Polynomial GatedActivationOp::getFlops(DimFn dims) { return {}; }
Polynomial GatedActivationOp::getBytes(DimFn dims) { return {}; }
Polynomial SoftcapOp::getFlops(DimFn dims) { return {}; }
Polynomial SoftcapOp::getBytes(DimFn dims) { return {}; }
Polynomial RouteOp::getFlops(DimFn dims) { return {}; }
Polynomial RouteOp::getBytes(DimFn dims) { return {}; }
Polynomial GroupedLinearOp::getFlops(DimFn dims) { return {}; }
Polynomial GroupedLinearOp::getBytes(DimFn dims) { return {}; }
Polynomial CombineOp::getFlops(DimFn dims) { return {}; }
Polynomial CombineOp::getBytes(DimFn dims) { return {}; }
