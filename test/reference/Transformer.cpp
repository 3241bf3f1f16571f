#include "test/reference/Transformer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace weft::reference;

//===----------------------------------------------------------------------===//
// The operations; n is the number of rows, everything is row-major
//===----------------------------------------------------------------------===//

template <typename Real> using Rows = std::vector<Real>;

// Eight sums so that the compiler may use vector registers.
template <typename A, typename B>
static double dot(const A *a, const B *b, int64_t size) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= size; i += 8)
    for (int64_t j = 0; j < 8; ++j)
      sums[j] += double(a[i + j]) * double(b[i + j]);
  double sum = 0;
  for (; i < size; ++i)
    sum += double(a[i]) * double(b[i]);
  return std::accumulate(sums, sums + 8, sum);
}

template <typename Real>
static Rows<Real> multiply(const Linear &linear, const Rows<Real> &x) {
  int64_t n = int64_t(x.size()) / linear.in;
  Rows<Real> y(size_t(n * linear.out));
  for (int64_t o = 0; o < linear.out; ++o) {
    const float *row = linear.weight.data() + o * linear.in;
    double bias = linear.bias.empty() ? 0 : linear.bias[size_t(o)];
    for (int64_t i = 0; i < n; ++i)
      y[size_t(i * linear.out + o)] =
          Real(dot(x.data() + i * linear.in, row, linear.in) + bias);
  }
  return y;
}

// RMS norm, or layer norm where there is a bias. `offset` is 1 for Gemma,
// whose weights are stored minus one.
template <typename Real>
static Rows<Real> normalizeRows(const Norm &norm, Rows<Real> x, double epsilon,
                                double offset) {
  int64_t size = int64_t(norm.weight.size());
  for (Real *row = x.data(); row != x.data() + x.size(); row += size) {
    double mean = 0, square = 0;
    if (!norm.bias.empty())
      mean = std::accumulate(row, row + size, 0.0) / double(size);
    for (int64_t i = 0; i < size; ++i)
      square += (row[i] - mean) * (row[i] - mean);
    double inverse = 1 / std::sqrt(square / double(size) + epsilon);
    for (int64_t i = 0; i < size; ++i)
      row[i] =
          Real((row[i] - mean) * inverse * (norm.weight[size_t(i)] + offset) +
               (norm.bias.empty() ? 0 : norm.bias[size_t(i)]));
  }
  return x;
}

template <typename Real> static void add(Rows<Real> &to, const Rows<Real> &x) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] += x[i];
}

static double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  case Activation::GeluErf:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case Activation::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) *
                          (x + 0.044715 * x * x * x)));
  case Activation::Relu:
    return std::max(x, 0.0);
  }
  return x;
}

template <typename Real>
static Rows<Real> runNetwork(const FeedForward &network, const Rows<Real> &x,
                             Activation activation) {
  Rows<Real> inner = multiply(network.up, x);
  if (network.gate.weight.empty()) {
    for (Real &value : inner)
      value = Real(activate(activation, value));
  } else {
    Rows<Real> gate = multiply(network.gate, x);
    for (size_t i = 0; i < inner.size(); ++i)
      inner[i] = Real(activate(activation, gate[i]) * inner[i]);
  }
  return multiply(network.down, inner);
}

// In place; the values need not be normalised beforehand.
static void softmax(std::vector<double> &values) {
  double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double &value : values)
    sum += value = std::exp(value - largest);
  for (double &value : values)
    value /= sum;
}

// Softmax over all experts, the largest few, optionally scaled to sum to one.
template <typename Real>
static Rows<Real> mixExperts(const Layer &layer, const Config &config,
                             const Rows<Real> &x) {
  int64_t hidden = config.hidden;
  Rows<Real> scores = multiply(layer.router, x);
  Rows<Real> result;
  for (int64_t row = 0; row * hidden < int64_t(x.size()); ++row) {
    auto first = scores.begin() + row * config.experts;
    std::vector<double> weights(first, first + config.experts);
    softmax(weights);
    std::vector<int64_t> order(weights.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      double first = weights[size_t(a)], second = weights[size_t(b)];
      return first != second ? first > second : a < b;
    });
    order.resize(size_t(config.expertsPerToken));
    double total = 0;
    for (int64_t expert : order)
      total += weights[size_t(expert)];
    if (!config.normalizeExpertWeights)
      total = 1;
    Rows<Real> token(x.begin() + row * hidden, x.begin() + (row + 1) * hidden);
    std::vector<double> sum(size_t(hidden), 0.0);
    for (int64_t expert : order) {
      Rows<Real> out =
          runNetwork(layer.experts[size_t(expert)], token, config.activation);
      for (int64_t i = 0; i < hidden; ++i)
        sum[size_t(i)] += weights[size_t(expert)] / total * out[size_t(i)];
    }
    result.insert(result.end(), sum.begin(), sum.end());
  }
  return result;
}

