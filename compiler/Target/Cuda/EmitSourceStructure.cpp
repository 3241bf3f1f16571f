//===- EmitSourceStructure.cpp - Functions, loops, branches, names --------===//

#include "compiler/Target/Cuda/EmitSourcePrinter.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::cuda;

/// Operations in one expression; longer ones are hard to read.
static constexpr int maxWeight = 6;

void SourcePrinter::line(const Twine &content) {
  text += std::string(indent * 2, ' ') + content.str() + "\n";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string SourcePrinter::makeName(StringRef wish) {
  std::string base;
  for (char c : wish)
    base += llvm::isAlnum(c) ? c : '_';
  if (base.empty() || llvm::isDigit(base[0]))
    base = "v" + base;
  auto isTaken = [&](const std::string &name) {
    return weft::Prelude::isReserved(name) ||
           llvm::any_of(scopes,
                        [&](auto &scope) { return scope.contains(name); });
  };
  std::string name = base;
  for (int i = 1; isTaken(name); ++i)
    name = base + (llvm::isDigit(base.back()) ? "_" : "") + std::to_string(i);
  scopes.back().insert(name);
  return name;
}

std::string SourcePrinter::nameValue(Value value, StringRef hint) {
  if (auto name = dyn_cast<NameLoc>(value.getLoc()))
    hint = name.getName();
  return names[value] = makeName(hint);
}

std::string SourcePrinter::getHint(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<ThreadIndexOp>([](auto) { return "thread"; })
      .Case<BlockIndexOp>([](auto) { return "block"; })
      .Case<BlockCountOp>([](auto) { return "blocks"; })
      .Case<ClusterRankOp>([](auto) { return "rank"; })
      .Case<SharedMemoryOp>([](auto) { return "tile"; })
      .Case<OffsetOp>([](auto) { return "at"; })
      .Case<MapClusterOp>([](auto) { return "there"; })
      .Case<LoadOp>([](auto) { return "x"; })
      .Case<AtomicAddOp>([](auto) { return "before"; })
      .Case<LoadAcquireOp>([](auto) { return "flag"; })
      .Case<ShuffleXorOp, ShuffleIndexOp>([](auto) { return "other"; })
      .Case<ElectOp>([](auto) { return "elected"; })
      .Case<LoadMatrixOp>([](auto) { return "fragment"; })
      .Case<MmaOp, WarpgroupMmaOp>([](auto) { return "acc"; })
      .Case<PackOp>([](auto) { return "pair"; })
      .Case<arith::CmpIOp, arith::CmpFOp>([](auto) { return "is"; })
      .Case<arith::SelectOp>([](auto) { return "chosen"; })
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return "sum"; })
      .Case([](vector::ReductionOp) { return "all"; })
      .Case<arith::MulFOp, arith::MulIOp, MultiplyPairsOp>(
          [](auto) { return "product"; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return "difference"; })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(
          [](auto) { return "quotient"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "rest"; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [](auto) { return "most"; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [](auto) { return "least"; })
      .Case<math::ExpOp, math::Exp2Op, Exp2Op>([](auto) { return "power"; })
      .Case<math::RsqrtOp>([](auto) { return "scale"; })
      .Default([](auto) { return "v"; })
      .str();
}

std::string SourcePrinter::printType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    prelude.use("Vec");
    return "Vec<" + printType(vector.getElementType()) + ", " +
           std::to_string(vector.getNumElements()) + ">";
  }
  if (auto pointer = dyn_cast<PtrType>(type))
    return pointer.getSpace() == Space::Global
               ? printType(pointer.getElement()) + " *"
               : "u32";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isBF16() || type.isF16()) {
    StringRef name = type.isBF16() ? "bf16" : "f16";
    prelude.use(name);
    return name.str();
  }
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(32))
    return "int";
  return type.isInteger(8) ? "i8" : type.isInteger(16) ? "i16" : "i64";
}

/// Whether something may be written through a pointer.
static bool isWritten(Value pointer) {
  return llvm::any_of(pointer.getUsers(), [&](Operation *user) {
    if (auto offset = dyn_cast<OffsetOp>(user))
      return isWritten(offset.getResult());
    return !isa<LoadOp, CopyAsyncOp, CopyBulkOp, LoadAcquireOp>(user);
  });
}

