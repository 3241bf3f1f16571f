//===- FormDispatches.cpp - Grouping model operations into kernels --------===//
//
// Three steps: every operation gets a group (GroupKind says which kernel it
// would be the root of), groups are merged by rules, and each group becomes a
// weft.dispatch at the place of its last operation.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace weft::fuse {
#define GEN_PASS_DEF_FORMDISPATCHES
#include "passes/Fuse/Passes.h.inc"
} // namespace weft::fuse

using namespace mlir;
using namespace weft;

namespace {

//===----------------------------------------------------------------------===//
// What an operation is
//===----------------------------------------------------------------------===//

/// Reads a value in another shape; costs nothing and moves into its readers.
bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::DimOp>(op);
}

/// Numbers, and tensors that hold none yet: they move into their readers, too.
bool isStart(Operation *op) {
  if (isa<SizeOp, tensor::EmptyOp, linalg::FillOp>(op))
    return true;
  return op->getNumResults() == 1 &&
         isa<arith::ArithDialect>(op->getDialect()) &&
         op->getResult(0).getType().isIntOrIndexOrFloat();
}

bool isConstant(Operation *op) {
  return isa<WeightOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
}

bool isElementwise(Operation *op) {
  return isa<ActivationOp, SoftcapOp>(op) ||
         (OpTrait::hasElementwiseMappableTraits(op) &&
          op->getNumResults() == 1 &&
          isa<RankedTensorType>(op->getResult(0).getType()));
}

bool isHeadsOp(Operation *op) {
  if (auto norm = dyn_cast<RmsNormOp>(op))
    return cast<RankedTensorType>(norm.getType()).getRank() == 3;
  return isa<RopeOp, CacheAppendOp>(op);
}

bool isMatrixOp(Operation *op) { return isa<LinearOp, GroupedLinearOp>(op); }

/// Works on whole rows [token, :] of a matrix.
bool isRowOp(Operation *op) {
  if (isa<EmbedOp, RmsNormOp, LayerNormOp, CombineOp>(op) || isElementwise(op))
    return cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 2;
  return false;
}

/// Operands, and what the body reads from outside.
llvm::SetVector<Value> getReads(Operation *op) {
  llvm::SetVector<Value> reads(op->getOperands().begin(),
                               op->getOperands().end());
  getUsedValuesDefinedAbove(op->getRegions(), reads);
  return reads;
}

/// The value behind slices and reshapes.
Value stripViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

enum class GroupKind { Matrix, Rows, Heads, Alone };

struct Group {
  GroupKind kind;
  SmallVector<Operation *> ops; // In block order.
  Operation *last() const { return ops.back(); }
};

class Grouping {
public:
  explicit Grouping(Block &block) {
    for (Operation &op : block)
      if (!isView(&op) && !isConstant(&op) && !isStart(&op) &&
          !op.hasTrait<OpTrait::IsTerminator>())
        addGroup(&op);
  }

  Group *getGroup(Operation *op) {
    auto it = groupOf.find(op);
    return it == groupOf.end() ? nullptr : it->second;
  }

  /// Why groups a and b cannot share a kernel; empty if they can. The merged
  /// group stands where its last operation stands: all it reads must come
  /// before, all that reads it after.
  StringRef whyNot(Group *a, Group *b) {
    if (a == b)
      return "";
    Operation *last =
        a->last()->isBeforeInBlock(b->last()) ? b->last() : a->last();
    auto inside = [&](Group *group) { return group == a || group == b; };
    for (Group *group : {a, b})
      for (Operation *op : group->ops) {
        for (Value read : getReads(op))
          if (Operation *producer = stripViews(read).getDefiningOp())
            if (Group *other = getGroup(producer);
                other && !inside(other) &&
                !other->last()->isBeforeInBlock(last))
              return "it would read a value that is computed later";
        if (usedBefore(op, last, inside))
          return "another kernel between them reads its result";
      }
    return "";
  }

