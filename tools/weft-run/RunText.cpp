//===- RunText.cpp - weft-run: text from a prompt -------------------------===//

#include "tools/weft-run/RunText.h"

#include "runtime/Exec/Trace.h"
#include "runtime/Llm/LanguageModel.h"
#include "tools/weft-run/Interrupt.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>

using namespace weft;
using namespace weft::rt;

static Result<std::string> readPromptFile(const std::string &path) {
  // Far above any context; a device would fill the memory.
  constexpr size_t maxBytes = size_t(64) << 20;
  bool isInput = path == "-";
  std::string name =
      isInput ? "standard input" : "the prompt file '" + path + "'";
  auto close = [&](std::FILE *file) {
    if (!isInput)
      std::fclose(file);
  };
  std::unique_ptr<std::FILE, decltype(close)> file(
      isInput ? stdin : std::fopen(path.c_str(), "rb"), close);
  if (!file)
    return Status::notFound("cannot open " + name + ": " +
                            std::strerror(errno));
  std::string text;
  char buffer[65536];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    text.append(buffer, count);
    if (text.size() > maxBytes)
      return Status::limit(name + " has more than " + std::to_string(maxBytes) +
                           " bytes, the most that a prompt may have");
  }
  if (std::ferror(file.get()))
    return Status::io("cannot read " + name + ": " + std::strerror(errno));
  return text;
}

static Result<std::vector<int32_t>> parseIds(const std::string &text) {
  std::vector<int32_t> ids;
  std::string normal = text;
  std::replace(normal.begin(), normal.end(), ',', ' ');
  std::istringstream in(normal);
  std::string word;
  while (in >> word) {
    int32_t id = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size())
      return Status::invalid("--ids has '" + word +
                             "' where a token id is expected; give numbers "
                             "separated by spaces or commas");
    ids.push_back(id);
  }
  return ids;
}

namespace {
/// The start of the sequence and how it is shown.
struct Prompt {
  std::vector<int32_t> ids;
  std::string text;
};

/// Standard output that notices when nobody listens.
class Output {
public:
  bool write(std::string_view text) {
    bool ok = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
              std::fflush(stdout) == 0;
    failed |= !ok;
    return ok;
  }
  Status getStatus() const {
    return failed ? Status::io("cannot write to standard output")
                  : Status::ok();
  }

private:
  bool failed = false;
};
} // namespace

static Result<Prompt> readPrompt(const LanguageModel &model,
                                 const TextOptions &options) {
  Prompt prompt;
  if (options.ids) {
    Result<std::vector<int32_t>> ids = parseIds(*options.ids);
    if (!ids)
      return ids.getStatus();
    prompt.ids = ids.take();
    for (int32_t id : prompt.ids)
      if (id < 0 || id >= model.getMeta().vocabularySize)
        return Status::invalid(
            "--ids has " + std::to_string(id) +
            "; the vocabulary has the ids 0 to " +
            std::to_string(model.getMeta().vocabularySize - 1));
    if (model.getTokenizer()) {
      Result<std::string> text = model.decode(prompt.ids);
      if (!text)
        return text.getStatus();
      prompt.text = text.take();
    }
    return prompt;
  }
  Result<std::string> text = options.promptFile
                                 ? readPromptFile(*options.promptFile)
                                 : Result<std::string>(*options.prompt);
  if (!text)
    return text.getStatus();
  prompt.text = text.take();
  Result<std::vector<int32_t>> ids = model.encodePrompt(prompt.text);
  if (!ids)
    return ids.getStatus();
  prompt.ids = ids.take();
  return prompt;
}

SamplingOptions weft::getSampling(const TextOptions &options,
                                  SamplingOptions sampling) {
  sampling.temperature = options.temperature.value_or(sampling.temperature);
  sampling.topK = options.topK.value_or(sampling.topK);
  sampling.topP = options.topP.value_or(sampling.topP);
  sampling.minP = options.minP.value_or(sampling.minP);
  sampling.repetitionPenalty =
      options.repetitionPenalty.value_or(sampling.repetitionPenalty);
  sampling.presencePenalty = options.presencePenalty;
  sampling.frequencyPenalty = options.frequencyPenalty;
  sampling.seed = options.seed;
  return sampling;
}

static GenerationOptions makeGenerationOptions(const TextOptions &options,
                                               const ModelMeta &meta) {
  GenerationOptions result;
  result.maxTokens = options.maxTokens;
  result.ignoreEos = options.ignoreEos;
  result.logProbabilities = options.logProbabilities;
  result.sampling = getSampling(options, meta.generation);
  return result;
}

