//===- ExportPlan.cpp - From plan IR to the artifact's records ------------===//

#include "compiler/Artifact/ExportPlan.h"

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/KeyCount.h"
#include "dialects/Weft/WeftDialect.h"

#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;

std::optional<rt::DType> weft::getDType(Type type) {
  if (type.isF32())
    return rt::DType::F32;
  if (type.isF16())
    return rt::DType::F16;
  if (type.isBF16())
    return rt::DType::BF16;
  if (type.isF64())
    return rt::DType::F64;
  if (type.isInteger(1))
    return rt::DType::Bool;
  if (type.isSignlessInteger(8))
    return rt::DType::I8;
  if (type.isUnsignedInteger(8))
    return rt::DType::U8;
  if (type.isUnsignedInteger(16))
    return rt::DType::U16;
  if (type.isUnsignedInteger(32))
    return rt::DType::U32;
  if (type.isUnsignedInteger(64))
    return rt::DType::U64;
  if (type.isInteger(16))
    return rt::DType::I16;
  if (type.isInteger(32))
    return rt::DType::I32;
  if (type.isInteger(64))
    return rt::DType::I64;
  return std::nullopt;
}

namespace {

/// The symbols of the runtime's contract (docs/architecture.md) that live as
/// long as a session.
bool isPerSession(StringRef symbol) { return symbol == "cache_blocks"; }
/// Those of which a run may have none: adjustments of a step, and tokens of the
/// past, as exporters call their number in ONNX files.
bool isOptional(StringRef symbol) {
  return symbol == "adjustments" || symbol.starts_with("past");
}

class PlanExporter {
public:
  PlanExporter(ModuleOp module, std::string target,
               std::vector<ProgramCode> code)
      : module(module), code(std::move(code)) {
    plan.target = std::move(target);
  }

  FailureOr<rt::Plan> run() {
    if (auto meta =
            module->getAttrOfType<StringAttr>(WeftDialect::getMetaAttrName()))
      plan.metaJson = meta.getValue().str();
    if (failed(addParams()) || failed(addStates()) || failed(addKernels()))
      return failure();
    for (auto entry : module.getOps<plan::EntryOp>())
      if (failed(addEntry(entry)))
        return failure();
    // Key counts are numbered behind the symbols, which are all known now.
    for (auto [op, entry] :
         llvm::zip_equal(module.getOps<plan::EntryOp>(), plan.entries))
      addCountedWork(op, entry);
    return std::move(plan);
  }

private:
  //===--------------------------------------------------------------------===//
  // Expressions
  //===--------------------------------------------------------------------===//

  rt::Expr getSymbol(StringRef name) {
    auto [it, isNew] = symbols.try_emplace(name, plan.symbols.size());
    if (isNew) {
      rt::Symbol symbol;
      symbol.name = name.str();
      symbol.min = isOptional(name) ? 0 : 1;
      symbol.perSession = isPerSession(name);
      plan.symbols.push_back(symbol);
    }
    return rt::Expr::symbol(it->second);
  }

  /// `substitutes` gives expressions for names that are not plan symbols.
  rt::Expr toExpr(const Polynomial &polynomial,
                  const llvm::StringMap<rt::Expr> &substitutes = {}) {
    std::optional<rt::Expr> sum;
    for (const auto &[monomial, coefficient] : polynomial.getTerms()) {
      std::optional<rt::Expr> product;
      if (coefficient != 1 || monomial.empty())
        product = rt::Expr::constant(coefficient);
      for (const std::string &name : monomial) {
        auto it = substitutes.find(name);
        rt::Expr factor =
            it != substitutes.end() ? it->second : getSymbol(name);
        product = product ? *product * factor : factor;
      }
      sum = sum ? *sum + *product : *product;
    }
    return sum ? *sum : rt::Expr::constant(0);
  }

  rt::Expr toExpr(StringRef text,
                  const llvm::StringMap<rt::Expr> &substitutes = {}) {
    std::optional<Polynomial> polynomial = Polynomial::parse(text);
    return toExpr(polynomial ? *polynomial : Polynomial(0), substitutes);
  }

  std::vector<rt::Expr> toExprs(ArrayAttr sizes) {
    std::vector<rt::Expr> exprs;
    for (Attribute size : sizes)
      exprs.push_back(toExpr(cast<StringAttr>(size).getValue()));
    return exprs;
  }

