//===- EmitCudaTest.cpp - Printed kernels compile -------------------------===//
//
// The kernels of the lit tests beside this file, compiled by NVRTC; skipped
// where there is none.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialects.h"
#include "compiler/Target/Cuda/EmitSource.h"
#include "runtime/Nvrtc/Nvrtc.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace weft;
using testing::HasSubstr;
using testing::Not;

namespace {

class EmitCuda : public testing::Test {
protected:
  EmitCuda() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module);
    return module;
  }

  MLIRContext context;
};

/// More values than a table of names holds without growing, in the very loop
/// that names two values alike.
TEST_F(EmitCuda, LoopsOfManyValuesHaveNames) {
  std::string state, types, after, values;
  for (int i = 0; i < 100; ++i) {
    std::string comma = i == 0 ? "" : ", ", number = std::to_string(i);
    state += comma + "%a" + number + " = %zero";
    values += comma + "%a" + number;
    after += comma + "%b" + number + ": i32";
    types += comma + "i32";
  }
  std::string next;
  for (int i = 0; i < 100; ++i)
    next += (i == 0 ? "%b" : ", %b") + std::to_string((i + 1) % 100);
  OwningOpRef<ModuleOp> module =
      parse("module { cuda.kernel @many arch \"sm_80\" threads 32 shared 0 "
            "(%y: !cuda.ptr<i32, global>, %items: index) {\n"
            "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
            "%r:100 = scf.while (" +
            state + ") : (" + types + ") -> (" + types +
            ") { %c = arith.cmpi slt, %a0, %one : i32\n scf.condition(%c) " +
            values + " : " + types + " } do { ^bb0(" + after + "): scf.yield " +
            next + " : " + types +
            " }\n%i = arith.constant 0 : i32\n"
            "%s = arith.addi %r#98, %r#99 : i32\n"
            "cuda.store %s, %y[%i] : i32, <i32, global>, i32\n} }");
  ASSERT_TRUE(module);
  module->walk([&](cuda::KernelOp kernel) {
    FailureOr<std::string> source = emitCudaSource(kernel);
    ASSERT_TRUE(succeeded(source));
    EXPECT_THAT(*source, HasSubstr("u32(state98) + state99"));
  });
}

/// The file of a lit test.
class EmitCudaFile : public EmitCuda,
                     public testing::WithParamInterface<const char *> {};

