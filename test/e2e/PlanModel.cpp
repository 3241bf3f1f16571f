//===- PlanModel.cpp - A compiled plan as a function, for golden tests ----===//

#include "test/e2e/PlanModel.h"

#include <stdexcept>

using namespace weft;
using namespace weft::e2e;

static void check(const rt::Status &status) {
  if (!status)
    throw std::runtime_error(status.getMessage());
}

template <typename T> static T check(rt::Result<T> result) {
  check(result ? rt::Status::ok() : result.getStatus());
  return result.take();
}

PlanModel::PlanModel(const std::string &path, int64_t tokensPerStep,
                     unsigned threads)
    : model(check(rt::LanguageModel::open(path, threads))) {
  rt::GenerationSessionOptions sizes;
  sizes.tokensPerStep = tokensPerStep;
  sizes.logitsPerStep = tokensPerStep;
  session = check(model->createSession(sizes));
}

Table PlanModel::computeLogits(std::span<const int32_t> ids) {
  Table table;
  table.columns = model->getMeta().vocabularySize;
  check(getGenerator().computeLogits(
      std::span(&ids, 1), [&](size_t, int64_t, std::span<const float> logits) {
        ++table.rows;
        table.values.insert(table.values.end(), logits.begin(), logits.end());
        return rt::Status::ok();
      }));
  return table;
}

std::vector<int32_t> PlanModel::generateGreedily(std::span<const int32_t> ids,
                                                 int64_t count) {
  rt::Generator &generator = getGenerator();
  rt::GenerationRequest request;
  request.sequence = generator.addSequence();
  request.options.maxTokens = count;
  request.options.ignoreEos = true;
  check(generator.append(request.sequence, ids));
  rt::GenerationResult result = check(generator.generate(request));
  check(generator.removeSequence(request.sequence));
  check(result.status);
  return result.ids;
}

std::string PlanModel::continueText(std::string_view prompt, int64_t count) {
  rt::Generator &generator = getGenerator();
  rt::TextRequest request;
  request.sequence = generator.addSequence();
  request.options.maxTokens = count;
  check(generator.append(request.sequence, check(model->encodePrompt(prompt))));
  rt::TextResult result = check(session->generateText(request));
  check(generator.removeSequence(request.sequence));
  return result.text;
}

double PlanModel::computeLoss(std::span<const int32_t> ids, int64_t window) {
  rt::Score score = check(getGenerator().scoreWindows(ids, window));
  return score.negativeLogLikelihood / double(score.logProbabilities.size());
}