  //===--------------------------------------------------------------------===//
  // Sections
  //===--------------------------------------------------------------------===//

  template <typename Op> FailureOr<rt::DType> getElement(Op op) {
    auto type = cast<RankedTensorType>(op.getType());
    std::optional<rt::DType> dtype = getDType(type.getElementType());
    if (!dtype)
      return op.emitOpError()
             << "has elements of type " << type.getElementType()
             << ", which an artifact cannot hold";
    return *dtype;
  }

  LogicalResult addParams() {
    for (auto op : module.getOps<plan::ParamOp>()) {
      FailureOr<rt::DType> dtype = getElement(op);
      if (failed(dtype))
        return failure();
      rt::Param param;
      param.name = op.getSymName().str();
      param.dtype = *dtype;
      ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
      param.shape.assign(shape.begin(), shape.end());
      param.layout = "row-major";
      if (auto layout = dyn_cast_or_null<PackedLayoutInterface>(
              op.getLayout().value_or(nullptr)))
        param.layout = layout.getText();
      indices[op.getSymNameAttr()] = plan.params.size();
      plan.params.push_back(param);
    }
    return success();
  }

  LogicalResult addStates() {
    for (auto op : module.getOps<plan::StateOp>()) {
      FailureOr<rt::DType> dtype = getElement(op);
      if (failed(dtype))
        return failure();
      rt::State state;
      state.name = op.getSymName().str();
      state.dtype = *dtype;
      auto names = op.getSymbols().getAsValueRange<StringAttr>();
      auto name = names.begin();
      for (int64_t size : cast<RankedTensorType>(op.getType()).getShape())
        state.shape.push_back(ShapedType::isDynamic(size)
                                  ? toExpr(*name++)
                                  : rt::Expr::constant(size));
      indices[op.getSymNameAttr()] = plan.states.size();
      plan.states.push_back(state);
    }
    return success();
  }

  LogicalResult addKernels() {
    for (auto program : module.getOps<tile::ProgramOp>()) {
      rt::Kernel kernel;
      kernel.name = program.getSymName().str();
      kernel.program = program.getDescription().value_or("").str();
      kernel.symbolCount = program.getSymbols().size();
      for (auto op : program.getBody().front().getOps<tile::KernelOp>()) {
        kernel.bufferCount = op.getBufferCount();
        kernel.scratchBytes =
            std::max<uint64_t>(kernel.scratchBytes, op.getScratchBytes());
        if (auto schedule = op.getScheduleAttr())
          addSchedule(kernel, debugString(schedule));
      }
      std::string ofPrograms = std::exchange(kernel.schedule, "");
      for (ProgramCode &made : code) {
        if (made.program != kernel.name)
          continue;
        kernel.code.push_back(std::move(made.code));
        if (!made.schedule.empty())
          addSchedule(kernel, made.schedule);
      }
      if (kernel.schedule.empty())
        kernel.schedule = std::move(ofPrograms);
      indices[program.getSymNameAttr()] = plan.kernels.size();
      plan.kernels.push_back(std::move(kernel));
    }
    return success();
  }

  static void addSchedule(rt::Kernel &kernel, const std::string &schedule) {
    kernel.schedule += (kernel.schedule.empty() ? "" : "\n") + schedule;
  }

  LogicalResult addEntry(plan::EntryOp op) {
    rt::Entry entry;
    entry.name = op.getSymName().str();
    for (Attribute symbol : op.getSymbols()) {
      StringRef name = cast<StringAttr>(symbol).getValue();
      getSymbol(name);
      entry.symbols.push_back(symbols.lookup(name));
    }
    DenseMap<Value, uint32_t> buffers;
    DenseMap<Value, std::pair<uint32_t, uint32_t>> uses;
    uint32_t commands = 0;
    for (Operation &operation : op.getBody().front()) {
      if (auto buffer = dyn_cast<plan::BufferOp>(operation)) {
        FailureOr<rt::Buffer> record = getBuffer(buffer);
        if (failed(record))
          return failure();
        buffers[buffer.getResult()] = entry.buffers.size();
        entry.buffers.push_back(*record);
        continue;
      }
      auto launch = cast<plan::LaunchOp>(operation);
      for (Value value : launch.getBuffers()) {
        rt::Buffer &buffer = entry.buffers[buffers[value]];
        auto [it, isFirst] = uses.try_emplace(value, commands, commands);
        it->second.second = commands;
        buffer.firstUse = it->second.first;
        buffer.lastUse = it->second.second;
      }
      entry.commands.push_back(getCommand(launch, entry, buffers));
      ++commands;
    }
    entry.workspaceBytes = toExpr(op.getWorkspace().value_or("0"));
    if (auto bounds = op.getLowerBound()) {
      std::optional<rt::Expr> bound;
      for (Attribute text : *bounds) {
        rt::Expr expr = toExpr(cast<StringAttr>(text).getValue());
        rt::Expr larger = bound ? rt::Expr::max(*bound, expr) : expr;
        // The largest of some is a bound, too, if all are too long to store.
        if (larger.verify(plan.symbols.size()))
          bound = larger;
      }
      if (bound)
        entry.lowerBoundBytes = *bound;
    }
    plan.entries.push_back(std::move(entry));
    return success();
  }

