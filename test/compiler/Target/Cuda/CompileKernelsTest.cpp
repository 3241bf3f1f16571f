//===- CompileKernelsTest.cpp - CUDA C++ to cubins with NVRTC -------------===//
//
// Needs no GPU. Without NVRTC the tests that compile are skipped.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Cuda/CompileKernels.h"
#include "passes/Kernel/CudaArch.h"
#include "test/compiler/Target/Cuda/Sources.h"
#include "test/reference/Scratch.h"

#include "llvm/Object/ELFObjectFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace weft;
using namespace weft::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

namespace {

rt::LaunchShape makeLaunch(uint32_t threads) {
  rt::LaunchShape launch;
  launch.threads = threads;
  launch.clusterSize = 1;
  return launch;
}

CudaKernel makeKernel(const std::string &arch,
                      std::vector<CudaCandidate> candidates) {
  return {"double", "twice", arch, std::move(candidates)};
}

const CudaCandidate good{doubleSource, makeLaunch(256), "good"};
const CudaCandidate onStack{stackSource, makeLaunch(256), "on-stack"};
const CudaCandidate spilling{spillSource, makeLaunch(1024), "spilling"};
const CudaCandidate serialised{serialisedSource, makeLaunch(256), "serialised"};

class CudaCompile : public testing::Test {
protected:
  void SetUp() override {
    auto loaded = rt::Nvrtc::load();
    if (!loaded)
      GTEST_SKIP() << loaded.getStatus().getMessage();
    options.nvrtc = loaded.take();
  }

  /// The only kernel; fails the test if there is an error.
  CompiledCudaKernel compile(const CudaKernel &kernel) {
    auto compiled = compileCudaKernels({kernel}, options);
    if (!compiled) {
      ADD_FAILURE() << llvm::toString(compiled.takeError());
      return {};
    }
    return std::move(compiled->front());
  }

  std::string getError(llvm::ArrayRef<CudaKernel> kernels) {
    auto compiled = compileCudaKernels(kernels, options);
    return compiled ? "" : llvm::toString(compiled.takeError());
  }

  CudaCompileOptions options;
};

/// The names of a cubin's functions.
std::vector<std::string> listFunctions(const rt::Bytes &cubin) {
  auto object =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(
          llvm::StringRef(reinterpret_cast<const char *>(cubin.data()),
                          cubin.size()),
          "cubin"));
  std::vector<std::string> names;
  if (!object) {
    llvm::consumeError(object.takeError());
    return names;
  }
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    auto type = symbol.getType();
    auto name = symbol.getName();
    if (type && *type == llvm::object::SymbolRef::ST_Function && name)
      names.push_back(name->str());
    llvm::consumeError(type.takeError());
    llvm::consumeError(name.takeError());
  }
  return names;
}

