//===- Rope.cpp - RoPE frequencies of Hugging Face configs ----------------===//

#include "compiler/Import/HuggingFace/Rope.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace llvm;

namespace weft {

StringRef getName(RopeType type) {
  switch (type) {
  case RopeType::Default:
    return "default";
  case RopeType::Linear:
    return "linear";
  case RopeType::Dynamic:
    return "dynamic";
  case RopeType::Yarn:
    return "yarn";
  case RopeType::Llama3:
    return "llama3";
  case RopeType::Longrope:
    return "longrope";
  }
  llvm_unreachable("not a RopeType");
}

/// theta^(-2i / size) for each pair i.
static std::vector<double> computeFrequencies(double theta, int64_t size) {
  std::vector<double> frequencies(size / 2);
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(theta, -2.0 * static_cast<double>(i) / size);
  return frequencies;
}

/// Stretches the base so that the slowest pair makes as much of a turn over
/// the longer context as it did over the original one.
static double computeDynamicTheta(const RopeParameters &p) {
  double length = std::max(p.contextLength, p.maxPositions);
  double stretch = p.factor * length / p.maxPositions - (p.factor - 1);
  double size = p.rotarySize;
  // With a single pair the exponent has no value, and theta no effect.
  return size > 2 ? p.theta * std::pow(stretch, size / (size - 2)) : p.theta;
}

/// Pairs that turn more than betaFast times over the original context keep
/// their frequency, those that turn less than betaSlow times are interpolated
/// by the factor, and those between get a mixture.
static void applyYarn(const RopeParameters &p,
                      std::vector<double> &frequencies) {
  auto pairWithTurns = [&](double turns) {
    double wavelength = p.originalMaxPositions / turns;
    return p.rotarySize * std::log(wavelength / (2 * std::numbers::pi)) /
           (2 * std::log(p.theta));
  };
  double low = pairWithTurns(p.betaFast), high = pairWithTurns(p.betaSlow);
  if (p.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(p.rotarySize - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double interpolated = std::clamp((i - low) / (high - low), 0.0, 1.0);
    frequencies[i] *= interpolated / p.factor + (1 - interpolated);
  }
}

static double computeYarnScale(const RopeParameters &p) {
  if (p.attentionFactor)
    return *p.attentionFactor;
  auto magnitude = [&](double weight) {
    return p.factor <= 1 ? 1.0 : 0.1 * weight * std::log(p.factor) + 1.0;
  };
  if (p.mscale != 0 && p.mscaleAllDim != 0)
    return magnitude(p.mscale) / magnitude(p.mscaleAllDim);
  return magnitude(1.0);
}

/// Waves longer than the original context / lowFrequencyFactor are stretched
/// by the factor, shorter than / highFrequencyFactor are kept, others mixed.
static void applyLlama3(const RopeParameters &p,
                        std::vector<double> &frequencies) {
  for (double &frequency : frequencies) {
    double turns = p.originalMaxPositions * frequency / (2 * std::numbers::pi);
    double kept = std::clamp((turns - p.lowFrequencyFactor) /
                                 (p.highFrequencyFactor - p.lowFrequencyFactor),
                             0.0, 1.0);
    frequency *= kept + (1 - kept) / p.factor;
  }
}

static double computeLongropeScale(const RopeParameters &p) {
  if (p.attentionFactor)
    return *p.attentionFactor;
  return p.factor <= 1 ? 1.0
                       : std::sqrt(1 + std::log(p.factor) /
                                           std::log(p.originalMaxPositions));
}

RopeTable computeRopeTable(const RopeParameters &p) {
  RopeTable table;
  table.type = getName(p.type).str();
  table.rotarySize = p.rotarySize;
  double theta = p.type == RopeType::Dynamic ? computeDynamicTheta(p) : p.theta;
  table.inverseFrequencies = computeFrequencies(theta, p.rotarySize);
  switch (p.type) {
  case RopeType::Default:
  case RopeType::Dynamic:
    break;
  case RopeType::Linear:
    for (double &frequency : table.inverseFrequencies)
      frequency /= p.factor;
    break;
  case RopeType::Yarn:
    applyYarn(p, table.inverseFrequencies);
    table.scale = computeYarnScale(p);
    break;
  case RopeType::Llama3:
    applyLlama3(p, table.inverseFrequencies);
    break;
  case RopeType::Longrope:
    table.longInverseFrequencies = table.inverseFrequencies;
    for (size_t i = 0; i < table.inverseFrequencies.size(); ++i) {
      table.inverseFrequencies[i] /= p.shortFactors[i];
      table.longInverseFrequencies[i] /= p.longFactors[i];
    }
    table.scale = computeLongropeScale(p);
    table.switchLength = p.originalMaxPositions;
    break;
  }
  return table;
}

} // namespace weft
