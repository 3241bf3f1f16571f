//===- DumpKernelsTest.cpp - CUDA kernels as files for people -------------===//

#include "compiler/Target/Cuda/DumpKernels.h"
#include "test/compiler/Target/Cuda/DoublePlan.h"
#include "test/compiler/Target/Cuda/Sources.h"
#include "test/reference/Scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace weft;
using namespace weft::test;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(DumpKernels, Files) {
  reference::Scratch scratch("dump-kernels");
  fs::path folder = scratch.path / "a" / "b";
  llvm::Error error = dumpKernels(makeDoublePlan(), {makeDoubleKernel()},
                                  "13.0", folder.string());
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  EXPECT_EQ(read(folder / "double.sm_80.cu"), doubleSource);
  EXPECT_EQ(read(folder / "double.sm_80.cubin"), "\1\2\3");
  EXPECT_EQ(read(folder / "double.sm_80.ptx"), "some ptx");
  // 256 threads of 40 registers: 6 blocks have 61440 of 65536. 3 blocks have
  // 156 KiB of shared memory of 164, with the kilobyte of each.
  EXPECT_EQ(read(folder / "double.sm_80.txt"),
            "kernel           double\n"
            "computes         twice\nas much\n"
            "function         twice\n"
            "architecture     sm_80\n"
            "schedule         #a.schedule\n"
            "threads          256\n"
            "shared memory    51200 dynamic, 1024 static bytes\n"
            "registers        40\n"
            "barriers         1\n"
            "stack, spills    0, 0 stored, 0 loaded bytes\n"
            "occupancy        3 blocks on a multiprocessor\n"
            "cluster          1\n"
            "grid             one block for each item\n"
            "dependent launch no\n"
            "cubin            3 bytes, compiled, NVRTC 13.0\n"
            "options          -std=c++17 --fmad=false\n"
            "\nnotes\n  a note\n"
            "\nlog\nthe log\n");
  std::string main = read(folder / "double.sm_80.main.cu");
  for (const char *part :
       {"as the command 'layers.0.double' does",
        "//   nvcc -arch=sm_80 -std=c++17 --fmad=false -o double.sm_80 "
        "double.sm_80.main.cu && ./double.sm_80\n",
        "#include \"double.sm_80.cu\"\n",
        "[[maybe_unused]] constexpr long long tokens = 1;\n",
        "constexpr long long table_width = 8;\n",
        "constexpr long long odd_name = 5;\n",
        "items = max(ceildiv(tokens * 64, 256), odd_name);\n",
        "long long symbols[] = {tokens};\n",
        "{\"x\", (tokens) * (64), 32, 23, "
        "nullptr}",
        "{\"y\\\"\", ", "{\"weight\", (64 + table_width), 16, 7, nullptr}",
        "{ return i * tokens / sequences; }}", "(&::twice)"})
    EXPECT_THAT(main, HasSubstr(part));
  // There is no symbol cache_blocks.
  EXPECT_THAT(main, HasSubstr("\"block_table\", (table_width), 64, 0, [](long "
                              "long i) -> long long { return 0; }}"));
}

TEST(DumpKernels, KernelThatNothingLaunches) {
  reference::Scratch scratch("dump-unused");
  rt::Plan plan = makeDoublePlan();
  plan.entries.clear();
  CompiledCudaKernel kernel = makeDoubleKernel();
  kernel.details.ptx.clear();
  llvm::Error error =
      dumpKernels(plan, {kernel}, "13.0", scratch.path.string());
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  EXPECT_TRUE(fs::exists(scratch.path / "double.sm_80.cu"));
  EXPECT_FALSE(fs::exists(scratch.path / "double.sm_80.main.cu"));
  EXPECT_FALSE(fs::exists(scratch.path / "double.sm_80.ptx"));
}

TEST(DumpKernels, FolderThatCannotBeWritten) {
  reference::Scratch scratch("dump-file");
  std::ofstream(scratch.path) << "not a folder";
  llvm::Error error = dumpKernels(makeDoublePlan(), {makeDoubleKernel()},
                                  "13.0", scratch.path.string());
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("cannot "));

  fs::remove(scratch.path);
  fs::create_directories(scratch.path / "double.sm_80.cu");
  error = dumpKernels(makeDoublePlan(), {makeDoubleKernel()}, "13.0",
                      scratch.path.string());
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(llvm::toString(std::move(error)),
              HasSubstr("double.sm_80.cu': Is a directory"));
}

} // namespace
