//===- AgainstReference.h - Compare what runs with the reference ----------===//
//
// For checkpoints without recordings (random ones) or with unusable ones, the
// reference of test/reference gives the expected values.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_AGAINSTREFERENCE_H
#define WEFT_TEST_E2E_AGAINSTREFERENCE_H

#include "test/e2e/Golden.h"
#include "test/reference/Transformer.h"

namespace weft::e2e {

/// Prompts of the given lengths, ids uniform below `vocabulary`; the same for
/// the same arguments on every machine. Print the seed where a test fails.
std::vector<std::vector<int32_t>>
randomPrompts(std::span<const int64_t> lengths, int64_t vocabulary,
              uint64_t seed);

/// Compares the logits (an encoder's hidden states) of every prompt with the
/// float64 reference. Returns what differs by more than `tolerance`, as
/// compareOutputs does; empty if nothing does.
std::string compareWithReference(const reference::Transformer &model,
                                 std::span<const std::vector<int32_t>> prompts,
                                 const RunModel &run, double tolerance,
                                 double *largest = nullptr);

/// The square root of the sum of squared differences over that of squared
/// expected values, of all prompts together: how good a result is whose single
/// values are rounded to few bits.
double relativeError(const reference::Transformer &model,
                     std::span<const std::vector<int32_t>> prompts,
                     const RunModel &run);

/// Lets `run` decode `count` ids greedily from every prompt. Each id must have
/// the largest logit of the reference given the ids before it, or one that is
/// less than `margin` below: two logits that close may be swapped by rounding.
/// Returns the first wrong id of each prompt as a text; empty if there is none.
std::string
compareGreedyWithReference(const reference::Transformer &model,
                           std::span<const std::vector<int32_t>> prompts,
                           int64_t count, const RunGreedy &run, double margin);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_AGAINSTREFERENCE_H
