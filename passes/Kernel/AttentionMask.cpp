//===- AttentionMask.cpp - Which keys an attention sees -------------------===//

#include "passes/Kernel/AttentionMask.h"

using namespace mlir;
using namespace weft;

std::pair<Value, Value> kernel::getKeyBlocks(TileBuilder &k, AttentionOp op,
                                             int64_t block, Value length,
                                             Value first, Value last) {
  Value upper = length;
  if (op.getCausal())
    upper = k.min(upper, k.add(last, k.index(1)));
  Value lowerBlock = k.index(0);
  if (op.getWindow()) {
    Value lower =
        k.max(k.sub(first, k.index(static_cast<int64_t>(*op.getWindow()) - 1)),
              k.index(0));
    lowerBlock = k.div(lower, block);
  }
  return {lowerBlock, k.create<arith::CeilDivUIOp>(upper, k.index(block))};
}

Value kernel::buildKeyMask(TileBuilder &k, AttentionOp op, int64_t block,
                           Value length, Value number, Value positions) {
  auto type = cast<RankedTensorType>(positions.getType());
  Value keyPositions =
      k.create<tile::IotaOp>(type, k.toI32(k.mul(number, block)), 1);
  Value lengths = k.create<tile::SplatOp>(type, k.toI32(length));
  Value visible =
      k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, keyPositions, lengths);
  auto also = [&](Value condition) {
    visible = k.create<arith::AndIOp>(visible, condition);
  };
  if (op.getCausal())
    also(k.create<arith::CmpIOp>(arith::CmpIPredicate::sle, keyPositions,
                                 positions));
  if (op.getWindow()) {
    Value distance = k.create<arith::SubIOp>(positions, keyPositions);
    Value window = k.create<arith::ConstantOp>(
        type,
        DenseElementsAttr::get(type, static_cast<int32_t>(*op.getWindow())));
    also(k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, distance, window));
  }
  return visible;
}
