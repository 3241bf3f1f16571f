//===- BuildTilePrograms.cpp - Dispatches become tile programs ------------===//

#include "passes/Kernel/DispatchCost.h"
#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/LoopsKernel.h"
#include "passes/Kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace weft::kernel {
#define GEN_PASS_DEF_BUILDTILEPROGRAMS
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Name of the row symbol of every program; a launch says what it is.
constexpr StringLiteral rowsSymbol = "rows";
constexpr StringLiteral tableWidthSymbol = "table_width";
constexpr StringLiteral biasWidthSymbol = "bias_width";

using BuildFunction = LogicalResult (*)(KernelBuilder &);

/// What a dispatch needs besides its kernels' bodies.
struct ProgramShape {
  BuildFunction build = buildRowsKernel;
  SmallVector<Attribute> grid, symbols;
  StringRef name = "kernel"; ///< That of the operation that the rest follows.
  SmallVector<StringRef> description;
  bool ranged = false; ///< The body computes a range of items.
};

/// What the program of a kernel of loops needs.
ProgramShape getLoopShape(DispatchOp dispatch) {
  MLIRContext *context = dispatch.getContext();
  ProgramShape shape;
  shape.build = buildLoopsKernel;
  shape.name = "loops";
  for (const std::string &symbol : getLoopSymbols(dispatch))
    shape.symbols.push_back(StringAttr::get(context, symbol));
  for (const auto &[size, block] : getLoopGrid(dispatch))
    shape.grid.push_back(tile::ExtentAttr::get(context, size.str(), block));
  for (Operation &op : getLoops(dispatch).getBody()->without_terminator())
    if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
        isa<FloatType>(op.getResult(0).getType()) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      shape.description.push_back(op.getName().stripDialect());
  return shape;
}

ProgramShape getShape(DispatchOp dispatch, tile::ScheduleInterface schedule) {
  if (getLoops(dispatch))
    return getLoopShape(dispatch);
  MLIRContext *context = dispatch.getContext();
  ProgramShape shape;
  shape.symbols.push_back(StringAttr::get(context, rowsSymbol));
  auto extent = [&](StringRef size, int64_t block) {
    shape.grid.push_back(tile::ExtentAttr::get(context, size, block));
  };
  auto count = [](int64_t n) { return std::to_string(n); };
  Operation *root = nullptr;
  for (Operation &op : dispatch.getBlock().without_terminator()) {
    if ((op.getDialect() == dispatch->getDialect() && !isa<SizeOp>(op)) ||
        (isa<arith::ArithDialect>(op.getDialect()) &&
         !op.hasTrait<OpTrait::ConstantLike>()))
      shape.description.push_back(op.getName().stripDialect());
    // A norm of heads has tokens as rows like the operations that follow it.
    auto norm = dyn_cast<RmsNormOp>(op);
    bool ofHeads = norm && norm.getType().getRank() == 3;
    if ((ofHeads || isa<LinearOp, GroupedLinearOp, AttentionOp, RopeOp,
                        CacheAppendOp, AdjustLogitsOp, SampleOp>(op)) &&
        !root)
      root = &op;
  }
  auto lastSize = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  };
  if (root)
    shape.name = root->getName().stripDialect();
  else if (!shape.description.empty())
    shape.name = shape.description.front();
  if (auto stream = dyn_cast<tile::StreamScheduleAttr>(schedule)) {
    shape.build = buildStreamKernel;
    extent(rowsSymbol, stream.getRows());
    extent(count(stream.getRanges()), 1);
  } else if (isa_and_nonnull<LinearOp>(root)) {
    shape.build = buildMatrixKernel;
    shape.ranged = true;
    extent(count(lastSize(root->getResult(0))), schedule.getColumnBlock());
    extent(rowsSymbol, schedule.getRowBlock());
  } else if (auto grouped = dyn_cast_or_null<GroupedLinearOp>(root)) {
    shape.build = buildMatrixKernel;
    extent(count(lastSize(grouped.getExperts())) + "*" + rowsSymbol.str(), 1);
    extent(count(lastSize(grouped.getResult())), schedule.getColumnBlock());
  } else if (auto attention = dyn_cast_or_null<AttentionOp>(root)) {
    bool isFlash = isa<tile::FlashScheduleAttr>(schedule);
    shape.build = isFlash ? buildFlashKernel : buildAttentionKernel;
    shape.ranged = !isFlash;
    extent(rowsSymbol, schedule.getRowBlock());
    extent(count(attention.getKeyHeads()), 1);
    if (attention.isPaged())
      shape.symbols.push_back(StringAttr::get(context, tableWidthSymbol));
    if (attention.getBias())
      shape.symbols.push_back(StringAttr::get(context, biasWidthSymbol));
  } else if (isa_and_nonnull<AdjustLogitsOp, SampleOp>(root)) {
    shape.build = isa<SampleOp>(root) ? buildSampleKernel : buildAdjustKernel;
    extent(rowsSymbol, 1);
  } else if (root) {
    shape.build = buildHeadsKernel;
    extent(rowsSymbol, 1);
    if (!schedule.hasSeveralItems())
      extent(count(getMostHeads(dispatch)), 1);
  } else {
    extent(rowsSymbol, 1);
  }
  return shape;
}

