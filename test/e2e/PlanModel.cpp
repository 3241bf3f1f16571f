//===- PlanModel.cpp - A compiled plan as a function, for golden tests ----===//

#include "test/e2e/PlanModel.h"

#include <algorithm>
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

PlanModel::PlanModel(const std::string &path, PlanModelOptions options)
    : PlanModel(check(rt::LanguageModel::open(path, options.threads)),
                options) {}

PlanModel::PlanModel(std::shared_ptr<rt::Program> program,
                     PlanModelOptions options)
    : PlanModel(check(rt::LanguageModel::create(std::move(program))), options) {
}

PlanModel::PlanModel(std::unique_ptr<rt::LanguageModel> opened,
                     const PlanModelOptions &options)
    : model(std::move(opened)) {
  rt::GenerationSessionOptions sizes;
  sizes.tokensPerStep = options.tokensPerStep;
  sizes.logitsPerStep = options.tokensPerStep;
  sizes.sequences = options.sequences;
  sizes.contextLength = options.contextLength;
  session = check(model->createSession(sizes));
}

Table PlanModel::computeLogits(std::span<const int32_t> ids) {
  std::vector<int32_t> text(ids.begin(), ids.end());
  return computeLogits(std::span(&text, 1)).front();
}

std::vector<Table>
PlanModel::computeLogits(std::span<const std::vector<int32_t>> texts) {
  const int64_t width = model->getMeta().vocabularySize;
  std::vector<Table> tables;
  std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  for (const std::vector<int32_t> &text : texts) {
    int64_t rows = int64_t(text.size());
    tables.push_back({rows, width, std::vector<float>(size_t(rows * width))});
  }
  check(getGenerator().computeLogits(
      spans, [&](size_t text, int64_t row, std::span<const float> logits) {
        std::copy(logits.begin(), logits.end(),
                  tables[text].values.begin() + row * width);
        return rt::Status::ok();
      }));
  return tables;
}

std::vector<int32_t> PlanModel::generateGreedily(std::span<const int32_t> ids,
                                                 int64_t count) {
  std::vector<int32_t> prompt(ids.begin(), ids.end());
  rt::GenerationOptions options;
  options.maxTokens = count;
  return generate(std::span(&prompt, 1), options).front().ids;
}

std::vector<rt::GenerationResult>
PlanModel::generateTogether(std::span<const std::vector<int32_t>> prompts,
                            int64_t count) {
  rt::GenerationOptions options;
  options.maxTokens = count;
  options.logProbabilities = true;
  return generate(prompts, options);
}

std::vector<rt::GenerationResult>
PlanModel::generate(std::span<const std::vector<int32_t>> prompts,
                    rt::GenerationOptions options) {
  options.ignoreEos = true;
  rt::Generator &generator = getGenerator();
  std::vector<rt::GenerationRequest> requests;
  for (const std::vector<int32_t> &prompt : prompts) {
    rt::GenerationRequest &request = requests.emplace_back();
    request.sequence = generator.addSequence();
    request.options = options;
    check(generator.append(request.sequence, prompt));
  }
  std::vector<rt::GenerationResult> results =
      check(generator.generate(requests));
  for (size_t i = 0; i < requests.size(); ++i) {
    check(generator.removeSequence(requests[i].sequence));
    check(results[i].status);
  }
  return results;
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

std::shared_ptr<rt::Program> weft::e2e::loadProgram(
    const std::string &path,
    const std::function<std::shared_ptr<rt::Device>(const rt::Plan &)>
        &makeDevice) {
  std::shared_ptr<const rt::Artifact> artifact =
      check(rt::Artifact::open(path));
  return check(rt::Program::load(artifact, makeDevice(artifact->getPlan())));
}

PlanEncoder::PlanEncoder(const std::string &path, unsigned threads)
    : PlanEncoder(loadProgram(path, [&](const rt::Plan &) {
        return check(rt::createDevice("cpu", threads));
      })) {}

PlanEncoder::PlanEncoder(std::shared_ptr<rt::Program> loaded)
    : program(std::move(loaded)) {
  meta = check(rt::ModelMeta::parse(program->getPlan().metaJson));
  // Several texts of the longest length in one step.
  const rt::SymbolValue limits[] = {{"tokens", 4 * meta.contextLength},
                                    {"sequences", 16}};
  session =
      check(rt::Session::create(program, {.symbols = {limits[0], limits[1]}}));
}

std::vector<Table>
PlanEncoder::encode(std::span<const std::vector<int32_t>> texts) {
  std::vector<int32_t> tokens, positions, sequenceIds, starts = {0};
  for (const std::vector<int32_t> &text : texts) {
    tokens.insert(tokens.end(), text.begin(), text.end());
    for (size_t i = 0; i < text.size(); ++i) {
      positions.push_back(int32_t(i));
      sequenceIds.push_back(int32_t(starts.size()) - 1);
    }
    starts.push_back(int32_t(tokens.size()));
  }
  std::vector<int32_t> types(tokens.size(), 0);
  const int64_t rowShape[] = {int64_t(tokens.size())};
  const int64_t startShape[] = {int64_t(starts.size())};
  const int64_t outputShape[] = {rowShape[0], meta.hiddenSize};
  auto argument = [](const char *name, std::vector<int32_t> &values,
                     std::span<const int64_t> shape) {
    return rt::Argument{name, {values.data(), rt::DType::I32, shape}};
  };
  const rt::Argument inputs[] = {
      argument("tokens", tokens, rowShape),
      argument("positions", positions, rowShape),
      argument("token_types", types, rowShape),
      argument("sequence_ids", sequenceIds, rowShape),
      argument("sequence_starts", starts, startShape)};
  std::vector<float> hidden(size_t(outputShape[0] * outputShape[1]));
  const rt::Argument outputs[] = {
      {"hidden", {hidden.data(), rt::DType::F32, outputShape}}};
  // sequence_starts has sequences + 1 elements, which names no symbol.
  const rt::SymbolValue sequences = {"sequences", int64_t(texts.size())};
  check(session->run("encode", inputs, outputs, {&sequences, 1}));

  std::vector<Table> tables;
  for (size_t i = 0; i < texts.size(); ++i)
    tables.push_back({starts[i + 1] - starts[i],
                      outputShape[1],
                      {hidden.begin() + starts[i] * outputShape[1],
                       hidden.begin() + starts[i + 1] * outputShape[1]}});
  return tables;
}