  FailureOr<rt::Buffer> getBuffer(plan::BufferOp op) {
    FailureOr<rt::DType> dtype = getElement(op);
    if (failed(dtype))
      return failure();
    rt::Buffer buffer;
    buffer.name = op.getName().str();
    buffer.dtype = *dtype;
    buffer.shape = toExprs(op.getSizes());
    switch (op.getKind()) {
    case plan::BufferKind::Input:
      buffer.kind = rt::BufferKind::Input;
      break;
    case plan::BufferKind::Output:
      buffer.kind = rt::BufferKind::Output;
      break;
    case plan::BufferKind::State:
      buffer.kind = rt::BufferKind::State;
      buffer.index = indices.lookup(op.getRefAttr().getAttr());
      break;
    case plan::BufferKind::Param: {
      buffer.kind = rt::BufferKind::Param;
      buffer.index = indices.lookup(op.getRefAttr().getAttr());
      break;
    }
    case plan::BufferKind::Temp:
      buffer.kind = rt::BufferKind::Temp;
      buffer.offset = toExpr(op.getOffset().value_or("0"));
      break;
    }
    return buffer;
  }

  rt::Command getCommand(plan::LaunchOp launch, const rt::Entry &entry,
                         const DenseMap<Value, uint32_t> &buffers) {
    rt::Command command;
    command.kind = rt::CommandKind::Launch;
    command.label = launch.getLabel().str();
    command.kernel = indices.lookup(launch.getProgramAttr().getAttr());
    for (Value value : launch.getBuffers())
      command.buffers.push_back(buffers.lookup(value));
    auto program =
        module.lookupSymbol<tile::ProgramOp>(launch.getProgramAttr().getAttr());
    llvm::StringMap<rt::Expr> arguments;
    for (auto [name, value] :
         llvm::zip_equal(program.getSymbols(), launch.getSymbols())) {
      rt::Expr expr = toExpr(cast<StringAttr>(value).getValue());
      command.symbols.push_back(expr);
      arguments[cast<StringAttr>(name).getValue()] = expr;
    }
    command.grid = getGrid(program, arguments);
    if (ArrayAttr variants = launch.getVariantsAttr())
      for (auto variant : variants.getAsRange<tile::VariantAttr>())
        command.variants.push_back(
            {variant.getRows() ? variant.getRows() : rt::Variant::anyRows,
             indices.lookup(variant.getProgram().getAttr()),
             getGrid(module.lookupSymbol<tile::ProgramOp>(variant.getProgram()),
                     arguments)});
    llvm::StringMap<rt::Expr> most;
    for (StringRef text : getCosts(launch))
      for (const KeyCountSymbol &symbol : getKeyCounts(text))
        most[symbol.name] = getMostKeys(symbol.count.kind, launch, entry);
    command.flops = toExpr(getCosts(launch)[0], most);
    command.bytes = toExpr(getCosts(launch)[1], most);
    return command;
  }

  /// Work items of a program, whose symbols have the given values.
  rt::Expr getGrid(tile::ProgramOp program,
                   const llvm::StringMap<rt::Expr> &arguments) {
    std::optional<rt::Expr> grid;
    for (Attribute attribute : program.getGrid()) {
      auto extent = cast<tile::ExtentAttr>(attribute);
      rt::Expr size = toExpr(extent.getSize(), arguments);
      if (extent.getBlock() > 1)
        size = rt::Expr::ceilDiv(size, rt::Expr::constant(extent.getBlock()));
      grid = grid ? *grid * size : size;
    }
    return grid ? *grid : rt::Expr::constant(1);
  }

