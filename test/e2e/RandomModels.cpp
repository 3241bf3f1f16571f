//===- RandomModels.cpp - Compiled random models against the reference ----===//

#include "test/e2e/RandomModels.h"

#include "test/e2e/AgainstReference.h"

#include <gtest/gtest.h>
#include <iostream>

using namespace weft;
using namespace weft::e2e;
using reference::ElementType;
using reference::RandomOptions;

RandomOptions e2e::makeRandomModel(const std::string &family, ElementType type,
                                   uint64_t seed) {
  RandomOptions options;
  options.family = family;
  options.elementType = type;
  options.seed = seed;
  options.maxPositions = 128;
  options.window = family == "mistral" || family.starts_with("gemma") ? 9 : 0;
  options.layers = family.starts_with("gemma3") ? 3 : 2;
  options.tied = family.starts_with("gemma");
  options.attentionBias = family == "llama";
  options.mlpBias = family == "llama";
  options.normalizeExpertWeights = false;
  options.expertsPerToken = type == ElementType::F32 ? 2 : options.experts;
  return options;
}

AnyModel::AnyModel(const std::string &plan, bool isEncoder) {
  if (isEncoder)
    encoder = std::make_unique<PlanEncoder>(plan);
  else
    decoder = std::make_unique<PlanModel>(plan);
}

RunModel AnyModel::asRunModel() {
  return encoder ? encoder->asRunModel() : decoder->asRunModel();
}

void e2e::expectReferenceOutputs(
    const std::string &plan, const std::filesystem::path &checkpoint,
    ElementType type, const std::vector<std::vector<int32_t>> &prompts) {
  auto model = reference::Transformer::load(checkpoint);
  AnyModel compiled(plan, model.config().isEncoder());
  const bool isWide = type == ElementType::F32;
  const double tolerance = isWide                      ? 1e-4
                           : type == ElementType::BF16 ? 2e-2
                                                       : 5e-3;
  // With 16 bits, one value of the hundred thousand compared here may be off by
  // five or six times the usual error.
  double largest = 0, relative = 0;
  EXPECT_EQ(compareWithReference(model, prompts, compiled.asRunModel(),
                                 isWide ? tolerance : 6 * tolerance, &largest),
            "");
  if (!isWide) {
    relative = relativeError(model, prompts, compiled.asRunModel());
    EXPECT_LE(relative, tolerance);
  }
  std::cout << checkpoint.stem().string() << ": largest difference " << largest
            << ", relative error " << relative << "\n";
}