std::string SourcePrinter::printType(Value value) {
  Value root = value;
  while (auto offset = root.getDefiningOp<OffsetOp>())
    root = offset.getPointer();
  auto pointer = dyn_cast<PtrType>(value.getType());
  bool isConst = pointer && pointer.getSpace() == Space::Global &&
                 isa<BlockArgument>(root) &&
                 root.getParentBlock() == &kernel.getBlock() &&
                 !isWritten(root);
  return (isConst ? "const " : "") + printType(value.getType());
}

/// Type and name of a variable.
static std::string declaration(const std::string &type,
                               const std::string &name) {
  return type + (type.back() == '*' ? "" : " ") + name;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LogicalResult SourcePrinter::print(StringRef symbol) {
  scopes.emplace_back();
  printSignature(symbol);
  bool usesShared = false;
  kernel.walk([&](SharedMemoryOp) { usesShared = true; });
  if (usesShared) {
    prelude.use("shared_address");
    line("extern __shared__ __align__(1024) char shared_memory[];");
    line("const u32 smem = shared_address(shared_memory);");
  }
  if (failed(printBlock(kernel.getBlock())))
    return failure();
  text += "}\n";
  return success();
}

void SourcePrinter::printSignature(StringRef symbol) {
  text += "extern \"C\" __global__ void __launch_bounds__(" +
          std::to_string(kernel.getThreads()) + ", " +
          std::to_string(
              std::max<int64_t>(1, kernel.getBlocksPerMultiprocessor())) +
          ")";
  if (kernel.getCluster() > 1)
    text +=
        " __cluster_dims__(" + std::to_string(kernel.getCluster()) + ", 1, 1)";
  text += "\n" + symbol.str() + "(";
  auto arguments = kernel.getBlock().getArguments();
  scopes.back().insert(symbol);
  for (BlockArgument argument : arguments) {
    StringRef hint = isa<PtrType>(argument.getType()) ? "buffer"
                     : argument == arguments.back()   ? "items"
                                                      : "size";
    if (argument.getArgNumber() != 0)
      text += ", ";
    std::string name = nameValue(argument, hint);
    text += declaration(printType(argument), name);
  }
  text += ") {\n";
}

LogicalResult SourcePrinter::printBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(printOp(&op)))
      return failure();
  flushLanes();
  return success();
}

LogicalResult SourcePrinter::printBody(Block &block, function_ref<void()> end) {
  scopes.emplace_back();
  ++indent;
  LogicalResult result = printBlock(block);
  if (succeeded(result) && end)
    end();
  --indent;
  scopes.pop_back();
  return failure(failed(result) || isRefused);
}

LogicalResult SourcePrinter::printOp(Operation *op) {
  if (isOpTriviallyDead(op))
    return success();
  for (Type type : op->getResultTypes())
    if (auto vector = dyn_cast<VectorType>(type);
        vector && (vector.getRank() != 1 || vector.isScalable()))
      return refuse(op, "its vector type is not one-dimensional"), failure();
  if (isMemoryEffectFree(op) && op->getNumRegions() == 0) {
    printDefinition(op);
    return failure(isRefused);
  }
  flushLanes();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return printWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return printIf(branch);
  if (!printStatement(op))
    refuse(op);
  return failure(isRefused);
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

static bool isLanewise(Operation *op) {
  return op->getNumResults() >= 1 &&
         isa<VectorType>(op->getResult(0).getType()) &&
         (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
          isa<Exp2Op, vector::FMAOp, vector::StepOp,
              vector::ExtractStridedSliceOp>(op)) &&
         !isa<arith::ConstantOp>(op);
}

/// Written wherever it is used, because the text is short.
static bool isTrivial(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !elements || elements.isSplat();
  }
  if (auto extract = dyn_cast<vector::ExtractOp>(op))
    return !extract.hasDynamicPosition();
  return isa<vector::BroadcastOp, vector::ToElementsOp>(op);
}

