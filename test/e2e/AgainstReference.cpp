#include "test/e2e/AgainstReference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace weft;
using namespace weft::e2e;
using reference::Matrix;
using reference::RopeKind;
using reference::Transformer;

std::vector<std::vector<int32_t>>
weft::e2e::randomPrompts(std::span<const int64_t> lengths, int64_t vocabulary,
                         uint64_t seed) {
  // The engine is specified by the standard, the distributions are not.
  std::mt19937_64 random(seed);
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t length : lengths) {
    std::vector<int32_t> &ids = prompts.emplace_back();
    for (int64_t i = 0; i < length; ++i)
      ids.push_back(int32_t(random() % uint64_t(vocabulary)));
  }
  return prompts;
}

static Golden computeExpected(const Transformer &model,
                              std::span<const std::vector<int32_t>> prompts) {
  Golden expected;
  for (const std::vector<int32_t> &ids : prompts) {
    Matrix output =
        model.config().isEncoder() ? model.hidden(ids) : model.logits(ids);
    expected.cases.push_back({ids,
                              {},
                              {output.rows,
                               output.columns,
                               {output.values.begin(), output.values.end()}}});
  }
  return expected;
}

std::string weft::e2e::compareWithReference(
    const Transformer &model, std::span<const std::vector<int32_t>> prompts,
    const RunModel &run, double tolerance, double *largest) {
  return compareOutputs(computeExpected(model, prompts), run, tolerance,
                        largest);
}

double weft::e2e::relativeError(const Transformer &model,
                                std::span<const std::vector<int32_t>> prompts,
                                const RunModel &run) {
  double differences = 0, squares = 0;
  for (const GoldenCase &entry : computeExpected(model, prompts).cases) {
    Table actual = run(entry.ids);
    if (actual.values.size() != entry.output.values.size())
      return std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < actual.values.size(); ++i) {
      double expected = entry.output.values[i];
      differences +=
          (actual.values[i] - expected) * (actual.values[i] - expected);
      squares += expected * expected;
    }
  }
  return std::sqrt(differences / squares);
}

// Whether the outputs at a position depend on how many positions follow.
static bool dependsOnLength(const Transformer &model) {
  const auto &ropes = model.config().rope;
  return std::any_of(ropes.begin(), ropes.end(), [](const auto &rope) {
    return rope.kind == RopeKind::Dynamic || rope.kind == RopeKind::Longrope;
  });
}

static std::string checkContinuation(const Transformer &model,
                                     std::span<const int32_t> prompt,
                                     std::span<const int32_t> chosen,
                                     double margin) {
  std::vector<int32_t> all(prompt.begin(), prompt.end());
  all.insert(all.end(), chosen.begin(), chosen.end());
  bool recompute = dependsOnLength(model);
  Matrix whole;
  if (!recompute)
    whole = model.logits(std::span(all).first(all.size() - 1));
  for (size_t i = 0; i < chosen.size(); ++i) {
    size_t length = prompt.size() + i;
    Matrix prefix;
    if (recompute)
      prefix = model.logits(std::span(all).first(length));
    auto scores = (recompute ? prefix : whole).row(int64_t(length) - 1);
    int32_t best = reference::argmax(scores);
    if (chosen[i] >= 0 && size_t(chosen[i]) < scores.size() &&
        scores[size_t(best)] - scores[size_t(chosen[i])] <= margin)
      continue;
    std::string text = "greedy id " + std::to_string(i) + " is " +
                       std::to_string(chosen[i]) + ", expected " +
                       std::to_string(best);
    if (chosen[i] >= 0 && size_t(chosen[i]) < scores.size())
      text += "; its logit is " +
              std::to_string(scores[size_t(best)] - scores[size_t(chosen[i])]) +
              " below";
    return text + "\n";
  }
  return "";
}

std::string weft::e2e::compareGreedyWithReference(
    const Transformer &model, std::span<const std::vector<int32_t>> prompts,
    int64_t count, const RunGreedy &run, double margin) {
  std::string report;
  for (size_t p = 0; p < prompts.size(); ++p) {
    std::vector<int32_t> chosen = run(prompts[p], count);
    std::string wrong;
    if (int64_t(chosen.size()) != count)
      wrong = std::to_string(chosen.size()) + " ids, expected " +
              std::to_string(count) + "\n";
    else if (count)
      // Ids out of range would stop the reference: judge what precedes them.
      wrong = [&] {
        int64_t vocabulary = model.config().vocabulary;
        auto bad = std::find_if(chosen.begin(), chosen.end(), [&](int32_t id) {
          return id < 0 || id >= vocabulary;
        });
        size_t usable =
            std::min<size_t>(size_t(bad - chosen.begin()) + 1, chosen.size());
        return checkContinuation(model, prompts[p],
                                 std::span(chosen).first(usable), margin);
      }();
    if (!wrong.empty())
      report += "prompt " + std::to_string(p) + ": " + wrong;
  }
  return report;
}
