//===- ExpandKernelMath.cpp - Math functions as arithmetic ----------------===//

#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::kernel {
#define GEN_PASS_DEF_EXPANDKERNELMATH
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;

namespace {
struct ExpandKernelMath
    : public kernel::impl::ExpandKernelMathBase<ExpandKernelMath> {
  void runOnOperation() override {
    auto name = getOperation()->getAttrOfType<StringAttr>("tile.level");
    if (!name)
      return;
    const CpuLevel *level = findCpuLevel(name);
    const CudaArch *arch = findCudaArch(name);
    if (!level && !arch) {
      getOperation().emitError("unknown level ") << name;
      return signalPassFailure();
    }
    // CUDA has the functions; but its sine and cosine keep an array on the
    // stack for the reduction of large angles, which kernels do not need.
    SmallVector<StringRef> approximated = {"math.sin", "math.cos"};
    RewritePatternSet patterns(&getContext());
    if (level) {
      approximated.append({"math.exp", "math.log", "math.log2", "math.log1p",
                           "math.expm1", "math.tanh", "math.erf", "math.erfc",
                           "math.atan", "math.atan2", "math.asin", "math.acos",
                           "math.cbrt"});
      SmallVector<StringRef> expanded = {"rsqrt", "exp2",  "powf", "fpowi",
                                         "sinh",  "cosh",  "tan",  "asinh",
                                         "acosh", "atanh", "round"};
      if (!level->hasFma)
        expanded.push_back("fma");
      math::populateExpansionPatterns(patterns, expanded);
    }
    populateMathPolynomialApproximationPatterns(patterns, [&](StringRef op) {
      return llvm::is_contained(approximated, op);
    });
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
