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

#include "runtime/Llm/ModelMeta.h"
#include "runtime/Llm/Sampler.h"
#include "runtime/Llm/StepEngine.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace weft::rt {

enum class FinishReason : uint8_t {
  Stop = 1,        ///< A stop id was sampled, or the callback said Stop.
  Length = 2,      ///< maxTokens were generated.
  ContextFull = 3, ///< The sequence or the cache cannot hold another token.
  Cancelled = 4,   ///< The callback or the cancel flag said so.
  Failed = 5,      ///< GenerationResult::status says why.
};
/// "stop", "length", "context_full", "cancelled", "failed".
const char *getName(FinishReason reason);

struct GenerationOptions {
  SamplingOptions sampling;
  int64_t maxTokens = 128;
  /// Ids that end the text besides the model's end-of-sequence ids.
  std::vector<int32_t> stopIds;
  /// Treat the model's end-of-sequence ids as any other token.
  bool ignoreEos = false;
  /// Keep the id that stopped the text as the sequence's last token. Off, a
  /// text that is continued has no end-of-sequence token in its middle.
  bool keepStopId = false;
  /// Fill TokenEvent::logProbability (costs a pass over the logits).
  bool logProbabilities = false;
};

/// One generated token; never a stop id.
struct TokenEvent {
  SequenceId sequence = 0;
  int32_t id = 0;
  int64_t position = 0; ///< In its sequence, from 0.
  /// Natural log of the model's own probability, before penalties and
  /// temperature; 0 unless asked for.
  double logProbability = 0;
};

/// What to do after a token. Stop and Cancel keep the token in the sequence.
enum class Verdict : uint8_t { Continue, Stop, Cancel };
/// Called on the thread that generates; must not use the generator.
using TokenCallback = std::function<Verdict(const TokenEvent &)>;

struct GenerationRequest {
  SequenceId sequence = 0;
  GenerationOptions options;
  TokenCallback onToken; ///< May be empty.
};

struct GenerationResult {
  std::vector<int32_t> ids;             ///< Without the stop id.
  std::vector<double> logProbabilities; ///< Empty unless asked for.
  FinishReason reason = FinishReason::Failed;
  int32_t stopId = -1; ///< The id that stopped the text, if one did.
  Status status;       ///< Not ok only for Failed.
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

struct GeneratorOptions {
  /// Longest sequence; 0: as long as the model and the session allow.
  int64_t contextLength = 0;
  /// Ids from here on are never sampled (the tokenizer's size where the
  /// model's head is wider); 0: the whole vocabulary.
  int64_t samplableIds = 0;
};

/// Not thread-safe; one generator uses one session.
class Generator {
public:
  /// `runner` must outlive the generator.
  static Result<std::unique_ptr<Generator>>
  create(StepRunner &runner, ModelMeta meta, GeneratorOptions options = {});

  /// Tokens that a sequence can have, prompt and output together.
  int64_t getContextLength() const { return contextLength; }
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
  struct Sequence {
    std::vector<int32_t> tokens;
    std::vector<bool> generated; ///< Same length: sampled rather than given.
    TokenHistory history;
    /// Table with which the keys in the cache were rotated.
    int32_t ropeChoice = 0;
  };
  struct Active;

  Generator(StepEngine engine, ModelMeta meta, int64_t contextLength,
            int64_t samplableIds);

  Result<Sequence *> find(SequenceId id);
  Status verifyIds(std::span<const int32_t> ids) const;
  /// That the ids exist and that context and free cache hold each text, of
  /// which the last `predicted` tokens are not computed.
  Status verifyTexts(std::span<const std::span<const int32_t>> texts,
                     int64_t predicted);
  int32_t chooseRope(int64_t length) const;
  void addToken(Sequence &sequence, int32_t id, bool generated);
  Result<std::vector<Active>>
  prepare(std::span<const GenerationRequest> requests,
          std::vector<GenerationResult> &results);
  Status prepareCache(Active &active);
  Result<bool> runStep(std::vector<Active> &active);
  bool choosesIds(const Active &active) const;
  /// `choice` is the model's, if the request lets it choose.
  void accept(Active &active, std::span<const float> logits, int32_t choice);
  bool stopsAt(const Active &active, int32_t id) const;

  StepEngine engine;
  ModelMeta meta;
  int64_t contextLength, samplableIds;
  std::map<SequenceId, Sequence> sequences;
  GenerationTimes times;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_GENERATOR_H
