//===- LowerOnnx.cpp - The dialect onnx to loops over elements ------------===//

#include "passes/Graph/LowerOnnx.h"

#include "passes/Graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::graph {
#define GEN_PASS_DEF_LOWERONNX
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

/// A dense constant of a signless type.
static DenseElementsAttr dropSign(DenseElementsAttr value, Type element) {
  if (value.getElementType() == element)
    return value;
  return value.bitcast(element);
}

bool OnnxLowering::lowerStructure(Operation *op) {
  if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense)
      set(constant.getResult(),
          arith::ConstantOp::create(
              builder, loc, dropSign(dense, elementOf(constant.getResult()))));
    return dense != nullptr;
  }
  if (auto initializer = dyn_cast<onnx::InitializerOp>(op)) {
    auto type =
        getType(shapeOf(initializer.getResult()), elementOf(initializer));
    set(initializer.getResult(),
        WeightOp::create(builder, loc, type, initializer.getName()));
    return true;
  }
  auto branch = dyn_cast<onnx::IfOp>(op);
  if (!branch)
    return false;
  // Both sides are computed: operators have no effects.
  SmallVector<SmallVector<Value>, 2> sides;
  for (Region &region : branch->getRegions()) {
    for (Operation &inner : region.front().without_terminator())
      if (!lower(&inner))
        return false;
    SmallVector<Value> &side = sides.emplace_back();
    for (Value value : region.front().getTerminator()->getOperands())
      side.push_back(get(value));
  }
  Value condition = get(branch.getCondition());
  size_t rank = shapeOf(branch.getCondition()).size();
  for (auto [i, result] : llvm::enumerate(branch.getResults())) {
    Value then = sides[0][i], otherwise = sides[1][i];
    set(result, generate(shapeOf(result), elementOf(result),
                         [&](Scalars &s, Indices place) {
                           SmallVector<Value> zeros(rank, s.index(0));
                           return s.branch(
                               s.read(condition, zeros), elementOf(result),
                               [&] { return s.read(then, place); },
                               [&] { return s.read(otherwise, place); });
                         }));
  }
  return true;
}

bool OnnxLowering::lower(Operation *op) {
  Location outer = std::exchange(loc, op->getLoc());
  bool isLowered = (usesModelOps && lowerToModelOp(op)) || lowerStructure(op) ||
                   lowerElementwise(op) || lowerReduction(op) ||
                   lowerShape(op) || lowerPlaces(op) || lowerProduct(op) ||
                   lowerNorm(op) || lowerWindow(op) || lowerQuantization(op) ||
                   lowerAttention(op);
  if (!isLowered)
    op->emitOpError("cannot be computed in this form yet");
  loc = outer;
  return isLowered;
}

namespace {
class LowerOnnx : public graph::impl::LowerOnnxBase<LowerOnnx> {
public:
  using LowerOnnxBase::LowerOnnxBase;

private:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(lower(function)))
        return signalPassFailure();
  }

  /// What an argument or result of the function becomes; one without a sign is
  /// marked, since its type no longer says so.
  RankedTensorType convertType(Type type) {
    return OnnxLowering::getType(onnx::getShape(type), [&] {
      Type element = getElementTypeOrSelf(type);
      auto integer = dyn_cast<IntegerType>(element);
      return integer ? IntegerType::get(&getContext(), integer.getWidth())
                     : element;
    }());
  }

  LogicalResult lower(func::FuncOp function) {
    Block &block = function.getBody().front();
    auto isOnnx = [](Operation &op) {
      return isa<onnx::OnnxDialect>(op.getDialect());
    };
    auto hasNames = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getEncoding();
    };
    if (llvm::none_of(block, isOnnx) &&
        llvm::none_of(block.getArgumentTypes(), hasNames))
      return success();
    onnx::SymbolicValues symbolic;
    OpBuilder builder(&getContext());
    OnnxLowering lowering(builder, symbolic, /*usesModelOps=*/!loopsOnly);
    UnitAttr mark = builder.getUnitAttr();
    // New arguments stand behind the old ones until nothing reads these.
    unsigned count = block.getNumArguments();
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument argument = block.getArgument(i);
      if (graph::isUnsigned(argument.getType()) &&
          !getElementTypeOrSelf(argument.getType()).isInteger(1))
        function.setArgAttr(i, WeftDialect::getUnsignedAttrName(), mark);
      lowering.set(argument, block.addArgument(convertType(argument.getType()),
                                               argument.getLoc()));
    }
    Operation *terminator = block.getTerminator();
    SmallVector<Operation *> old;
    for (Operation &op : block.without_terminator())
      old.push_back(&op);
    builder.setInsertionPoint(terminator);
    for (Operation *op : old) {
      op->walk<WalkOrder::PreOrder>(
          [&](Operation *inner) { symbolic.visit(inner); });
      if (isUnused(op, symbolic))
        continue;
      if (!lowering.lower(op))
        return failure();
    }
    SmallVector<Value> results;
    for (OpOperand &operand : terminator->getOpOperands()) {
      Value value = operand.get();
      unsigned number = operand.getOperandNumber();
      if (graph::isUnsigned(value.getType()) &&
          !getElementTypeOrSelf(value.getType()).isInteger(1))
        function.setResultAttr(number, WeftDialect::getUnsignedAttrName(),
                               mark);
      results.push_back(lowering.get(value));
    }
    terminator->setOperands(results);
    for (Operation *op : llvm::reverse(old))
      op->erase();
    block.eraseArguments(0, count);
    function.setFunctionType(builder.getFunctionType(
        block.getArgumentTypes(), ValueRange(results).getTypes()));
    return success();
  }

  /// Whether an operator need not be computed: nothing reads its results, or
  /// they are known.
  static bool isUnused(Operation *op, const onnx::SymbolicValues &symbolic) {
    return !isa<onnx::ConstantOp>(op) &&
           llvm::all_of(op->getResults(), [&](Value result) {
             return result.use_empty() || symbolic.get(result);
           });
  }
};
} // namespace