TEST_P(EmitCudaFile, CompilesWithoutWarnings) {
  auto nvrtc = rt::Nvrtc::load();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.getStatus().getMessage();
  rt::NvrtcOptions options;
  options.extra.clear();
  for (StringRef flag : cudaCompileFlags())
    options.extra.push_back(flag.str());

  std::string path = std::string(WEFT_SOURCE_DIR) +
                     "/test/compiler/Target/EmitCuda/" + GetParam();
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  ASSERT_TRUE(module);
  int count = 0;
  module->walk([&](cuda::KernelOp kernel) {
    FailureOr<std::string> source = emitCudaSource(kernel);
    ASSERT_TRUE(succeeded(source));
    for (StringRef arch : {kernel.getArch(), StringRef("sm_90a")}) {
      SCOPED_TRACE((kernel.getSymName() + " for " + arch).str());
      auto cubin = (*nvrtc)->compileToCubin(*source, getCudaSymbol(kernel),
                                            arch.str(), options);
      ASSERT_TRUE(cubin) << cubin.getStatus().getMessage();
      EXPECT_THAT(cubin->log, Not(HasSubstr("warning")));
      ASSERT_TRUE(cubin->report.resources);
      EXPECT_EQ(cubin->report.resources->spillStoreBytes, 0u);
      // Sine and cosine of large arguments need a table.
      if (kernel.getSymName() != "angles") {
        EXPECT_EQ(cubin->report.resources->stackBytes, 0u);
      }
      ++count;
    }
  });
  EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(
    , EmitCudaFile,
    testing::Values("arithmetic.mlir", "instructions.mlir", "structure.mlir"),
    [](const auto &info) {
      return StringRef(info.param).drop_back(strlen(".mlir")).str();
    });

TEST_F(EmitCuda, KernelsOfOneProgramAreCandidates) {
  OwningOpRef<ModuleOp> module = parse(R"(
    module attributes {tile.program = "linear", tile.schedule = "wide"} {
      cuda.kernel @"linear.0" arch "sm_90a" threads 256 shared 4096 (%items: index)
          attributes {cluster = 2 : i64, blocks_per_multiprocessor = 1 : i64,
                      dependent_launch} {
        cuda.wait_dependency
      }
    }
    module attributes {tile.program = "linear", tile.schedule = "narrow"} {
      cuda.kernel @"linear.0" arch "sm_90a" threads 128 shared 0 (%items: index) {
      }
    }
    module attributes {tile.program = "linear", tile.schedule = "narrow"} {
      cuda.kernel @"linear.0" arch "sm_80" threads 128 shared 0 (%items: index) {
      }
    }
    cuda.kernel @norm arch "sm_80" threads 32 shared 0 (%items: index) {
    })");
  FailureOr<std::vector<CudaKernel>> kernels = emitCudaKernels(*module);
  ASSERT_TRUE(succeeded(kernels));
  ASSERT_EQ(kernels->size(), 3u);
  const CudaKernel &first = kernels->front();
  EXPECT_EQ(first.program, "linear");
  EXPECT_EQ(first.symbol, "weft_linear_0");
  EXPECT_EQ(first.arch, "sm_90a");
  ASSERT_EQ(first.candidates.size(), 2u);
  EXPECT_EQ(first.candidates[0].schedule, "wide");
  EXPECT_EQ(first.candidates[1].schedule, "narrow");
  rt::LaunchShape shape;
  shape.threads = 256;
  shape.sharedBytes = 4096;
  shape.clusterSize = 2;
  shape.blocksPerMultiprocessor = 1;
  shape.dependentLaunch = true;
  EXPECT_EQ(first.candidates[0].launch, shape);
  EXPECT_THAT(first.candidates[0].source,
              HasSubstr("__launch_bounds__(256, 1) __cluster_dims__(2, 1, 1)"));
  EXPECT_EQ((*kernels)[1].arch, "sm_80");
  // Without a program the symbol names it.
  EXPECT_EQ((*kernels)[2].symbol, "weft_norm");
  EXPECT_EQ((*kernels)[2].program, "norm");
}

TEST_F(EmitCuda, ThePreludeHasWhatTheKernelUses) {
  OwningOpRef<ModuleOp> module = parse(R"(
    cuda.kernel @round arch "sm_80" threads 32 shared 0
        (%x: !cuda.ptr<f32, global>, %y: !cuda.ptr<bf16, global>, %items: index) {
      %i = cuda.thread_index : index
      %v = cuda.load %x[%i] : !cuda.ptr<f32, global>, index -> f32
      %h = arith.truncf %v : f32 to bf16
      cuda.store %h, %y[%i] : bf16, !cuda.ptr<bf16, global>, index
    })");
  auto kernel = *module->getOps<cuda::KernelOp>().begin();
  FailureOr<CudaSource> parts = emitCudaSourceParts(kernel);
  ASSERT_TRUE(succeeded(parts));
  EXPECT_THAT(parts->prelude, HasSubstr("bf16 to_bf16(float x)"));
  EXPECT_THAT(parts->prelude, HasSubstr("struct bf16"));
  EXPECT_THAT(parts->prelude, Not(HasSubstr("struct Vec")));
  EXPECT_THAT(parts->prelude, Not(HasSubstr("struct f16")));
  EXPECT_THAT(parts->prelude, Not(HasSubstr("$")));
  // Printing again gives the same text.
  EXPECT_EQ(*emitCudaSource(kernel), parts->prelude + "\n" + parts->kernel);
}

// A comment of one line stays one, whatever an attribute holds.
TEST_F(EmitCuda, AttributesCannotEndTheComment) {
  OwningOpRef<ModuleOp> module = parse(R"(
    cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index)
        attributes {tile.description = "a\0Aint broken;\5C"} {
    })");
  FailureOr<std::string> source =
      emitCudaSource(*module->getOps<cuda::KernelOp>().begin());
  ASSERT_TRUE(succeeded(source));
  EXPECT_THAT(*source, HasSubstr("\n// tile.description: a int broken; \n"));
}

} // namespace
