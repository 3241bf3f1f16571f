//===- Sampler.cpp - From logits to one token id --------------------------===//

#include "runtime/Llm/Sampler.h"

#include "runtime/Llm/Philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ranges>
#include <sstream>

using namespace weft::rt;

/// Rounding of f32 logits moves a probability by about this much.
static constexpr double kTolerance = 1e-6;
static constexpr double kLargestAdjustment = 1e6;
/// Bits of an f32 that are all set where it is not a finite number.
static constexpr uint32_t kExponent = 0x7F800000;

namespace {
/// By logit, then by ascending id.
struct Descending {
  const std::vector<double> &logits;

  bool operator()(int32_t a, int32_t b) const {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  }
};
} // namespace

static std::string print(double value) {
  std::ostringstream os;
  os << value;
  return os.str();
}

static Status verifyRange(const char *name, double value, double low,
                          double high, const char *hint) {
  // Written so that NaN fails.
  if (value >= low && value <= high)
    return Status::ok();
  return Status::invalid(std::string(name) + " is " + print(value) +
                         "; it must be between " + print(low) + " and " +
                         print(high) + hint);
}

Status SamplingOptions::verify(int64_t vocabularySize) const {
  if (!(temperature >= 0) || !std::isfinite(temperature))
    return Status::invalid("temperature is " + print(temperature) +
                           "; it must be 0 (greedy) or a positive number");
  if (topK < 0)
    return Status::invalid("top-k is " + std::to_string(topK) +
                           "; it must be positive, or 0 for no limit");
  if (!(topP > 0 && topP <= 1))
    return Status::invalid("top-p is " + print(topP) +
                           "; it must be above 0 and at most 1 (1: no limit)");
  if (Status s = verifyRange("min-p", minP, 0, 1, " (0: no limit)"); !s)
    return s;
  if (Status s =
          verifyRange("repetition penalty", repetitionPenalty,
                      1 / kLargestAdjustment, kLargestAdjustment, " (1: off)");
      !s)
    return s;
  if (Status s = verifyRange("presence penalty", presencePenalty,
                             -kLargestAdjustment, kLargestAdjustment, "");
      !s)
    return s;
  if (Status s = verifyRange("frequency penalty", frequencyPenalty,
                             -kLargestAdjustment, kLargestAdjustment, "");
      !s)
    return s;
  for (auto [id, bias] : logitBias) {
    if (id < 0 || id >= vocabularySize)
      return Status::invalid("logit bias for id " + std::to_string(id) +
                             ": the vocabulary has the ids 0 to " +
                             std::to_string(vocabularySize - 1));
    std::string name = "logit bias of id " + std::to_string(id);
    if (Status s = verifyRange(name.c_str(), bias, -kLargestAdjustment,
                               kLargestAdjustment, "");
        !s)
      return s;
  }
  return Status::ok();
}

Result<Sampler> Sampler::create(SamplingOptions options,
                                int64_t vocabularySize) {
  if (vocabularySize < 1 || vocabularySize > INT32_MAX)
    return Status::invalid("cannot sample from a vocabulary of " +
                           std::to_string(vocabularySize) + " ids");
  if (Status s = options.verify(vocabularySize); !s)
    return s;
  return Sampler(std::move(options), vocabularySize);
}

static Status refuseLogit(int64_t id, int64_t position,
                          const std::string &what) {
  return Status::corrupt(
      "the logit of id " + std::to_string(id) + " for position " +
      std::to_string(position) + " is " + what +
      "not a finite number: the weights are damaged or too large for the "
      "element type of the plan; weft-bisect names the operation");
}

/// `logits` has one that is NaN or infinite.
static Status refuseLogits(std::span<const float> logits, int64_t position) {
  int64_t id = 0;
  while (std::isfinite(logits[id]))
    ++id;
  return refuseLogit(id, position, print(logits[id]) + ", ");
}

Status Sampler::verifyCount(std::span<const float> logits) const {
  if (int64_t(logits.size()) >= vocabularySize)
    return Status::ok();
  return Status::invalid("the model gives " + std::to_string(logits.size()) +
                         " logits for a vocabulary of " +
                         std::to_string(vocabularySize) + " ids");
}

/// Converts the logits to double and refuses what is not a number.
Status Sampler::load(std::span<const float> logits, int64_t position) {
  uint32_t bad = 0;
  adjusted.resize(vocabularySize);
  for (int64_t i = 0; i < vocabularySize; ++i) {
    bad |= (std::bit_cast<uint32_t>(logits[i]) & kExponent) == kExponent;
    adjusted[i] = logits[i];
  }
  return bad ? refuseLogits(logits, position) : Status::ok();
}