  void merge(Group *a, Group *b, GroupKind kind) {
    if (a == b)
      return;
    for (Operation *op : b->ops)
      groupOf[op] = a;
    a->ops.append(b->ops);
    llvm::sort(a->ops, [](Operation *x, Operation *y) {
      return x->isBeforeInBlock(y);
    });
    a->kind = kind;
    b->ops.clear();
  }

  SmallVector<Group *> getGroups() {
    SmallVector<Group *> result;
    for (auto &group : groups)
      if (!group->ops.empty())
        result.push_back(group.get());
    return result;
  }

private:
  void addGroup(Operation *op) {
    GroupKind kind = isMatrixOp(op)  ? GroupKind::Matrix
                     : isHeadsOp(op) ? GroupKind::Heads
                     : isRowOp(op)   ? GroupKind::Rows
                                     : GroupKind::Alone;
    groups.push_back(std::make_unique<Group>(Group{kind, {op}}));
    groupOf[op] = groups.back().get();
  }

  /// Whether an operation outside reads `op`, through views, before `last`.
  bool usedBefore(Operation *op, Operation *last,
                  function_ref<bool(Group *)> inside) {
    for (Operation *reader : op->getUsers()) {
      // Bodies of loops read elements of what is defined outside.
      Operation *user = op->getBlock()->findAncestorOpInBlock(*reader);
      if (isView(user)) {
        if (usedBefore(user, last, inside))
          return true;
        continue;
      }
      Group *group = getGroup(user);
      if (group && !inside(group) && user->isBeforeInBlock(last))
        return true;
    }
    return false;
  }

  SmallVector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
};

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

class Rules {
public:
  explicit Rules(Grouping &grouping) : grouping(grouping) {}

  void apply(Block &block) {
    Group *heads = nullptr;
    for (Operation &op : block) {
      Group *group = grouping.getGroup(&op);
      if (!group)
        continue;
      if (auto gated = dyn_cast<GatedActivationOp>(op))
        joinGatedPair(gated);
      else if (group->kind == GroupKind::Heads)
        heads = joinHeads(group, heads);
      else if (isElementwise(&op) && joinMatrix(&op))
        continue;
      else if (isRowOp(&op))
        joinRows(&op);
    }
  }

private:
  /// Both halves of a gate and the activation: one kernel, two accumulators.
  void joinGatedPair(GatedActivationOp gated) {
    Operation *gate = gated.getGate().getDefiningOp();
    Operation *up = gated.getUp().getDefiningOp();
    if (!gate || !up || gate->getName() != up->getName() || !isMatrixOp(gate) ||
        gate->getOperand(0) != up->getOperand(0) || !gate->hasOneUse() ||
        !up->hasOneUse())
      return missed(gated, "its inputs are not two linear layers of one input");
    Group *a = grouping.getGroup(gate), *b = grouping.getGroup(up);
    Group *c = grouping.getGroup(gated);
    if (a->ops.size() != 1 || b->ops.size() != 1)
      return missed(gated, "a half of the gate is already fused");
    if (StringRef reason = grouping.whyNot(a, b); !reason.empty())
      return missed(gated, reason);
    grouping.merge(a, b, GroupKind::Matrix);
    join(a, c, GroupKind::Matrix, gated);
  }