bool SourcePrinter::decideInline(Operation *op) {
  int weight = 1;
  for (Value operand : op->getOperands())
    if (Operation *definition = operand.getDefiningOp())
      weight += weights.lookup(definition);
  if (isTrivial(op)) {
    weights[op] = isa<arith::ConstantOp>(op) ? 0 : weight - 1;
    return true;
  }
  if (!op->hasOneUse() || weight > maxWeight || op->getNumResults() != 1 ||
      isa<ThreadIndexOp, BlockIndexOp, BlockCountOp, ClusterRankOp>(op))
    return false;
  Operation *user = *op->getUsers().begin();
  if (user->getBlock() != op->getBlock() || isa<vector::BroadcastOp>(user))
    return false;
  // What is written more than once.
  if (isTrivial(user) && !user->hasOneUse())
    return false;
  bool usedByLane = isLanewise(user) || isa<vector::ExtractOp>(user);
  if (isa<VectorType>(op->getResult(0).getType())
          ? !(isLanewise(op) && usedByLane)
          : isLanewise(user))
    return false;
  weights[op] = weight;
  return true;
}

void SourcePrinter::printDefinition(Operation *op) {
  bool lanewise = isLanewise(op);
  if (!lanewise && !isa<arith::ConstantOp, vector::BroadcastOp>(op))
    flushLanes();
  // A slice reads other elements than those of its own loop.
  if (isa<vector::ExtractStridedSliceOp>(op))
    flushLanes();
  if (decideInline(op)) {
    inlined.insert(op);
    // Diagnoses what cannot be printed.
    for (OpResult result : op->getResults())
      define(result, isa<VectorType>(result.getType()) ? "e" : "");
    return;
  }
  if (printVectorStatement(op))
    return;
  if (lanewise)
    return printLanes(op);
  for (OpResult result : op->getResults()) {
    Expr expr = define(result, "");
    std::string type = printType(result);
    if (type.back() != '*')
      type = "const " + type;
    if (!result.use_empty())
      line(declaration(type, nameValue(result, getHint(op))) + " = " +
           expr.text + ";");
  }
}

void SourcePrinter::printLanes(Operation *op) {
  int64_t count = cast<VectorType>(op->getResult(0).getType()).getNumElements();
  if (count != laneCount)
    flushLanes();
  laneCount = count;
  for (OpResult result : op->getResults()) {
    Expr expr = define(result, count == 1 ? "0" : "e");
    std::string name = nameValue(result, getHint(op));
    line(declaration(printType(result), name) + ";");
    lanes.push_back(name + (count == 1 ? "[0] = " : "[e] = ") + expr.text +
                    ";");
  }
}

void SourcePrinter::flushLanes() {
  if (lanes.empty())
    return;
  if (laneCount != 1) {
    text += "#pragma unroll\n";
    line("for (int e = 0; e < " + Twine(laneCount) + "; ++e)" +
         (lanes.size() > 1 ? " {" : ""));
    ++indent;
  }
  for (const std::string &lane : lanes)
    line(lane);
  if (laneCount != 1) {
    --indent;
    if (lanes.size() > 1)
      line("}");
  }
  lanes.clear();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<std::string> SourcePrinter::declare(ValueRange variables,
                                                ValueRange initial,
                                                StringRef hint) {
  SmallVector<std::string> result;
  for (auto [variable, first] : llvm::zip_equal(variables, initial)) {
    std::string start = value(first).text;
    std::string name = nameValue(variable, hint);
    line(declaration(printType(variable), name) + " = " + start + ";");
    result.push_back(name);
  }
  return result;
}

bool SourcePrinter::refersTo(Value value, const llvm::StringSet<> &variables) {
  auto name = names.find(value);
  if (name != names.end())
    return variables.contains(name->second);
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) {
           return refersTo(operand, variables);
         });
}

void SourcePrinter::assign(ArrayRef<std::string> variables, ValueRange values) {
  SmallVector<std::string> contents;
  llvm::StringSet<> changed;
  for (auto [variable, source] : llvm::zip_equal(variables, values)) {
    std::string content = value(source).text;
    // An assignment before this one would change what it reads.
    if (content != variable && refersTo(source, changed)) {
      std::string next = makeName("next");
      line("const " + declaration(printType(source.getType()), next) + " = " +
           content + ";");
      content = next;
    }
    if (content != variable)
      changed.insert(variable);
    contents.push_back(content);
  }
  for (auto [variable, content] : llvm::zip_equal(variables, contents))
    if (content != variable)
      line(variable + " = " + content + ";");
}