/// An integer that orders finite numbers as they are ordered, 0 and -0 alike.
static int32_t orderOf(float x) {
  const auto bits = std::bit_cast<int32_t>(x + 0.0f);
  return bits ^ ((bits >> 31) & INT32_MAX);
}

/// The largest logit. Integers, because compilers make vectors of maxima of
/// integers only; blocks, because the place of a maximum is wanted rarely.
Result<int32_t> Sampler::chooseLargest(std::span<const float> logits,
                                       int64_t position) const {
  constexpr int64_t blockSize = 512;
  int32_t best = INT32_MIN, id = 0, widest = 0;
  auto scan = [&](int64_t begin, int64_t count) {
    const float *block = logits.data() + begin;
    int32_t most = INT32_MIN;
    for (int64_t i = 0; i < count; ++i) {
      most = std::max(most, orderOf(block[i]));
      widest = std::max(widest, std::bit_cast<int32_t>(block[i]) & INT32_MAX);
    }
    if (most <= best)
      return;
    best = most;
    int64_t place = 0;
    while (orderOf(block[place]) != most)
      ++place;
    id = int32_t(begin + place);
  };
  int64_t begin = 0;
  for (; begin + blockSize <= vocabularySize; begin += blockSize)
    scan(begin, blockSize);
  scan(begin, vocabularySize - begin);
  if (widest >= int32_t(kExponent))
    return refuseLogits(logits, position);
  return id;
}

void Sampler::applyPenalties(const TokenHistory &history) {
  if (options.hasPenalties()) {
    for (auto [id, use] : history.get()) {
      if (id < 0 || id >= vocabularySize)
        continue;
      double &logit = adjusted[id];
      logit = logit > 0 ? logit / options.repetitionPenalty
                        : logit * options.repetitionPenalty;
      if (use.outputs > 0)
        logit -= options.presencePenalty +
                 options.frequencyPenalty * double(use.outputs);
    }
  }
  for (auto [id, bias] : options.logitBias)
    adjusted[id] += bias;
}

double Sampler::weightOf(int32_t id, double largest) const {
  return std::exp((adjusted[id] - largest) / options.temperature);
}

int32_t Sampler::drawUnfiltered(double largest, double uniform) {
  weights.resize(vocabularySize);
  double total = 0;
  for (int64_t id = 0; id < vocabularySize; ++id)
    total += weights[id] = weightOf(int32_t(id), largest);
  double target = uniform * total, sum = 0;
  int32_t last = 0;
  for (int64_t id = 0; id < vocabularySize; ++id) {
    if (weights[id] <= 0)
      continue;
    last = int32_t(id);
    sum += weights[id];
    if (sum > target)
      break;
  }
  return last;
}

/// Fills `candidates` with what top-k leaves, or with all ids that top-p and
/// min-p could keep, and returns the sum of weights that top-p refers to.
double Sampler::collectCandidates(double largest) {
  double total = 0;
  if (options.topK > 0 && options.topK < vocabularySize) {
    auto ids = std::views::iota(int32_t(0), int32_t(vocabularySize));
    candidates.resize(options.topK);
    std::partial_sort_copy(ids.begin(), ids.end(), candidates.begin(),
                           candidates.end(), Descending{adjusted});
    for (int32_t id : candidates)
      total += weightOf(id, largest);
    return total;
  }
  weights.resize(vocabularySize);
  for (int64_t id = 0; id < vocabularySize; ++id)
    total += weights[id] = weightOf(int32_t(id), largest);
  // Tokens below this weight sum to less than 1 - p together, so the prefix
  // that reaches p never needs them.
  double threshold = std::max(total * (1 - options.topP) / vocabularySize,
                              options.minP * (1 - kTolerance));
  candidates.clear();
  for (int64_t id = 0; id < vocabularySize; ++id)
    if (weights[id] >= threshold)
      candidates.push_back(int32_t(id));
  return total;
}

/// Sorts the candidates from `begin` to `end` that come first in descending
/// order; those before `begin` are sorted already.
void Sampler::sortCandidates(size_t begin, size_t end) {
  auto first = candidates.begin();
  if (end < candidates.size())
    std::nth_element(first + begin, first + end - 1, candidates.end(),
                     Descending{adjusted});
  std::sort(first + begin, first + end, Descending{adjusted});
}

