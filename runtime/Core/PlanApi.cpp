//===- PlanApi.cpp - weft_plan_* ------------------------------------------===//

#include "runtime/Core/Handles.h"

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Exec/MemoryReport.h"

#include <cstddef>

using namespace weft::rt;

namespace {

/// Whether a caller's struct of `structSize` bytes has the given member.
#define WEFT_HAS(type, member, structSize)                                     \
  ((structSize) >= offsetof(type, member) + sizeof(type::member))

Status readOptions(const weft_plan_options *options, weft_plan &plan) {
  if (!options)
    return Status::ok();
  if (!WEFT_HAS(weft_plan_options, threads, options->struct_size))
    return Status::invalid("weft_plan_options has a struct_size of " +
                           std::to_string(options->struct_size) +
                           "; set it to sizeof(weft_plan_options)");
  plan.threads = options->threads;
  if (WEFT_HAS(weft_plan_options, device, options->struct_size) &&
      options->device)
    plan.deviceName = options->device;
  if (!plan.deviceName.empty())
    if (Status status = checkDeviceName(plan.deviceName); !status)
      return status;
  if (plan.threads > ThreadPool::maxThreads)
    return Status::invalid(std::to_string(plan.threads) +
                           " threads were asked for; expected at most " +
                           std::to_string(ThreadPool::maxThreads));
  return Status::ok();
}

void makeShapeTexts(weft_plan &handle) {
  const Plan &plan = handle.artifact->getPlan();
  for (const Entry &entry : plan.entries) {
    std::vector<std::string> &texts = handle.shapeTexts.emplace_back();
    for (const Buffer &buffer : entry.buffers)
      texts.push_back(formatShape(buffer.shape, plan));
  }
  std::vector<std::string> &texts = handle.shapeTexts.emplace_back();
  for (const State &state : plan.states)
    texts.push_back(formatShape(state.shape, plan));
}

/// Symbol values of a caller, by symbol index.
class KnownSymbols {
public:
  static Result<KnownSymbols> create(const Plan &plan,
                                     const weft_symbol *symbols, size_t count) {
    std::vector<SymbolValue> given;
    if (Status status = convertSymbols(symbols, count, given); !status)
      return status;
    KnownSymbols known;
    known.values.resize(plan.symbols.size());
    known.isKnown.resize(plan.symbols.size());
    for (const SymbolValue &value : given) {
      Result<uint32_t> index = findSymbol(plan, value.name);
      if (!index)
        return index.getStatus();
      known.values[*index] = value.value;
      known.isKnown[*index] = true;
    }
    return known;
  }

  /// The value of a size, -1 if it uses a symbol that was not given.
  Result<int64_t> evaluate(const Expr &size) const {
    for (const ExprOp &op : size.getOps())
      if (op.kind == ExprOp::Kind::Symbol && !isKnown[op.value])
        return int64_t(-1);
    return size.evaluate(values);
  }

private:
  std::vector<int64_t> values;
  std::vector<bool> isKnown;
};

Status describeTensor(const std::string &name, DType dtype,
                      const std::vector<Expr> &shape, const std::string &text,
                      const KnownSymbols &symbols, weft_tensor_info &info) {
  if (shape.size() > WEFT_MAX_RANK)
    return Status::unsupported("tensor '" + name + "' has " +
                               std::to_string(shape.size()) +
                               " dimensions; the C interface has at most " +
                               std::to_string(WEFT_MAX_RANK));
  weft_tensor_info described = {};
  described.name = name.c_str();
  described.dtype = static_cast<weft_dtype>(dtype);
  described.rank = int32_t(shape.size());
  described.shape_text = text.c_str();
  for (size_t i = 0; i < shape.size(); ++i) {
    Result<int64_t> size = symbols.evaluate(shape[i]);
    if (!size)
      return Status(size.getStatus().getCode(),
                    "shape of '" + name +
                        "': " + size.getStatus().getMessage());
    described.shape[i] = *size;
  }
  info = described;
  return Status::ok();
}

Status describeState(const weft_plan &handle, size_t index,
                     const KnownSymbols &symbols, weft_tensor_info &info) {
  const Plan &plan = handle.artifact->getPlan();
  if (index >= plan.states.size())
    return Status::notFound(
        "the plan has " + std::to_string(plan.states.size()) +
        " states; number " + std::to_string(index) + " was asked for");
  const State &state = plan.states[index];
  return describeTensor(state.name, state.dtype, state.shape,
                        handle.shapeTexts.back()[index], symbols, info);
}

Status describeArgument(const weft_plan &handle, const char *entryName,
                        BufferKind kind, size_t index,
                        const KnownSymbols &symbols, weft_tensor_info &info) {
  const Plan &plan = handle.artifact->getPlan();
  if (!entryName)
    return Status::invalid("the name of the entry is NULL");
  Result<uint32_t> entryIndex = findEntry(plan, entryName);
  if (!entryIndex)
    return entryIndex.getStatus();
  const Entry &entry = plan.entries[*entryIndex];
  size_t seen = 0;
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    const Buffer &buffer = entry.buffers[i];
    if (buffer.kind == kind && seen++ == index)
      return describeTensor(buffer.name, buffer.dtype, buffer.shape,
                            handle.shapeTexts[*entryIndex][i], symbols, info);
  }
  return Status::notFound(
      "entry '" + entry.name + "' has " + std::to_string(seen) +
      (kind == BufferKind::Input ? " inputs" : " outputs") + "; number " +
      std::to_string(index) + " was asked for");
}

} // namespace

