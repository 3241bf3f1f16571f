//===- SamplingChecks.cpp - Ids chosen by plans ---------------------------===//
//
// Rounding decides where less than `rounding` of the whole weight would change
// the result.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/cuda/SamplingChecks.h"

#include "runtime/Exec/Session.h"
#include "runtime/Llm/Sampler.h"
#include "test/e2e/PlanModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>

using namespace weft;
using namespace weft::e2e;
using rt::LogitAdjustment;
using rt::RowSampling;

namespace {

constexpr double rounding = 1e-5;

//===----------------------------------------------------------------------===//
// The definition
//===----------------------------------------------------------------------===//

/// What the definition says about one row.
struct Choice {
  int32_t id = 0;
  /// No cut is near a border, so that what is left is clear.
  bool isClear = true;
  /// What is left, in the order of ids, and the running sums of probabilities.
  std::vector<int32_t> ids;
  std::vector<double> sums;
  double uniform = 0;

  bool leaves(int32_t other) const {
    return std::ranges::binary_search(ids, other);
  }
  /// Whether rounding may lead to `other`, which is left.
  bool isNear(int32_t other) const {
    const size_t place = std::ranges::lower_bound(ids, other) - ids.begin();
    const double slack = isClear ? rounding : 4 * rounding;
    return (place == 0 ? 0 : sums[place - 1]) <= uniform + slack &&
           uniform <= sums[place] + slack;
  }
};

float adjust(float x, const LogitAdjustment &adjustment) {
  constexpr float most = std::numeric_limits<float>::max();
  if (!std::isfinite(x))
    return x;
  float y = x > 0 ? x / adjustment.repetition : x * adjustment.repetition;
  return std::clamp(y + adjustment.bias, -most, most);
}

double adjustExactly(double x, const LogitAdjustment &adjustment) {
  return (x > 0 ? x / adjustment.repetition : x * adjustment.repetition) +
         adjustment.bias;
}

/// weft.sample of one row, whose logits are finite.
Choice choose(std::span<const double> logits, const RowSampling &row) {
  std::vector<int32_t> order(size_t(row.ids));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  Choice choice;
  choice.id = order[0];
  if (row.temperature == 0) {
    choice.ids = {choice.id};
    choice.sums = {1};
    return choice;
  }
  const double largest = logits[order[0]];
  auto near = [&](double distance) {
    if (std::abs(distance) <= rounding)
      choice.isClear = false;
  };
  auto weightOf = [&](int32_t id) {
    return std::exp((logits[id] - largest) / double(row.temperature));
  };
  if (row.topK > 0 && row.topK < row.ids)
    order.resize(size_t(row.topK));
  if (row.topP < 1) {
    double whole = 0, sum = 0;
    for (int32_t id : order)
      whole += weightOf(id);
    const double wanted = (double(row.topP) - 1e-6) * whole;
    size_t count = 0;
    do {
      sum += weightOf(order[count++]);
      near((sum - wanted) / whole);
    } while (count < order.size() && sum < wanted);
    order.resize(count);
  }
  const double least = double(row.minP) * (1 - 1e-6);
  size_t count = 1;
  for (; count < order.size() && weightOf(order[count]) >= least; ++count)
    near(least > 0 ? weightOf(order[count]) / least - 1 : 1);
  if (count < order.size())
    near(weightOf(order[count]) / least - 1);
  order.resize(count);
  std::ranges::sort(order);
  double kept = 0, sum = 0;
  for (int32_t id : order)
    kept += weightOf(id);
  choice.ids = order;
  choice.uniform = row.uniform;
  for (int32_t id : order)
    choice.sums.push_back((sum += weightOf(id)) / kept);
  size_t place = 0;
  while (place + 1 < order.size() && choice.sums[place] <= row.uniform)
    ++place;
  choice.id = order[place];
  return choice;
}

//===----------------------------------------------------------------------===//
// Plans of one step
//===----------------------------------------------------------------------===//

/// One row and what is asked for.
struct Row {
  std::vector<float> logits; ///< Even multiples of what x holds.
  RowSampling sampling;
  std::vector<LogitAdjustment> adjustments;
};

class SamplingPlan {
public:
  SamplingPlan(int64_t vocabulary, const std::string &path,
               const MakeDevice &makeDevice)
      : vocabulary(vocabulary) {
    auto program = loadProgram(path, makeDevice);
    auto created = rt::Session::create(
        program, {.symbols = {{"logits", 64}, {"adjustments", 4096}}});
    EXPECT_TRUE(created) << created.getStatus().getMessage();
    session = created.take();
  }

