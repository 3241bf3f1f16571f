//===- Generator.cpp - Prefill, decode, kept sequences --------------------===//

#include "runtime/Llm/Generator.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <set>

using namespace weft::rt;
using Logits = SequencePiece::Logits;
using Clock = std::chrono::steady_clock;

const char *weft::rt::getName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::ContextFull:
    return "context_full";
  case FinishReason::Cancelled:
    return "cancelled";
  case FinishReason::Failed:
    return "failed";
  }
  return "?";
}

/// A request while it runs.
struct Generator::Active {
  const GenerationRequest *request;
  Sequence *sequence;
  Sampler sampler;
  GenerationResult *result;
  bool hasSampled = false;
  bool done = false;
  /// How the model chooses the next id; null: the sampler does.
  const RowSampling *sampling = nullptr;
  RowSampling row = {};
  std::vector<LogitAdjustment> adjustments = {};

  /// Lets the model choose the id at a position.
  void describe(int64_t position) {
    row = sampler.getRowSampling(position);
    sampler.getAdjustments(sequence->history, adjustments);
    sampling = &row;
  }

  void finish(FinishReason reason) {
    result->reason = reason;
    done = true;
  }
};

Result<std::unique_ptr<Generator>> Generator::create(StepRunner &runner,
                                                     ModelMeta meta,
                                                     GeneratorOptions options) {
  if (meta.kind != ModelMeta::Kind::Decoder)
    return Status::unsupported("\"" + meta.name +
                               "\" is an encoder; only decoders generate text");
  if (runner.getVocabularySize() != meta.vocabularySize)
    return Status::corrupt(
        "the model facts (META) say vocab_size " +
        std::to_string(meta.vocabularySize) + " but the plan's logits have " +
        std::to_string(runner.getVocabularySize()) + " columns");
  StepLimits limits = runner.getLimits();
  if (meta.ropeSwitchLength && !limits.hasRopeChoice)
    return Status::corrupt("the model facts (META) have rope_switch_length but "
                           "the plan has no input rope_choice");
  Result<StepEngine> engine = StepEngine::create(runner, meta.blockSize);
  if (!engine)
    return engine.getStatus();

  int64_t possible =
      std::min({meta.contextLength, limits.tableWidth * meta.blockSize,
                limits.cacheBlocks * meta.blockSize});
  if (options.contextLength < 0 || options.contextLength > possible)
    return Status::limit("a context of " +
                         std::to_string(options.contextLength) +
                         " tokens was asked for; the model and the session "
                         "allow at most " +
                         std::to_string(possible));
  int64_t samplable = options.samplableIds == 0
                          ? meta.vocabularySize
                          : std::min(options.samplableIds, meta.vocabularySize);
  if (samplable < 1)
    return Status::invalid("the number of ids to sample from is " +
                           std::to_string(samplable));
  if (options.contextLength > 0)
    possible = options.contextLength;
  return std::unique_ptr<Generator>(
      new Generator(engine.take(), std::move(meta), possible, samplable));
}

Generator::Generator(StepEngine engine, ModelMeta meta, int64_t contextLength,
                     int64_t samplableIds)
    : engine(std::move(engine)), meta(std::move(meta)),
      contextLength(contextLength), samplableIds(samplableIds) {}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

SequenceId Generator::addSequence() {
  SequenceId id = engine.getCache().addSequence();
  sequences.try_emplace(id);
  return id;
}

static Status noSuchSequence(SequenceId id) {
  return Status::notFound("there is no sequence " + std::to_string(id) +
                          "; it was removed or never added");
}

Result<Generator::Sequence *> Generator::find(SequenceId id) {
  auto it = sequences.find(id);
  if (it == sequences.end())
    return noSuchSequence(id);
  return &it->second;
}

Status Generator::removeSequence(SequenceId id) {
  if (sequences.erase(id) == 0)
    return noSuchSequence(id);
  return engine.getCache().removeSequence(id);
}

Status Generator::verifyIds(std::span<const int32_t> ids) const {
  for (int32_t id : ids)
    if (id < 0 || id >= meta.vocabularySize)
      return Status::invalid("token id " + std::to_string(id) +
                             " is not in the vocabulary, which has the ids 0 "
                             "to " +
                             std::to_string(meta.vocabularySize - 1));
  return Status::ok();
}

void Generator::addToken(Sequence &sequence, int32_t id, bool generated) {
  sequence.tokens.push_back(id);
  sequence.generated.push_back(generated);
  if (generated)
    sequence.history.addOutput(id);
  else
    sequence.history.addPrompt(id);
}

Status Generator::append(SequenceId id, std::span<const int32_t> ids) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  Sequence &sequence = **found;
  if (Status s = verifyIds(ids); !s)
    return s;
  int64_t before = int64_t(sequence.tokens.size());
  int64_t after = before + int64_t(ids.size());
  if (after > contextLength)
    return Status::limit(
        (before == 0 ? "the prompt has " + std::to_string(after)
                     : "the sequence would have " + std::to_string(after)) +
        " tokens and the context holds " + std::to_string(contextLength) +
        "; shorten the text or use a larger context");
  for (int32_t token : ids)
    addToken(sequence, token, /*generated=*/false);
  return Status::ok();
}