TEST_F(CudaCompile, EveryArchitecture) {
  std::vector<CudaKernel> kernels;
  for (const CudaArch &arch : getCudaArchs())
    kernels.push_back(makeKernel(arch.name.str(), {good}));
  auto compiled = compileCudaKernels(kernels, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  ASSERT_EQ(compiled->size(), getCudaArchs().size());
  for (const CompiledCudaKernel &kernel : *compiled) {
    SCOPED_TRACE(kernel.arch);
    EXPECT_EQ(kernel.program, "double");
    EXPECT_EQ(kernel.schedule, "good");
    EXPECT_EQ(kernel.cubin.kind, rt::Code::Kind::Cubin);
    EXPECT_EQ(kernel.cubin.target, kernel.arch);
    EXPECT_EQ(kernel.cubin.symbol, "twice");
    EXPECT_THAT(kernel.cubin.features, IsEmpty());
    EXPECT_EQ(kernel.cubin.launch, good.launch);
    EXPECT_THAT(listFunctions(kernel.cubin.bytes), ElementsAre("twice"));
    EXPECT_EQ(kernel.source.kind, rt::Code::Kind::CudaSource);
    EXPECT_EQ(
        std::string(kernel.source.bytes.begin(), kernel.source.bytes.end()),
        doubleSource);
    EXPECT_EQ(kernel.source.features, options.nvrtcOptions.extra);
    EXPECT_THAT(kernel.notes, IsEmpty());
    EXPECT_GT(kernel.details.report.resources->registers, 0u);
    EXPECT_THAT(kernel.details.ptx, IsEmpty());
  }
}

TEST_F(CudaCompile, TakesTheNextCandidate) {
  CompiledCudaKernel kernel =
      compile(makeKernel("sm_90a", {serialised, spilling, good, onStack}));
  EXPECT_EQ(kernel.candidate, 2u);
  EXPECT_EQ(kernel.schedule, "good");
  EXPECT_EQ(kernel.cubin.launch, good.launch);
  ASSERT_EQ(kernel.notes.size(), 2u);
  EXPECT_THAT(kernel.notes[0],
              HasSubstr("the schedule serialised loses performance (C7511"));
  EXPECT_THAT(kernel.notes[1],
              HasSubstr("the schedule spilling spills registers"));
}

TEST_F(CudaCompile, NoGoodCandidate) {
  std::vector<CudaKernel> kernels = {
      makeKernel("sm_90a", {serialised, spilling, onStack}),
      makeKernel("sm_80", {good}), makeKernel("sm_80", {onStack}),
      makeKernel("sm_80", {})};
  std::string error = getError(kernels);
  EXPECT_THAT(error, HasSubstr("kernel 'double' for sm_90a: no schedule gives "
                               "usable code:\n  the schedule serialised"));
  EXPECT_THAT(error, HasSubstr("\n  the schedule spilling spills"));
  EXPECT_THAT(error, HasSubstr("\n  the schedule on-stack has a stack frame"));
  EXPECT_THAT(error, HasSubstr("\nkernel 'double' for sm_80: no schedule"));
  EXPECT_THAT(error, HasSubstr("kernel 'double' for sm_80: there is no source "
                               "to compile"));

  options.allowSpills = true;
  CompiledCudaKernel kernel = compile(kernels[0]);
  EXPECT_EQ(kernel.schedule, "on-stack"); // The least bad.
  EXPECT_EQ(kernel.notes.size(), 3u);
}

TEST_F(CudaCompile, WhatCannotRunIsNoCandidate) {
  CudaCandidate large = good;
  large.launch.sharedBytes = 200 * 1024;
  EXPECT_EQ(compile(makeKernel("sm_90a", {large})).schedule, "good");
  options.allowSpills = true;
  EXPECT_THAT(getError({makeKernel("sm_80", {large})}),
              HasSubstr("needs 200 KiB of shared memory, a block has at most "
                        "163 KiB"));
}

TEST_F(CudaCompile, WrongSources) {
  CudaCandidate broken{"extern \"C\" __global__ void twice() { x = 1; }",
                       makeLaunch(32), "broken"};
  EXPECT_THAT(getError({makeKernel("sm_80", {broken, good})}),
              HasSubstr("cannot compile kernel 'twice' for sm_80: twice.cu(1): "
                        "error: identifier \"x\" is undefined"));
  EXPECT_THAT(getError({makeKernel("sm_80", {serialised})}),
              HasSubstr("not supported on .target 'sm_80'"));
  CudaCandidate other{"extern \"C\" __global__ void other() {}", makeLaunch(32),
                      "other"};
  EXPECT_THAT(getError({makeKernel("sm_80", {other})}),
              HasSubstr("is not described by the log of NVRTC"));
  EXPECT_THAT(getError({makeKernel("sm_1", {good})}),
              HasSubstr("unknown CUDA architecture 'sm_1'; expected one of "
                        "sm_80, sm_86, sm_89, sm_90, sm_90a"));
}

TEST_F(CudaCompile, ArchitectureThatNvrtcDoesNotKnow) {
  auto cubin = options.nvrtc->compileToCubin(doubleSource, "twice", "sm_1");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.getStatus().getCode(), rt::StatusCode::Unsupported);
  EXPECT_THAT(cubin.getStatus().getMessage(), HasSubstr("It knows sm_"));
  EXPECT_THAT(cubin.getStatus().getMessage(), HasSubstr("sm_90"));
}

TEST_F(CudaCompile, Cache) {
  reference::Scratch scratch("cuda-compile-cache");
  options.cacheFolder = scratch.path.string();
  CudaKernel kernel = makeKernel("sm_80", {onStack, good});
  CompiledCudaKernel first = compile(kernel), second = compile(kernel);
  EXPECT_FALSE(first.fromCache);
  EXPECT_TRUE(second.fromCache);
  EXPECT_EQ(second.schedule, "good");
  EXPECT_EQ(second.cubin.bytes, first.cubin.bytes);
  EXPECT_EQ(second.notes, first.notes);
  EXPECT_EQ(second.details.log, first.details.log);
  EXPECT_FALSE(compile(makeKernel("sm_86", {good})).fromCache);

  options.nvrtcOptions.keepPtx = true;
  CompiledCudaKernel withPtx = compile(kernel);
  EXPECT_FALSE(withPtx.fromCache);
  EXPECT_THAT(withPtx.details.ptx, HasSubstr(".target sm_80"));
  EXPECT_TRUE(compile(kernel).fromCache);
  options.nvrtcOptions.keepPtx = false;
  EXPECT_THAT(compile(kernel).details.ptx, IsEmpty());

  options.nvrtcOptions.lineInfo = true;
  EXPECT_FALSE(compile(kernel).fromCache);

  for (const auto &file : fs::directory_iterator(scratch.path))
    std::ofstream(file.path()) << "damaged";
  CompiledCudaKernel again = compile(kernel);
  EXPECT_FALSE(again.fromCache);
  EXPECT_EQ(again.schedule, "good");
}

/// A cache that cannot be written to is no error.
TEST_F(CudaCompile, CacheThatCannotBeWritten) {
  reference::Scratch scratch("cuda-compile-file");
  std::ofstream(scratch.path) << "not a folder";
  options.cacheFolder = (scratch.path / "kernels").string();
  CompiledCudaKernel kernel = compile(makeKernel("sm_80", {good}));
  EXPECT_THAT(kernel.notes,
              ElementsAre(HasSubstr("not kept in the cache: cannot create")));
}

/// The result does not depend on what runs beside it.
TEST_F(CudaCompile, ManyAtOnce) {
  std::vector<CudaKernel> kernels;
  for (int i = 0; i < 8; ++i)
    kernels.push_back(makeKernel(i % 2 ? "sm_80" : "sm_90a",
                                 {i % 3 ? onStack : spilling, good}));
  auto compiled = compileCudaKernels(kernels, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  for (size_t i = 0; i < kernels.size(); ++i)
    EXPECT_EQ((*compiled)[i].cubin.bytes, (*compiled)[i % 2].cubin.bytes) << i;
}

} // namespace
