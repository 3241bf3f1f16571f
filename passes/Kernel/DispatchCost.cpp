//===- DispatchCost.cpp - Work and traffic of a kernel --------------------===//

#include "passes/Kernel/DispatchCost.h"
#include "passes/Kernel/LoopsKernel.h"

#include "dialects/Weft/WeftDialect.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Bytes of a value that is not packed.
Polynomial countBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Polynomial size((type.getElementTypeBitWidth() + 7) / 8);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    size = size * getDimSize(value, dim);
  return size;
}

/// FLOPs and bytes of one operation of a dispatch; both are 0 for one that only
/// names a part or another shape of a value.
std::pair<Polynomial, Polynomial> getOperationCost(Operation &op) {
  if (auto cost = dyn_cast<CostInterface>(op))
    return {cost.getFlops(getDimSize), cost.getBytes(getDimSize)};
  if (!OpTrait::hasElementwiseMappableTraits(&op) ||
      op.hasTrait<OpTrait::ConstantLike>() ||
      !isa<RankedTensorType>(op.getResult(0).getType()))
    return {};
  Polynomial flops(1), bytes = countBytes(op.getResult(0));
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    flops = flops * getDimSize(op.getResult(0), dim);
  llvm::SmallSetVector<Value, 4> operands(op.operand_begin(), op.operand_end());
  for (Value value : operands)
    bytes += countBytes(value);
  return {flops, bytes};
}

} // namespace

std::pair<Polynomial, Polynomial> kernel::getCost(DispatchOp dispatch) {
  if (getLoops(dispatch))
    return getLoopCost(dispatch);
  Polynomial flops, bytes;
  Operation *yield = dispatch.getBlock().getTerminator();
  // Values of the block whose traffic is not to be counted when they are read;
  // their parts and other shapes are such, too. What is written in place has no
  // traffic of its own.
  llvm::SmallPtrSet<Value, 16> inside;
  for (Operation &op : dispatch.getBlock().without_terminator()) {
    auto [opFlops, opBytes] = getOperationCost(op);
    if (opBytes == Polynomial()) {
      if (llvm::any_of(op.getOperands(),
                       [&](Value operand) { return inside.contains(operand); }))
        inside.insert(op.result_begin(), op.result_end());
      continue;
    }
    flops += opFlops;
    bytes += opBytes;
    llvm::SmallSetVector<Value, 4> operands(op.operand_begin(),
                                            op.operand_end());
    for (Value operand : operands)
      if (inside.contains(operand))
        bytes += countBytes(operand) * Polynomial(-1);
    if (isa<CacheAppendOp, AdjustLogitsOp>(op))
      continue;
    for (Value result : op.getResults()) {
      inside.insert(result);
      bytes += countBytes(result) * Polynomial(-1);
    }
  }
  llvm::SmallSetVector<Value, 4> results(yield->operand_begin(),
                                         yield->operand_end());
  for (Value result : results)
    if (inside.contains(result))
      bytes += countBytes(result);
  return {flops, bytes};
}
