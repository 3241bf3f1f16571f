//===- LanguageModel.cpp - An artifact that generates text ----------------===//

#include "runtime/Llm/LanguageModel.h"

#include "runtime/Exec/MemoryReport.h"
#include "runtime/Llm/Tokenizer/StopMatcher.h"
#include "runtime/Llm/Tokenizer/StreamDecoder.h"

#include <algorithm>

using namespace weft::rt;

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<LanguageModel>>
LanguageModel::open(const std::string &path, unsigned threads,
                    std::string_view device) {
  Result<std::unique_ptr<Artifact>> artifact = Artifact::open(path);
  if (!artifact)
    return artifact.getStatus();
  Result<std::shared_ptr<Device>> made = createDevice(
      device.empty() ? getDeviceForTarget((*artifact)->getPlan().target)
                     : std::string(device),
      threads);
  if (!made)
    return Status(made.getStatus().getCode(),
                  "'" + path + "' was compiled for " +
                      (*artifact)->getPlan().target + ": " +
                      made.getStatus().getMessage());
  Result<std::shared_ptr<Program>> program =
      Program::load(artifact.take(), made.take());
  if (!program)
    return program.getStatus();
  return create(program.take());
}

Result<std::unique_ptr<LanguageModel>>
LanguageModel::create(std::shared_ptr<Program> program) {
  const Plan &plan = program->getPlan();
  Result<ModelMeta> meta = ModelMeta::parse(plan.metaJson);
  if (!meta)
    return meta.getStatus();
  std::unique_ptr<Tokenizer> tokenizer;
  if (!plan.tokenizerFiles.empty()) {
    std::vector<Tokenizer::File> files;
    for (const auto &[name, bytes] : plan.tokenizerFiles)
      files.push_back({name, bytes});
    Result<std::unique_ptr<Tokenizer>> loaded =
        Tokenizer::fromFiles(std::span<const Tokenizer::File>(files));
    if (!loaded)
      return loaded.getStatus();
    tokenizer = loaded.take();
    if (meta->eosIds.empty())
      meta->eosIds = tokenizer->eosIds();
  }
  return std::unique_ptr<LanguageModel>(
      new LanguageModel(std::move(program), meta.take(), std::move(tokenizer)));
}

LanguageModel::LanguageModel(std::shared_ptr<Program> program, ModelMeta meta,
                             std::unique_ptr<Tokenizer> tokenizer)
    : program(std::move(program)), meta(std::move(meta)),
      tokenizer(std::move(tokenizer)) {}

Status LanguageModel::needTokenizer() const {
  if (tokenizer)
    return Status::ok();
  return Status::notFound("the model has no tokenizer, so it takes and gives "
                          "token ids only; compile it from a folder with a "
                          "tokenizer.json or tokenizer.model");
}

Result<std::vector<int32_t>>
LanguageModel::encodePrompt(std::string_view text) const {
  if (Status s = needTokenizer(); !s)
    return s;
  Result<std::vector<int32_t>> ids =
      tokenizer->encode(text, {.addSpecialTokens = meta.addBos.value_or(true),
                               .parseSpecialTokens = true});
  if (!ids || !meta.addBos.value_or(false))
    return ids;
  if (ids->empty() || ids->front() != *meta.bosId)
    ids->insert(ids->begin(), *meta.bosId);
  return ids;
}

Result<std::vector<int32_t>>
LanguageModel::encodeContinuation(std::string_view text) const {
  if (Status s = needTokenizer(); !s)
    return s;
  return tokenizer->encode(
      text, {.addSpecialTokens = false, .parseSpecialTokens = true});
}

