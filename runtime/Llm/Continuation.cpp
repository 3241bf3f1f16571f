//===- Continuation.cpp - How the text of one request goes on -------------===//

#include "runtime/Llm/Continuation.h"

#include <algorithm>
#include <bit>

using namespace weft::rt;

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

Result<TextSizes> TextSizes::choose(const StepRunner &runner,
                                    const ModelMeta &meta, TextSizes wishes) {
  if (meta.kind != ModelMeta::Kind::Decoder)
    return Status::unsupported("\"" + meta.name +
                               "\" is an encoder; only decoders generate text");
  if (runner.getVocabularySize() != meta.vocabularySize)
    return Status::corrupt(
        "the model facts (META) say vocab_size " +
        std::to_string(meta.vocabularySize) + " but the plan's logits have " +
        std::to_string(runner.getVocabularySize()) + " columns");
  const StepLimits limits = runner.getLimits();
  if (meta.ropeSwitchLength && !limits.hasRopeChoice)
    return Status::corrupt("the model facts (META) have rope_switch_length but "
                           "the plan has no input rope_choice");
  const int64_t possible =
      std::min({meta.contextLength, limits.tableWidth * meta.blockSize,
                limits.cacheBlocks * meta.blockSize});
  if (wishes.contextLength < 0 || wishes.contextLength > possible)
    return Status::limit("a context of " +
                         std::to_string(wishes.contextLength) +
                         " tokens was asked for; the model and the session "
                         "allow at most " +
                         std::to_string(possible));
  TextSizes sizes;
  sizes.contextLength =
      wishes.contextLength > 0 ? wishes.contextLength : possible;
  sizes.samplableIds = wishes.samplableIds == 0
                           ? meta.vocabularySize
                           : std::min(wishes.samplableIds, meta.vocabularySize);
  if (sizes.samplableIds < 1)
    return Status::invalid("the number of ids to sample from is " +
                           std::to_string(sizes.samplableIds));
  return sizes;
}

void TokenSequence::add(int32_t id, bool isGenerated) {
  tokens.push_back(id);
  generated.push_back(isGenerated);
  if (isGenerated)
    history.addOutput(id);
  else
    history.addPrompt(id);
}

void TokenSequence::truncate(int64_t length) {
  TokenSequence shorter;
  shorter.ropeChoice = ropeChoice;
  for (int64_t i = 0; i < length; ++i)
    shorter.add(tokens[i], generated[i]);
  *this = std::move(shorter);
}

Status weft::rt::verifyIds(std::span<const int32_t> ids,
                           int64_t vocabularySize) {
  for (int32_t id : ids)
    if (id < 0 || id >= vocabularySize)
      return Status::invalid("token id " + std::to_string(id) +
                             " is not in the vocabulary, which has the ids 0 "
                             "to " +
                             std::to_string(vocabularySize - 1));
  return Status::ok();
}

int32_t weft::rt::chooseRope(const ModelMeta &meta, int64_t length) {
  return meta.ropeSwitchLength && length > *meta.ropeSwitchLength;
}

Result<Continuation> Continuation::create(GenerationOptions options,
                                          const TokenSequence &tokens,
                                          const ModelMeta &meta,
                                          const TextSizes &sizes) {
  if (tokens.size() == 0)
    return Status::invalid(
        "the prompt is empty: a model needs at least one token to continue; "
        "give some text, or a beginning-of-sequence token if the model has "
        "one");
  if (options.maxTokens < 0)
    return Status::invalid("the number of tokens to generate is " +
                           std::to_string(options.maxTokens) +
                           "; it must be 0 or more");
  Result<Sampler> sampler =
      Sampler::create(options.sampling, sizes.samplableIds);
  if (!sampler)
    return sampler.getStatus();
  Continuation made(std::move(options), meta, sizes, sampler.take());
  if (made.options.maxTokens == 0)
    made.finish(FinishReason::Length);
  else if (tokens.size() >= sizes.contextLength)
    made.finish(FinishReason::ContextFull);
  return made;
}

void Continuation::finish(FinishReason reason) {
  if (done)
    return;
  result.reason = reason;
  done = true;
}

bool Continuation::stopsAt(int32_t id) const {
  return (!options.ignoreEos && meta->isEos(id)) ||
         std::ranges::find(options.stopIds, id) != options.stopIds.end();
}

void Continuation::prepareChoice(const TokenSequence &tokens,
                                 const StepLimits &limits) {
  const size_t count = sampler.countAdjustments(tokens.getHistory());
  const auto share = uint64_t(limits.adjustments / limits.sequences);
  choosesId = limits.samples && !options.logProbabilities &&
              (count == 0 || count <= std::bit_floor(share));
  if (!choosesId)
    return;
  row = sampler.getRowSampling(tokens.size());
  sampler.getAdjustments(tokens.getHistory(), adjustments);
}

void Continuation::accept(TokenSequence &tokens, int64_t owner,
                          std::span<const float> logits, int32_t choice,
                          const TokenCallback &onToken) {
  const int64_t position = tokens.size();
  sampled = true;
  Result<int32_t> chosen =
      choosesId ? sampler.checkChoice(choice, position)
                : sampler.sample(logits, tokens.getHistory(), position);
  if (!chosen) {
    result.status = chosen.getStatus();
    return finish(FinishReason::Failed);
  }
  const int32_t id = *chosen;
  if (stopsAt(id)) {
    result.stopId = id;
    if (options.keepStopId)
      tokens.add(id, /*isGenerated=*/true);
    return finish(FinishReason::Stop);
  }
  tokens.add(id, /*isGenerated=*/true);
  result.ids.push_back(id);
  TokenEvent event = {owner, id, position, 0};
  if (options.logProbabilities) {
    event.logProbability = logProbability(logits, id);
    result.logProbabilities.push_back(event.logProbability);
  }
  const Verdict verdict = onToken ? onToken(event) : Verdict::Continue;
  if (verdict == Verdict::Cancel)
    finish(FinishReason::Cancelled);
  else if (verdict == Verdict::Stop)
    finish(FinishReason::Stop);
  else if (int64_t(result.ids.size()) >= options.maxTokens)
    finish(FinishReason::Length);
  else if (position + 1 >= sizes.contextLength)
    finish(FinishReason::ContextFull);
}
