//===- DoublePlan.h - A plan of one CUDA kernel for tests -------*- C++ -*-===//

#ifndef WEFT_TEST_COMPILER_TARGET_CUDA_DOUBLEPLAN_H
#define WEFT_TEST_COMPILER_TARGET_CUDA_DOUBLEPLAN_H

#include "compiler/Target/Cuda/CompileKernels.h"

namespace weft::test {

/// One launch of doubleSource (Sources.h), with further buffers of other types.
rt::Plan makeDoublePlan();

/// Its kernel as if compiled; nothing here needs NVRTC.
CompiledCudaKernel makeDoubleKernel();

} // namespace weft::test

#endif // WEFT_TEST_COMPILER_TARGET_CUDA_DOUBLEPLAN_H