Status Generator::rewind(SequenceId id, int64_t length) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  Sequence &sequence = **found;
  int64_t known = int64_t(sequence.tokens.size());
  if (length < 0 || length > known)
    return Status::invalid("cannot rewind a sequence of " +
                           std::to_string(known) + " tokens to " +
                           std::to_string(length));
  KvCache &cache = engine.getCache();
  if (Status s = cache.rewind(id, std::min(length, cache.getLength(id))); !s)
    return s;
  std::vector<int32_t> tokens(sequence.tokens.begin(),
                              sequence.tokens.begin() + length);
  std::vector<bool> generated(sequence.generated.begin(),
                              sequence.generated.begin() + length);
  int32_t ropeChoice = sequence.ropeChoice;
  sequence = Sequence();
  sequence.ropeChoice = ropeChoice;
  for (int64_t i = 0; i < length; ++i)
    addToken(sequence, tokens[i], generated[i]);
  return Status::ok();
}

Result<std::span<const int32_t>> Generator::getTokens(SequenceId id) const {
  auto it = sequences.find(id);
  if (it == sequences.end())
    return noSuchSequence(id);
  return std::span<const int32_t>(it->second.tokens);
}

int32_t Generator::chooseRope(int64_t length) const {
  return meta.ropeSwitchLength && length > *meta.ropeSwitchLength;
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

Result<std::vector<Generator::Active>>
Generator::prepare(std::span<const GenerationRequest> requests,
                   std::vector<GenerationResult> &results) {
  std::vector<Active> active;
  std::set<SequenceId> seen;
  const KvCache &cache = engine.getCache();
  int64_t blocks = 0;
  for (const GenerationRequest &request : requests) {
    Result<Sequence *> found = find(request.sequence);
    if (!found)
      return found.getStatus();
    if (!seen.insert(request.sequence).second)
      return Status::invalid("sequence " + std::to_string(request.sequence) +
                             " is in the batch twice");
    Sequence &sequence = **found;
    if (sequence.tokens.empty())
      return Status::invalid(
          "the prompt is empty: a model needs at least one token to continue; "
          "give some text, or a beginning-of-sequence token if the model has "
          "one");
    if (request.options.maxTokens < 0)
      return Status::invalid("the number of tokens to generate is " +
                             std::to_string(request.options.maxTokens) +
                             "; it must be 0 or more");
    Result<Sampler> sampler =
        Sampler::create(request.options.sampling, samplableIds);
    if (!sampler)
      return sampler.getStatus();
    int64_t size = cache.getBlockSize();
    int64_t known = int64_t(sequence.tokens.size());
    blocks += (known + size - 1) / size -
              int64_t(cache.getBlocks(request.sequence).size());
    GenerationResult &result = results[active.size()];
    active.push_back({&request, &sequence, sampler.take(), &result});
    if (request.options.maxTokens == 0)
      active.back().finish(FinishReason::Length);
    else if (known >= contextLength)
      active.back().finish(FinishReason::ContextFull);
  }
  if (blocks > cache.getFreeBlockCount())
    return Status::limit(
        "the prompts need " + std::to_string(blocks) +
        " more cache blocks and " + std::to_string(cache.getFreeBlockCount()) +
        " of " + std::to_string(cache.getBlockCount()) +
        " are free; give the session more cache or the batch fewer sequences");
  return active;
}

/// Drops what is in the cache but cannot be used.
Status Generator::prepareCache(Active &active) {
  KvCache &cache = engine.getCache();
  SequenceId id = active.request->sequence;
  Sequence &sequence = *active.sequence;
  int64_t known = int64_t(sequence.tokens.size());
  // Keys rotated with the other table would be compared with queries rotated
  // with this one: start again from token 0.
  int32_t choice = chooseRope(known);
  if (choice != sequence.ropeChoice) {
    if (Status s = cache.rewind(id, 0); !s)
      return s;
    sequence.ropeChoice = choice;
  }
  // Logits are not kept: after a rewind the last token is computed once more.
  if (cache.getLength(id) == known)
    return cache.rewind(id, known - 1);
  return Status::ok();
}

bool Generator::stopsAt(const Active &active, int32_t id) const {
  const GenerationOptions &options = active.request->options;
  return (!options.ignoreEos && meta.isEos(id)) ||
         std::find(options.stopIds.begin(), options.stopIds.end(), id) !=
             options.stopIds.end();
}

/// Whether the model chooses the next id of a request. Log probabilities are
/// those of logits that nothing has changed. That there are too many
/// adjustments depends on the request alone.
bool Generator::choosesIds(const Active &active) const {
  const StepLimits &limits = engine.getLimits();
  const size_t count =
      active.sampler.countAdjustments(active.sequence->history);
  const auto share = uint64_t(limits.adjustments / limits.sequences);
  return limits.samples && !active.request->options.logProbabilities &&
         (count == 0 || count <= std::bit_floor(share));
}

/// Samples the token behind a sequence that is computed to its end.
void Generator::accept(Active &active, std::span<const float> logits,
                       int32_t choice) {
  const GenerationOptions &options = active.request->options;
  Sequence &sequence = *active.sequence;
  GenerationResult &result = *active.result;
  int64_t position = int64_t(sequence.tokens.size());
  active.hasSampled = true;
  Result<int32_t> sampled =
      active.sampling
          ? active.sampler.checkChoice(choice, position)
          : active.sampler.sample(logits, sequence.history, position);
  if (!sampled) {
    result.status = sampled.getStatus();
    return active.finish(FinishReason::Failed);
  }
  int32_t id = *sampled;
  if (stopsAt(active, id)) {
    result.stopId = id;
    if (options.keepStopId)
      addToken(sequence, id, /*generated=*/true);
    return active.finish(FinishReason::Stop);
  }
  addToken(sequence, id, /*generated=*/true);
  result.ids.push_back(id);
  TokenEvent event = {active.request->sequence, id, position, 0};
  if (options.logProbabilities) {
    event.logProbability = logProbability(logits, id);
    result.logProbabilities.push_back(event.logProbability);
  }
  Verdict verdict = active.request->onToken ? active.request->onToken(event)
                                            : Verdict::Continue;
  if (verdict == Verdict::Cancel)
    active.finish(FinishReason::Cancelled);
  else if (verdict == Verdict::Stop)
    active.finish(FinishReason::Stop);
  else if (int64_t(result.ids.size()) >= options.maxTokens)
    active.finish(FinishReason::Length);
  else if (position + 1 >= contextLength)
    active.finish(FinishReason::ContextFull);
}

/// Runs one step; false if nothing could be computed.
Result<bool> Generator::runStep(std::vector<Active> &active) {
  KvCache &cache = engine.getCache();
  for (Active &a : active)
    if (!a.done)
      if (Status s = prepareCache(a); !s)
        return s;

  StepPacker packer(engine);
  std::vector<Active *> members;
  bool hasPrompt = false;
  int64_t tokens = 0;
  // Prompts first: decoding could otherwise take the cache blocks that
  // prepare() found free for them.
  for (bool sampled : {false, true}) {
    for (Active &a : active) {
      if (a.done || a.hasSampled != sampled)
        continue;
      SequenceId id = a.request->sequence;
      int64_t computed = cache.getLength(id);
      int64_t pending = int64_t(a.sequence->tokens.size()) - computed;
      int64_t count = packer.fit(id, pending, Logits::Last);
      if (count <= 0)
        continue;
      a.sampling = nullptr;
      if (count == pending && choosesIds(a))
        a.describe(int64_t(a.sequence->tokens.size()));
      packer.add({id, std::span(a.sequence->tokens).subspan(computed, count),
                  count == pending ? Logits::Last : Logits::None,
                  a.sequence->ropeChoice, a.sampling, a.adjustments});
      members.push_back(&a);
      tokens += count;
      hasPrompt |= !sampled;
    }
  }
  if (members.empty())
    return false;

  Clock::time_point begin = Clock::now();
  Result<StepResults> results = engine.run(packer.getPieces());
  if (!results)
    return results.getStatus();
  int64_t row = 0, width = engine.getVocabularySize();
  for (size_t i = 0; i < members.size(); ++i) {
    if (packer.getPieces()[i].logits != Logits::Last)
      continue;
    if (members[i]->sampling)
      accept(*members[i], {}, results->ids[row]);
    else
      accept(*members[i], results->logits.subspan(row * width, width), 0);
    ++row;
  }
  std::chrono::duration<double> elapsed = Clock::now() - begin;
  (hasPrompt ? times.promptSeconds : times.generateSeconds) += elapsed.count();
  (hasPrompt ? times.promptTokens : times.generatedTokens) += tokens;
  return true;
}

Result<std::vector<GenerationResult>>
Generator::generate(std::span<const GenerationRequest> requests,
                    const std::atomic<bool> *cancel) {
  times = {};
  std::vector<GenerationResult> results(requests.size());
  Result<std::vector<Active>> prepared = prepare(requests, results);
  if (!prepared)
    return prepared.getStatus();
  std::vector<Active> &active = *prepared;
  auto finishAll = [&](FinishReason reason) {
    for (Active &a : active)
      if (!a.done)
        a.finish(reason);
  };
  while (!std::all_of(active.begin(), active.end(),
                      [](const Active &a) { return a.done; })) {
    if (cancel && cancel->load(std::memory_order_relaxed)) {
      finishAll(FinishReason::Cancelled);
      break;
    }
    Result<bool> ran = runStep(active);
    if (!ran)
      return ran.getStatus();
    if (!*ran)
      finishAll(FinishReason::ContextFull);
  }
  return results;
}

Result<GenerationResult> Generator::generate(const GenerationRequest &request) {
  Result<std::vector<GenerationResult>> results =
      generate(std::span(&request, 1));
  if (!results)
    return results.getStatus();
  return std::move((*results)[0]);
}