  /// An elementwise operation into the kernel of the matrix it follows.
  bool joinMatrix(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    // The latest matrix among the operands: its kernel runs last.
    Operation *matrix = nullptr;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      Group *group = producer ? grouping.getGroup(producer) : nullptr;
      if (group && group->kind == GroupKind::Matrix && producer->hasOneUse() &&
          cast<RankedTensorType>(operand.getType()).getShape() ==
              type.getShape() &&
          (!matrix || matrix->isBeforeInBlock(producer)))
        matrix = producer;
    }
    if (!matrix)
      return false;
    return join(grouping.getGroup(matrix), grouping.getGroup(op),
                GroupKind::Matrix, op);
  }

  /// Norms of heads, rotary embedding and cache appends of one layer.
  Group *joinHeads(Group *group, Group *heads) {
    if (heads && join(heads, group, GroupKind::Heads, group->last()))
      return heads;
    return group;
  }

  /// A row operation into the row kernel that makes its input.
  void joinRows(Operation *op) {
    // Rows that an embedding picks are not the rows of its table.
    if (isa<EmbedOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      Group *group = producer ? grouping.getGroup(producer) : nullptr;
      if (group && group->kind == GroupKind::Rows &&
          producer->getResult(0).getType() == op->getResult(0).getType() &&
          join(group, grouping.getGroup(op), GroupKind::Rows, op))
        return;
    }
  }

  bool join(Group *into, Group *group, GroupKind kind, Operation *op) {
    if (StringRef reason = grouping.whyNot(into, group); !reason.empty()) {
      missed(op, reason);
      return false;
    }
    grouping.merge(into, group, kind);
    remark::passed(op->getLoc(),
                   remark::RemarkOpts::name("fused").category("fuse"))
        << "joins the kernel of its producer";
    return true;
  }

  void missed(Operation *op, StringRef reason) {
    remark::missed(op->getLoc(),
                   remark::RemarkOpts::name("not-fused").category("fuse"))
        << remark::reason("{0}", reason);
  }

  Grouping &grouping;
};

//===----------------------------------------------------------------------===//
// Dispatches
//===----------------------------------------------------------------------===//

/// The first name in a location: importers name operations after the model's
/// modules.
StringRef getModuleName(Location loc) {
  StringRef name;
  loc->walk([&](Location nested) {
    if (auto named = dyn_cast<NameLoc>(nested)) {
      name = named.getName();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}

/// Moves a group into a weft.dispatch.
class DispatchBuilder {
public:
  DispatchBuilder(Group *group)
      : group(group), members(group->ops.begin(), group->ops.end()) {}

  void build(StringRef label) {
    Operation *last = group->last();
    SmallVector<Value> outputs;
    for (Operation *op : group->ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return isView(user) ? isReadOutside(user)
                                  : !members.contains(user);
            }))
          outputs.push_back(result);

    OpBuilder builder(last);
    SmallVector<Location> locations;
    for (Operation *op : group->ops)
      locations.push_back(op->getLoc());
    Location loc = builder.getFusedLoc(locations);
    Block *block = new Block();
    OpBuilder inner(builder.getContext());
    inner.setInsertionPointToStart(block);
    for (Operation *op : group->ops) {
      for (Value read : getReads(op))
        materialize(inner, block, read);
      inner.clone(*op, mapping);
    }
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(mapping.lookup(output));
    YieldOp::create(inner, loc, yielded);

    auto dispatch =
        DispatchOp::create(builder, loc, TypeRange(ValueRange(outputs)),
                           builder.getStringAttr(label), inputs);
    dispatch.getBody().push_back(block);
    for (auto [from, to] : llvm::zip_equal(outputs, dispatch.getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) {
        return !members.contains(use.getOwner());
      });
    for (Operation *op : llvm::reverse(group->ops))
      eraseWithViews(op);
  }

private:
  /// Whether a view, or a view of it, has a reader outside the group.
  bool isReadOutside(Operation *view) {
    return llvm::any_of(view->getUsers(), [&](Operation *user) {
      return isView(user) ? isReadOutside(user) : !members.contains(user);
    });
  }

  /// Makes `value` available in the body: members are mapped, views cloned,
  /// anything else becomes an input.
  Value materialize(OpBuilder &inner, Block *block, Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (op && isStart(op)) {
      for (Value operand : op->getOperands())
        materialize(inner, block, operand);
      return inner.clone(*op, mapping)->getResult(0);
    }
    if (op && isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                  tensor::CollapseShapeOp>(op)) {
      Value source = materialize(inner, block, op->getOperand(0));
      Value view = cloneView(inner, op, source);
      mapping.map(value, view);
      return view;
    }
    inputs.push_back(value);
    Value argument = block->addArgument(value.getType(), value.getLoc());
    mapping.map(value, argument);
    return argument;
  }

  /// A size of a view: itself if it is a number or known by name, else that of
  /// dimension `dim` of the source.
  OpFoldResult cloneSize(OpBuilder &inner, Location loc, OpFoldResult size,
                         Value source, int64_t dim) {
    auto value = dyn_cast<Value>(size);
    if (!value)
      return size;
    if (auto named = value.getDefiningOp<SizeOp>())
      return inner.clone(*named)->getResult(0);
    return tensor::getMixedSize(inner, loc, source, dim);
  }

  /// The view of `source`, whose dynamic sizes come from `source` itself, so
  /// that the dispatch does not read another tensor for its size only.
  Value cloneView(OpBuilder &inner, Operation *op, Value source) {
    Location loc = op->getLoc();
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
      for (auto [dim, size] : llvm::enumerate(sizes))
        size = cloneSize(inner, loc, size, source, dim);
      return tensor::ExtractSliceOp::create(inner, loc, slice.getType(), source,
                                            slice.getMixedOffsets(), sizes,
                                            slice.getMixedStrides());
    }
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
      for (auto [dim, size] : llvm::enumerate(sizes))
        size = cloneSize(inner, loc, size, source,
                         expand.getCorrespondingSourceDim(dim));
      return tensor::ExpandShapeOp::create(
          inner, loc, expand.getResultType(), source,
          expand.getReassociationIndices(), sizes);
    }
    auto collapse = cast<tensor::CollapseShapeOp>(op);
    return tensor::CollapseShapeOp::create(inner, loc, collapse.getResultType(),
                                           source,
                                           collapse.getReassociationIndices());
  }

  /// Erases a member whose results only dead views still read.
  void eraseWithViews(Operation *op) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      eraseWithViews(user);
    op->erase();
  }

  Group *group;
  llvm::SmallPtrSet<Operation *, 8> members;
  IRMapping mapping;
  SmallVector<Value> inputs;
};