  std::vector<int32_t> run(std::span<const Row> rows) {
    std::vector<float> x, options, values;
    std::vector<int32_t> counts, places;
    for (size_t r = 0; r < rows.size(); ++r) {
      const Row &row = rows[r];
      for (float logit : row.logits)
        x.push_back(logit / 2);
      const RowSampling &s = row.sampling;
      counts.insert(counts.end(), {s.topK, s.ids});
      options.insert(options.end(), {s.temperature, s.topP, s.minP, s.uniform});
      for (const LogitAdjustment &a : row.adjustments) {
        places.insert(places.end(), {int32_t(r), a.id});
        values.insert(values.end(), {a.repetition, a.bias});
      }
      // Entries without a row are skipped.
      places.insert(places.end(), {-1, -1});
      values.insert(values.end(), {2, 2});
    }
    const auto count = int64_t(rows.size());
    const auto entries = int64_t(places.size() / 2);
    const int64_t xShape[] = {count, vocabulary}, pairs[] = {count, 2},
                  fours[] = {count, 4}, entryPairs[] = {entries, 2};
    logits.assign(x.size(), 0);
    std::vector<int32_t> ids(rows.size(), -7);
    using rt::DType;
    const rt::Argument inputs[] = {
        {"x", {x.data(), DType::F32, xShape}},
        {"counts", {counts.data(), DType::I32, pairs}},
        {"options", {options.data(), DType::F32, fours}},
        {"places", {places.data(), DType::I32, entryPairs}},
        {"values", {values.data(), DType::F32, entryPairs}}};
    const rt::Argument outputs[] = {
        {"logits", {logits.data(), DType::F32, xShape}},
        {"ids", {ids.data(), DType::I32, std::span(xShape).first(1)}}};
    rt::Status status = session->run("step", inputs, outputs);
    EXPECT_TRUE(status) << status.getMessage();
    return ids;
  }

  /// Of the last run, after the adjustments.
  std::vector<float> logits;

private:
  int64_t vocabulary;
  std::unique_ptr<rt::Session> session;
};

//===----------------------------------------------------------------------===//
// Random rows
//===----------------------------------------------------------------------===//

class RandomRows {
public:
  RandomRows(int64_t vocabulary, uint64_t seed)
      : vocabulary(vocabulary), generator(seed) {}

  std::vector<float> makeLogits() {
    std::vector<float> logits(vocabulary);
    std::normal_distribution<float> normal;
    const auto kind = pick({0, 1, 2, 3, 4, 5});
    for (float &x : logits)
      x = kind == 0   ? normal(generator)
          : kind == 1 ? 8 * normal(generator)
          : kind == 2 ? std::round(3 * normal(generator)) // Many equal ones.
          : kind == 3 ? float(pick({0.0, -0.0}))
          : kind == 4 ? 1e37f * normal(generator)
                      : -20 + 0.1f * normal(generator);
    if (kind == 5) // A few stand out.
      for (int i = 0; i < 8; ++i)
        logits[generator() % vocabulary] = float(i % 3);
    return logits;
  }

  rt::SamplingOptions makeOptions() {
    rt::SamplingOptions options;
    options.temperature = pick({0., 0.3, 0.7, 1., 1.5, 100., 1e-30, 1e30});
    options.topK = int64_t(pick({0., 0., 1., 2., 40., double(vocabulary - 1),
                                 double(vocabulary), 1e6}));
    options.topP = pick({1., 1., 0.999, 0.95, 0.5, 0.1, 1e-7, 1 - 1e-12});
    options.minP = pick({0., 0., 0.01, 0.1, 0.5, 1.});
    if (generator() % 2) {
      options.repetitionPenalty = pick({1., 1.3, 0.7});
      options.presencePenalty = pick({0., 0.5, -0.25});
      options.frequencyPenalty = pick({0., 0.125});
      for (int i = 0; i < 5; ++i)
        options.logitBias.push_back(
            {int32_t(generator() % vocabulary), pick({-100., 1.5, 3.})});
    }
    options.seed = generator();
    return options;
  }

  rt::TokenHistory makeHistory() {
    rt::TokenHistory history;
    for (int i = 0; i < 12; ++i) {
      auto id = int32_t(generator() % vocabulary);
      if (i % 3 == 0)
        history.addPrompt(id);
      else
        history.addOutput(id);
    }
    return history;
  }

  template <typename T> T pick(std::initializer_list<T> values) {
    return values.begin()[generator() % values.size()];
  }

  int64_t vocabulary;
  std::mt19937_64 generator;
};

} // namespace

