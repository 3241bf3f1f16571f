//===- Generator.h - Prefill, decode, kept sequences ----------------------===//
//
// Works on token ids; TextModel adds the tokenizer. A sequence is a list of
// known tokens of which a prefix is in the cache. Generating means: compute
// what is known but not yet cached, in chunks that fit a step, sample, append
// the sampled token to what is known, repeat. So the last sampled token enters
// the cache with the next call, whatever that call appends before it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_GENERATOR_H
#define WEFT_RUNTIME_LLM_GENERATOR_H

#include "runtime/Llm/Continuation.h"
#include "runtime/Llm/StepEngine.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace weft::rt {

struct GenerationRequest {
  SequenceId sequence = 0;
  GenerationOptions options;
  /// May be empty; must not use the generator.
  TokenCallback onToken;
};

/// Where the time of one call of `generate` went.
struct GenerationTimes {
  int64_t promptTokens = 0;    ///< Computed before the first sampled token.
  int64_t generatedTokens = 0; ///< Computed in the other steps.
  double promptSeconds = 0, generateSeconds = 0;
};

/// Probabilities of given text.
struct Score {
  /// log p(token i + 1 | tokens 0..i) for each but the first token.
  std::vector<double> logProbabilities;
  /// Sum of -log p, in nats.
  double negativeLogLikelihood = 0;
};

/// Not thread-safe; one generator uses one session.
class Generator {
public:
  /// `runner` must outlive the generator.
  static Result<std::unique_ptr<Generator>>
  create(StepRunner &runner, ModelMeta meta, TextSizes wishes = {});

  /// Tokens that a sequence can have, prompt and output together.
  int64_t getContextLength() const { return sizes.contextLength; }
  const ModelMeta &getMeta() const { return meta; }

  SequenceId addSequence();
  Status removeSequence(SequenceId id);

  /// Adds given tokens behind what the sequence has. Nothing is computed yet.
  /// LimitExceeded if the sequence would be longer than the context,
  /// InvalidArgument for ids outside the vocabulary; then nothing changes.
  Status append(SequenceId id, std::span<const int32_t> ids);

  /// Forgets the tokens from `length` on, in the sequence and in the cache.
  Status rewind(SequenceId id, int64_t length);

  /// The known tokens, given and generated. NotFound after removal.
  Result<std::span<const int32_t>> getTokens(SequenceId id) const;

  /// Generates for all requests together, in ragged steps, and returns when
  /// all have finished: first all prompts, in the order of the requests, then
  /// one token of each sequence per step. A request that fails (its logits are
  /// not numbers) fails alone; the error of a step fails the call. Then each
  /// sequence keeps the tokens it has and generation can be tried again.
  /// InvalidArgument for empty sequences and bad options and LimitExceeded if
  /// the prompts together are larger than the cache, before anything runs.
  Result<std::vector<GenerationResult>>
  generate(std::span<const GenerationRequest> requests,
           const std::atomic<bool> *cancel = nullptr);

  /// One sequence.
  Result<GenerationResult> generate(const GenerationRequest &request);

  /// Times of the last `generate`.
  const GenerationTimes &getTimes() const { return times; }

  /// Scores each text from its first token on, with no more context than the
  /// text itself, many texts per step. A text may have one token more than the
  /// context: the last one is only predicted. Texts of one token score 0. Needs
  /// free cache for the longest text.
  Result<std::vector<Score>>
  score(std::span<const std::span<const int32_t>> texts);

  /// Scores a long text in consecutive windows: each predicts `window` tokens,
  /// the first of them from one token, the last from `window`. What does not
  /// fill a window is left out. The mean of the result is the usual validation
  /// loss; exp of it is the perplexity.
  Result<Score> scoreWindows(std::span<const int32_t> ids, int64_t window);

  /// Called with the logits that follow token `position` of text `text`.
  using LogitsCallback = std::function<Status(size_t text, int64_t position,
                                              std::span<const float> logits)>;
  /// All logits of each text; what `score` is made of.
  Status computeLogits(std::span<const std::span<const int32_t>> texts,
                       const LogitsCallback &callback);

private:
  struct Active;

  Generator(StepEngine engine, ModelMeta meta, TextSizes sizes)
      : engine(std::move(engine)), meta(std::move(meta)), sizes(sizes) {}

  Result<TokenSequence *> find(SequenceId id);
  /// That the ids exist and that context and free cache hold each text, of
  /// which the last `predicted` tokens are not computed.
  Status verifyTexts(std::span<const std::span<const int32_t>> texts,
                     int64_t predicted);
  Result<std::vector<Active>>
  prepare(std::span<const GenerationRequest> requests);
  Status prepareCache(Active &active);
  Result<bool> runStep(std::vector<Active> &active);

  StepEngine engine;
  ModelMeta meta;
  TextSizes sizes;
  std::map<SequenceId, TokenSequence> sequences;
  GenerationTimes times;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_GENERATOR_H