  //===--------------------------------------------------------------------===//
  // Work
  //===--------------------------------------------------------------------===//

  struct KeyCountSymbol {
    std::string name;
    KeyCount count;
  };

  static std::array<StringRef, 2> getCosts(plan::LaunchOp launch) {
    return {launch.getFlops().value_or("0"), launch.getBytes().value_or("0")};
  }

  /// Those that a cost depends on, once each.
  static std::vector<KeyCountSymbol> getKeyCounts(StringRef cost) {
    llvm::MapVector<StringRef, KeyCount> counts;
    std::optional<Polynomial> polynomial = Polynomial::parse(cost);
    if (polynomial)
      for (const auto &[monomial, coefficient] : polynomial->getTerms())
        for (StringRef name : monomial)
          if (std::optional<KeyCount> count = KeyCount::parse(name))
            counts.insert({name, *count});
    std::vector<KeyCountSymbol> result;
    for (const auto &[name, count] : counts)
      result.push_back({name.str(), count});
    return result;
  }

  /// An input of the step entry's contract (docs/architecture.md).
  static uint32_t findInput(const rt::Entry &entry, StringRef name) {
    for (auto [index, buffer] : llvm::enumerate(entry.buffers))
      if (buffer.kind == rt::BufferKind::Input && buffer.name == name)
        return index;
    return rt::KeyCount::noBuffer;
  }

  /// At most: every token sees all positions that a block table can address,
  /// or without one all tokens.
  rt::Expr getMostKeys(KeyCount::Kind kind, plan::LaunchOp launch,
                       const rt::Entry &entry) {
    rt::Expr tokens =
        toExpr(cast<StringAttr>(launch.getSymbols()[0]).getValue());
    uint32_t table = findInput(entry, "block_table");
    if (table == rt::KeyCount::noBuffer)
      return kind == KeyCount::Kind::Seen ? tokens * tokens : tokens;
    const std::vector<rt::Expr> &shape = entry.buffers[table].shape;
    return (kind == KeyCount::Kind::Seen ? tokens : shape[0]) * shape[1] *
           rt::Expr::constant(blockSize());
  }

  /// The work of commands that depends on the keys of a run.
  void addCountedWork(plan::EntryOp op, rt::Entry &entry) {
    const uint32_t positions = findInput(entry, "positions"),
                   starts = findInput(entry, "sequence_starts"),
                   lengths = findInput(entry, "context_lengths");
    if (positions == rt::KeyCount::noBuffer || starts == rt::KeyCount::noBuffer)
      return;
    llvm::StringMap<rt::Expr> numbers;
    for (auto [launch, command] : llvm::zip_equal(
             op.getBody().front().getOps<plan::LaunchOp>(), entry.commands)) {
      bool isCounted = false;
      for (StringRef cost : getCosts(launch))
        for (const KeyCountSymbol &symbol : getKeyCounts(cost)) {
          isCounted = true;
          if (!numbers
                   .try_emplace(symbol.name,
                                rt::Expr::symbol(plan.symbols.size() +
                                                 entry.keyCounts.size()))
                   .second)
            continue;
          const KeyCount &count = symbol.count;
          entry.keyCounts.push_back(
              {count.kind == KeyCount::Kind::Seen ? rt::KeyCount::Kind::Seen
                                                  : rt::KeyCount::Kind::Read,
               count.isCausal, static_cast<uint64_t>(count.window), positions,
               starts, lengths});
        }
      if (!isCounted)
        continue;
      command.countedFlops = toExpr(getCosts(launch)[0], numbers);
      command.countedBytes = toExpr(getCosts(launch)[1], numbers);
    }
  }

  /// Positions of a cache block: the innermost dimension of a key cache.
  int64_t blockSize() {
    for (auto state : module.getOps<plan::StateOp>())
      if (state.getSymName().ends_with(".key"))
        return cast<RankedTensorType>(state.getType()).getShape().back();
    return 1;
  }

  ModuleOp module;
  std::vector<ProgramCode> code;
  rt::Plan plan;
  llvm::StringMap<uint32_t> symbols;
  DenseMap<StringAttr, uint32_t> indices;
};

} // namespace

FailureOr<rt::Plan> weft::exportPlan(ModuleOp module, std::string target,
                                     std::vector<ProgramCode> code) {
  return PlanExporter(module, std::move(target), std::move(code)).run();
}