Result<std::string> LanguageModel::decode(std::span<const int32_t> ids) const {
  if (Status s = needTokenizer(); !s)
    return s;
  return tokenizer->decode(ids, {.skipSpecialTokens = true});
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

/// The plan's maximum of a symbol; INT32_MAX (all inputs are i32) if it has
/// none.
static int64_t maximumOf(const Plan &plan, std::string_view name) {
  int64_t maximum = INT32_MAX;
  for (const Symbol &symbol : plan.symbols)
    if (symbol.name == name)
      maximum = std::min(maximum, symbol.max);
  return maximum;
}

static Status checkWish(const char *what, int64_t value, int64_t most) {
  if (value >= 1 && value <= most)
    return Status::ok();
  std::string message = std::string(what) + ": " + std::to_string(value) +
                        " was asked for; it must be between 1 and " +
                        std::to_string(most) +
                        ", the most that this model allows";
  return value < 1 ? Status::invalid(message) : Status::limit(message);
}

Result<std::vector<SymbolValue>>
weft::rt::chooseSymbols(const Plan &plan, const ModelMeta &meta,
                        GenerationSessionOptions &options) {
  const int64_t size = meta.blockSize;
  auto blocksFor = [&](int64_t length) { return (length + size - 1) / size; };
  const int64_t mostBlocks = maximumOf(plan, "cache_blocks");
  const int64_t longest =
      std::min(meta.contextLength,
               std::min(maximumOf(plan, "table_width"), mostBlocks) * size);
  if (options.contextLength == 0)
    options.contextLength = longest;
  if (Status s = checkWish("context length", options.contextLength, longest);
      !s)
    return s;
  if (Status s = checkWish("sequences", options.sequences,
                           maximumOf(plan, "sequences"));
      !s)
    return s;
  if (Status s = checkWish("tokens per step", options.tokensPerStep, INT32_MAX);
      !s)
    return s;
  options.tokensPerStep =
      std::min({options.tokensPerStep, maximumOf(plan, "tokens"),
                options.contextLength * options.sequences});
  options.logitsPerStep =
      std::min({std::max(options.logitsPerStep, options.sequences),
                maximumOf(plan, "logits"), options.tokensPerStep});
  const int64_t width = blocksFor(options.contextLength);
  if (options.cacheBlocks == 0)
    options.cacheBlocks = std::min(width * options.sequences, mostBlocks);
  if (Status s = checkWish("cache blocks", options.cacheBlocks, mostBlocks); !s)
    return s;

  std::vector<SymbolValue> values;
  const SymbolValue known[] = {
      {"tokens", options.tokensPerStep},
      {"sequences", options.sequences},
      {"logits", options.logitsPerStep},
      {"table_width", width},
      {"cache_blocks", options.cacheBlocks},
      {"adjustments", getMostAdjustments(options.sequences)}};
  for (const Symbol &symbol : plan.symbols) {
    const auto *value =
        std::ranges::find(known, symbol.name, &SymbolValue::name);
    // Entries that generation does not run take the least of their sizes.
    if (value != std::end(known))
      values.push_back(*value);
    else
      values.push_back({symbol.name, std::max<int64_t>(symbol.min, 1)});
  }
  return values;
}

Result<std::unique_ptr<GenerationSession>>
LanguageModel::createSession(GenerationSessionOptions options) const {
  Result<std::vector<SymbolValue>> symbols =
      chooseSymbols(getPlan(), meta, options);
  if (!symbols)
    return symbols.getStatus();
  std::unique_ptr<GenerationSession> result(
      new GenerationSession(*this, options));
  Result<std::unique_ptr<Session>> session =
      Session::create(program, {.symbols = symbols.take()});
  if (!session)
    return session.getStatus();
  result->session = session.take();
  Result<std::unique_ptr<SessionRunner>> runner =
      SessionRunner::create(*result->session);
  if (!runner)
    return runner.getStatus();
  result->runner = runner.take();
  TextSizes sizes;
  sizes.contextLength = options.contextLength;
  if (tokenizer)
    sizes.samplableIds = tokenizer->vocabularySize();
  Result<std::unique_ptr<Generator>> generator =
      Generator::create(*result->runner, meta, sizes);
  if (!generator)
    return generator.getStatus();
  result->generator = generator.take();
  return result;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// Turns tokens into pieces of text for one request.
class TextStream {
public:
  TextStream(const Tokenizer *tokenizer, const TextRequest &request,
             TextResult &result)
      : request(request), result(result), matcher(request.stopStrings) {
    if (tokenizer)
      decoder.emplace(*tokenizer);
  }

  /// The stream goes on from these tokens, so that its first word keeps its
  /// space.
  Status start(std::span<const int32_t> known) {
    return decoder ? decoder->skip(known) : Status::ok();
  }

  Verdict push(const TokenEvent &event) {
    std::string piece;
    std::optional<size_t> stop;
    if (decoder) {
      Result<std::string> text = decoder->push(event.id);
      if (!text) {
        failure = text.getStatus();
        return Verdict::Cancel;
      }
      stop = matcher.push(*text, piece);
    }
    if (!emit(&event, piece))
      return Verdict::Cancel;
    if (!stop)
      return Verdict::Continue;
    result.stopString = request.stopStrings[*stop];
    return Verdict::Stop;
  }

  /// Gives out what was held back; a matcher that has matched gives nothing.
  void finish() {
    if (!decoder)
      return;
    std::string rest;
    matcher.push(decoder->finish(), rest);
    matcher.finish(rest);
    if (!rest.empty())
      emit(nullptr, rest);
  }

  const Status &getFailure() const { return failure; }

private:
  bool emit(const TokenEvent *event, std::string_view text) {
    result.text += text;
    return !request.onPiece || request.onPiece({event, text});
  }

  const TextRequest &request;
  TextResult &result;
  std::optional<StreamDecoder> decoder;
  StopMatcher matcher;
  Status failure;
};
} // namespace

Result<TextResult> GenerationSession::generateText(const TextRequest &request) {
  const Tokenizer *tokenizer = model.getTokenizer();
  if (!tokenizer && !request.stopStrings.empty())
    return Status::invalid("stop strings need a tokenizer and the model has "
                           "none; use stop ids");
  Result<std::span<const int32_t>> known =
      generator->getTokens(request.sequence);
  if (!known)
    return known.getStatus();
  TextResult result;
  TextStream stream(tokenizer, request, result);
  if (Status s = stream.start(*known); !s)
    return s;
  GenerationRequest tokens = {
      request.sequence, request.options,
      [&](const TokenEvent &event) { return stream.push(event); }};
  Result<GenerationResult> generated = generator->generate(tokens);
  if (!generated)
    return generated.getStatus();
  if (!stream.getFailure())
    return stream.getFailure();
  result.tokens = generated.take();
  if (result.tokens.reason == FinishReason::Failed)
    return result.tokens.status;
  stream.finish();
  return result;
}
