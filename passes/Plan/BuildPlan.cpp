//===- BuildPlan.cpp - Entry functions become command lists ---------------===//

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft::plan {
#define GEN_PASS_DEF_BUILDPLAN
#include "passes/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;

namespace {

/// Params and states, which all entries share.
class Globals {
public:
  explicit Globals(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockBegin(module.getBody())) {}

  /// The param of a weight or constant; equal ones are one param.
  FlatSymbolRefAttr getParam(Operation *op) {
    NamedAttrList attributes;
    StringAttr base;
    if (auto weight = dyn_cast<WeightOp>(op)) {
      attributes.set("sources", weight.getSources());
      if (auto layout = weight.getLayoutAttr())
        attributes.set("layout", layout);
      if (auto shape = weight.getLogicalShapeAttr())
        attributes.set("logical_shape", shape);
      base = builder.getStringAttr(
          cast<SourceAttr>(weight.getSources()[0]).getName());
    } else {
      attributes.set("value", cast<arith::ConstantOp>(op).getValue());
      base = builder.getStringAttr("constant");
    }
    TypeAttr type = TypeAttr::get(op->getResult(0).getType());
    auto key = std::make_pair(attributes.getDictionary(op->getContext()), type);
    StringAttr &name = params[key];
    if (!name) {
      name = getUniqueName(base);
      auto param = plan::ParamOp::create(builder, op->getLoc(), name, type,
                                         ArrayAttr(), Attribute(),
                                         DenseI64ArrayAttr(), ElementsAttr());
      for (NamedAttribute attribute : attributes)
        param->setAttr(attribute.getName(), attribute.getValue());
    }
    return FlatSymbolRefAttr::get(name);
  }

  /// Declares a state the first time it is seen.
  LogicalResult addState(Location loc, StringAttr name, Type type,
                         ArrayAttr symbols) {
    auto [it, isNew] = states.insert({name, type});
    if (!isNew) {
      if (it->second == type)
        return success();
      return emitError(loc)
             << "state " << name
             << " has different types in different entries: " << it->second
             << " and " << type;
    }
    used.insert(name);
    plan::StateOp::create(builder, loc, name, TypeAttr::get(type), symbols);
    return success();
  }

private:
  StringAttr getUniqueName(StringAttr base) {
    StringAttr name = base;
    for (unsigned i = 1; !used.insert(name).second || module.lookupSymbol(name);
         ++i)
      name = builder.getStringAttr(base.getValue() + "#" + Twine(i));
    return name;
  }

  ModuleOp module;
  OpBuilder builder;
  DenseMap<std::pair<DictionaryAttr, TypeAttr>, StringAttr> params;
  DenseMap<StringAttr, Type> states;
  DenseSet<StringAttr> used;
};

/// Builds one entry.
class EntryBuilder {
public:
  EntryBuilder(func::FuncOp function, Globals &globals)
      : function(function), globals(globals), builder(function.getContext()) {}

  LogicalResult build() {
    builder.setInsertionPoint(function);
    entry = plan::EntryOp::create(builder, function.getLoc(),
                                  (function.getSymName() + ".plan").str(),
                                  getSymbols(), StringAttr(), ArrayAttr());
    builder.createBlock(&entry.getBody());
    for (BlockArgument argument : function.getArguments())
      if (failed(addArgument(argument)))
        return failure();
    if (failed(addOutputs()))
      return failure();
    for (Operation &op : function.getBody().front().without_terminator())
      if (failed(addOperation(&op)))
        return failure();
    StringAttr name = function.getSymNameAttr();
    function.erase();
    entry.setSymNameAttr(name);
    return success();
  }

private:
  /// Symbols that sizes of arguments depend on, in order of appearance.
  ArrayAttr getSymbols() {
    llvm::SetVector<Attribute> symbols;
    for (BlockArgument argument : function.getArguments())
      for (int64_t dim = 0,
                   rank = cast<RankedTensorType>(argument.getType()).getRank();
           dim < rank; ++dim) {
        Polynomial size = getDimSize(argument, dim);
        for (const auto &[monomial, coefficient] : size.getTerms())
          for (const std::string &name : monomial)
            symbols.insert(builder.getStringAttr(name));
      }
    return builder.getArrayAttr(symbols.getArrayRef());
  }

  ArrayAttr getSizes(Value value) {
    if (auto launch = value.getDefiningOp<tile::LaunchOp>())
      return cast<ArrayAttr>(
          launch.getSizes()[cast<OpResult>(value).getResultNumber()]);
    SmallVector<Attribute> sizes;
    for (int64_t dim = 0,
                 rank = cast<RankedTensorType>(value.getType()).getRank();
         dim < rank; ++dim)
      sizes.push_back(builder.getStringAttr(getDimSize(value, dim).str()));
    return builder.getArrayAttr(sizes);
  }

  /// A tensor type whose integers have no sign.
  static Type dropSign(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.clone(IntegerType::get(type.getContext(),
                                         tensor.getElementTypeBitWidth(),
                                         IntegerType::Unsigned));
  }

  Value addBuffer(Value value, plan::BufferKind kind, StringAttr name,
                  FlatSymbolRefAttr ref, bool isUnsigned = false) {
    // Inputs and outputs come first and keep the names that the runtime knows.
    std::string unique = name.getValue().str();
    for (unsigned i = 1; !names.insert(unique).second; ++i)
      unique = (name.getValue() + "#" + Twine(i)).str();
    auto buffer = plan::BufferOp::create(
        builder, value.getLoc(), plan::BufferType::get(builder.getContext()),
        kind, unique, ref, StringAttr(),
        isUnsigned ? dropSign(value.getType()) : value.getType(),
        getSizes(value));
    return buffers[value] = buffer.getResult();
  }

  LogicalResult addArgument(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(
        number, WeftDialect::getNameAttrName());
    auto state = function.getArgAttrOfType<StringAttr>(
        number, WeftDialect::getStateAttrName());
    if (!name == !state)
      return function.emitError() << "argument " << number << " needs either "
                                  << WeftDialect::getNameAttrName() << " or "
                                  << WeftDialect::getStateAttrName();
    if (name) {
      addBuffer(argument, plan::BufferKind::Input, name, {},
                bool(function.getArgAttr(number,
                                         WeftDialect::getUnsignedAttrName())));
      return success();
    }
    auto symbols = function.getArgAttrOfType<ArrayAttr>(
        number, WeftDialect::getSymbolsAttrName());
    if (failed(globals.addState(argument.getLoc(), state, argument.getType(),
                                symbols ? symbols : builder.getArrayAttr({}))))
      return failure();
    addBuffer(argument, plan::BufferKind::State, state,
              FlatSymbolRefAttr::get(state));
    stateBuffers[state] = buffers[argument];
    return success();
  }

  /// Results of launches that are returned get output buffers; returned states
  /// are checked once their buffers are known.
  LogicalResult addOutputs() {
    auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    for (OpOperand &operand : ret->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      auto name = function.getResultAttrOfType<StringAttr>(
          number, WeftDialect::getNameAttrName());
      if (!name)
        continue;
      Value made = getMade(operand.get());
      if (!made.getDefiningOp<tile::LaunchOp>() || buffers.contains(made))
        return function.emitError()
               << "output " << name
               << " must be a result of a launch that is returned once";
      addBuffer(made, plan::BufferKind::Output, name, {},
                bool(function.getResultAttr(
                    number, WeftDialect::getUnsignedAttrName())));
    }
    return success();
  }

  /// The value whose buffer `value` lies in: itself, or what launches have
  /// changed in place to become it.
  static Value getMade(Value value) {
    while (auto launch = value.getDefiningOp<tile::LaunchOp>()) {
      int64_t tied = launch.getTied()[cast<OpResult>(value).getResultNumber()];
      if (tied < 0)
        break;
      value = launch.getInputs()[tied];
    }
    return value;
  }

  LogicalResult addOperation(Operation *op) {
    if (isa<WeightOp, arith::ConstantOp>(op)) {
      Value result = op->getResult(0);
      if (isa<RankedTensorType>(result.getType()) && !result.use_empty()) {
        FlatSymbolRefAttr param = globals.getParam(op);
        addBuffer(result, plan::BufferKind::Param, param.getAttr(), param);
      }
      return success();
    }
    auto launch = dyn_cast<tile::LaunchOp>(op);
    if (!launch)
      return op->emitOpError("cannot be in an entry point when the plan is "
                             "built; only launches, weights and constants");
    return addLaunch(launch);
  }

  LogicalResult addLaunch(tile::LaunchOp launch) {
    SmallVector<Value> arguments;
    for (Value input : launch.getInputs())
      arguments.push_back(buffers.lookup(input));
    for (auto [index, result] : llvm::enumerate(launch.getResults())) {
      int64_t tied = launch.getTied()[index];
      if (tied >= 0) {
        buffers[result] = arguments[tied];
        if (failed(checkState(launch, result)) ||
            failed(checkReaders(launch, launch.getInputs()[tied])))
          return failure();
        continue;
      }
      if (!buffers.contains(result))
        addBuffer(result, plan::BufferKind::Temp, launch.getLabelAttr(), {});
      arguments.push_back(buffers[result]);
    }
    plan::LaunchOp::create(builder, launch.getLoc(), launch.getProgramAttr(),
                           launch.getLabelAttr(), arguments,
                           builder.getI64IntegerAttr(launch.getInputs().size()),
                           launch.getSymbolsAttr(), launch.getFlopsAttr(),
                           launch.getBytesAttr(), launch.getVariantsAttr());
    return success();
  }

  /// What `launch` changes in place must not be read afterwards.
  LogicalResult checkReaders(tile::LaunchOp launch, Value changed) {
    for (Operation *user : changed.getUsers())
      if (launch->isBeforeInBlock(user))
        return launch.emitOpError()
               << "changes in place what a later operation reads";
    return success();
  }

  /// A returned state must have been updated in the state's own buffer.
  LogicalResult checkState(tile::LaunchOp launch, Value result) {
    for (OpOperand &use : result.getUses()) {
      if (!isa<func::ReturnOp>(use.getOwner()))
        continue;
      auto state = function.getResultAttrOfType<StringAttr>(
          use.getOperandNumber(), WeftDialect::getStateAttrName());
      if (state && stateBuffers.lookup(state) != buffers.lookup(result))
        return launch.emitOpError()
               << "returns state " << state << " that lies in another buffer";
    }
    return success();
  }

  func::FuncOp function;
  Globals &globals;
  OpBuilder builder;
  plan::EntryOp entry;
  DenseMap<Value, Value> buffers;
  llvm::StringSet<> names;
  DenseMap<StringAttr, Value> stateBuffers;
};

class BuildPlan : public plan::impl::BuildPlanBase<BuildPlan> {
  void runOnOperation() override {
    Globals globals(getOperation());
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal() &&
          failed(EntryBuilder(function, globals).build()))
        return signalPassFailure();
  }
};

} // namespace