/// The type of a dispatch's result in memory.
RankedTensorType getStoredType(OpResult result) {
  auto type = cast<RankedTensorType>(result.getType());
  tile::PanelsAttr panels = getResultLayout(cast<DispatchOp>(result.getOwner()),
                                            result.getResultNumber());
  return panels ? type.clone(panels.getPhysicalShape(type.getShape())) : type;
}

/// Rows of a result in panels, with those that panels spare.
Polynomial countStoredRows(OpResult result, RankedTensorType stored) {
  if (!stored.isDynamicDim(1))
    return Polynomial(stored.getDimSize(1));
  return getDimSize(result, 0) + Polynomial(tile::PanelsAttr::spareRows);
}

/// What a launch says about sizes, as polynomials over the entry's symbols.
struct LaunchSizes {
  SmallVector<std::string> symbols;
  ArrayAttr results;
  std::string flops, bytes;
};

LaunchSizes getSizes(DispatchOp dispatch) {
  LaunchSizes sizes;
  if (getLoops(dispatch))
    llvm::append_range(sizes.symbols, getLoopSymbols(dispatch));
  else
    sizes.symbols.push_back(getDimSize(getRowsTensor(dispatch), 0).str());
  for (Operation &op : dispatch.getBlock())
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (attention.isPaged())
        sizes.symbols.push_back(getDimSize(attention.getBlockTable(), 1).str());
      if (attention.getBias())
        sizes.symbols.push_back(getDimSize(attention.getBias(), 2).str());
    }
  Builder builder(dispatch.getContext());
  SmallVector<Attribute> results;
  for (OpResult result : dispatch.getResults()) {
    SmallVector<std::string> dims;
    int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      dims.push_back(getDimSize(result, dim).str());
    RankedTensorType stored = getStoredType(result);
    if (stored != result.getType())
      dims = {std::to_string(stored.getDimSize(0)),
              countStoredRows(result, stored).str(),
              std::to_string(stored.getDimSize(2))};
    results.push_back(builder.getStrArrayAttr(
        SmallVector<StringRef>(dims.begin(), dims.end())));
  }
  sizes.results = builder.getArrayAttr(results);
  auto [flops, bytes] = getCost(dispatch);
  sizes.flops = flops.str();
  sizes.bytes = bytes.str();
  return sizes;
}

/// Checks one of the lists of layouts of a dispatch, which may be edited.
LogicalResult verifyLayouts(DispatchOp dispatch, StringRef name,
                            ValueRange values) {
  Attribute attribute = dispatch->getAttr(name);
  if (!attribute)
    return success();
  auto layouts = dyn_cast<ArrayAttr>(attribute);
  if (!layouts || layouts.size() != values.size())
    return dispatch.emitOpError()
           << "needs a list of " << values.size() << " layouts in '" << name
           << "', found " << attribute;
  for (auto [layout, value] : llvm::zip_equal(layouts, values)) {
    if (isa<UnitAttr>(layout))
      continue;
    auto panels = dyn_cast<tile::PanelsAttr>(layout);
    if (!panels)
      return dispatch.emitOpError() << "has " << layout << " in '" << name
                                    << "'; expected #tile.panels or unit";
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape();
    if (shape.size() < 2 || ShapedType::isDynamicShape(shape.drop_front()) ||
        ShapedType::getNumElements(shape.drop_front()) % panels.getColumns())
      return dispatch.emitOpError()
             << "cannot store " << value.getType() << " as " << layout
             << ", in '" << name << "'";
  }
  return success();
}

