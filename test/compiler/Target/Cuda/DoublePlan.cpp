//===- DoublePlan.cpp - A plan of one CUDA kernel for tests ---------------===//

#include "test/compiler/Target/Cuda/DoublePlan.h"

#include "test/compiler/Target/Cuda/Sources.h"

using namespace weft;

static rt::Buffer makeBuffer(const std::string &name, rt::BufferKind kind,
                             rt::DType dtype, std::vector<rt::Expr> shape) {
  rt::Buffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.dtype = dtype;
  buffer.shape = std::move(shape);
  return buffer;
}

rt::Plan weft::test::makeDoublePlan() {
  rt::Plan plan;
  plan.target = "cuda:sm_80";
  for (const char *name : {"tokens", "sequences", "table_width", "odd.name"}) {
    rt::Symbol symbol;
    symbol.name = name;
    symbol.min = 1;
    plan.symbols.push_back(symbol);
  }
  plan.symbols[3].min = 5;
  rt::Expr tokens = rt::Expr::symbol(0), width = rt::Expr::symbol(2);
  rt::Expr columns = rt::Expr::constant(64);
  rt::Kernel kernel;
  kernel.name = "double";
  kernel.program = "twice\nas much";
  kernel.bufferCount = 5;
  kernel.symbolCount = 1;
  plan.kernels.push_back(kernel);
  rt::Entry entry;
  entry.name = "step";
  using Kind = rt::BufferKind;
  entry.buffers = {
      makeBuffer("x", Kind::Input, rt::DType::F32, {tokens, columns}),
      makeBuffer("y\"", Kind::Temp, rt::DType::F32, {tokens, columns}),
      makeBuffer("weight", Kind::Temp, rt::DType::BF16, {columns + width}),
      makeBuffer("sequence_starts", Kind::Input, rt::DType::I32,
                 {rt::Expr::symbol(1) + rt::Expr::constant(1)}),
      makeBuffer("block_table", Kind::Input, rt::DType::I64, {width})};
  rt::Command command;
  command.label = "layers.0.double";
  command.buffers = {0, 1, 2, 3, 4};
  command.symbols = {tokens};
  command.grid = rt::Expr::max(
      rt::Expr::ceilDiv(tokens * columns, rt::Expr::constant(256)),
      rt::Expr::symbol(3));
  command.bytes = tokens * rt::Expr::constant(512);
  command.flops = tokens * columns;
  entry.commands.push_back(command);
  plan.entries.push_back(entry);
  return plan;
}

CompiledCudaKernel weft::test::makeDoubleKernel() {
  CompiledCudaKernel kernel;
  kernel.program = "double";
  kernel.arch = "sm_80";
  kernel.schedule = "#a.schedule";
  kernel.source.kind = rt::Code::Kind::CudaSource;
  kernel.source.target = "sm_80";
  kernel.source.symbol = "twice";
  kernel.source.features = {"-std=c++17", "--fmad=false"};
  kernel.source.launch.threads = 256;
  kernel.source.launch.sharedBytes = 50 * 1024;
  kernel.source.launch.clusterSize = 1;
  std::string source = test::doubleSource;
  kernel.source.bytes = std::vector<uint8_t>(source.begin(), source.end());
  kernel.cubin = kernel.source;
  kernel.cubin.kind = rt::Code::Kind::Cubin;
  kernel.cubin.bytes = std::vector<uint8_t>{1, 2, 3};
  kernel.details.ptx = "some ptx";
  kernel.details.log = "the log\n";
  kernel.details.report.resources = rt::KernelResources{40, 1, 1024, 0, 0, 0};
  kernel.notes = {"a note"};
  return kernel;
}