void weft::e2e::checkRandomRows(int64_t vocabulary, const std::string &path,
                                const MakeDevice &makeDevice, int count,
                                int batch) {
  const uint64_t seed = 20261130 + uint64_t(vocabulary);
  std::cout << vocabulary << " ids, seed " << seed << "\n";
  SamplingPlan plan(vocabulary, path, makeDevice);
  RandomRows random(vocabulary, seed);
  int undecided = 0, differing = 0;
  auto check = [&](const Choice &choice, int32_t id) {
    if (!choice.isClear && !choice.leaves(id)) {
      ++undecided;
      return;
    }
    EXPECT_TRUE(choice.leaves(id)) << id << " for " << choice.id;
    if (choice.leaves(id))
      EXPECT_TRUE(choice.isNear(id)) << id << " for " << choice.id;
  };
  for (int done = 0; done < count; done += batch) {
    std::vector<Row> rows;
    std::vector<int32_t> hostIds;
    for (int r = 0; r < batch; ++r) {
      Row row;
      row.logits = random.makeLogits();
      const int64_t ids = std::max<int64_t>(
          1, random.pick({vocabulary, vocabulary, vocabulary - 3}));
      rt::SamplingOptions options = random.makeOptions();
      std::erase_if(options.logitBias,
                    [&](const auto &bias) { return bias.first >= ids; });
      auto sampler = rt::Sampler::create(options, ids);
      ASSERT_TRUE(sampler) << sampler.getStatus().getMessage();
      const rt::TokenHistory history = random.makeHistory();
      row.sampling = sampler->getRowSampling(done + r);
      sampler->getAdjustments(history, row.adjustments);
      EXPECT_LE(row.adjustments.size(), sampler->countAdjustments(history));
      auto hostId = sampler->sample(row.logits, history, done + r);
      ASSERT_TRUE(hostId) << hostId.getStatus().getMessage();
      hostIds.push_back(*hostId);
      rows.push_back(std::move(row));
    }
    const std::vector<int32_t> ids = plan.run(rows);
    const std::vector<float> adjusted = plan.logits;
    for (int r = 0; r < batch; ++r) {
      SCOPED_TRACE("row " + std::to_string(done + r));
      Row &row = rows[r];
      std::vector<float> logits = row.logits;
      for (const LogitAdjustment &a : row.adjustments)
        logits[a.id] = adjust(logits[a.id], a);
      EXPECT_TRUE(std::ranges::equal(
          logits, std::span(adjusted).subspan(r * vocabulary, vocabulary)));
      const Choice choice = choose(
          std::vector<double>(logits.begin(), logits.end()), row.sampling);
      check(choice, ids[r]);
      // The host changes logits in float64.
      std::vector<double> exact(row.logits.begin(), row.logits.end());
      for (const LogitAdjustment &a : row.adjustments)
        exact[a.id] = adjustExactly(exact[a.id], a);
      const Choice hostChoice = choose(exact, row.sampling);
      check(hostChoice, hostIds[r]);
      if (ids[r] != hostIds[r])
        ++differing;
      if (row.adjustments.empty() && row.sampling.temperature == 0)
        EXPECT_EQ(ids[r], hostIds[r]);
      // Alone as in the batch.
      if (r % 8 == 0)
        EXPECT_EQ(plan.run(std::span(&row, 1))[0], ids[r]);
    }
  }
  std::cout << "  " << differing << " of " << count << " differ from the host, "
            << undecided << " are behind a cut that rounding decides\n";
  EXPECT_LE(undecided, count / 50 + 1);
  EXPECT_LE(differing, count / 20 + 1);
}

//===----------------------------------------------------------------------===//
// Chosen rows
//===----------------------------------------------------------------------===//