/// What a dispatch says about layouts, alone and beside those it reads from.
LogicalResult verifyLayouts(DispatchOp dispatch) {
  if (failed(verifyLayouts(dispatch, inputLayoutsName, dispatch.getInputs())) ||
      failed(verifyLayouts(dispatch, resultLayoutsName, dispatch.getOutputs())))
    return failure();
  for (auto [number, input] : llvm::enumerate(dispatch.getInputs())) {
    tile::PanelsAttr written, read = getInputLayout(dispatch, number);
    if (auto producer = input.getDefiningOp<DispatchOp>())
      written =
          getResultLayout(producer, cast<OpResult>(input).getResultNumber());
    if (written != read)
      return dispatch.emitOpError()
             << "reads input " << number << " in another layout than it is "
             << "written in; see '" << inputLayoutsName << "' and '"
             << resultLayoutsName << "'";
  }
  return success();
}

/// Checks that the rows of the dispatch's program are known.
LogicalResult verifyRows(DispatchOp dispatch) {
  if (getLoops(dispatch) || getRowsTensor(dispatch))
    return success();
  Block &block = dispatch.getBlock();
  auto isWork = [](Operation &op) {
    return !op.hasTrait<OpTrait::ConstantLike>();
  };
  auto op = llvm::find_if(block, isWork);
  return op->emitOpError("cannot be a kernel of its own: nothing says which of "
                         "its operands has the kernel's rows");
}

/// Rows that a schedule is for at most; 0: any number.
int64_t getMostRows(Attribute schedule) {
  if (auto flash = dyn_cast<tile::FlashScheduleAttr>(schedule))
    return flash.getMostRows();
  auto stream = dyn_cast<tile::StreamScheduleAttr>(schedule);
  return stream ? stream.getMostRows() : 0;
}

/// A program that a launch may run: its shape and schedules for each of some
/// architectures, of which the first that gives usable code is taken.
struct Choice {
  ProgramShape shape;
  SmallVector<Attribute> schedules;

  int64_t getRows() const { return getMostRows(schedules.front()); }
};

/// Choices by the number of rows that they are for, which ascends; one for any
/// number stands last.
using ChoiceList = SmallVector<Choice, 0>;

/// Whether a program can have the kernels of both: the launch says one grid.
bool canShare(const Choice &a, const Choice &c) {
  return a.getRows() == c.getRows() && a.shape.build == c.shape.build &&
         a.shape.grid == c.shape.grid && a.shape.ranged == c.shape.ranged;
}

/// What a launch of the dispatch chooses among, in the order in which it tries
/// them: architectures whose programs have different grids have programs of
/// their own, the newest first.
ChoiceList getChoices(DispatchOp dispatch, ArrayAttr schedules) {
  llvm::MapVector<StringRef, ChoiceList> byLevel;
  for (auto schedule : schedules.getAsRange<tile::ScheduleInterface>()) {
    ChoiceList &choices = byLevel[schedule.getLevel()];
    Choice choice = {getShape(dispatch, schedule), {schedule}};
    if (!choices.empty() && canShare(choices.back(), choice))
      choices.back().schedules.push_back(schedule);
    else
      choices.push_back(std::move(choice));
  }
  SmallVector<ChoiceList> groups;
  for (auto &[level, choices] : byLevel) {
    auto group = llvm::find_if(groups, [&, &choices = choices](auto &other) {
      return llvm::equal(other, choices, canShare);
    });
    if (group == groups.end()) {
      groups.push_back(std::move(choices));
      continue;
    }
    for (auto [shared, own] : llvm::zip_equal(*group, choices))
      llvm::append_range(shared.schedules, own.schedules);
  }
  ChoiceList ordered;
  for (ChoiceList &group : llvm::reverse(groups))
    llvm::append_range(ordered, group);
  return ordered;
}

