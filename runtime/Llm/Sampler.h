//===- Sampler.h - From logits to one token id ----------------------------===//
//
// The order of the steps is fixed and part of the interface:
//
//   1. repetition penalty   ids of the prompt and of the output, once per id:
//                           logit > 0 is divided by it, else multiplied
//   2. presence penalty     subtracted once from ids of the output
//   3. frequency penalty    subtracted once per occurrence in the output
//   4. logit bias           added
//   5. temperature          0: the largest logit, ties to the lowest id, done
//   6. top-k                the k largest; ties at the edge to the lowest ids
//   7. top-p                of what is left, renormalised: the shortest prefix,
//                           in descending order, whose sum reaches p; the token
//                           that crosses p is kept
//   8. min-p                tokens at least min-p times as likely as the first
//   9. draw                 the lowest id such that the weights of all ids up
//                           to it that are left exceed u times the whole; u is
//                           one uniform number per token, keyed by (seed,
//                           request, position); see Philox.h
//
// "Descending order" is by logit, then by ascending id. Sums are compared with
// a tolerance of 1e-6 because f32 logits carry no more than that.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_SAMPLER_H
#define WEFT_RUNTIME_LLM_SAMPLER_H

#include "runtime/Llm/StepRunner.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::rt {

struct SamplingOptions {
  /// 0 is greedy. Any positive finite value works: the arithmetic is in
  /// double precision relative to the largest logit, so nothing overflows.
  double temperature = 0;
  int64_t topK = 0;             ///< 0: off.
  double topP = 1;              ///< In (0, 1]; 1: off.
  double minP = 0;              ///< In [0, 1]; 0: off.
  double repetitionPenalty = 1; ///< In [1e-6, 1e6]; 1: off.
  double presencePenalty = 0;   ///< In [-1e6, 1e6]; 0: off.
  double frequencyPenalty = 0;  ///< In [-1e6, 1e6]; 0: off.
  std::vector<std::pair<int32_t, double>> logitBias =
      {}; ///< (id, added logit).
  uint64_t seed = 0;
  /// Tells requests with equal seeds apart. Give each sample of one prompt its
  /// own number; everything else may run or not without changing the draws.
  uint64_t request = 0;

  /// InvalidArgument naming the option, its value and the valid range.
  /// `vocabularySize` is the number of ids that may be sampled.
  Status verify(int64_t vocabularySize) const;

  /// Whether one of the three penalties changes logits.
  bool hasPenalties() const {
    return repetitionPenalty != 1 || presencePenalty != 0 ||
           frequencyPenalty != 0;
  }
};

/// Which ids a sequence holds and how often, for the penalties.
class TokenHistory {
public:
  struct Use {
    uint32_t outputs = 0; ///< Occurrences among the generated tokens.
  };

  void addPrompt(int32_t id) { uses.try_emplace(id); }
  void addOutput(int32_t id) { ++uses[id].outputs; }
  void clear() { uses.clear(); }
  const std::unordered_map<int32_t, Use> &get() const { return uses; }

private:
  std::unordered_map<int32_t, Use> uses;
};

/// Samples for one sequence. Not thread-safe (it reuses scratch memory); the
/// result depends on the arguments only.
class Sampler {
public:
  /// Ids from `vocabularySize` on are never sampled even where the model's
  /// head is wider than the tokenizer (padded vocabularies).
  static Result<Sampler> create(SamplingOptions options,
                                int64_t vocabularySize);

  /// The id of the token at `position` (from 0) of its sequence.
  /// `logits` has at least vocabularySize elements and is not changed.
  /// A logit that is NaN or infinite is an Internal error that names the
  /// position and the id.
  Result<int32_t> sample(std::span<const float> logits,
                         const TokenHistory &history, int64_t position);

  /// The same choice as numbers for a model that chooses ids itself, in f32:
  /// options beyond its range are taken as its ends.
  RowSampling getRowSampling(int64_t position) const;
  /// The logits that steps 1 to 4 change. Replaces `adjustments`.
  void getAdjustments(const TokenHistory &history,
                      std::vector<LogitAdjustment> &adjustments) const;
  /// At least as many adjustments as getAdjustments gives.
  size_t countAdjustments(const TokenHistory &history) const;
  /// The id that such a model chose, or the error that it reports (see
  /// StepOutputs::ids): as `sample` does, but without the logit. Corrupt for an
  /// id that must not be sampled.
  Result<int32_t> checkChoice(int32_t choice, int64_t position) const;

  const SamplingOptions &getOptions() const { return options; }

private:
  Sampler(SamplingOptions options, int64_t vocabularySize)
      : options(std::move(options)), vocabularySize(vocabularySize) {}

  Status verifyCount(std::span<const float> logits) const;
  Status load(std::span<const float> logits, int64_t position);
  Result<int32_t> chooseLargest(std::span<const float> logits,
                                int64_t position) const;
  void applyPenalties(const TokenHistory &history);
  double weightOf(int32_t id, double largest) const;
  int32_t drawUnfiltered(double largest, double uniform);
  double collectCandidates(double largest);
  void sortCandidates(size_t begin, size_t end);
  int32_t drawFiltered(double largest, double uniform);

  SamplingOptions options;
  int64_t vocabularySize;
  std::vector<double> adjusted;    ///< Logits after steps 1 to 4.
  std::vector<double> weights;     ///< exp((logit - largest) / temperature).
  std::vector<int32_t> candidates; ///< What top-k, top-p and min-p leave.
};

/// log of the softmax probability of `id` over all of `logits`, in double
/// precision and before any penalty or temperature. NaN if a logit is NaN.
double logProbability(std::span<const float> logits, int32_t id);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_SAMPLER_H
