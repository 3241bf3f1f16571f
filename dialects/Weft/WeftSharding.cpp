//===- WeftSharding.cpp - How model operations are sharded ===//

#include "dialects/Weft/WeftDialect.h"

using namespace mlir;
using namespace weft;

SmallVector<utils::IteratorType> EmbedOp::getLoopIteratorTypes() { return {}; }
SmallVector<shard::ReductionKind> EmbedOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> EmbedOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> RmsNormOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind> RmsNormOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> RmsNormOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> LayerNormOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind> LayerNormOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> LayerNormOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> LinearOp::getLoopIteratorTypes() { return {}; }
SmallVector<shard::ReductionKind> LinearOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> LinearOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> RopeTableOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind> RopeTableOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> RopeTableOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> RopeOp::getLoopIteratorTypes() { return {}; }
SmallVector<shard::ReductionKind> RopeOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> RopeOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> CacheAppendOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind>
CacheAppendOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> CacheAppendOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> AttentionOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind> AttentionOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> AttentionOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> ActivationOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind>
ActivationOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> ActivationOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> GatedActivationOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind>
GatedActivationOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> GatedActivationOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> SoftcapOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind> SoftcapOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> SoftcapOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> RouteOp::getLoopIteratorTypes() { return {}; }
SmallVector<shard::ReductionKind> RouteOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> RouteOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> GroupedLinearOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind>
GroupedLinearOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> GroupedLinearOp::getIndexingMaps() { return {}; }
SmallVector<utils::IteratorType> CombineOp::getLoopIteratorTypes() {
  return {};
}
SmallVector<shard::ReductionKind> CombineOp::getReductionLoopIteratorKinds() {
  return {};
}
SmallVector<AffineMap> CombineOp::getIndexingMaps() { return {}; }
