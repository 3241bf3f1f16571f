//===- KernelBuilder.cpp - From a dispatch to a tile kernel ---------------===//

#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/LoopsKernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

//===----------------------------------------------------------------------===//
// Tensors as kernels see them
//===----------------------------------------------------------------------===//

static tile::PanelsAttr getLayout(DispatchOp dispatch, StringRef name,
                                  unsigned number) {
  auto layouts = dispatch->getAttrOfType<ArrayAttr>(name);
  if (!layouts || number >= layouts.size())
    return {};
  return dyn_cast<tile::PanelsAttr>(layouts[number]);
}

tile::PanelsAttr kernel::getInputLayout(DispatchOp dispatch, unsigned input) {
  return getLayout(dispatch, inputLayoutsName, input);
}

tile::PanelsAttr kernel::getResultLayout(DispatchOp dispatch, unsigned result) {
  return getLayout(dispatch, resultLayoutsName, result);
}

/// Whether the matrix is read as stored in core matrices.
static bool isInCoreMatrices(Value matrix) {
  return llvm::any_of(matrix.getUsers(), [&](Operation *user) {
    PackedLayoutInterface layout;
    if (auto linear = dyn_cast<LinearOp>(user))
      layout = linear.getLayoutAttr();
    else if (auto embed = dyn_cast<EmbedOp>(user))
      layout = embed.getLayoutAttr();
    return isa_and_nonnull<CoreMatrixLayoutAttr>(layout) &&
           user->getOperand(1) == matrix;
  });
}

/// A tensor of a kernel of loops.
static MemRefType getFlatType(RankedTensorType type) {
  int64_t count =
      type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
  return MemRefType::get({count}, type.getElementType());
}

/// An activation or a plain tensor.
static MemRefType getKernelType(RankedTensorType type, tile::PanelsAttr panels,
                                bool isStack = false) {
  ArrayRef<int64_t> shape = type.getShape();
  Type element = type.getElementType();
  // Packed weights, stacks of plain ones and caches keep their shape.
  if (!panels && (type.getRank() >= 4 || isStack || element.isInteger(32)))
    return MemRefType::get(shape, element);
  if (type.getRank() == 1)
    return MemRefType::get({1, shape[0]}, element);
  int64_t columns = 1;
  for (int64_t size : shape.drop_front())
    columns *= size;
  MemRefLayoutAttrInterface layout;
  if (panels)
    layout = panels;
  return MemRefType::get({shape[0], columns}, element, layout);
}

/// The type of an argument as rows: what the body joins its leading dimensions
/// to, if it does nothing else with it.
static RankedTensorType getJoinedType(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  if (argument.use_empty())
    return type;
  auto first = dyn_cast<tensor::CollapseShapeOp>(*argument.user_begin());
  if (!first || first.getReassociationIndices().front().size() < 2)
    return type;
  bool isSame = llvm::all_of(argument.getUsers(), [&](Operation *user) {
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(user);
    return collapse && collapse.getResultType() == first.getResultType();
  });
  return isSame ? first.getResultType() : type;
}

MemRefType kernel::getInputType(DispatchOp dispatch, unsigned input) {
  BlockArgument argument = dispatch.getBlock().getArgument(input);
  auto type = cast<RankedTensorType>(argument.getType());
  Type element = type.getElementType();
  if (getLoops(dispatch))
    return getFlatType(type);
  bool isBlockTable = llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto attention = dyn_cast<AttentionOp>(user);
    return attention && attention.getBlockTable() == argument;
  });
  if (isBlockTable)
    return MemRefType::get({ShapedType::kDynamic}, element);
  bool isBias = llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto attention = dyn_cast<AttentionOp>(user);
    return attention && attention.getBias() == argument;
  });
  if (isBias)
    return MemRefType::get({ShapedType::kDynamic, 1}, element);
  if (isInCoreMatrices(argument))
    return MemRefType::get({type.getDimSize(0) * fragmentSize,
                            type.getDimSize(1) * coreMatrixInputs},
                           element,
                           tile::CoreMatricesAttr::get(dispatch.getContext()));
  bool isStack = llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto linear = dyn_cast<GroupedLinearOp>(user);
    return linear && linear.getWeight() == argument;
  });
  return getKernelType(getJoinedType(argument), getInputLayout(dispatch, input),
                       isStack);
}

MemRefType kernel::getResultType(DispatchOp dispatch, unsigned result) {
  auto type = cast<RankedTensorType>(dispatch.getResult(result).getType());
  if (getLoops(dispatch))
    return getFlatType(type);
  return getKernelType(type, getResultLayout(dispatch, result));
}

