//===- PrintCuda.cpp - Prints kernels of the cuda dialect -----------------===//
//
// usage: weft-print-cuda --cuda-source FILE.mlir      whole sources
//        weft-print-cuda --cuda-kernel FILE.mlir      without the prelude
//
// A translation of MLIR, so that --split-input-file and --verify-diagnostics
// work.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialects.h"
#include "compiler/Target/Cuda/EmitSource.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;
using namespace weft;

static LogicalResult print(Operation *root, llvm::raw_ostream &out,
                           bool withPrelude) {
  return failure(root->walk([&](cuda::KernelOp kernel) {
                       FailureOr<CudaSource> source =
                           emitCudaSourceParts(kernel);
                       if (failed(source))
                         return WalkResult::interrupt();
                       out << (withPrelude ? source->prelude + "\n" : "")
                           << source->kernel;
                       return WalkResult::advance();
                     })
                     .wasInterrupted());
}

int main(int argc, char **argv) {
  TranslateFromMLIRRegistration source(
      "cuda-source", "CUDA C++ of every cuda.kernel",
      [](Operation *root, llvm::raw_ostream &out) {
        return print(root, out, /*withPrelude=*/true);
      },
      [](DialectRegistry &registry) { registerAllDialects(registry); });
  TranslateFromMLIRRegistration kernel(
      "cuda-kernel", "the same without the prelude",
      [](Operation *root, llvm::raw_ostream &out) {
        return print(root, out, /*withPrelude=*/false);
      },
      [](DialectRegistry &registry) { registerAllDialects(registry); });
  return failed(mlirTranslateMain(argc, argv, "Prints CUDA C++."));
}