/// Gives every output of an entry that no operation computes (an input, a
/// constant, a reshape), or that is returned before, an operation that copies
/// it.
void copyOutputs(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::SmallPtrSet<Value, 8> returned;
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!function.getResultAttr(operand.getOperandNumber(),
                                WeftDialect::getNameAttrName()))
      continue;
    Value value = operand.get();
    Operation *op = value.getDefiningOp();
    bool isComputed = op && !isView(op) && !isConstant(op) && !isStart(op);
    if (isComputed && returned.insert(value).second)
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    Location loc = value.getLoc();
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(SizeOp::create(
            builder, loc, builder.getStringAttr(getDimSize(value, dim).str())));
    Value empty = tensor::EmptyOp::create(builder, loc, type, sizes);
    auto copy = linalg::GenericOp::create(
        builder, loc, TypeRange(type), ValueRange(), ValueRange(empty),
        ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(type.getRank())},
        SmallVector<utils::IteratorType>(type.getRank(),
                                         utils::IteratorType::parallel),
        [&](OpBuilder &b, Location bodyLoc, ValueRange) {
          SmallVector<Value> place;
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            place.push_back(linalg::IndexOp::create(b, bodyLoc, dim));
          Value element = tensor::ExtractOp::create(b, bodyLoc, value, place);
          linalg::YieldOp::create(b, bodyLoc, element);
        });
    operand.set(copy.getResult(0));
  }
}

class FormDispatches : public fuse::impl::FormDispatchesBase<FormDispatches> {
public:
  using FormDispatchesBase::FormDispatchesBase;

private:
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function.isExternal())
        return;
      copyOutputs(function);
      Grouping grouping(function.getBody().front());
      if (fuse)
        Rules(grouping).apply(function.getBody().front());
      llvm::StringMap<unsigned> labels;
      for (Group *group : grouping.getGroups()) {
        StringRef name = getModuleName(group->ops.front()->getLoc());
        std::string label =
            name.empty() ? group->ops.front()->getName().stripDialect().str()
                         : name.str();
        if (unsigned count = labels[label]++)
          label += "#" + std::to_string(count);
        DispatchBuilder(group).build(label);
      }
    });
  }
};

} // namespace
