//===- Generator.cpp - Prefill, decode, kept sequences --------------------===//

#include "runtime/Llm/Generator.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace weft::rt;
using Logits = SequencePiece::Logits;
using Clock = std::chrono::steady_clock;

/// A request while it runs.
struct Generator::Active {
  const GenerationRequest *request;
  TokenSequence *sequence;
  Continuation continuation;
};

Result<std::unique_ptr<Generator>>
Generator::create(StepRunner &runner, ModelMeta meta, TextSizes wishes) {
  Result<TextSizes> sizes = TextSizes::choose(runner, meta, wishes);
  if (!sizes)
    return sizes.getStatus();
  Result<StepEngine> engine = StepEngine::create(runner, meta.blockSize);
  if (!engine)
    return engine.getStatus();
  return std::unique_ptr<Generator>(
      new Generator(engine.take(), std::move(meta), *sizes));
}

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

Result<TokenSequence *> Generator::find(SequenceId id) {
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

Status Generator::append(SequenceId id, std::span<const int32_t> ids) {
  Result<TokenSequence *> found = find(id);
  if (!found)
    return found.getStatus();
  TokenSequence &sequence = **found;
  if (Status s = verifyIds(ids, meta.vocabularySize); !s)
    return s;
  const int64_t before = sequence.size();
  const int64_t after = before + int64_t(ids.size());
  if (after > sizes.contextLength)
    return Status::limit(
        (before == 0 ? "the prompt has " + std::to_string(after)
                     : "the sequence would have " + std::to_string(after)) +
        " tokens and the context holds " + std::to_string(sizes.contextLength) +
        "; shorten the text or use a larger context");
  for (int32_t token : ids)
    sequence.add(token, /*isGenerated=*/false);
  return Status::ok();
}

Status Generator::rewind(SequenceId id, int64_t length) {
  Result<TokenSequence *> found = find(id);
  if (!found)
    return found.getStatus();
  TokenSequence &sequence = **found;
  if (length < 0 || length > sequence.size())
    return Status::invalid("cannot rewind a sequence of " +
                           std::to_string(sequence.size()) + " tokens to " +
                           std::to_string(length));
  KvCache &cache = engine.getCache();
  if (Status s = cache.rewind(id, std::min(length, cache.getLength(id))); !s)
    return s;
  sequence.truncate(length);
  return Status::ok();
}

Result<std::span<const int32_t>> Generator::getTokens(SequenceId id) const {
  auto it = sequences.find(id);
  if (it == sequences.end())
    return noSuchSequence(id);
  return it->second.get();
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

Result<std::vector<Generator::Active>>
Generator::prepare(std::span<const GenerationRequest> requests) {
  std::vector<Active> active;
  std::set<SequenceId> seen;
  const KvCache &cache = engine.getCache();
  int64_t blocks = 0;
  for (const GenerationRequest &request : requests) {
    Result<TokenSequence *> found = find(request.sequence);
    if (!found)
      return found.getStatus();
    if (!seen.insert(request.sequence).second)
      return Status::invalid("sequence " + std::to_string(request.sequence) +
                             " is in the batch twice");
    Result<Continuation> continuation =
        Continuation::create(request.options, **found, meta, sizes);
    if (!continuation)
      return continuation.getStatus();
    blocks += cache.countBlocks((*found)->size()) -
              int64_t(cache.getBlocks(request.sequence).size());
    active.push_back({&request, *found, continuation.take()});
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
  const SequenceId id = active.request->sequence;
  TokenSequence &sequence = *active.sequence;
  // Keys rotated with the other table would be compared with queries rotated
  // with this one: start again from token 0.
  const int32_t choice = chooseRope(meta, sequence.size());
  if (choice != sequence.ropeChoice) {
    if (Status s = cache.rewind(id, 0); !s)
      return s;
    sequence.ropeChoice = choice;
  }
  // Logits are not kept: after a rewind the last token is computed once more.
  if (cache.getLength(id) == sequence.size())
    return cache.rewind(id, sequence.size() - 1);
  return Status::ok();
}

/// Runs one step; false if nothing could be computed.
Result<bool> Generator::runStep(std::vector<Active> &active) {
  KvCache &cache = engine.getCache();
  for (Active &a : active)
    if (!a.continuation.isDone())
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
      if (a.continuation.isDone() || a.continuation.hasSampled() != sampled)
        continue;
      const SequenceId id = a.request->sequence;
      const std::span<const int32_t> pending =
          a.sequence->get().subspan(cache.getLength(id));
      const int64_t count =
          packer.fit(id, int64_t(pending.size()), Logits::Last);
      if (count <= 0)
        continue;
      packer.add(id, pending.first(count), count == int64_t(pending.size()),
                 *a.sequence, a.continuation);
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
  size_t row = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (packer.getPieces()[i].logits != Logits::Last)
      continue;
    const GenerationRequest &request = *members[i]->request;
    members[i]->continuation.accept(*members[i]->sequence, request.sequence,
                                    results->getLogits(row),
                                    results->getChoice(row), request.onToken);
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
  Result<std::vector<Active>> prepared = prepare(requests);
  if (!prepared)
    return prepared.getStatus();
  std::vector<Active> &active = *prepared;
  auto finishAll = [&](FinishReason reason) {
    for (Active &a : active)
      a.continuation.finish(reason);
  };
  while (!std::ranges::all_of(
      active, [](const Active &a) { return a.continuation.isDone(); })) {
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
  std::vector<GenerationResult> results;
  for (Active &a : active)
    results.push_back(a.continuation.takeResult());
  return results;
}

Result<GenerationResult> Generator::generate(const GenerationRequest &request) {
  Result<std::vector<GenerationResult>> results =
      generate(std::span(&request, 1));
  if (!results)
    return results.getStatus();
  return std::move((*results)[0]);
}
