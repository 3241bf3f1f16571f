//===- BuildAdjustKernel.cpp - Logits changed in place --------------------===//
//
// An item is an entry of the list of changes.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace weft;

LogicalResult kernel::buildAdjustKernel(KernelBuilder &k) {
  constexpr float most = std::numeric_limits<float>::max();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto op = cast<AdjustLogitsOp>(k.getOps().front());
  Value places = k.getArgument(op.getPlaces());
  Value values = k.getArgument(op.getValues());
  Value logits = k.getOutput(op.getResult());
  Value row = k.loadIndex(places, {k.item(), k.index(0)});
  Value isUsed =
      k.create<arith::CmpIOp>(arith::CmpIPredicate::sge, row, k.index(0));
  k.ifThen(isUsed, [&] {
    SmallVector<int64_t> one = {1, 1};
    Value id = k.loadIndex(places, {k.item(), k.index(1)});
    Value x = k.load(logits, {row, id}, one);
    Value repetition = k.load(values, {k.item(), k.index(0)}, one);
    Value bias = k.load(values, {k.item(), k.index(1)}, one);
    auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) {
      return k.create<arith::CmpFOp>(predicate, a, b);
    };
    Value penalised = k.create<arith::SelectOp>(
        compare(arith::CmpFPredicate::OGT, x, k.constant(one, 0)),
        k.create<arith::DivFOp>(x, repetition),
        k.create<arith::MulFOp>(x, repetition));
    Value sum = k.create<arith::AddFOp>(penalised, bias);
    sum = k.create<arith::MinimumFOp>(sum, k.constant(one, most));
    sum = k.create<arith::MaximumFOp>(sum, k.constant(one, -most));
    Value isFinite =
        compare(arith::CmpFPredicate::OLT, k.create<math::AbsFOp>(x),
                k.constant(one, infinity));
    k.store(k.create<arith::SelectOp>(isFinite, sum, x), logits, {row, id});
  });
  return success();
}
