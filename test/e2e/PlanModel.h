//===- PlanModel.h - A compiled plan as a function, for golden tests ------===//

#ifndef WEFT_TEST_E2E_PLANMODEL_H
#define WEFT_TEST_E2E_PLANMODEL_H

#include "runtime/Llm/LanguageModel.h"
#include "test/e2e/Golden.h"

#include <memory>
#include <string>

namespace weft::e2e {

/// Runs a decoder plan the ways that golden files record. Everything that can
/// go wrong throws std::runtime_error with the status's sentence.
class PlanModel {
public:
  /// `tokensPerStep` 1 computes prompts token by token.
  explicit PlanModel(const std::string &path, int64_t tokensPerStep = 512,
                     unsigned threads = 0);

  /// Logits [ids, vocabulary] of one text, for compareOutputs.
  Table computeLogits(std::span<const int32_t> ids);
  /// `count` greedy ids behind a prompt, for compareGreedy; end-of-sequence ids
  /// do not end it.
  std::vector<int32_t> generateGreedily(std::span<const int32_t> ids,
                                        int64_t count);
  /// The greedy text behind a prompt, at most `count` tokens.
  std::string continueText(std::string_view prompt, int64_t count);
  /// Mean loss in nats per token over windows that each predict `window` ids.
  double computeLoss(std::span<const int32_t> ids, int64_t window);

  RunModel asRunModel() {
    return [this](std::span<const int32_t> ids) { return computeLogits(ids); };
  }
  RunGreedy asRunGreedy() {
    return [this](std::span<const int32_t> ids, int64_t count) {
      return generateGreedily(ids, count);
    };
  }

  rt::LanguageModel &getModel() { return *model; }
  rt::Generator &getGenerator() { return session->getGenerator(); }

private:
  std::unique_ptr<rt::LanguageModel> model;
  std::unique_ptr<rt::GenerationSession> session;
};

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_PLANMODEL_H