int32_t Sampler::drawFiltered(double largest, double uniform) {
  const double wanted =
      (options.topP - kTolerance) * collectCandidates(largest);
  // One walk cuts at top-p and at min-p: both keep a prefix. Sorting goes only
  // as far as the walk, which mostly is not far.
  double kept = 0;
  size_t count = 0, sorted = 0;
  for (; count < candidates.size(); ++count) {
    if (count == sorted) {
      size_t next = std::min(candidates.size(), sorted == 0 ? 128 : sorted * 8);
      sortCandidates(sorted, next);
      sorted = next;
    }
    double weight = weightOf(candidates[count], largest);
    if (count > 0 && weight < options.minP * (1 - kTolerance))
      break;
    if (count > 0 && options.topP < 1 && kept >= wanted)
      break;
    kept += weight;
  }
  // The draw walks in the order of ids.
  std::sort(candidates.begin(), candidates.begin() + int64_t(count));
  double target = uniform * kept, sum = 0;
  int32_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    double weight = weightOf(candidates[i], largest);
    if (weight <= 0)
      continue;
    last = candidates[i];
    sum += weight;
    if (sum > target)
      break;
  }
  return last;
}

Result<int32_t> Sampler::sample(std::span<const float> logits,
                                const TokenHistory &history, int64_t position) {
  if (Status s = verifyCount(logits); !s)
    return s;
  if (options.temperature == 0 && !options.hasPenalties() &&
      options.logitBias.empty())
    return chooseLargest(logits, position);
  if (Status s = load(logits, position); !s)
    return s;
  applyPenalties(history);
  auto largest = std::max_element(adjusted.begin(), adjusted.end());
  if (options.temperature == 0)
    return int32_t(largest - adjusted.begin());
  double uniform =
      uniformDraw(options.seed, options.request, uint32_t(position));
  if (options.topK == 0 && options.topP == 1 && options.minP == 0)
    return drawUnfiltered(*largest, uniform);
  return drawFiltered(*largest, uniform);
}

//===----------------------------------------------------------------------===//
// Models that choose ids
//===----------------------------------------------------------------------===//

RowSampling Sampler::getRowSampling(int64_t position) const {
  constexpr float least = std::numeric_limits<float>::min();
  constexpr float most = std::numeric_limits<float>::max();
  RowSampling row;
  row.ids = int32_t(vocabularySize);
  if (options.temperature == 0)
    return row;
  row.temperature =
      float(std::clamp(options.temperature, double(least), double(most)));
  row.topK = options.topK < vocabularySize ? int32_t(options.topK) : 0;
  // A limit below 1 stays one.
  if (options.topP < 1)
    row.topP = std::clamp(float(options.topP), least, std::nextafter(1.f, 0.f));
  row.minP = float(options.minP);
  row.uniform = std::min(
      float(uniformDraw(options.seed, options.request, uint32_t(position))),
      std::nextafter(1.f, 0.f));
  return row;
}

size_t Sampler::countAdjustments(const TokenHistory &history) const {
  return options.logitBias.size() +
         (options.hasPenalties() ? history.get().size() : 0);
}

void Sampler::getAdjustments(const TokenHistory &history,
                             std::vector<LogitAdjustment> &adjustments) const {
  adjustments.clear();
  if (options.hasPenalties())
    for (auto [id, use] : history.get()) {
      if (id < 0 || id >= vocabularySize)
        continue;
      double bias = use.outputs == 0
                        ? 0
                        : -(options.presencePenalty +
                            options.frequencyPenalty * double(use.outputs));
      adjustments.push_back(
          {id, float(options.repetitionPenalty), float(bias)});
    }
  if (options.logitBias.empty())
    return;
  for (auto [id, bias] : options.logitBias)
    adjustments.push_back({id, 1.0f, float(bias)});
  // One of each id.
  std::ranges::stable_sort(adjustments, {}, &LogitAdjustment::id);
  size_t count = 0;
  for (const LogitAdjustment &next : adjustments) {
    if (count == 0 || adjustments[count - 1].id != next.id)
      adjustments[count++] = next;
    else
      adjustments[count - 1].bias += next.bias;
  }
  adjustments.resize(count);
}

Result<int32_t> Sampler::checkChoice(int32_t choice, int64_t position) const {
  if (choice < 0)
    return refuseLogit(-1 - int64_t(choice), position, "");
  if (choice < vocabularySize)
    return choice;
  return Status::corrupt("the plan chose the id " + std::to_string(choice) +
                         " for position " + std::to_string(position) +
                         "; the largest that may be sampled is " +
                         std::to_string(vocabularySize - 1));
}

double weft::rt::logProbability(std::span<const float> logits, int32_t id) {
  double largest = -INFINITY;
  for (float logit : logits)
    largest = std::max(largest, double(logit));
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(logit - largest);
  return logits[id] - largest - std::log(sum);
}