void weft::e2e::checkChosenRows(const std::string &path,
                                const MakeDevice &makeDevice) {
  constexpr int64_t vocabulary = chosenVocabulary;
  constexpr float inf = std::numeric_limits<float>::infinity();
  SamplingPlan plan(vocabulary, path, makeDevice);
  RandomRows random(vocabulary, 3);

  // Draws at even distances hit each id as often as its probability says.
  std::vector<float> logits(vocabulary, -30);
  const std::pair<int32_t, double> parts[] = {
      {3, 0.4}, {255, 0.3}, {256, 0.2}, {699, 0.1}};
  for (auto [id, probability] : parts)
    logits[id] = float(std::log(probability));
  std::vector<Row> rows;
  std::vector<int> counts(vocabulary);
  constexpr int draws = 192;
  for (int i = 0; i < draws; ++i) {
    RowSampling sampling = {.ids = int32_t(vocabulary), .temperature = 1};
    sampling.uniform = float((i + 0.5) / draws);
    rows.push_back({logits, sampling, {}});
    if (rows.size() == 64) {
      for (int32_t id : plan.run(rows))
        ++counts[id];
      rows.clear();
    }
  }
  for (auto [id, probability] : parts)
    EXPECT_NEAR(counts[id], probability * draws, 1);

  // What is not a number is named, the first one; behind the ids it is not
  // looked at. An adjustment does not hide it.
  for (float bad : {inf, -inf, std::nanf("")})
    for (int32_t place : {0, 300, 698})
      for (float temperature : {0.f, 1.f}) {
        Row row = {random.makeLogits(), {.ids = 699}, {{place, 2, -1e30f}}};
        row.sampling.temperature = temperature;
        row.logits[place] = bad;
        row.logits[699] = inf;
        rows.push_back(row);
      }
  const std::vector<int32_t> ids = plan.run(rows);
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(ids[i], -1 - rows[i].adjustments[0].id);
  rows[0].logits[rows[0].adjustments[0].id] = 1;
  EXPECT_GE(plan.run(std::span(rows).first(1))[0], 0);

  // Rows for which nobody asks.
  rows.assign(1, {logits, {}, {}});
  EXPECT_EQ(plan.run(rows)[0], 0);
}

//===----------------------------------------------------------------------===//
// Divided rows
//===----------------------------------------------------------------------===//

std::vector<int32_t> weft::e2e::checkDividedRows(int64_t vocabulary,
                                                 const std::string &path,
                                                 const MakeDevice &makeDevice,
                                                 int draws) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto count = int32_t(vocabulary);
  std::vector<int32_t> places;
  for (int i = 0; i <= 8; ++i)
    places.push_back(int32_t((vocabulary - 1) * i / 8));
  std::vector<Row> rows;
  std::vector<int32_t> expected;
  auto add = [&](std::vector<float> logits, int32_t ids, int32_t id) {
    rows.push_back({std::move(logits), {.ids = ids}, {}});
    expected.push_back(id);
  };
  const std::vector<float> low(vocabulary, -3e38f);
  // The only one above the others; of two equal ones the first.
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<float> logits = low;
    logits[places[i]] = -2e38f;
    add(logits, count, places[i]);
    if (i + 3 >= places.size())
      continue;
    logits[places[i + 3]] = logits[places[i]];
    add(logits, count, places[i]);
  }
  // Zeros of both signs are equal.
  std::vector<float> logits(vocabulary);
  for (int32_t id = 0; id < count; id += 2)
    logits[id] = -0.0f;
  add(logits, count, 0);
  // What lies behind the ids is larger.
  std::iota(logits.begin(), logits.end(), 0.0f);
  for (int i : {1, 5, 8})
    add(logits, places[i], places[i] - 1);
  // The first one that is not a finite number.
  for (int32_t finite : {0, count - 1}) {
    std::vector<float> infinite(vocabulary, -inf);
    infinite[finite] = 1;
    add(infinite, count, -1 - (finite == 0 ? 1 : 0));
  }
  for (int i : {0, 5}) {
    std::vector<float> bad = logits;
    bad[places[i]] = std::nanf("");
    bad[places[i + 3]] = inf;
    add(bad, count, -1 - places[i]);
  }
  const uint64_t seed = 20261201 + uint64_t(vocabulary);
  std::cout << vocabulary << " ids, divided, seed " << seed << "\n";
  RandomRows random(vocabulary, seed);
  std::vector<Choice> choices;
  for (int i = 0; i < draws; ++i) {
    Row row = {random.makeLogits(), {.ids = count}, {}};
    row.sampling.temperature = random.pick({0.5f, 1.0f, 4.0f});
    row.sampling.topK = random.pick({0, 1, 40, count / 2, count - 1});
    row.sampling.minP = random.pick({0.0f, 0.0f, 0.05f});
    row.sampling.uniform = float(random.generator() >> 40) * 0x1p-24f;
    choices.push_back(
        choose(std::vector<double>(row.logits.begin(), row.logits.end()),
               row.sampling));
    rows.push_back(std::move(row));
  }
  SamplingPlan plan(vocabulary, path, makeDevice);
  const std::vector<int32_t> ids = plan.run(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    if (i < expected.size()) {
      EXPECT_EQ(ids[i], expected[i]);
    } else if (const Choice &choice = choices[i - expected.size()];
               choice.isClear) {
      EXPECT_TRUE(choice.leaves(ids[i]) && choice.isNear(ids[i]))
          << ids[i] << " for " << choice.id;
    }
    // Alone as in the batch.
    if (i % 16 == 0)
      EXPECT_EQ(plan.run(std::span(rows).subspan(i, 1))[0], ids[i]);
  }
  return ids;
}
