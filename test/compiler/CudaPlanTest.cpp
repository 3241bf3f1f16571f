//===- CudaPlanTest.cpp - Plans with CUDA code ----------------------------===//
//
// The plan phase's result with kernels written by hand: code generation from
// tile programs is not needed, a GPU neither. Without NVRTC it is skipped.
//
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ExportPlan.h"
#include "compiler/Dialects.h"
#include "compiler/Target/Cuda/CompileKernels.h"
#include "compiler/Target/Cuda/DumpKernels.h"
#include "dialects/Tile/TileDialect.h"
#include "runtime/Format/Writer.h"
#include "test/reference/Scratch.h"
#include "test/runtime/Support/RunCommand.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A kernel with the program's arguments that writes some bytes.
CudaKernel writeKernel(tile::ProgramOp program, const std::string &arch) {
  CudaKernel kernel;
  kernel.program = program.getSymName().str();
  kernel.symbol = "kernel";
  kernel.arch = arch;
  auto ofLevel = program.getBody().front().getOps<tile::KernelOp>();
  std::string source =
      "extern \"C\" __global__ void __launch_bounds__(64)\nkernel(";
  unsigned buffers = (*ofLevel.begin()).getBufferCount();
  for (unsigned i = 0; i < buffers; ++i)
    source += "void *buffer" + std::to_string(i) + ", ";
  for (size_t i = 0; i < program.getSymbols().size(); ++i)
    source += "long long symbol" + std::to_string(i) + ", ";
  source +=
      "long long items) {\n  if (blockIdx.x < items)\n    ((char *)buffer" +
      std::to_string(buffers - 1) + ")[threadIdx.x] = items;\n}\n";
  rt::LaunchShape launch;
  launch.threads = 64;
  launch.clusterSize = 1;
  kernel.candidates.push_back({source, launch, "by-hand " + arch});
  return kernel;
}

TEST(CudaPlan, HasCodeForEveryArchitecture) {
  auto nvrtc = rt::Nvrtc::load();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.getStatus().getMessage();
  reference::Scratch scratch("cuda-plan");
  fs::create_directories(scratch.path);
  std::string ir = (scratch.path / "plan.mlir").string();
  auto [output, status] = test::runCommand(
      std::string(WEFT_COMPILE) + " " + WEFT_SOURCE_DIR +
      "/models/stories260k --target=cpu:x86-64-v2 --compile-to=plan -o " + ir);
  ASSERT_EQ(status, 0) << output;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(ir, &context);
  ASSERT_TRUE(module);

  std::vector<CudaKernel> kernels;
  for (auto program : module->getOps<tile::ProgramOp>())
    for (const char *arch : {"sm_80", "sm_90a"})
      kernels.push_back(writeKernel(program, arch));
  CudaCompileOptions options;
  options.nvrtc = *nvrtc;
  options.nvrtcOptions.keepPtx = true;
  auto compiled = compileCudaKernels(kernels, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  std::vector<ProgramCode> code;
  for (const CompiledCudaKernel &kernel : *compiled) {
    code.push_back({kernel.program, kernel.cubin, kernel.schedule});
    code.push_back({kernel.program, kernel.source});
  }
  auto plan = exportPlan(*module, "cuda:sm_80,sm_90a", code);
  ASSERT_TRUE(mlir::succeeded(plan));
  EXPECT_EQ(plan->target, "cuda:sm_80,sm_90a");
  ASSERT_EQ(plan->kernels.size() * 2, kernels.size());
  for (const rt::Kernel &kernel : plan->kernels) {
    std::vector<std::string> targets;
    for (const rt::Code &entry : kernel.code)
      targets.push_back(entry.target);
    EXPECT_THAT(targets, ElementsAre("sm_80", "sm_80", "sm_90a", "sm_90a"));
    EXPECT_EQ(kernel.code[2].kind, rt::Code::Kind::Cubin);
    EXPECT_EQ(kernel.code[3].kind, rt::Code::Kind::CudaSource);
    EXPECT_EQ(kernel.schedule, "by-hand sm_80\nby-hand sm_90a");
  }

  // The reproducer of an attention kernel has tables with consistent values.
  fs::path folder = scratch.path / "kernels";
  llvm::Error error =
      dumpKernels(*plan, *compiled, (*nvrtc)->getVersion(), folder.string());
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  size_t programs = 0, withTables = 0;
  for (const auto &file : fs::directory_iterator(folder)) {
    if (!file.path().string().ends_with(".main.cu"))
      continue;
    ++programs;
    auto buffer = llvm::MemoryBuffer::getFile(file.path().string());
    ASSERT_TRUE(bool(buffer));
    llvm::StringRef text = (*buffer)->getBuffer();
    withTables += text.contains("return i % cache_blocks;") &&
                  text.contains("return table_width * 64;");
  }
  EXPECT_EQ(programs, kernels.size());
  EXPECT_GE(withTables, 2u);

  auto writer = rt::ArtifactWriter::create(
      (scratch.path / "stories.weft").string(), std::move(*plan));
  EXPECT_TRUE(writer) << writer.getStatus().getMessage();
}

} // namespace