class BuildTilePrograms
    : public weft::kernel::impl::BuildTileProgramsBase<BuildTilePrograms> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<DispatchOp> dispatches;
    module.walk([&](DispatchOp dispatch) { dispatches.push_back(dispatch); });
    SmallVector<SmallVector<tile::ProgramOp>> chosen;
    SmallVector<LaunchSizes> sizes;
    for (DispatchOp dispatch : dispatches) {
      auto schedules = dispatch->getAttrOfType<ArrayAttr>("schedules");
      if (!schedules || schedules.empty()) {
        dispatch.emitOpError(
            "has no schedules; run weft-choose-schedules first");
        return signalPassFailure();
      }
      if (failed(verifyLayouts(dispatch)) || failed(verifyRows(dispatch)))
        return signalPassFailure();
      SmallVector<tile::ProgramOp> &programs = chosen.emplace_back();
      for (const Choice &choice : getChoices(dispatch, schedules)) {
        programs.push_back(getProgram(
            dispatch, ArrayAttr::get(&getContext(), choice.schedules),
            choice.shape));
        if (!programs.back())
          return signalPassFailure();
      }
      sizes.push_back(getSizes(dispatch));
    }
    // Sizes are traced through the dispatches, so these go last.
    for (auto [dispatch, programs, size] :
         llvm::zip_equal(dispatches, chosen, sizes))
      replace(dispatch, programs, size);
  }

  /// The program of a dispatch; equal dispatches share one.
  tile::ProgramOp getProgram(DispatchOp dispatch, ArrayAttr schedules,
                             const ProgramShape &shape) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    stream << schedules << dispatch->getAttr(inputLayoutsName)
           << dispatch->getAttr(resultLayoutsName);
    for (Attribute schedule : schedules)
      stream << getStepInputs(dispatch, schedule);
    llvm::interleaveComma(dispatch.getBlock().getArgumentTypes(), stream);
    for (Operation &op : dispatch.getBlock())
      // Without locations, whatever --mlir-print-debuginfo says.
      op.print(stream, OpPrintingFlags()
                           .enableDebugInfo(false)
                           .printGenericOpForm()
                           .useLocalScope());
    tile::ProgramOp &program = programs[key];
    if (program)
      return program;
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    for (auto existing : getOperation().getOps<tile::ProgramOp>())
      builder.setInsertionPointAfter(existing);
    std::string description = llvm::join(shape.description, "+");
    std::string name = getUniqueName(shape.name);
    program = tile::ProgramOp::create(
        builder, dispatch.getLoc(), name, builder.getArrayAttr(shape.symbols),
        builder.getArrayAttr(shape.grid), builder.getStringAttr(description));
    builder.createBlock(&program.getBody());
    for (Attribute schedule : schedules)
      if (failed(buildKernel(dispatch, program,
                             cast<tile::ScheduleInterface>(schedule), shape)))
        return {};
    return program;
  }

  std::string getUniqueName(StringRef base) {
    std::string name;
    do {
      unsigned count = names[base]++;
      name = count ? (base + "_" + Twine(count)).str() : base.str();
    } while (getOperation().lookupSymbol(name));
    return name;
  }

  /// The arguments that are weights of linear layers and of their norms.
  DenseI64ArrayAttr getConstants(DispatchOp dispatch) {
    SmallVector<int64_t> constants;
    for (BlockArgument argument : dispatch.getBlock().getArguments())
      if (llvm::any_of(argument.getUsers(), [&](Operation *user) {
            return isa<LinearOp, RmsNormOp>(user) &&
                   user->getOperand(1) == argument;
          }))
        constants.push_back(argument.getArgNumber());
    return constants.empty() ? DenseI64ArrayAttr()
                             : DenseI64ArrayAttr::get(&getContext(), constants);
  }

  /// The arguments that are inputs of the entry point which no dispatch
  /// updates, where the schedule reads such early.
  DenseI64ArrayAttr getStepInputs(DispatchOp dispatch, Attribute schedule) {
    auto flash = dyn_cast<tile::FlashScheduleAttr>(schedule);
    if (!flash || !flash.getEarly())
      return {};
    SmallVector<int64_t> inputs;
    for (auto [number, value] : llvm::enumerate(dispatch.getInputs())) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
        continue;
      bool isUpdated = llvm::any_of(argument.getUses(), [](OpOperand &use) {
        auto user = dyn_cast<DispatchOp>(use.getOwner());
        return user &&
               llvm::any_of(llvm::seq(user.getNumResults()), [&](unsigned i) {
                 return user.getTiedInput(i) == use.getOperandNumber();
               });
      });
      if (!isUpdated)
        inputs.push_back(number);
    }
    return inputs.empty() ? DenseI64ArrayAttr()
                          : DenseI64ArrayAttr::get(&getContext(), inputs);
  }

  LogicalResult buildKernel(DispatchOp dispatch, tile::ProgramOp program,
                            tile::ScheduleInterface schedule,
                            const ProgramShape &shape) {
    OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
    Location loc = dispatch.getLoc();
    std::string name = schedule.getLevel().str();
    for (unsigned count = 1; program.lookupSymbol(name); ++count)
      name = (schedule.getLevel() + "_" + Twine(count)).str();
    auto kernel = tile::KernelOp::create(
        builder, loc, name, schedule.getLevel(), schedule, shape.ranged,
        isa<tile::StreamScheduleAttr>(schedule) ? getConstants(dispatch)
                                                : DenseI64ArrayAttr(),
        getStepInputs(dispatch, schedule));
    Block *block = builder.createBlock(&kernel.getBody());
    for (unsigned i = 0; i < dispatch.getInputs().size(); ++i)
      block->addArgument(getInputType(dispatch, i), loc);
    for (unsigned i = 0; i < dispatch.getNumResults(); ++i)
      if (!dispatch.getTiedInput(i))
        block->addArgument(getResultType(dispatch, i), loc);
    for (size_t i = 0; i < shape.symbols.size() + (shape.ranged ? 2 : 1); ++i)
      block->addArgument(builder.getIndexType(), loc);
    KernelBuilder kernelBuilder(builder, dispatch, kernel, schedule);
    if (failed(shape.build(kernelBuilder)))
      return failure();
    tile::ReturnOp::create(builder, loc);
    return success();
  }

  /// Launches the last of the programs, or the first of those before that has
  /// code for the GPU and is for so many rows.
  void replace(DispatchOp dispatch, MutableArrayRef<tile::ProgramOp> variants,
               const LaunchSizes &sizes) {
    OpBuilder builder(dispatch);
    SmallVector<int64_t> tied;
    for (unsigned i = 0; i < dispatch.getNumResults(); ++i) {
      std::optional<unsigned> input = dispatch.getTiedInput(i);
      tied.push_back(input ? static_cast<int64_t>(*input) : -1);
    }
    SmallVector<StringRef> symbols(sizes.symbols.begin(), sizes.symbols.end());
    SmallVector<Attribute> others;
    for (tile::ProgramOp variant : variants.drop_back()) {
      auto kernel = *variant.getBody().getOps<tile::KernelOp>().begin();
      others.push_back(tile::VariantAttr::get(
          &getContext(), FlatSymbolRefAttr::get(variant.getSymNameAttr()),
          getMostRows(kernel.getScheduleAttr())));
    }
    auto launch = tile::LaunchOp::create(
        builder, dispatch.getLoc(),
        llvm::map_to_vector(
            dispatch.getResults(),
            [](OpResult result) -> Type { return getStoredType(result); }),
        FlatSymbolRefAttr::get(variants.back().getSymNameAttr()),
        dispatch.getLabelAttr(), dispatch.getInputs(),
        builder.getDenseI64ArrayAttr(tied), builder.getStrArrayAttr(symbols),
        sizes.results, builder.getStringAttr(sizes.flops),
        builder.getStringAttr(sizes.bytes),
        others.empty() ? ArrayAttr() : builder.getArrayAttr(others));
    dispatch.replaceAllUsesWith(launch.getResults());
    dispatch.erase();
  }

  llvm::StringMap<tile::ProgramOp> programs;
  llvm::StringMap<unsigned> names;
};

} // namespace
