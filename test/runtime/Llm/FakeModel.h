//===- FakeModel.h - A decoder whose logits are a hash of its context -----===//
//
// Checks every input of a step against docs/architecture.md and computes the
// logits of a row from what the cache holds for positions 0 to the row's own,
// read through the block table. So equal logits mean an equal cache.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_RUNTIME_LLM_FAKEMODEL_H
#define WEFT_TEST_RUNTIME_LLM_FAKEMODEL_H

#include "runtime/Llm/ModelMeta.h"
#include "runtime/Llm/StepRunner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

namespace weft::rt {

class FakeModel : public StepRunner {
public:
  struct Entry {
    int32_t token = -1, rope = 0;
  };
  static constexpr int64_t kBlockSize = 4;
  static constexpr int64_t kContext = 64;

  explicit FakeModel(int64_t vocabulary = 50) : vocabulary(vocabulary) {
    limits = {.tokens = 16,
              .sequences = 8,
              .logits = 16,
              .tableWidth = kContext / kBlockSize,
              .cacheBlocks = 64};
  }

  ModelMeta meta() const {
    ModelMeta meta;
    meta.vocabularySize = vocabulary;
    meta.contextLength = kContext;
    meta.blockSize = kBlockSize;
    return meta;
  }

  StepLimits getLimits() const override { return limits; }
  int64_t getVocabularySize() const override { return vocabulary; }

  Status run(const StepInputs &in, const StepOutputs &outputs) override {
    std::span<float> logits = outputs.logits;
    ++steps;
    if (failAtStep == steps)
      return Status::internal("the fake model was told to fail");
    if (Status s = verify(in, logits); !s)
      return s;
    cache.resize(limits.cacheBlocks * kBlockSize);
    for (size_t row = 0; row < in.tokens.size(); ++row)
      cache[in.slots[row]] = {in.tokens[row],
                              limits.hasRopeChoice ? in.ropeChoice[row] : 0};
    for (size_t i = 0; i < in.logitRows.size(); ++i) {
      int32_t row = in.logitRows[i];
      std::vector<Entry> context;
      for (int32_t p = 0; p <= in.positions[row]; ++p)
        context.push_back(cache[slotOf(in, in.sequenceIds[row], p)]);
      std::span<float> out = logits.subspan(i * vocabulary, vocabulary);
      fill(context, out);
      if (changeLogits)
        changeLogits(context, out);
    }
    if (limits.samples)
      sample(in, outputs);
    tokensRun += int64_t(in.tokens.size());
    largestStep = std::max(largestStep, int64_t(in.tokens.size()));
    return Status::ok();
  }

  Status copyBlocks(std::span<const BlockCopy> copies) override {
    cache.resize(limits.cacheBlocks * kBlockSize);
    for (const BlockCopy &copy : copies)
      std::copy_n(cache.begin() + copy.from * kBlockSize, kBlockSize,
                  cache.begin() + copy.to * kBlockSize);
    blocksCopied += int64_t(copies.size());
    return Status::ok();
  }

  /// Greedy continuation computed without any cache, for comparison.
  std::vector<int32_t> continueGreedily(std::vector<int32_t> ids, int count,
                                        int32_t rope = 0) const {
    std::vector<float> row(vocabulary);
    std::vector<int32_t> out;
    for (int i = 0; i < count; ++i) {
      std::vector<Entry> context;
      for (int32_t id : ids)
        context.push_back({id, rope});
      fill(context, row);
      if (changeLogits)
        changeLogits(context, row);
      out.push_back(
          int32_t(std::max_element(row.begin(), row.end()) - row.begin()));
      ids.push_back(out.back());
    }
    return out;
  }

  void fill(std::span<const Entry> context, std::span<float> row) const {
    uint64_t hash = 1;
    for (const Entry &entry : context)
      hash = mix(hash ^ (uint64_t(uint32_t(entry.token)) << 1 | entry.rope));
    for (int64_t v = 0; v < vocabulary; ++v)
      row[v] = float(mix(hash + v) >> 40) * (8.0f / (1 << 24)) - 4.0f;
  }

  /// With limits.samples: chooses ids, and spoils logits that nobody wants.
  void sample(const StepInputs &in, const StepOutputs &outputs) {
    std::span<float> logits = outputs.logits;
    for (size_t i = 0; i < in.adjustmentPlaces.size(); i += 2) {
      if (in.adjustmentPlaces[i] < 0)
        continue;
      float &x = logits[in.adjustmentPlaces[i] * vocabulary +
                        in.adjustmentPlaces[i + 1]];
      x = (x > 0 ? x / in.adjustmentValues[i] : x * in.adjustmentValues[i]) +
          in.adjustmentValues[i + 1];
      ++adjustments;
    }
    for (size_t r = 0; r < in.logitRows.size(); ++r) {
      const int32_t ids = in.samplingCounts[2 * r + 1];
      choices += ids > 1;
      outputs.ids[r] = choose(logits.subspan(r * vocabulary, ids),
                              &in.samplingOptions[4 * r]);
    }
    if (!outputs.wantsLogits)
      std::ranges::fill(logits, NAN);
  }

