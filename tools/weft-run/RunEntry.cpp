//===- RunEntry.cpp - weft-run: any entry on tensors from .npy files ------===//

#include "tools/weft-run/RunEntry.h"

#include "runtime/Exec/Session.h"
#include "runtime/Exec/Trace.h"
#include "runtime/Format/MappedFile.h"
#include "runtime/Llm/EntryInputs.h"
#include "tools/common/Npy.h"
#include "tools/common/OutputPaths.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace weft;
using namespace weft::rt;

namespace {
struct NamedArray {
  std::string name;
  NpyArray array;

  Argument asArgument() {
    return {name, {array.data.data(), array.dtype, array.shape}};
  }
};
} // namespace

/// Nothing that is written may replace what is read, or another output.
static Status checkOutputs(const EntryOptions &options, const Plan &plan) {
  std::vector<tools::NamedPath> inputs, outputs;
  inputs.push_back({"the plan", options.plan});
  for (const ExternalFile &file : plan.externalFiles)
    inputs.push_back(
        {"the plan's weights", getFolder(options.plan) + "/" + file.path});
  for (const auto &[name, path] : options.inputs)
    inputs.push_back({"--input " + name, path});
  for (const auto &[name, path] : options.outputs)
    outputs.push_back({"--output " + name, path});
  outputs.push_back({"--trace", options.tracePath});
  return tools::checkOutputPaths(inputs, outputs);
}

static const Buffer *findBuffer(const Entry &entry, BufferKind kind,
                                const std::string &name) {
  for (const Buffer &buffer : entry.buffers)
    if (buffer.kind == kind && buffer.name == name)
      return &buffer;
  return nullptr;
}

static Status noSuchTensor(const Entry &entry, BufferKind kind,
                           const std::string &name) {
  std::string names;
  for (const Buffer &buffer : entry.buffers)
    if (buffer.kind == kind)
      names += (names.empty() ? "" : ", ") + buffer.name;
  return Status::notFound("the entry '" + entry.name + "' has no " +
                          (kind == BufferKind::Input ? "input" : "output") +
                          " '" + name + "'; it has: " + names);
}

static Result<std::vector<NamedArray>> readInputs(const EntryOptions &options,
                                                  const Entry &entry) {
  std::vector<NamedArray> inputs;
  for (const auto &[name, path] : options.inputs) {
    const Buffer *buffer = findBuffer(entry, BufferKind::Input, name);
    if (!buffer)
      return noSuchTensor(entry, BufferKind::Input, name);
    Result<NpyArray> array = readNpy(path);
    if (!array)
      return array.getStatus();
    // One type of file for both.
    if (buffer->dtype == DType::U16 && array->dtype == DType::BF16)
      array->dtype = DType::U16;
    inputs.push_back({name, array.take()});
  }
  for (const auto &[name, path] : options.outputs)
    if (!findBuffer(entry, BufferKind::Output, name))
      return noSuchTensor(entry, BufferKind::Output, name);
  return inputs;
}

/// Sizes from the command line and from the dimensions of inputs that are plain
/// symbols. Contradictions are left to the session, which names them.
static Result<std::map<uint32_t, int64_t>>
collectSymbols(const Plan &plan, const Entry &entry,
               const EntryOptions &options,
               const std::vector<NamedArray> &inputs) {
  std::map<uint32_t, int64_t> values;
  for (const auto &[name, value] : options.symbols) {
    Result<uint32_t> index = findSymbol(plan, name);
    if (!index)
      return index.getStatus();
    values[*index] = value;
  }
  for (const NamedArray &input : inputs) {
    const Buffer &buffer = *findBuffer(entry, BufferKind::Input, input.name);
    size_t rank = std::min(buffer.shape.size(), input.array.shape.size());
    for (size_t i = 0; i < rank; ++i) {
      const std::vector<ExprOp> &ops = buffer.shape[i].getOps();
      if (ops.size() == 1 && ops[0].kind == ExprOp::Kind::Symbol)
        values.try_emplace(uint32_t(ops[0].value), input.array.shape[i]);
    }
  }
  return values;
}

