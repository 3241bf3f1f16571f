//===- LowerTileToVectorStructure.cpp - Blocks, loops, values -------------===//

#include "passes/Kernel/LowerTileKernels.h"
#include "passes/Kernel/LowerTileToVector.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

bool weft::tile::isHalf(Type element) {
  return element.isF16() || element.isBF16();
}

Type weft::tile::getHeldType(Type element) {
  return isHalf(element) ? IntegerType::get(element.getContext(), 16) : element;
}

SmallVector<int64_t> weft::tile::splitColumns(int64_t columns, int64_t lanes) {
  SmallVector<int64_t> widths(columns / lanes, lanes);
  for (int64_t width = lanes / 2, rest = columns % lanes; width > 0; width /= 2)
    if (rest & width)
      widths.push_back(width);
  return widths;
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

VectorTile TileEmitter::makeTile(Type type) {
  auto shape = cast<RankedTensorType>(type).getShape();
  VectorTile tile;
  tile.rows = shape.size() > 1 ? shape[0] : 1;
  tile.columns = shape.back();
  tile.widths = splitColumns(tile.columns, level.lanes());
  return tile;
}

Value TileEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Type TileEmitter::vectorOf(Type element, int64_t width) {
  Type held = getHeldType(element);
  return width ? VectorType::get(width, held) : held;
}

Value TileEmitter::broadcast(Value scalar, Type type) {
  if (!isa<VectorType>(type) || scalar.getType() == type)
    return scalar;
  if (isa<VectorType>(scalar.getType())) {
    int64_t width = cast<VectorType>(type).getNumElements();
    return shuffle(scalar, scalar, SmallVector<int64_t>(width, 0));
  }
  return vector::BroadcastOp::create(b, type, scalar);
}

static TypedAttr splatAttr(Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return DenseElementsAttr::get(vector, {Attribute(value)});
  return value;
}

Value TileEmitter::splatInt(Type type, int64_t value) {
  return arith::ConstantOp::create(
      b, splatAttr(type, b.getIntegerAttr(getElementTypeOrSelf(type), value)));
}

Value TileEmitter::splatFloat(Type type, double value) {
  return arith::ConstantOp::create(
      b, splatAttr(type, b.getFloatAttr(getElementTypeOrSelf(type), value)));
}

Value TileEmitter::addIndex(Value a, Value c) {
  return b.createOrFold<arith::AddIOp>(a, c);
}

Value TileEmitter::scaleIndex(Value a, int64_t factor) {
  if (factor == 1)
    return a;
  return b.createOrFold<arith::MulIOp>(a, index(factor));
}

//===----------------------------------------------------------------------===//
// Values across regions
//===----------------------------------------------------------------------===//

SmallVector<Value> TileEmitter::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (isa<RankedTensorType>(value.getType()))
      llvm::append_range(flat, tiles.at(value).pieces);
    else
      flat.push_back(scalars.at(value));
  }
  return flat;
}

SmallVector<Type> TileEmitter::flattenTypes(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    if (!isa<RankedTensorType>(type)) {
      flat.push_back(getHeldType(type));
      continue;
    }
    VectorTile tile = makeTile(type);
    for (int64_t r = 0; r < tile.rows; ++r)
      for (int64_t width : tile.widths)
        flat.push_back(vectorOf(getElementTypeOrSelf(type), width));
  }
  return flat;
}

void TileEmitter::bind(ValueRange values, ArrayRef<Value> flat) {
  for (Value value : values) {
    if (!isa<RankedTensorType>(value.getType())) {
      scalars[value] = flat.front();
      flat = flat.drop_front();
      continue;
    }
    VectorTile tile = makeTile(value.getType());
    int64_t count = tile.rows * tile.count();
    tile.pieces.assign(flat.begin(), flat.begin() + count);
    tiles[value] = std::move(tile);
    flat = flat.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// Blocks and loops
//===----------------------------------------------------------------------===//

LogicalResult TileEmitter::emitKernel(ValueRange abiArguments) {
  entry = b.getInsertionBlock();
  emitArguments(abiArguments);
  Value begin = abiArguments[2], end = abiArguments[3];
  if (BlockArgument itemEnd = kernel.getItemEnd()) {
    for (auto [argument, value] :
         {std::pair(kernel.getItem(), begin), std::pair(itemEnd, end)})
      scalars[argument] =
          arith::IndexCastOp::create(b, b.getIndexType(), value);
    return emitBlock(kernel.getBlock());
  }
  Value one = arith::ConstantOp::create(b, b.getI64IntegerAttr(1));
  auto loop = scf::ForOp::create(b, begin, end, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scalars[kernel.getItem()] =
      arith::IndexCastOp::create(b, b.getIndexType(), loop.getInductionVar());
  return emitBlock(kernel.getBlock());
}

LogicalResult TileEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(emitOp(&op)))
      return failure();
  }
  b.setLoc(block.getTerminator()->getLoc());
  return success();
}