Result<std::shared_ptr<Program>> weft_plan::getProgram() {
  std::lock_guard lock(mutex);
  if (program)
    return program;
  Result<std::shared_ptr<Device>> device = createDevice(deviceName, threads);
  if (!device)
    return device.getStatus();
  Result<std::shared_ptr<Program>> loaded =
      Program::load(artifact, device.take());
  if (loaded)
    program = *loaded;
  return loaded;
}

weft_status weft_plan_open(const char *path, const weft_plan_options *options,
                           weft_plan **plan) {
  if (plan)
    *plan = nullptr;
  return guard([&]() -> Status {
    if (!path || !plan)
      return Status::invalid("weft_plan_open needs a path and a place for the "
                             "plan; one of them is NULL");
    auto handle = std::make_unique<weft_plan>();
    if (Status status = readOptions(options, *handle); !status)
      return status;
    Result<std::unique_ptr<Artifact>> artifact = Artifact::open(path);
    if (!artifact)
      return artifact.getStatus();
    handle->artifact = artifact.take();
    if (handle->deviceName.empty())
      handle->deviceName =
          getDeviceForTarget(handle->artifact->getPlan().target);
    makeShapeTexts(*handle);
    *plan = handle.release();
    return Status::ok();
  });
}

void weft_plan_close(weft_plan *plan) { delete plan; }

const char *weft_plan_meta(const weft_plan *plan) {
  return plan ? plan->artifact->getPlan().metaJson.c_str() : "";
}

const char *weft_plan_entry(const weft_plan *plan, size_t index) {
  if (!plan || index >= plan->artifact->getPlan().entries.size())
    return nullptr;
  return plan->artifact->getPlan().entries[index].name.c_str();
}

weft_status weft_plan_tensor(const weft_plan *plan, const char *entry,
                             weft_tensor_role role, size_t index,
                             const weft_symbol *symbols, size_t symbol_count,
                             weft_tensor_info *info) {
  if (info)
    *info = {};
  return guard([&]() -> Status {
    if (!plan || !info)
      return Status::invalid("weft_plan_tensor needs a plan and a place for "
                             "the description; one of them is NULL");
    Result<KnownSymbols> known =
        KnownSymbols::create(plan->artifact->getPlan(), symbols, symbol_count);
    if (!known)
      return known.getStatus();
    switch (role) {
    case WEFT_INPUT:
      return describeArgument(*plan, entry, BufferKind::Input, index, *known,
                              *info);
    case WEFT_OUTPUT:
      return describeArgument(*plan, entry, BufferKind::Output, index, *known,
                              *info);
    case WEFT_STATE:
      return describeState(*plan, index, *known, *info);
    }
    return Status::invalid("the role " + std::to_string(int(role)) +
                           " is none of WEFT_INPUT, WEFT_OUTPUT, WEFT_STATE");
  });
}

weft_status weft_plan_symbol(const weft_plan *plan, size_t index,
                             weft_symbol_info *info) {
  if (info)
    *info = {};
  return guard([&]() -> Status {
    if (!plan || !info)
      return Status::invalid("weft_plan_symbol needs a plan and a place for "
                             "the description; one of them is NULL");
    const std::vector<Symbol> &symbols = plan->artifact->getPlan().symbols;
    if (index >= symbols.size())
      return Status::notFound("the plan has " + std::to_string(symbols.size()) +
                              " symbols; number " + std::to_string(index) +
                              " was asked for");
    const Symbol &symbol = symbols[index];
    *info = {symbol.name.c_str(), symbol.min, symbol.max, symbol.perSession};
    return Status::ok();
  });
}

weft_status weft_plan_memory(const weft_plan *plan, const weft_symbol *symbols,
                             size_t symbol_count, weft_memory *memory) {
  if (memory)
    *memory = {};
  return guard([&]() -> Status {
    if (!plan || !memory)
      return Status::invalid("weft_plan_memory needs a plan and a place for "
                             "the result; one of them is NULL");
    std::vector<SymbolValue> values;
    if (Status status = convertSymbols(symbols, symbol_count, values); !status)
      return status;
    unsigned workers = plan->deviceName != "cpu" ? 1
                       : plan->threads == 0      ? getUsableCoreCount()
                                                 : plan->threads;
    Result<MemoryReport> report =
        reportMemory(plan->artifact->getPlan(), values, workers);
    if (!report)
      return report.getStatus();
    *memory = {report->weights,        report->stateBytes,
               report->workspaceBytes, report->scratchBytes,
               report->callerBytes,    report->total,
               report->lowerBound};
    return Status::ok();
  });
}