/// Zeroed arrays for all outputs of the entry.
static Result<std::vector<NamedArray>>
makeOutputs(const Plan &plan, const Entry &entry,
            const std::map<uint32_t, int64_t> &values) {
  std::vector<int64_t> symbols(plan.symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    auto it = values.find(uint32_t(i));
    symbols[i] = it == values.end() ? plan.symbols[i].min : it->second;
  }
  std::vector<NamedArray> outputs;
  for (const Buffer &buffer : entry.buffers) {
    if (buffer.kind != BufferKind::Output)
      continue;
    NamedArray output = {buffer.name, {buffer.dtype, {}, {}}};
    size_t size = getByteSize(buffer.dtype);
    for (const Expr &extent : buffer.shape) {
      Result<int64_t> value = extent.evaluate(symbols);
      if (!value)
        return value.getStatus();
      if (__builtin_mul_overflow(size, size_t(*value), &size) ||
          size > (size_t(1) << 40))
        return Status::limit("the output '" + buffer.name +
                             "' would be larger than 1 TiB; check the inputs' "
                             "shapes and --symbol");
      output.array.shape.push_back(*value);
    }
    output.array.data.resize(size);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

static Status run(Session &session, const EntryOptions &options,
                  std::vector<NamedArray> &inputs,
                  std::vector<NamedArray> &outputs,
                  std::span<const SymbolValue> symbols) {
  std::unique_ptr<Trace> trace;
  if (!options.tracePath.empty()) {
    Result<std::unique_ptr<Trace>> created = Trace::create(options.tracePath);
    if (!created)
      return created.getStatus();
    trace = created.take();
  }
  uint32_t hook = trace ? session.addHook(trace->makeHook()) : 0;
  std::vector<Argument> in, out;
  for (NamedArray &input : inputs)
    in.push_back(input.asArgument());
  for (NamedArray &output : outputs)
    out.push_back(output.asArgument());
  Status status = session.run(options.entry, in, out, symbols);
  if (!trace)
    return status;
  session.removeHook(hook);
  Status closed = trace->close();
  return status.isOk() ? closed : status;
}

Status weft::runEntry(const EntryOptions &options) {
  Result<std::unique_ptr<Artifact>> artifact = Artifact::open(options.plan);
  if (!artifact)
    return artifact.getStatus();
  const Plan &plan = (*artifact)->getPlan();
  if (Status s = checkOutputs(options, plan); !s)
    return s;
  Result<uint32_t> index = findEntry(plan, options.entry);
  if (!index)
    return index.getStatus();
  const Entry &entry = plan.entries[*index];
  Result<std::vector<NamedArray>> inputs = readInputs(options, entry);
  if (!inputs)
    return inputs.getStatus();
  Result<std::map<uint32_t, int64_t>> values =
      collectSymbols(plan, entry, options, *inputs);
  if (!values)
    return values.getStatus();
  Result<std::vector<NamedArray>> outputs = makeOutputs(plan, entry, *values);
  if (!outputs)
    return outputs.getStatus();

  // The session is exactly as large as this one run needs.
  SessionOptions sizes;
  std::vector<SymbolValue> runSymbols;
  for (uint32_t i = 0; i < plan.symbols.size(); ++i) {
    const Symbol &symbol = plan.symbols[i];
    auto it = values->find(i);
    bool used = std::find(entry.symbols.begin(), entry.symbols.end(), i) !=
                entry.symbols.end();
    if (it == values->end()) {
      // Not a size of this entry: as small as the plan allows.
      if (!symbol.perSession || !used)
        sizes.symbols.push_back(
            {symbol.name, std::max<int64_t>(symbol.min, 1)});
      continue;
    }
    sizes.symbols.push_back({symbol.name, it->second});
    if (!symbol.perSession && used)
      runSymbols.push_back({symbol.name, it->second});
  }
  Result<std::shared_ptr<Device>> device = createDevice(
      options.device.empty() ? getDeviceForTarget(plan.target) : options.device,
      options.threads);
  if (!device)
    return device.getStatus();
  std::shared_ptr<const Artifact> shared = artifact.take();
  Result<std::shared_ptr<Program>> program =
      Program::load(shared, device.take());
  if (!program)
    return program.getStatus();
  Result<std::unique_ptr<Session>> session =
      Session::create(program.take(), sizes);
  if (!session)
    return session.getStatus();
  (*session)->setInputCheck(makeInputCheck(**session));
  if (Status s = run(**session, options, *inputs, *outputs, runSymbols); !s)
    return s;

  for (const auto &[name, path] : options.outputs)
    for (const NamedArray &output : *outputs)
      if (output.name == name)
        if (Status s = writeNpy(path, output.array.dtype, output.array.shape,
                                output.array.data);
            !s)
          return s;
  for (const NamedArray &output : *outputs)
    std::fprintf(stderr, "output %s: %s %s\n", output.name.c_str(),
                 getName(output.array.dtype),
                 formatShape(output.array.shape).c_str());
  return Status::ok();
}
