#include "test/reference/Checkpoint.h"
#include "test/reference/Config.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace weft::reference;

static double yarnMscale(double scale, double mscale) {
  return scale <= 1 ? 1 : 0.1 * mscale * std::log(scale) + 1;
}

// "YaRN: Efficient Context Window Extension of Large Language Models",
// https://arxiv.org/abs/2309.00071, section 3.2: dimensions that turn often
// within the original context keep their frequency, those that turn less than
// once are interpolated, those between are blended.
static void applyYarn(const Rope &rope, RopeTable &table) {
  double dims = double(rope.rotaryDims);
  auto dimensionOfTurns = [&](double turns) {
    return dims *
           std::log(rope.originalMaxPositions /
                    (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = dimensionOfTurns(rope.betaFast);
  double high = dimensionOfTurns(rope.betaSlow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < table.inverseFrequencies.size(); ++i) {
    double interpolated =
        std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    double &frequency = table.inverseFrequencies[i];
    frequency =
        frequency / rope.factor * interpolated + frequency * (1 - interpolated);
  }
  if (rope.attentionFactor)
    table.scale = *rope.attentionFactor;
  else if (rope.mscale != 0 && rope.mscaleAllDim != 0)
    table.scale = yarnMscale(rope.factor, rope.mscale) /
                  yarnMscale(rope.factor, rope.mscaleAllDim);
  else
    table.scale = yarnMscale(rope.factor, 1);
}

// Llama 3.1: wavelengths beyond the original context are divided by the
// factor, short ones kept, those between blended.
static void applyLlama3(const Rope &rope, RopeTable &table) {
  double original = double(rope.originalMaxPositions);
  for (double &frequency : table.inverseFrequencies) {
    double turns = original * frequency / (2 * std::numbers::pi);
    double smooth = (turns - rope.lowFreqFactor) /
                    (rope.highFreqFactor - rope.lowFreqFactor);
    if (turns < rope.lowFreqFactor)
      frequency /= rope.factor;
    else if (turns <= rope.highFreqFactor)
      frequency = (1 - smooth) * frequency / rope.factor + smooth * frequency;
  }
}

RopeTable weft::reference::makeRopeTable(const Rope &rope, int64_t length) {
  double dims = double(rope.rotaryDims);
  double theta = rope.theta;
  if (rope.kind == RopeKind::Dynamic) {
    // The base that keeps the lowest frequency at factor * length.
    double ratio =
        double(std::max(length, rope.maxPositions)) / double(rope.maxPositions);
    theta *=
        std::pow(rope.factor * ratio - (rope.factor - 1), dims / (dims - 2));
  }
  RopeTable table;
  for (int64_t i = 0; i < rope.rotaryDims / 2; ++i)
    table.inverseFrequencies.push_back(
        std::pow(theta, -2.0 * double(i) / dims));

  switch (rope.kind) {
  case RopeKind::Default:
  case RopeKind::Dynamic:
    break;
  case RopeKind::Linear:
    for (double &frequency : table.inverseFrequencies)
      frequency /= rope.factor;
    break;
  case RopeKind::Yarn:
    applyYarn(rope, table);
    break;
  case RopeKind::Llama3:
    applyLlama3(rope, table);
    break;
  case RopeKind::Longrope: {
    const std::vector<double> &factors =
        length > rope.originalMaxPositions ? rope.longFactor : rope.shortFactor;
    for (size_t i = 0; i < factors.size(); ++i)
      table.inverseFrequencies[i] /= factors[i];
    if (rope.attentionFactor)
      table.scale = *rope.attentionFactor;
    else if (rope.factor > 1)
      table.scale = std::sqrt(1 + std::log(rope.factor) /
                                      std::log(rope.originalMaxPositions));
    break;
  }
  }
  if (rope.roundFrequencies)
    for (double &frequency : table.inverseFrequencies)
      frequency = bfloatToFloat(floatToBfloat(float(frequency)));
  return table;
}