LogicalResult SourcePrinter::printFor(scf::ForOp op) {
  if (op.getUnsignedCmp())
    return refuse(op, "it compares unsigned"), failure();
  SmallVector<std::string> state =
      declare(op.getRegionIterArgs(), op.getInits(), "state");
  for (auto [name, result] : llvm::zip_equal(state, op.getResults()))
    names[result] = name;
  Expr lower = value(op.getLowerBound()), upper = value(op.getUpperBound()),
       step = value(op.getStep());
  if (Attribute unroll = op->getAttr("cuda.unroll"))
    text += "#pragma unroll" +
            (isa<UnitAttr>(unroll)
                 ? std::string()
                 : " " + std::to_string(cast<IntegerAttr>(unroll).getInt())) +
            "\n";
  scopes.emplace_back();
  StringRef letters = "ijklmnopqrstuvw";
  while (letters.size() > 1 && llvm::any_of(scopes, [&](auto &scope) {
           return scope.contains(letters.take_front());
         }))
    letters = letters.drop_front();
  Value variable = op.getInductionVar();
  std::string i = nameValue(variable, letters.take_front());
  line("for (" + printType(variable.getType()) + " " + i + " = " + lower.text +
       "; " + i + " < " + upper.as(Level::Additive) + "; " +
       (step.text == "1" ? "++" + i : i + " += " + step.text) + ") {");
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  LogicalResult result =
      printBody(*op.getBody(), [&] { assign(state, yield.getOperands()); });
  scopes.pop_back();
  line("}");
  return result;
}

/// Whether the block does nothing but compute a condition and passes its
/// arguments on as they are.
static bool isPlainCondition(scf::WhileOp op) {
  scf::ConditionOp condition = op.getConditionOp();
  if (!llvm::equal(condition.getArgs(), op.getBeforeArguments()))
    return false;
  Operation *last = condition.getCondition().getDefiningOp();
  // One operation, used here only, is always written in place.
  return last && last->getBlock() == op.getBeforeBody() && last->hasOneUse() &&
         llvm::all_of(op.getBeforeBody()->without_terminator(),
                      [&](Operation &inner) {
                        return &inner == last || isa<arith::ConstantOp>(inner);
                      });
}

LogicalResult SourcePrinter::printWhile(scf::WhileOp op) {
  SmallVector<std::string> state =
      declare(op.getBeforeArguments(), op.getInits(), "state");
  scf::ConditionOp condition = op.getConditionOp();
  SmallVector<std::string> passed;
  bool plain = isPlainCondition(op);
  auto after = op.getAfterArguments();
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (plain) {
      // Apart: an insertion moves what a reference into the table refers to.
      names[after[i]] = state[i];
      names[result] = state[i];
      continue;
    }
    std::string name = nameValue(result, "passed");
    line(declaration(printType(result.getType()), name) + ";");
    names[after[i]] = name;
    passed.push_back(name);
  }
  auto yield = [&] { assign(state, op.getYieldOp().getOperands()); };
  if (plain) {
    if (failed(printBlock(*op.getBeforeBody())))
      return failure();
    line("while (" + value(condition.getCondition()).text + ") {");
  } else {
    line("while (true) {");
    auto leave = [&] {
      Expr goOn = value(condition.getCondition());
      // What is passed on may be computed from names of this block only.
      assign(passed, condition.getArgs());
      line("if (!" + goOn.as(Level::Unary) + ")");
      line("  break;");
    };
    // The second block sees no name of the first, so both share a scope.
    if (failed(printBody(*op.getBeforeBody(), leave)))
      return failure();
  }
  LogicalResult result = printBody(*op.getAfterBody(), yield);
  line("}");
  return result;
}

LogicalResult SourcePrinter::printIf(scf::IfOp op) {
  SmallVector<std::string> results;
  for (Value result : op.getResults()) {
    results.push_back(nameValue(result, "chosen"));
    line(declaration(printType(result.getType()), results.back()) + ";");
  }
  line("if (" + value(op.getCondition()).text + ") {");
  auto yields = [&](Block &block) {
    return [&] { assign(results, block.getTerminator()->getOperands()); };
  };
  if (failed(printBody(*op.thenBlock(), yields(*op.thenBlock()))))
    return failure();
  if (op.elseBlock() &&
      (!op.elseBlock()->without_terminator().empty() || !results.empty())) {
    line("} else {");
    if (failed(printBody(*op.elseBlock(), yields(*op.elseBlock()))))
      return failure();
  }
  line("}");
  return success();
}
