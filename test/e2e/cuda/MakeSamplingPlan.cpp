//===- MakeSamplingPlan.cpp - Writes a plan for sampling-gpu-test ---------===//
//
// usage: make-sampling-plan VOCABULARY TARGET FILE
//
// Cubins where there is NVRTC, else sources, which the runtime compiles.
//
//===----------------------------------------------------------------------===//

#include "runtime/Nvrtc/Nvrtc.h"
#include "test/e2e/cuda/SamplingPlans.h"

#include "llvm/Support/Error.h"

#include <cstdlib>
#include <iostream>

using namespace weft;

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: make-sampling-plan VOCABULARY TARGET FILE\n";
    return 2;
  }
  try {
    e2e::writeSamplingPlan(argv[3], std::atoll(argv[1]),
                           llvm::cantFail(parseTarget(argv[2])),
                           /*sourceOnly=*/!rt::Nvrtc::load());
  } catch (const std::exception &error) {
    std::cerr << "make-sampling-plan: error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