  /// By temperature and uniform number alone: no cuts.
  static int32_t choose(std::span<const float> logits, const float *options) {
    auto bad =
        std::ranges::find_if(logits, [](float x) { return !std::isfinite(x); });
    if (bad != logits.end())
      return int32_t(-1 - (bad - logits.begin()));
    const float largest = *std::ranges::max_element(logits);
    std::vector<double> sums;
    for (float x : logits)
      sums.push_back((sums.empty() ? 0 : sums.back()) +
                     (options[0] == 0 ? double(x == largest)
                                      : std::exp((double(x) - largest) /
                                                 double(options[0]))));
    return int32_t(std::ranges::upper_bound(sums, options[3] * sums.back()) -
                   sums.begin());
  }

  StepLimits limits;
  /// Rows of which an id was chosen, and logits that were changed before.
  int64_t choices = 0, adjustments = 0;
  int64_t steps = 0, tokensRun = 0, largestStep = 0, failAtStep = -1;
  int64_t blocksCopied = 0;
  /// Changes the logits that follow a context.
  std::function<void(std::span<const Entry>, std::span<float>)> changeLogits;

private:
  static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  int64_t slotOf(const StepInputs &in, int64_t sequence, int64_t p) const {
    return in.blockTable[sequence * in.tableWidth + p / kBlockSize] *
               kBlockSize +
           p % kBlockSize;
  }

  Status verify(const StepInputs &in, std::span<float> logits) const {
    auto check = [](bool ok, const char *what) {
      return ok ? Status::ok()
                : Status::internal(std::string("bad step: ") + what);
    };
    size_t tokens = in.tokens.size(), sequences = in.contextLengths.size();
    bool sizes = tokens >= 1 && int64_t(tokens) <= limits.tokens &&
                 sequences >= 1 && int64_t(sequences) <= limits.sequences &&
                 in.positions.size() == tokens &&
                 in.sequenceIds.size() == tokens && in.slots.size() == tokens &&
                 in.sequenceStarts.size() == sequences + 1 &&
                 in.sequenceStarts.front() == 0 &&
                 in.sequenceStarts.back() == int32_t(tokens) &&
                 in.blockTable.size() == sequences * in.tableWidth &&
                 in.tableWidth <= limits.tableWidth &&
                 in.ropeChoice.size() == (limits.hasRopeChoice ? tokens : 0) &&
                 int64_t(in.logitRows.size()) <= limits.logits &&
                 int64_t(in.logitRows.size()) >= limits.leastLogits &&
                 logits.size() == in.logitRows.size() * vocabulary &&
                 verifySampling(in);
    if (Status s = check(sizes, "sizes"); !s)
      return s;
    std::set<int32_t> slots;
    for (size_t s = 0; s < sequences; ++s) {
      int32_t begin = in.sequenceStarts[s], end = in.sequenceStarts[s + 1];
      if (Status bad = check(begin < end, "sequence_starts"); !bad)
        return bad;
      for (int32_t row = begin; row < end; ++row) {
        int32_t position = in.contextLengths[s] - (end - row);
        bool ok = in.sequenceIds[row] == int32_t(s) &&
                  in.positions[row] == position && position >= 0 &&
                  in.slots[row] == slotOf(in, s, position) &&
                  slots.insert(in.slots[row]).second && in.tokens[row] >= 0 &&
                  in.tokens[row] < vocabulary;
        if (Status bad = check(ok, "row"); !bad)
          return bad;
      }
    }
    return Status::ok();
  }

  bool verifySampling(const StepInputs &in) const {
    const size_t rows = limits.samples ? in.logitRows.size() : 0;
    return in.samplingCounts.size() == 2 * rows &&
           in.samplingOptions.size() == 4 * rows &&
           in.adjustmentPlaces.size() == in.adjustmentValues.size() &&
           int64_t(in.adjustmentPlaces.size()) <= 2 * limits.adjustments;
  }

  int64_t vocabulary;
  std::vector<Entry> cache;
};

} // namespace weft::rt

#endif // WEFT_TEST_RUNTIME_LLM_FAKEMODEL_H
