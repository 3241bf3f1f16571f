//===- SamplingChecks.h - Ids chosen by plans -------------------*- C++ -*-===//
//
// Kernels of weft.adjust_logits and weft.sample against the definition in
// float64 by sorting; the host's Sampler likewise. Ids may differ only where
// f32 rounding decides. What is wrong is reported as failures of the test that
// runs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_SAMPLINGCHECKS_H
#define WEFT_TEST_E2E_CUDA_SAMPLINGCHECKS_H

#include "runtime/Device/Device.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::e2e {

/// Makes the device that runs a plan.
using MakeDevice =
    std::function<std::shared_ptr<rt::Device>(const rt::Plan &plan)>;

/// `count` random rows of `vocabulary` logits, in steps of `batch`, by a plan
/// of writeSamplingPlan.
void checkRandomRows(int64_t vocabulary, const std::string &path,
                     const MakeDevice &makeDevice, int count, int batch);

/// Probabilities of draws, and rows with logits that are not numbers, by a plan
/// for that vocabulary.
constexpr int64_t chosenVocabulary = 700;
void checkChosenRows(const std::string &path, const MakeDevice &makeDevice);

/// Rows whose id depends on what is in which part of the row, for kernels that
/// divide it: largest and equal logits and those that are not numbers in many
/// places, then `draws` random rows without top-p, all in one run. Gives their
/// ids, which do not depend on rounding or on how the row is divided.
std::vector<int32_t> checkDividedRows(int64_t vocabulary,
                                      const std::string &path,
                                      const MakeDevice &makeDevice, int draws);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_CUDA_SAMPLINGCHECKS_H
