//===- ReproducerTest.cpp - Kernels as programs, compiled by nvcc ---------===//

#include "compiler/Target/Cuda/DumpKernels.h"
#include "test/compiler/Target/Cuda/DoublePlan.h"
#include "test/reference/Scratch.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace weft;
using namespace weft::test;

namespace {

/// nvcc on PATH or in a CUDA installation; empty if there is none.
std::string findNvcc() {
  const char *home = std::getenv("CUDA_HOME");
  std::string inHome = std::string(home ? home : "") + "/bin";
  for (auto nvcc :
       {llvm::sys::findProgramByName("nvcc"),
        llvm::sys::findProgramByName("nvcc", {inHome}),
        llvm::sys::findProgramByName("nvcc", {"/usr/local/cuda/bin"})})
    if (nvcc)
      return *nvcc;
  return "";
}

TEST(Reproducer, NvccCompilesTheReproducer) {
  std::string nvcc = findNvcc();
  if (nvcc.empty())
    GTEST_SKIP() << "there is no nvcc here";
  reference::Scratch scratch("dump-nvcc");
  llvm::Error error = dumpKernels(makeDoublePlan(), {makeDoubleKernel()},
                                  "13.0", scratch.path.string());
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  std::string main = (scratch.path / "double.sm_80.main.cu").string();
  std::string object = (scratch.path / "main.o").string();
  std::string log = (scratch.path / "log").string();
  const llvm::StringRef arguments[] = {
      nvcc,           "-arch=sm_80", "-std=c++17", "--fmad=false", "-Werror",
      "all-warnings", "-c",          "-o",         object,         main};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log, log};
  int status =
      llvm::sys::ExecuteAndWait(nvcc, arguments, std::nullopt, redirects);
  EXPECT_EQ(status, 0)
      << llvm::MemoryBuffer::getFile(log).get()->getBuffer().str();
}

} // namespace
