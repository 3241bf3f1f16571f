//===- WeftDecompose.cpp - The meaning of model operations ===//

#include "dialects/Weft/WeftDialect.h"

using namespace mlir;
using namespace weft;

FailureOr<SmallVector<Value>> EmbedOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> RmsNormOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> LayerNormOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> LinearOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> RopeTableOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> RopeOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> CacheAppendOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> AttentionOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> ActivationOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>>
GatedActivationOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> SoftcapOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> RouteOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> GroupedLinearOp::decomposeOperation(OpBuilder &) {
  return failure();
}
FailureOr<SmallVector<Value>> CombineOp::decomposeOperation(OpBuilder &) {
  return failure();
}
