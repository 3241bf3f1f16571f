//===- PlanModel.h - A compiled plan as a function, for golden tests ------===//

#ifndef WEFT_TEST_E2E_PLANMODEL_H
#define WEFT_TEST_E2E_PLANMODEL_H

#include "runtime/Llm/LanguageModel.h"
#include "test/e2e/Golden.h"

#include <functional>
#include <memory>
#include <string>

namespace weft::e2e {

struct PlanModelOptions {
  int64_t tokensPerStep = 512; ///< 1 computes prompts token by token.
  unsigned threads = 0;        ///< As of createDevice.
  int64_t sequences = 1;       ///< That are in the cache at the same time.
  int64_t contextLength = 0;   ///< 0: the model's.
};

/// Runs a decoder plan the ways that golden files record. Everything that can
/// go wrong throws std::runtime_error with the status's sentence.
class PlanModel {
public:
  explicit PlanModel(const std::string &path, PlanModelOptions options = {});
  /// On any device; `options.threads` is not used.
  explicit PlanModel(std::shared_ptr<rt::Program> program,
                     PlanModelOptions options = {});

  /// Logits [ids, vocabulary] of one text, for compareOutputs.
  Table computeLogits(std::span<const int32_t> ids);
  /// The same of several texts that share steps.
  std::vector<Table> computeLogits(std::span<const std::vector<int32_t>> texts);
  /// `count` greedy ids behind a prompt, for compareGreedy; end-of-sequence ids
  /// do not end it.
  std::vector<int32_t> generateGreedily(std::span<const int32_t> ids,
                                        int64_t count);
  /// The same for several prompts together, with log probabilities.
  std::vector<rt::GenerationResult>
  generateTogether(std::span<const std::vector<int32_t>> prompts,
                   int64_t count);
  /// What `options` ask for behind each prompt; end-of-sequence ids do not end
  /// it. Without log probabilities the plan chooses ids if it can.
  std::vector<rt::GenerationResult>
  generate(std::span<const std::vector<int32_t>> prompts,
           rt::GenerationOptions options);
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
  rt::Session &getSession() { return session->getSession(); }
  rt::Generator &getGenerator() { return session->getGenerator(); }

private:
  PlanModel(std::unique_ptr<rt::LanguageModel> model,
            const PlanModelOptions &options);

  std::unique_ptr<rt::LanguageModel> model;
  std::unique_ptr<rt::GenerationSession> session;
};

/// Runs the entry `encode` of an encoder plan. Throws as PlanModel does.
class PlanEncoder {
public:
  explicit PlanEncoder(const std::string &path, unsigned threads = 0);
  explicit PlanEncoder(std::shared_ptr<rt::Program> program);

  /// Hidden states [ids, hidden] of each text; all share one step. Token types
  /// are 0.
  std::vector<Table> encode(std::span<const std::vector<int32_t>> texts);

  rt::Session &getSession() { return *session; }

  RunModel asRunModel() {
    return [this](std::span<const int32_t> ids) {
      std::vector<int32_t> text(ids.begin(), ids.end());
      return encode(std::span(&text, 1)).front();
    };
  }

private:
  std::shared_ptr<rt::Program> program;
  std::unique_ptr<rt::Session> session;
  rt::ModelMeta meta;
};

/// Loads a plan on a device that is made for it. Throws as PlanModel does.
std::shared_ptr<rt::Program>
loadProgram(const std::string &path,
            const std::function<std::shared_ptr<rt::Device>(const rt::Plan &)>
                &makeDevice);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_PLANMODEL_H
