//===- Score.cpp - Logits and probabilities of given text -----------------===//

#include "runtime/Llm/Generator.h"

#include <limits>

using namespace weft::rt;
using Logits = SequencePiece::Logits;

Status Generator::verifyTexts(std::span<const std::span<const int32_t>> texts,
                              int64_t predicted) {
  KvCache &cache = engine.getCache();
  const int64_t most = sizes.contextLength + predicted;
  for (std::span<const int32_t> text : texts) {
    if (Status s = verifyIds(text, meta.vocabularySize); !s)
      return s;
    const auto size = int64_t(text.size());
    if (size > most)
      return Status::limit("a text has " + std::to_string(size) +
                           " tokens; expected at most " + std::to_string(most) +
                           (predicted ? ": the context and a last token that "
                                        "is only predicted"
                                      : ", the context"));
    const int64_t blocks =
        (size - predicted + cache.getBlockSize() - 1) / cache.getBlockSize();
    if (blocks > cache.getFreeBlockCount())
      return Status::limit("a text of " + std::to_string(size) +
                           " tokens needs " + std::to_string(blocks) +
                           " cache blocks and " +
                           std::to_string(cache.getFreeBlockCount()) +
                           " are free; remove sequences or give the session "
                           "more cache");
  }
  return Status::ok();
}

Status Generator::computeLogits(std::span<const std::span<const int32_t>> texts,
                                const LogitsCallback &callback) {
  if (Status s = verifyTexts(texts, 0); !s)
    return s;
  KvCache &cache = engine.getCache();
  struct Running {
    size_t text;
    SequenceId id;
  };
  auto blocksFor = [&](std::span<const int32_t> text) {
    return (int64_t(text.size()) + cache.getBlockSize() - 1) /
           cache.getBlockSize();
  };
  // Blocks are set aside for whole texts, so that texts that have started
  // never wait for each other.
  int64_t unreserved = cache.getFreeBlockCount();
  std::vector<Running> running;
  auto removeAll = [&](Status status) {
    for (const Running &r : running)
      if (Status s = cache.removeSequence(r.id); !s && status.isOk())
        status = s;
    return status;
  };

  const int64_t width = engine.getVocabularySize();
  size_t next = 0;
  while (next < texts.size() || !running.empty()) {
    StepPacker packer(engine);
    std::vector<size_t> owners;
    auto pack = [&](const Running &r) {
      std::span<const int32_t> rest =
          texts[r.text].subspan(cache.getLength(r.id));
      int64_t count = packer.fit(r.id, int64_t(rest.size()), Logits::All);
      if (count <= 0)
        return false;
      packer.add({r.id, rest.first(count), Logits::All,
                  chooseRope(meta, int64_t(texts[r.text].size()))});
      owners.push_back(r.text);
      return true;
    };
    bool roomLeft = true;
    for (const Running &r : running)
      roomLeft = pack(r) && roomLeft;
    for (; roomLeft && next < texts.size(); ++next) {
      if (texts[next].empty())
        continue;
      if (blocksFor(texts[next]) > unreserved)
        break;
      Running started = {next, cache.addSequence()};
      running.push_back(started);
      roomLeft = pack(started);
      if (!roomLeft) {
        if (Status s = cache.removeSequence(started.id); !s)
          return removeAll(s);
        running.pop_back();
        break;
      }
      unreserved -= blocksFor(texts[next]);
    }
    if (owners.empty())
      break; // Only empty texts were left.

    Result<StepResults> results = engine.run(packer.getPieces());
    if (!results)
      return removeAll(results.getStatus());
    int64_t row = 0;
    for (size_t i = 0; i < owners.size(); ++i) {
      const SequencePiece &piece = packer.getPieces()[i];
      int64_t count = int64_t(piece.tokens.size());
      int64_t first = cache.getLength(piece.sequence) - count;
      for (int64_t j = 0; j < count; ++j)
        if (Status s = callback(owners[i], first + j,
                                results->logits.subspan(row++ * width, width));
            !s)
          return removeAll(s);
    }
    for (const Running &r : running) {
      if (cache.getLength(r.id) < int64_t(texts[r.text].size()))
        continue;
      unreserved += blocksFor(texts[r.text]);
      if (Status s = cache.removeSequence(r.id); !s)
        return s;
    }
    std::erase_if(running,
                  [&](const Running &r) { return !cache.contains(r.id); });
  }
  return Status::ok();
}

Result<std::vector<Score>>
Generator::score(std::span<const std::span<const int32_t>> texts) {
  std::vector<std::span<const int32_t>> contexts;
  // Nothing follows the last token.
  if (Status s = verifyTexts(texts, 1); !s)
    return s;
  for (std::span<const int32_t> text : texts)
    contexts.push_back(text.first(text.empty() ? 0 : text.size() - 1));
  std::vector<Score> scores(texts.size());
  Status status = computeLogits(
      contexts, [&](size_t text, int64_t position, std::span<const float> row) {
        double value = logProbability(row, texts[text][position + 1]);
        // NaN fails both comparisons.
        if (!(value <= 0 && value >= -std::numeric_limits<double>::max()))
          return Status::corrupt(
              "the logits behind position " + std::to_string(position) +
              " of text " + std::to_string(text) +
              " are not finite numbers: the weights are damaged or too large "
              "for the element type of the plan; weft-bisect names the "
              "operation");
        scores[text].logProbabilities.push_back(value);
        scores[text].negativeLogLikelihood -= value;
        return Status::ok();
      });
  if (!status)
    return status;
  return scores;
}

Result<Score> Generator::scoreWindows(std::span<const int32_t> ids,
                                      int64_t window) {
  if (window < 1 || window > sizes.contextLength)
    return Status::invalid("a window of " + std::to_string(window) +
                           " tokens does not fit; it must be between 1 and " +
                           std::to_string(sizes.contextLength) +
                           ", the context");
  std::vector<std::span<const int32_t>> windows;
  for (int64_t begin = 0; begin + window < int64_t(ids.size()); begin += window)
    windows.push_back(ids.subspan(begin, window + 1));
  Result<std::vector<Score>> scores = score(windows);
  if (!scores)
    return scores.getStatus();
  Score total;
  for (const Score &part : *scores) {
    total.logProbabilities.insert(total.logProbabilities.end(),
                                  part.logProbabilities.begin(),
                                  part.logProbabilities.end());
    total.negativeLogLikelihood += part.negativeLogLikelihood;
  }
  return total;
}
