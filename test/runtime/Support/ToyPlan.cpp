//===- ToyPlan.cpp --------------------------------------------------------===//

#include "test/runtime/Support/ToyPlan.h"

#include "runtime/Format/Writer.h"

#include <cstring>
#include <fstream>
#include <iterator>

using namespace weft::rt;

namespace {

enum SymbolIndex : uint32_t { Tokens, Rows };
enum BufferIndex : uint32_t {
  X,
  Slots,
  Weight,
  Bias,
  Memory,
  Hidden,
  Copied,
  Y,
  Sums
};

Expr constant(int64_t value) { return Expr::constant(value); }
Expr tokens() { return Expr::symbol(Tokens); }
Expr rows() { return Expr::symbol(Rows); }

std::vector<uint8_t> readObject() {
  std::ifstream in(WEFT_TOY_OBJECT, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Parameters in memory of their own, 64-byte aligned.
class MemoryArtifact final : public Artifact {
public:
  MemoryArtifact(Plan plan, std::vector<std::vector<float>> values)
      : plan(std::move(plan)) {
    for (const std::vector<float> &param : values) {
      Aligned memory((param.size() + 15) / 16);
      std::memcpy(memory.data(), param.data(), param.size() * sizeof(float));
      sizes.push_back(param.size() * sizeof(float));
      params.push_back(std::move(memory));
    }
  }

  const Plan &getPlan() const override { return plan; }
  std::span<const std::byte> getParamData(size_t index) const override {
    return {reinterpret_cast<const std::byte *>(params[index].data()),
            sizes[index]};
  }
  Status verifyData() const override { return Status::ok(); }
  std::span<const SectionInfo> getSections() const override { return {}; }
  uint64_t getFileSize() const override { return 0; }

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  using Aligned = std::vector<Line>;

  Plan plan;
  std::vector<Aligned> params;
  std::vector<size_t> sizes;
};

Kernel makeKernel(const std::string &name, uint32_t buffers, uint32_t symbols,
                  const std::string &program) {
  Kernel kernel;
  kernel.name = name;
  kernel.code = {toy::makeCode("toy_" + name, "x86-64-v2", {})};
  kernel.bufferCount = buffers;
  kernel.symbolCount = symbols;
  kernel.schedule = "#schedule<rows = 1>";
  kernel.program = program;
  return kernel;
}

Command makeLaunch(const std::string &label, uint32_t kernel,
                   std::vector<uint32_t> buffers, std::vector<Expr> symbols,
                   Expr grid, Expr flops, Expr bytes) {
  Command command;
  command.label = label;
  command.kernel = kernel;
  command.buffers = std::move(buffers);
  command.symbols = std::move(symbols);
  command.grid = std::move(grid);
  command.flops = std::move(flops);
  command.bytes = std::move(bytes);
  return command;
}

Buffer makeBuffer(const std::string &name, BufferKind kind,
                  std::vector<Expr> shape, DType dtype = DType::F32) {
  Buffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.dtype = dtype;
  buffer.shape = std::move(shape);
  return buffer;
}

Entry makeEntry() {
  Entry entry;
  entry.name = "step";
  entry.symbols = {Tokens, Rows};
  std::vector<Expr> rowsOfTokens = {tokens(), constant(toy::width)};
  entry.buffers.resize(Sums + 1);
  entry.buffers[X] = makeBuffer("x", BufferKind::Input, rowsOfTokens);
  entry.buffers[Slots] =
      makeBuffer("slots", BufferKind::Input, {tokens()}, DType::I32);
  entry.buffers[Weight] =
      makeBuffer("weight", BufferKind::Param,
                 {constant(toy::width), constant(toy::width)});
  entry.buffers[Bias] =
      makeBuffer("bias", BufferKind::Param, {constant(toy::width)});
  entry.buffers[Bias].index = 1;
  entry.buffers[Memory] =
      makeBuffer("memory", BufferKind::State, {rows(), constant(toy::width)});
  entry.buffers[Hidden] = makeBuffer("hidden", BufferKind::Temp, rowsOfTokens);
  entry.buffers[Hidden].firstUse = 0;
  entry.buffers[Hidden].lastUse = 1;
  // Behind `hidden`, whose size is rounded up to 64 bytes.
  entry.buffers[Copied] = makeBuffer("copied", BufferKind::Temp, rowsOfTokens);
  entry.buffers[Copied].offset =
      Expr::ceilDiv(tokens() * constant(32), constant(64)) * constant(64);
  entry.buffers[Copied].firstUse = 1;
  entry.buffers[Copied].lastUse = 2;
  entry.buffers[Y] = makeBuffer("y", BufferKind::Output, rowsOfTokens);
  entry.buffers[Sums] =
      makeBuffer("sums", BufferKind::Output, {constant(toy::width)});

  Expr linearFlops = tokens() * constant(2 * 8 * 8);
  Expr linearBytes = tokens() * constant(64) + constant(8 * 8 * 4 + 8 * 4);
  Command keep;
  keep.kind = CommandKind::Copy;
  keep.label = "layers.0.keep";
  keep.buffers = {Hidden, Copied};
  keep.bytes = tokens() * constant(64);
  entry.commands = {makeLaunch("layers.0.linear", 0, {X, Weight, Bias, Hidden},
                               {tokens()}, tokens(), linearFlops, linearBytes),
                    keep,
                    makeLaunch("layers.1.linear", 0, {Copied, Weight, Bias, Y},
                               {tokens()}, tokens(), linearFlops, linearBytes),
                    makeLaunch("memory.append", 1, {X, Slots, Memory},
                               {tokens(), rows()}, constant(toy::width),
                               tokens() * constant(8), tokens() * constant(96)),
                    makeLaunch("memory.sum", 2, {Memory, Sums}, {rows()},
                               constant(toy::width), rows() * constant(8),
                               rows() * constant(32) + constant(32))};
  entry.workspaceBytes =
      Expr::ceilDiv(tokens() * constant(32), constant(64)) * constant(128);
  entry.lowerBoundBytes = tokens() * constant(64);
  return entry;
}

} // namespace

Code toy::makeCode(const std::string &symbol, const std::string &target,
                   std::vector<std::string> features) {
  Code code;
  code.target = target;
  code.features = std::move(features);
  code.symbol = symbol;
  code.bytes = readObject();
  return code;
}

std::vector<float> toy::makeWeight() {
  std::vector<float> weight(width * width, 0.0f);
  for (int64_t o = 0; o < width; ++o) {
    weight[o * width + o] += 2.0f;
    weight[o * width] += 0.5f;
  }
  return weight;
}

std::vector<float> toy::makeBias() {
  std::vector<float> bias(width);
  for (int64_t o = 0; o < width; ++o)
    bias[o] = float(o);
  return bias;
}

std::vector<double> toy::expectedLinear(const std::vector<double> &x) {
  std::vector<double> y(width);
  for (int64_t o = 0; o < width; ++o)
    y[o] = 2.0 * x[o] + 0.5 * x[0] + double(o);
  return y;
}

Plan toy::makePlan() {
  Plan plan;
  plan.target = "cpu";
  plan.metaJson = R"({"format":1,"kind":"test","name":"toy","block_size":64,)"
                  R"("context_length":64})";
  plan.symbols = {{"tokens", 1, 16, false}, {"rows", 1, 4096, true}};
  Param weight, bias;
  weight.name = "weight";
  weight.shape = {width, width};
  weight.layout = "row-major";
  weight.size = width * width * sizeof(float);
  bias.name = "bias";
  bias.shape = {width};
  bias.layout = "row-major";
  bias.size = width * sizeof(float);
  plan.params = {weight, bias};
  plan.states = {
      {"memory", DType::F32, {Expr::symbol(Rows), Expr::constant(width)}}};
  plan.kernels = {makeKernel("linear", 4, 1, "linear+bias"),
                  makeKernel("append", 3, 2, "cache_append"),
                  makeKernel("sum", 2, 1, "reduce_sum")};
  plan.kernels[2].scratchBytes = 64;
  plan.entries = {makeEntry()};
  plan.debug = {{"input", "module {\n  // the toy as it came in\n}\n"},
                {"kernel", "module {\n  // the toy's kernels\n}\n"}};
  return plan;
}

std::unique_ptr<Artifact>
toy::makeArtifact(Plan plan, std::vector<std::vector<float>> params) {
  return std::make_unique<MemoryArtifact>(std::move(plan), std::move(params));
}

std::unique_ptr<Artifact> toy::makeArtifact() {
  return makeArtifact(makePlan(), {makeWeight(), makeBias()});
}

Status toy::writeFile(const std::string &path, Plan plan) {
  Result<std::unique_ptr<ArtifactWriter>> writer =
      ArtifactWriter::create(path, std::move(plan));
  if (!writer)
    return writer.getStatus();
  std::vector<float> weight = makeWeight(), bias = makeBias();
  if (Status status =
          (*writer)->writeParam(0, std::as_bytes(std::span(weight)));
      !status)
    return status;
  if (Status status = (*writer)->writeParam(1, std::as_bytes(std::span(bias)));
      !status)
    return status;
  return (*writer)->finish();
}