/// No more context than the run can use, unless one was asked for.
static int64_t chooseContext(const TextOptions &options, const ModelMeta &meta,
                             const Prompt &prompt) {
  if (options.contextLength != 0)
    return options.contextLength;
  int64_t length = int64_t(prompt.ids.size());
  if (length >= meta.contextLength ||
      options.maxTokens >= meta.contextLength - length)
    return meta.contextLength;
  return std::max<int64_t>(1, length + options.maxTokens);
}

static void printSummary(const GenerationTimes &times,
                         const GenerationResult &result) {
  auto rate = [](int64_t tokens, double seconds) {
    return seconds > 0 ? double(tokens) / seconds : 0.0;
  };
  std::fprintf(stderr,
               "prompt: %lld tokens in %.3f s, %.1f tokens/s\n"
               "generated: %zu tokens, %.3f s after the first, %.1f tokens/s\n"
               "finish reason: %s\n",
               (long long)times.promptTokens, times.promptSeconds,
               rate(times.promptTokens, times.promptSeconds), result.ids.size(),
               times.generateSeconds,
               rate(times.generatedTokens, times.generateSeconds),
               getName(result.reason));
}

static void printToken(const LanguageModel &model, const TokenEvent &event) {
  std::string name;
  if (const Tokenizer *tokenizer = model.getTokenizer())
    name = tokenizer->idToToken(event.id).value_or("");
  std::fprintf(stderr, "%lld\t%d\t%.6f\t%s\n", (long long)event.position,
               event.id, event.logProbability, name.c_str());
}

/// Generates and streams. The output of ids starts with the prompt's.
static Result<TextResult> generate(const LanguageModel &model,
                                   GenerationSession &session,
                                   const Prompt &prompt,
                                   const TextOptions &options, Output &output,
                                   const Interrupt &interrupt) {
  Generator &generator = session.getGenerator();
  TextRequest request;
  request.sequence = generator.addSequence();
  request.options = makeGenerationOptions(options, model.getMeta());
  request.stopStrings = options.stopStrings;
  if (Status s = generator.append(request.sequence, prompt.ids); !s)
    return s;
  // Bad options are reported before anything is printed.
  if (Status s =
          request.options.sampling.verify(model.getMeta().vocabularySize);
      !s)
    return s;

  const bool asIds = options.outputIds || !model.getTokenizer();
  std::string start = prompt.text;
  if (asIds) {
    start.clear();
    for (int32_t id : prompt.ids)
      start += (start.empty() ? "" : " ") + std::to_string(id);
  }
  if (options.logProbabilities)
    std::fprintf(stderr, "position\tid\tlog probability\ttoken\n");
  output.write(start);
  request.onPiece = [&](const TextPiece &piece) {
    if (piece.token && options.logProbabilities)
      printToken(model, *piece.token);
    bool ok = !asIds ? output.write(piece.text)
                     : !piece.token ||
                           output.write(" " + std::to_string(piece.token->id));
    return ok && !interrupt.isRequested();
  };
  Result<TextResult> result = session.generateText(request);
  output.write("\n");
  return result;
}

Status weft::runText(const TextOptions &options) {
  Result<std::unique_ptr<LanguageModel>> model =
      LanguageModel::open(options.plan, options.threads, options.device);
  if (!model)
    return model.getStatus();
  Result<Prompt> prompt = readPrompt(**model, options);
  if (!prompt)
    return prompt.getStatus();
  if (prompt->ids.empty())
    return Status::invalid(
        options.ids ? "the prompt is empty; give --ids at least one id"
                    : "the prompt is empty and the tokenizer adds no "
                      "beginning-of-sequence token; give --prompt some text");
  GenerationSessionOptions sizes;
  sizes.contextLength = chooseContext(options, (*model)->getMeta(), *prompt);
  sizes.tokensPerStep = options.tokensPerStep;
  Result<std::unique_ptr<GenerationSession>> session =
      (*model)->createSession(sizes);
  if (!session)
    return session.getStatus();

  std::unique_ptr<Trace> trace;
  if (!options.tracePath.empty()) {
    Result<std::unique_ptr<Trace>> created = Trace::create(options.tracePath);
    if (!created)
      return created.getStatus();
    trace = created.take();
    (*session)->getSession().addHook(trace->makeHook());
  }
  Output output;
  Interrupt interrupt;
  Result<TextResult> result =
      generate(**model, **session, *prompt, options, output, interrupt);
  if (!result)
    return result.getStatus();
  printSummary((*session)->getGenerator().getTimes(), result->tokens);
  if (trace)
    if (Status s = trace->close(); !s)
      return s;
  if (Status s = output.getStatus(); !s)
    return s;
  return interrupt.isRequested()
             ? Status(StatusCode::Cancelled, "cancelled by Ctrl-C")
             : Status::ok();
}