LogicalResult TileEmitter::emitOp(Operation *op) {
  if (failed(checkTileRanks(op)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ScratchOp scratch) { return emitScratch(scratch), success(); })
      .Case([&](LoadOp load) { return emitLoad(load); })
      .Case([&](StoreOp store) { return emitStore(store); })
      .Case(
          [&](memref::LoadOp load) { return emitElementLoad(load), success(); })
      .Case([&](memref::StoreOp store) {
        return emitElementStore(store), success();
      })
      .Case([&](FoldOp fold) { return emitFold(fold); })
      .Case([&](MmaOp mma) { return emitMma(mma); })
      .Case([&](ReduceOp reduce) { return emitReduce(reduce); })
      .Case(
          [&](BroadcastOp repeat) { return emitBroadcast(repeat), success(); })
      .Case([&](SplatOp splat) { return emitSplat(splat), success(); })
      .Case([&](ExtractOp extract) {
        scalars[extract.getResult()] = vector::ExtractOp::create(
            b, tiles.at(extract.getInput()).pieces.front(), 0);
        return success();
      })
      .Case([&](IotaOp iota) { return emitIota(iota), success(); })
      .Case([&](SliceOp slice) { return emitSlice(slice), success(); })
      .Case([&](JoinOp join) { return emitJoin(join), success(); })
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Case([&](scf::WhileOp loop) { return emitWhile(loop); })
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isArithmetic(other)) {
          if (isOnNumbers(other))
            return emitScalar(other);
          if (other->hasTrait<OpTrait::Elementwise>())
            return emitElementwise(other);
        }
        return rejectOperation(other, "memref.load, memref.store");
      });
}

LogicalResult TileEmitter::emitLoop(Operation *op, Value lower, Value upper,
                                    Value step, ValueRange init, Block &body) {
  auto loop = scf::ForOp::create(b, scalars.at(lower), scalars.at(upper),
                                 scalars.at(step), flatten(init));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scalars[body.getArgument(0)] = loop.getInductionVar();
    bind(body.getArguments().drop_front(),
         llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
    if (failed(emitBlock(body)))
      return failure();
    // A loop without results got its terminator from the builder.
    if (!init.empty())
      scf::YieldOp::create(b, flatten(body.getTerminator()->getOperands()));
  }
  b.setLoc(op->getLoc());
  bind(op->getResults(), llvm::to_vector_of<Value>(loop.getResults()));
  return success();
}

LogicalResult TileEmitter::emitFor(scf::ForOp op) {
  if (failed(checkSigned(op)))
    return failure();
  return emitLoop(op, op.getLowerBound(), op.getUpperBound(), op.getStep(),
                  op.getInitArgs(), *op.getBody());
}

LogicalResult TileEmitter::emitFold(FoldOp op) {
  return emitLoop(op, op.getLower(), op.getUpper(), op.getStep(), op.getInit(),
                  op.getBlock());
}

LogicalResult TileEmitter::emitIf(scf::IfOp op) {
  auto branch = scf::IfOp::create(b, flattenTypes(op.getResultTypes()),
                                  scalars.at(op.getCondition()),
                                  !op.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&to.front());
    if (failed(emitBlock(from.front())))
      return failure();
    if (op.getNumResults() != 0)
      scf::YieldOp::create(
          b, flatten(from.front().getTerminator()->getOperands()));
  }
  b.setLoc(op.getLoc());
  bind(op.getResults(), llvm::to_vector_of<Value>(branch.getResults()));
  return success();
}

LogicalResult TileEmitter::emitWhile(scf::WhileOp op) {
  auto loop = scf::WhileOp::create(b, flattenTypes(op.getResultTypes()),
                                   flatten(op.getInits()));
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Region &region, Block *source) {
    SmallVector<Type> types = flattenTypes(source->getArgumentTypes());
    Block *block =
        b.createBlock(&region, region.end(), types,
                      SmallVector<Location>(types.size(), b.getLoc()));
    bind(source->getArguments(),
         llvm::to_vector_of<Value>(block->getArguments()));
    return emitBlock(*source);
  };
  if (failed(enter(loop.getBefore(), op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  scf::ConditionOp::create(b, scalars.at(condition.getCondition()),
                           flatten(condition.getArgs()));
  if (failed(enter(loop.getAfter(), op.getAfterBody())))
    return failure();
  scf::YieldOp::create(b, flatten(op.getYieldOp().getOperands()));
  b.setLoc(op.getLoc());
  bind(op.getResults(), llvm::to_vector_of<Value>(loop.getResults()));
  return success();
}
