//===- BuildHeadsKernel.cpp - Head norms, rotary embedding, cache append --===//
//
// Item = token, or (token, head) where an item is a block of threads: heads are
// independent of each other. Operations in order, each over the heads of the
// item; a value that another operation of the kernel reads is kept in scratch
// memory.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelBuilder.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

/// What the operation works on: [tokens, heads, size].
static Value getHeadsInput(Operation *op) {
  return isa<CacheAppendOp>(op) ? op->getOperand(1) : op->getOperand(0);
}

namespace {

class HeadsKernel {
public:
  explicit HeadsKernel(KernelBuilder &k) : k(k) {}

  LogicalResult build() {
    if (k.schedule.hasSeveralItems()) {
      token = k.item();
    } else {
      int64_t most = getMostHeads(k.dispatch);
      token = k.div(k.item(), most);
      ownHead = k.rem(k.item(), most);
    }
    for (Operation *op : k.getOps()) {
      Value input = getHeadsInput(op);
      auto type = cast<RankedTensorType>(input.getType());
      heads = type.getDimSize(1);
      size = type.getDimSize(2);
      RowView from = viewOf(input);
      if (auto append = dyn_cast<CacheAppendOp>(op)) {
        buildAppend(append, from);
        continue;
      }
      RowView to = place(op->getResult(0));
      forHeads([&](Value head) {
        Value tile = loadHead(from, head);
        Value result = isa<RmsNormOp>(op) ? norm(cast<RmsNormOp>(op), tile)
                                          : rotate(cast<RopeOp>(op), tile);
        storeHead(result, to, head);
      });
    }
    return success();
  }

private:
  /// Every head of the token, or the item's own if the operation has it.
  void forHeads(function_ref<void(Value)> body) {
    if (!ownHead)
      return k.forLoop(k.index(0), k.index(heads), 1, body);
    Value isInside = k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, ownHead,
                                             k.index(heads));
    k.ifThen(isInside, [&] { body(ownHead); });
  }

  /// Where a value lies: in scratch if an earlier operation put it there.
  RowView viewOf(Value value) {
    auto it = placed.find(value);
    return it != placed.end() ? it->second : k.getView(value);
  }

  Value rowOf(const RowView &view) {
    return view.matrix.getDefiningOp<tile::ScratchOp>() ? k.index(0) : token;
  }

  Value loadHead(const RowView &view, Value head) {
    return k.load(view.matrix,
                  {rowOf(view),
                   k.add(k.mul(head, view.strides[0]), k.index(view.offset))},
                  {1, size});
  }

  void storeHead(Value tile, const RowView &view, Value head) {
    k.store(tile, view.matrix,
            {rowOf(view),
             k.add(k.mul(head, view.strides[0]), k.index(view.offset))});
  }

  /// Output memory of a result, or scratch if it is not yielded.
  RowView place(Value value) {
    RowView view = k.getView(value);
    if (!view.matrix) {
      Type element = cast<RankedTensorType>(value.getType()).getElementType();
      view = {k.create<tile::ScratchOp>(
                  MemRefType::get({1, heads * size}, element)),
              0,
              {heads, size},
              {size, 1}};
    }
    placed[value] = view;
    return view;
  }

  Value norm(RmsNormOp op, Value tile) {
    Value x = k.toF32(tile);
    Value square = k.create<arith::MulFOp>(x, x);
    Value mean = k.scale(k.reduce(tile::Reduction::Add, square), 1.0 / size);
    Value root = k.create<math::SqrtOp>(k.create<arith::AddFOp>(
        mean, k.constant({1, 1}, op.getEpsilon().convertToDouble())));
    Value normal = k.create<arith::DivFOp>(x, k.broadcast(root, {1, size}));
    Value weight = k.toF32(k.load(k.getArgument(op.getWeight()),
                                  {k.index(0), k.index(0)}, {1, size}));
    double offset = op.getWeightOffset().convertToDouble();
    if (offset != 0)
      weight = k.create<arith::AddFOp>(weight, k.constant({1, size}, offset));
    return k.roundTo(k.create<arith::MulFOp>(normal, weight),
                     cast<RankedTensorType>(op.getType()).getElementType());
  }

  Value rotate(RopeOp op, Value tile) {
    Value x = k.toF32(tile);
    int64_t half =
        cast<RankedTensorType>(op.getCosine().getType()).getDimSize(1);
    bool interleaved = op.getInterleaved();
    Value cosine = loadAngles(op.getCosine(), half);
    Value sine = loadAngles(op.getSine(), half);
    Value first = slice(x, 0, half, interleaved ? 2 : 1);
    Value second = slice(x, interleaved ? 1 : half, half, interleaved ? 2 : 1);
    Value rotatedFirst =
        k.create<arith::SubFOp>(k.create<arith::MulFOp>(first, cosine),
                                k.create<arith::MulFOp>(second, sine));
    Value rotatedSecond =
        k.create<arith::AddFOp>(k.create<arith::MulFOp>(second, cosine),
                                k.create<arith::MulFOp>(first, sine));
    auto type = cast<RankedTensorType>(x.getType());
    Value result = k.create<tile::JoinOp>(
        type.clone({1, 2 * half}), rotatedFirst, rotatedSecond, interleaved);
    if (2 * half < size)
      result = k.create<tile::JoinOp>(
          type, result, slice(x, 2 * half, size - 2 * half, 1), false);
    return k.roundTo(result,
                     cast<RankedTensorType>(op.getType()).getElementType());
  }

  Value loadAngles(Value table, int64_t half) {
    RowView view = k.getView(table);
    return k.load(view.matrix, {token, k.index(view.offset)}, {1, half});
  }

  Value slice(Value tile, int64_t offset, int64_t width, int64_t stride) {
    auto type = cast<RankedTensorType>(tile.getType());
    return k.create<tile::SliceOp>(type.clone({1, width}), tile, offset,
                                   stride);
  }

  void buildAppend(CacheAppendOp op, const RowView &from) {
    bool isKey = op.getKind() == CacheKind::Key;
    Value cache = k.getOutput(op.getResult());
    int64_t blockSize =
        cast<MemRefType>(cache.getType()).getDimSize(isKey ? 3 : 2);
    Value slot = k.loadIndex(k.getArgument(op.getSlots()), {token});
    Value block = k.div(slot, blockSize), position = k.rem(slot, blockSize);
    forHeads([&](Value head) {
      Value tile = loadHead(from, head);
      if (isKey)
        k.store(tile, cache, {block, head, k.index(0), position}, Value(),
                {0, 2});
      else
        k.store(tile, cache, {block, head, position, k.index(0)}, Value(),
                {2, 3});
    });
  }

  KernelBuilder &k;
  llvm::DenseMap<Value, RowView> placed;
  int64_t heads = 0, size = 0;
  Value token;
  Value ownHead; ///< Of the item; null: it has all heads.
};

} // namespace

int64_t kernel::getMostHeads(DispatchOp dispatch) {
  int64_t most = 1;
  for (Operation &op : dispatch.getBlock().without_terminator())
    if (isa<RmsNormOp, RopeOp, CacheAppendOp>(op))
      most = std::max(
          most,
          cast<RankedTensorType>(getHeadsInput(&op).getType()).getDimSize(1));
  return most;
}

LogicalResult kernel::buildHeadsKernel(KernelBuilder &k) {
  return HeadsKernel(k).build();
}