Value kernel::getRowsTensor(DispatchOp dispatch) {
  for (Operation &op : dispatch.getBlock().without_terminator()) {
    if (auto embed = dyn_cast<EmbedOp>(op))
      return embed.getIds();
    if (auto append = dyn_cast<CacheAppendOp>(op))
      return append.getInput();
    if (auto adjust = dyn_cast<AdjustLogitsOp>(op))
      return adjust.getPlaces();
    if (isa<LinearOp, GroupedLinearOp, AttentionOp, RopeOp, RmsNormOp,
            LayerNormOp, RopeTableOp, RouteOp, CombineOp, ActivationOp,
            GatedActivationOp, SoftcapOp, SampleOp>(op) ||
        OpTrait::hasElementwiseMappableTraits(&op))
      if (isa<RankedTensorType>(op.getResult(0).getType()))
        return op.getOperand(0);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// KernelBuilder
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(OpBuilder &builder, DispatchOp dispatch,
                             tile::KernelOp kernel,
                             tile::ScheduleInterface schedule)
    : TileBuilder(builder, dispatch.getLoc()), dispatch(dispatch),
      kernel(kernel), schedule(schedule) {
  unsigned next = 0;
  for (BlockArgument argument : dispatch.getBlock().getArguments())
    arguments[argument] = kernel.getBuffers()[next++];
  auto yield = cast<YieldOp>(dispatch.getBlock().getTerminator());
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    std::optional<unsigned> tied = dispatch.getTiedInput(index);
    outputs[value] =
        tied ? kernel.getBuffers()[*tied] : kernel.getBuffers()[next++];
  }
}

SmallVector<Operation *> KernelBuilder::getOps() {
  SmallVector<Operation *> ops;
  for (Operation &op : dispatch.getBlock().without_terminator())
    if (!isa<SizeOp, tensor::DimOp, tensor::ExtractSliceOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      ops.push_back(&op);
  return ops;
}

Value KernelBuilder::getArgument(Value value) {
  return arguments.lookup(value);
}

Value KernelBuilder::getOutput(Value value) { return outputs.lookup(value); }

/// Row-major strides.
static SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

RowView KernelBuilder::getView(Value value) {
  ArrayRef<int64_t> trailing =
      cast<RankedTensorType>(value.getType()).getShape().drop_front();
  if (Value argument = getArgument(value))
    return {argument, 0, SmallVector<int64_t>(trailing), getStrides(trailing)};
  Operation *op = value.getDefiningOp();
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
    RowView view = getView(slice.getSource());
    for (auto [dim, offset] :
         llvm::enumerate(slice.getStaticOffsets().drop_front()))
      view.offset += offset * view.strides[dim];
    view.shape.assign(trailing.begin(), trailing.end());
    return view;
  }
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    // Reshapes of trailing dimensions that are adjacent in memory: all of a
    // row that is sliced only in its outermost trailing dimension.
    RowView view = getView(op->getOperand(0));
    view.shape.assign(trailing.begin(), trailing.end());
    view.strides = getStrides(trailing);
    return view;
  }
  // A yielded value lies where it is written.
  if (Value output = getOutput(value))
    return {output, 0, SmallVector<int64_t>(trailing), getStrides(trailing)};
  return {};
}

Value KernelBuilder::applyElementwise(Operation *op, ValueRange tiles) {
  SmallVector<Value> x;
  for (Value tile : tiles)
    x.push_back(toF32(tile));
  Value result = TypeSwitch<Operation *, Value>(op)
                     .Case([&](ActivationOp act) {
                       return activation(act.getFunction(), x[0]);
                     })
                     .Case([&](GatedActivationOp act) -> Value {
                       return create<arith::MulFOp>(
                           activation(act.getFunction(), x[0]), x[1]);
                     })
                     .Case([&](SoftcapOp cap) {
                       return softcap(x[0], cap.getCap().convertToDouble());
                     })
                     .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
                       // The tile is f32 already; rounding comes last.
                       return x[0];
                     })
                     .Default([&](Operation *other) -> Value {
                       // Elementwise arith and math: the same operation on f32
                       // tiles.
                       OperationState state(loc, other->getName());
                       state.addOperands(x);
                       state.addTypes(x[0].getType());
                       state.addAttributes(other->getAttrs());
                       return builder.create(state)->getResult(0);
                     });
  return roundTo(
      result,
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
}
