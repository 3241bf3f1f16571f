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

/// Weights have no elements of less than 8 bits: these lie in bytes, the first
/// in the lowest bits.
Value OnnxLowering::unpack(Value packed, onnx::InitializerOp initializer) {
  Type stored = initializer.getType();
  unsigned bits = getElementTypeOrSelf(stored).getIntOrFloatBitWidth();
  bool hasNoSign =
      graph::isUnsigned(stored) || graph::getByteFloat(stored) != nullptr;
  Shape shape = shapeOf(initializer.getResult());
  return generate(shape, builder.getIntegerType(8), [&](Scalars &s, Indices i) {
    Value place = s.index(0);
    for (auto [index, extent] : llvm::zip_equal(i, shape))
      place = s.add(s.mul(place, s.index(*extent.getConstant())), index);
    Value perByte = s.index(8 / bits);
    Value byte = s.read(packed, s.make<arith::DivUIOp>(place, perByte));
    Value shift = s.mul(s.make<arith::RemUIOp>(place, perByte), s.index(bits));
    shift = s.fromIndex(shift, byte.getType());
    return s.extendBits(s.make<arith::ShRUIOp>(byte, shift), bits, hasNoSign);
  });
}

bool OnnxLowering::lowerStructure(Operation *op) {
  if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense)
      set(constant.getResult(),
          arith::ConstantOp::create(builder, loc, toStored(dense)));
    return dense != nullptr;
  }
  if (auto initializer = dyn_cast<onnx::InitializerOp>(op)) {
    auto type = cast<RankedTensorType>(initializer.getType());
    unsigned bits = type.getElementTypeBitWidth();
    bool isPacked = bits > 1 && bits < 8;
    auto stored =
        isPacked
            ? RankedTensorType::get(
                  llvm::divideCeil(type.getNumElements(), 8 / bits),
                  builder.getIntegerType(8))
            : getType(shapeOf(initializer.getResult()), elementOf(initializer));
    Value weight =
        WeightOp::create(builder, loc, stored, initializer.getName());
    set(initializer.getResult(),
        isPacked ? unpack(weight, initializer) : weight);
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

/// Whether an operator takes numbers that are stored as bytes of another
/// meaning: it converts them or only moves them.
static bool takesBytes(Operation *op) {
  return isa<onnx::ConstantOp, onnx::InitializerOp, onnx::IfOp,
             onnx::IdentityOp, onnx::CastOp, onnx::CastLikeOp,
             onnx::QuantizeLinearOp, onnx::DequantizeLinearOp, onnx::ShapeOp,
             onnx::SizeOp, onnx::ReshapeOp, onnx::FlattenOp, onnx::SqueezeOp,
             onnx::UnsqueezeOp, onnx::TransposeOp, onnx::ConcatOp,
             onnx::SplitOp, onnx::SliceOp, onnx::PadOp, onnx::ExpandOp,
             onnx::TileOp, onnx::GatherOp, onnx::GatherElementsOp,
             onnx::GatherNDOp, onnx::MicrosoftGatherBlockQuantizedOp,
             onnx::WhereOp, onnx::ConstantOfShapeOp, onnx::DepthToSpaceOp,
             onnx::SpaceToDepthOp, onnx::ReverseSequenceOp>(op);
}

static bool hasBytes(Operation *op) {
  auto isByte = [](Type type) {
    return graph::getByteFloat(type) || graph::getPackedBits(type);
  };
  return llvm::any_of(op->getOperandTypes(), isByte) ||
         llvm::any_of(op->getResultTypes(), isByte);
}

bool OnnxLowering::lower(Operation *op) {
  Location outer = std::exchange(loc, op->getLoc());
  bool isLowered = !hasBytes(op) || takesBytes(op);
  isLowered = isLowered &&
              ((usesModelOps && lowerToModelOp(op)) || lowerStructure(op) ||
               lowerElementwise(op) || lowerReduction(op) || lowerShape(op) ||
               lowerPlaces(op) || lowerProduct(op) || lowerNorm(op) ||
               lowerWindow(op) || lowerQuantization(op) || lowerPacked(op) ||
               lowerExperts(op) || lowerResize(op) || lowerAttention(op));
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
    return OnnxLowering::getType(
        onnx::getShape(type),
        graph::getStoredElement(getElementTypeOrSelf(type)));
  }

  /// Whether the integers that a tensor is stored as have no sign.
  static bool isStoredUnsigned(Type type) {
    return graph::getByteFloat(type) ||
           (graph::isUnsigned(type) &&
            !getElementTypeOrSelf(type).isInteger(1));
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
      if (isStoredUnsigned(argument.getType()))
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
      if (isStoredUnsigned(value.getType()))
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
