//===- Continuation.h - How the text of one request goes on ---------------===//
//
// What every decoding loop does for each of its texts: say how the next id is
// chosen, take it, tell the caller, and know when the text ends. Loops differ
// in which texts share a step; they are Generator and Engine.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_CONTINUATION_H
#define WEFT_RUNTIME_LLM_CONTINUATION_H

#include "runtime/Llm/ModelMeta.h"
#include "runtime/Llm/Sampler.h"
#include "runtime/Llm/StepRunner.h"

#include <functional>
#include <span>
#include <vector>

namespace weft::rt {

enum class FinishReason : uint8_t {
  Stop = 1,        ///< A stop id was sampled, or the callback said Stop.
  Length = 2,      ///< maxTokens were generated.
  ContextFull = 3, ///< The sequence or the cache cannot hold another token.
  Cancelled = 4,   ///< The callback or the caller said so.
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
  /// The sequence of a Generator or the request of an Engine.
  int64_t sequence = 0;
  int32_t id = 0;
  int64_t position = 0; ///< In its sequence, from 0.
  /// Natural log of the model's own probability, before penalties and
  /// temperature; 0 unless asked for.
  double logProbability = 0;
};

/// What to do after a token. Stop and Cancel keep the token in the sequence.
enum class Verdict : uint8_t { Continue, Stop, Cancel };
/// Called on the thread that generates.
using TokenCallback = std::function<Verdict(const TokenEvent &)>;

struct GenerationResult {
  std::vector<int32_t> ids;             ///< Without the stop id.
  std::vector<double> logProbabilities; ///< Empty unless asked for.
  FinishReason reason = FinishReason::Failed;
  int32_t stopId = -1; ///< The id that stopped the text, if one did.
  Status status;       ///< Not ok only for Failed.
};

/// How long texts may be and what ids they may have.
struct TextSizes {
  /// Longest sequence; 0: as long as the model and the session allow.
  int64_t contextLength = 0;
  /// Ids from here on are never sampled (the tokenizer's size where the
  /// model's head is wider); 0: the whole vocabulary.
  int64_t samplableIds = 0;

  /// What wishes come to with this model. Errors: Unsupported for an encoder,
  /// Corrupt where the model facts contradict the plan, LimitExceeded for a
  /// context that neither holds.
  static Result<TextSizes> choose(const StepRunner &runner,
                                  const ModelMeta &meta, TextSizes wishes);
};

/// The tokens of a text, given and generated.
class TokenSequence {
public:
  int64_t size() const { return int64_t(tokens.size()); }
  std::span<const int32_t> get() const { return tokens; }
  const TokenHistory &getHistory() const { return history; }

  void add(int32_t id, bool isGenerated);
  /// Forgets the tokens from `length` on.
  void truncate(int64_t length);

  /// Table with which the keys in the cache were rotated.
  int32_t ropeChoice = 0;

private:
  std::vector<int32_t> tokens;
  std::vector<bool> generated; ///< Same length: sampled rather than given.
  TokenHistory history;
};

/// That all ids exist: InvalidArgument that names the first that does not.
Status verifyIds(std::span<const int32_t> ids, int64_t vocabularySize);

/// The table for a sequence of so many tokens, known before the next is.
int32_t chooseRope(const ModelMeta &meta, int64_t length);

/// Not thread-safe.
class Continuation {
public:
  /// For a text that begins with `tokens`; `meta` must outlive it.
  /// InvalidArgument for an empty text and bad options. A text that is as long
  /// as it may be is done at once.
  static Result<Continuation> create(GenerationOptions options,
                                     const TokenSequence &tokens,
                                     const ModelMeta &meta,
                                     const TextSizes &sizes);

  const GenerationOptions &getOptions() const { return options; }
  bool isDone() const { return done; }
  /// Whether an id has been chosen.
  bool hasSampled() const { return sampled; }

  /// Decides, for the id behind `tokens`, whether the model chooses it in a
  /// step with these limits. It does not where log probabilities are wanted,
  /// which are those of logits that nothing has changed, nor where more logits
  /// are adjusted than the share of one sequence; so this depends on the
  /// request alone.
  void prepareChoice(const TokenSequence &tokens, const StepLimits &limits);
  /// How the model chooses the id; null if it does not.
  const RowSampling *getSampling() const { return choosesId ? &row : nullptr; }
  std::span<const LogitAdjustment> getAdjustments() const {
    return adjustments;
  }

  /// Takes the id behind `tokens`: `choice` if the model chose it, else one
  /// that is sampled from `logits`. `owner` goes into the event.
  void accept(TokenSequence &tokens, int64_t owner,
              std::span<const float> logits, int32_t choice,
              const TokenCallback &onToken);

  /// Ends the text, if it has not ended.
  void finish(FinishReason reason);

  const GenerationResult &getResult() const { return result; }
  GenerationResult takeResult() { return std::move(result); }

private:
  Continuation(GenerationOptions options, const ModelMeta &meta,
               const TextSizes &sizes, Sampler sampler)
      : options(std::move(options)), meta(&meta), sizes(sizes),
        sampler(std::move(sampler)) {}

  bool stopsAt(int32_t id) const;

  GenerationOptions options;
  const ModelMeta *meta;
  TextSizes sizes;
  Sampler sampler;
  GenerationResult result;
  bool sampled = false, done = false, choosesId = false;
  RowSampling row;
  std::vector<LogitAdjustment> adjustments;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_CONTINUATION_H