// Rotates dimension i of a head with dimension i + rotaryDims / 2.
template <typename Real>
static void rotate(Rows<Real> &x, const RopeTable &table, int64_t heads,
                   int64_t size) {
  int64_t half = int64_t(table.inverseFrequencies.size());
  int64_t n = int64_t(x.size()) / (heads * size);
  for (int64_t position = 0; position < n; ++position)
    for (int64_t i = 0; i < half; ++i) {
      double angle = double(position) * table.inverseFrequencies[size_t(i)];
      double cosine = std::cos(angle) * table.scale;
      double sine = std::sin(angle) * table.scale;
      for (int64_t head = 0; head < heads; ++head) {
        Real *pair = x.data() + (position * heads + head) * size + i;
        double a = pair[0], b = pair[half];
        pair[0] = Real(a * cosine - b * sine);
        pair[half] = Real(b * cosine + a * sine);
      }
    }
}

// Head h reads key-value head h / (heads / kvHeads). Query q of a decoder sees
// the keys max(0, q - window + 1) to q, of an encoder all.
template <typename Real>
static Rows<Real> attend(const Layer &layer, const Config &config,
                         int64_t index, const Rows<Real> &x) {
  int64_t size = config.headSize, heads = config.heads;
  int64_t kvHeads = config.kvHeads, n = int64_t(x.size()) / config.hidden;
  Rows<Real> query = multiply(layer.query, x);
  Rows<Real> key = multiply(layer.key, x);
  Rows<Real> value = multiply(layer.value, x);
  if (!layer.queryNorm.weight.empty()) {
    double offset = config.family == Family::Gemma3;
    query = normalizeRows(layer.queryNorm, query, config.normEpsilon, offset);
    key = normalizeRows(layer.keyNorm, key, config.normEpsilon, offset);
  }
  if (config.rope[size_t(index)].rotaryDims) {
    RopeTable table = makeRopeTable(config.rope[size_t(index)], n);
    rotate(query, table, heads, size);
    rotate(key, table, kvHeads, size);
  }
  int64_t window = config.window[size_t(index)];
  Rows<Real> mixed(size_t(n * heads * size));
  for (int64_t head = 0; head < heads; ++head) {
    int64_t kvHead = head / (heads / kvHeads);
    auto row = [&](const Rows<Real> &of, int64_t position) {
      return of.data() + (position * kvHeads + kvHead) * size;
    };
    for (int64_t q = 0; q < n; ++q) {
      int64_t last = config.isEncoder() ? n - 1 : q;
      int64_t first = window ? std::max<int64_t>(0, q - window + 1) : 0;
      std::vector<double> scores;
      for (int64_t k = first; k <= last; ++k) {
        double score =
            dot(query.data() + (q * heads + head) * size, row(key, k), size) *
            config.attentionScale[size_t(index)];
        if (config.attentionSoftcap != 0)
          score = config.attentionSoftcap *
                  std::tanh(score / config.attentionSoftcap);
        scores.push_back(score);
      }
      softmax(scores);
      for (int64_t i = 0; i < size; ++i) {
        double sum = 0;
        for (int64_t k = first; k <= last; ++k)
          sum += scores[size_t(k - first)] * row(value, k)[i];
        mixed[size_t((q * heads + head) * size + i)] = Real(sum);
      }
    }
  }
  return multiply(layer.output, mixed);
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

template <typename Real>
std::vector<Real>
Transformer::forward(std::span<const int32_t> ids,
                     std::span<const int32_t> tokenTypes) const {
  const Config &config = settings;
  int64_t hidden = config.hidden, n = int64_t(ids.size());
  bool isGemma =
      config.family == Family::Gemma2 || config.family == Family::Gemma3;
  auto normalize = [&](const Norm &norm, const Rows<Real> &x) {
    return normalizeRows(norm, x, config.normEpsilon, isGemma ? 1.0 : 0.0);
  };
  if (ids.empty())
    throw Error("expected at least one id");
  if (!positionEmbedding.values.empty() && n > config.maxPositions)
    throw Error(std::to_string(n) + " ids, but the model has only " +
                std::to_string(config.maxPositions) + " positions");
  if (!tokenTypes.empty() && tokenTypes.size() != ids.size())
    throw Error("expected a token type for each id");

  Rows<Real> x(size_t(n * hidden));
  for (int64_t p = 0; p < n; ++p) {
    int64_t id = ids[size_t(p)];
    int64_t type = tokenTypes.empty() ? 0 : tokenTypes[size_t(p)];
    if (id < 0 || id >= config.vocabulary)
      throw Error("id " + std::to_string(id) + ", but the vocabulary has " +
                  std::to_string(config.vocabulary) + " entries");
    if (type < 0 || (type >= config.tokenTypes && !tokenTypes.empty()))
      throw Error("token type " + std::to_string(type) +
                  ", but the model has " + std::to_string(config.tokenTypes));
    for (int64_t i = 0; i < hidden; ++i) {
      double value =
          embedding.values[size_t(id * hidden + i)] * config.embeddingScale;
      if (!positionEmbedding.values.empty())
        value += positionEmbedding.values[size_t(p * hidden + i)];
      if (!typeEmbedding.values.empty())
        value += typeEmbedding.values[size_t(type * hidden + i)];
      x[size_t(p * hidden + i)] = Real(value);
    }
  }
  if (!embeddingNorm.weight.empty())
    x = normalize(embeddingNorm, x);

  for (int64_t index = 0; index < config.layers; ++index) {
    const Layer &layer = layers[size_t(index)];
    auto feedForward = [&](const Rows<Real> &in) {
      return layer.experts.empty()
                 ? runNetwork(layer.network, in, config.activation)
                 : mixExperts(layer, config, in);
    };
    if (config.family == Family::Bert) { // Norms after the residuals.
      add(x, attend(layer, config, index, x));
      x = normalize(layer.attentionNorm, x);
      add(x, feedForward(x));
      x = normalize(layer.feedForwardNorm, x);
      continue;
    }
    Rows<Real> attended =
        attend(layer, config, index, normalize(layer.attentionNorm, x));
    if (config.parallelResidual) { // Both read the layer's input.
      add(attended, feedForward(normalize(layer.feedForwardNorm, x)));
      add(x, attended);
      continue;
    }
    if (!layer.postAttention.weight.empty())
      attended = normalize(layer.postAttention, attended);
    add(x, attended);
    Rows<Real> fed = feedForward(normalize(layer.feedForwardNorm, x));
    if (!layer.postFeedForward.weight.empty())
      fed = normalize(layer.postFeedForward, fed);
    add(x, fed);
  }
  return finalNorm.weight.empty() ? x : normalize(finalNorm, x);
}

Matrix Transformer::hidden(std::span<const int32_t> ids, Precision precision,
                           std::span<const int32_t> tokenTypes) const {
  Matrix result{int64_t(ids.size()), settings.hidden, {}};
  if (precision == Precision::Float64) {
    result.values = forward<double>(ids, tokenTypes);
  } else {
    std::vector<float> values = forward<float>(ids, tokenTypes);
    result.values.assign(values.begin(), values.end());
  }
  return result;
}

Matrix Transformer::logitsOfRows(std::span<const int32_t> ids, int64_t firstRow,
                                 Precision precision) const {
  if (settings.isEncoder())
    throw Error("an encoder has no logits; ask for the hidden states");
  auto project = [&](auto rows) {
    rows.erase(rows.begin(), rows.begin() + firstRow * settings.hidden);
    auto logits = multiply(head, rows);
    if (double cap = settings.finalSoftcap; cap != 0)
      for (auto &logit : logits)
        logit = cap * std::tanh(logit / cap);
    return std::vector<double>(logits.begin(), logits.end());
  };
  Matrix result{int64_t(ids.size()) - firstRow, settings.vocabulary, {}};
  result.values = precision == Precision::Float64
                      ? project(forward<double>(ids, {}))
                      : project(forward<float>(ids, {}));
  return result;
}

Matrix Transformer::logits(std::span<const int32_t> ids,
                           Precision precision) const {
  return logitsOfRows(ids, 0, precision);
}

int32_t weft::reference::argmax(std::span<const double> values) {
  return int32_t(std::max_element(values.begin(), values.end()) -
                 values.begin());
}

std::vector<int32_t> Transformer::greedy(std::span<const int32_t> ids,
                                         int64_t count,
                                         Precision precision) const {
  std::vector<int32_t> all(ids.begin(), ids.end());
  for (int64_t i = 0; i < count; ++i)
    all.push_back(
        argmax(logitsOfRows(all, int64_t(all.size()) - 1, precision).row(0)));
  return {all.begin() + int64_t(ids.size()), all.end()};
}

double Transformer::loss(std::span<const int32_t> ids,
                         Precision precision) const {
  if (ids.size() < 2)
    throw Error("a loss needs at least two ids");
  Matrix scores = logits(ids.first(ids.size() - 1), precision);
  double sum = 0;
  for (int64_t i = 0; i < scores.rows; ++i) {
    auto row = scores.row(i);
    double largest = *std::max_element(row.begin(), row.end()), total = 0;
    for (double score : row)
      total += std::exp(score - largest);
    int32_t next = ids[size_t(i) + 1];
    if (next < 0 || next >= settings.vocabulary)
      throw Error("id " + std::to_string(next) + " is not in the vocabulary");
    sum += std::log(total) + largest - row[size_t(next)];
  }
  return sum / double(scores.rows);
}
