//===- SamplingPlans.h - Plans that only choose ids -------------*- C++ -*-===//

#ifndef WEFT_TEST_E2E_CUDA_SAMPLINGPLANS_H
#define WEFT_TEST_E2E_CUDA_SAMPLINGPLANS_H

#include "compiler/CompileOptions.h"

#include <cstdint>
#include <string>

namespace weft::e2e {

/// A plan whose step doubles its input x, which are the logits then, changes
/// them and samples. With `sourceOnly`, CUDA code is text alone. Throws
/// std::runtime_error if it does not compile.
void writeSamplingPlan(const std::string &path, int64_t vocabulary,
                       const Target &target, bool sourceOnly);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_CUDA_SAMPLINGPLANS_H
