//===- LlmApi.cpp - The C interface of text generation --------------------===//

#include "runtime/include/weft/llm.h"

#include "runtime/Core/Handles.h"
#include "runtime/Llm/LanguageModel.h"

#include <algorithm>
#include <cstring>

using namespace weft::rt;

struct weft_llm {
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<GenerationSession> session;
  SequenceId sequence = 0;
  /// Held during a call; a call that does not get it is refused.
  mutable std::mutex mutex;
};

/// Copies of structs of other versions: a caller that knows fewer members than
/// this library leaves the others at their defaults.
template <typename T> static Status checkSize(const T *value) {
  if (value->struct_size >= sizeof(size_t) && value->struct_size <= sizeof(T))
    return Status::ok();
  return Status::invalid(
      "struct_size is " + std::to_string(value->struct_size) +
      "; set it to sizeof of the struct (this library knows " +
      std::to_string(sizeof(T)) + " bytes)");
}

template <typename T> static Status readStruct(const T *from, T &to) {
  if (Status s = checkSize(from); !s)
    return s;
  std::memcpy(&to, from, from->struct_size);
  return Status::ok();
}

template <typename T> static void writeStruct(const T &from, T *to) {
  size_t size = to->struct_size;
  std::memcpy(to, &from, size);
  to->struct_size = size;
}

static Status nullArgument(const char *name) {
  return Status::invalid(std::string(name) + " is NULL");
}

/// Runs `function` alone on the handle.
template <typename Function>
static weft_status guardHandle(const weft_llm *llm, Function function) {
  return guard([&]() -> Status {
    if (!llm)
      return nullArgument("llm");
    std::unique_lock<std::mutex> lock(llm->mutex, std::try_to_lock);
    if (!lock)
      return Status::invalid("the generator is in use by another call; use one "
                             "generator per thread");
    return function();
  });
}

/// Copies a result of unknown size to the caller's array.
template <typename T>
static Status copyOut(std::span<const T> values, T *out, size_t capacity,
                      size_t *count) {
  if (count)
    *count = values.size();
  if (values.size() > capacity)
    return Status::limit("the result has " + std::to_string(values.size()) +
                         " elements and the array holds " +
                         std::to_string(capacity));
  if (!values.empty() && !out)
    return nullArgument("the output array");
  std::copy(values.begin(), values.end(), out);
  return Status::ok();
}

template <typename T>
static Result<std::span<const T>> makeSpan(const T *data, size_t size,
                                           const char *name) {
  if (!data && size > 0)
    return nullArgument(name);
  return std::span<const T>(data, size);
}

weft_status weft_llm_create(weft_plan *plan, const weft_llm_options *options,
                            weft_llm **llm) {
  return guard([&]() -> Status {
    if (!llm)
      return nullArgument("llm");
    *llm = nullptr;
    if (!plan)
      return nullArgument("plan");
    weft_llm_options wanted = {};
    if (options)
      if (Status s = readStruct(options, wanted); !s)
        return s;
    GenerationSessionOptions sizes;
    sizes.contextLength = wanted.context_length;
    if (wanted.tokens_per_step != 0)
      sizes.tokensPerStep = wanted.tokens_per_step;
    Result<std::shared_ptr<Program>> program = plan->getProgram();
    if (!program)
      return program.getStatus();
    Result<std::unique_ptr<LanguageModel>> model =
        LanguageModel::create(program.take());
    if (!model)
      return model.getStatus();
    auto handle = std::make_unique<weft_llm>();
    handle->model = model.take();
    Result<std::unique_ptr<GenerationSession>> session =
        handle->model->createSession(sizes);
    if (!session)
      return session.getStatus();
    handle->session = session.take();
    handle->sequence = handle->session->getGenerator().addSequence();
    *llm = handle.release();
    return Status::ok();
  });
}

void weft_llm_destroy(weft_llm *llm) { delete llm; }

weft_status weft_llm_get_info(const weft_llm *llm, weft_llm_info *info) {
  return guardHandle(llm, [&]() -> Status {
    if (!info)
      return nullArgument("info");
    if (Status s = checkSize(info); !s)
      return s;
    const Generator &generator = llm->session->getGenerator();
    const ModelMeta &meta = generator.getMeta();
    weft_llm_info facts = {};
    facts.vocabulary_size = meta.vocabularySize;
    facts.context_length = generator.getContextLength();
    facts.length = int64_t(generator.getTokens(llm->sequence)->size());
    facts.bos_id = meta.bosId.value_or(-1);
    facts.eos_id = meta.eosIds.empty() ? -1 : meta.eosIds.front();
    facts.has_tokenizer = llm->model->getTokenizer() != nullptr;
    writeStruct(facts, info);
    return Status::ok();
  });
}

weft_status weft_llm_encode(const weft_llm *llm, const char *text,
                            size_t length, uint32_t flags, int32_t *ids,
                            size_t capacity, size_t *count) {
  if (count)
    *count = 0;
  return guardHandle(llm, [&]() -> Status {
    Result<std::span<const char>> chars = makeSpan(text, length, "text");
    if (!chars)
      return chars.getStatus();
    if (flags & ~uint32_t(WEFT_ENCODE_START))
      return Status::invalid("flags has bits that this library does not know");
    std::string_view view(chars->data(), chars->size());
    Result<std::vector<int32_t>> encoded =
        flags & WEFT_ENCODE_START ? llm->model->encodePrompt(view)
                                  : llm->model->encodeContinuation(view);
    if (!encoded)
      return encoded.getStatus();
    return copyOut<int32_t>(*encoded, ids, capacity, count);
  });
}

weft_status weft_llm_decode(const weft_llm *llm, const int32_t *ids,
                            size_t count, char *text, size_t capacity,
                            size_t *length) {
  if (length)
    *length = 0;
  return guardHandle(llm, [&]() -> Status {
    Result<std::span<const int32_t>> span = makeSpan(ids, count, "ids");
    if (!span)
      return span.getStatus();
    Result<std::string> decoded = llm->model->decode(*span);
    if (!decoded)
      return decoded.getStatus();
    return copyOut<char>(*decoded, text, capacity, length);
  });
}

weft_status weft_llm_append(weft_llm *llm, const int32_t *ids, size_t count) {
  return guardHandle(llm, [&]() -> Status {
    Result<std::span<const int32_t>> span = makeSpan(ids, count, "ids");
    if (!span)
      return span.getStatus();
    return llm->session->getGenerator().append(llm->sequence, *span);
  });
}

weft_status weft_llm_rewind(weft_llm *llm, int64_t length) {
  return guardHandle(llm, [&]() -> Status {
    return llm->session->getGenerator().rewind(llm->sequence, length);
  });
}

weft_status weft_llm_get_tokens(const weft_llm *llm, int32_t *ids,
                                size_t capacity, size_t *count) {
  if (count)
    *count = 0;
  return guardHandle(llm, [&]() -> Status {
    Result<std::span<const int32_t>> tokens =
        llm->session->getGenerator().getTokens(llm->sequence);
    if (!tokens)
      return tokens.getStatus();
    return copyOut<int32_t>(*tokens, ids, capacity, count);
  });
}

/// What a caller who sets nothing gets.
static weft_generate_options defaultOptions(const ModelMeta &meta) {
  const SamplingOptions &sampling = meta.generation;
  weft_generate_options options = {};
  options.struct_size = sizeof options;
  options.max_tokens = GenerationOptions().maxTokens;
  options.temperature = sampling.temperature;
  options.top_k = sampling.topK;
  options.top_p = sampling.topP;
  options.min_p = sampling.minP;
  options.repetition_penalty = sampling.repetitionPenalty;
  return options;
}

weft_status weft_generate_options_init(const weft_llm *llm,
                                       weft_generate_options *options) {
  return guardHandle(llm, [&]() -> Status {
    if (!options)
      return nullArgument("options");
    *options = defaultOptions(llm->model->getMeta());
    return Status::ok();
  });
}

static Result<TextRequest> makeRequest(const weft_llm &llm,
                                       const weft_generate_options *options) {
  weft_generate_options wanted = defaultOptions(llm.model->getMeta());
  if (options)
    if (Status s = readStruct(options, wanted); !s)
      return s;
  TextRequest request;
  request.sequence = llm.sequence;
  request.options.maxTokens = wanted.max_tokens;
  request.options.ignoreEos = wanted.ignore_eos != 0;
  request.options.logProbabilities = wanted.log_probabilities != 0;
  SamplingOptions &sampling = request.options.sampling;
  sampling.temperature = wanted.temperature;
  sampling.topK = wanted.top_k;
  sampling.topP = wanted.top_p;
  sampling.minP = wanted.min_p;
  sampling.repetitionPenalty = wanted.repetition_penalty;
  sampling.presencePenalty = wanted.presence_penalty;
  sampling.frequencyPenalty = wanted.frequency_penalty;
  sampling.seed = wanted.seed;
  sampling.request = wanted.request;
  Result<std::span<const char *const>> stops =
      makeSpan(wanted.stop_strings, wanted.stop_string_count, "stop_strings");
  if (!stops)
    return stops.getStatus();
  for (const char *stop : *stops) {
    if (!stop)
      return nullArgument("a stop string");
    request.stopStrings.push_back(stop);
  }
  return request;
}

static bool callBack(weft_token_callback callback, void *user,
                     const TextPiece &piece) {
  weft_token token = {-1, -1, 0, piece.text.data(), piece.text.size()};
  if (piece.token) {
    token.id = piece.token->id;
    token.position = piece.token->position;
    token.log_probability = piece.token->logProbability;
  }
  return callback(&token, user) == 0;
}

weft_status weft_llm_generate(weft_llm *llm,
                              const weft_generate_options *options,
                              weft_token_callback callback, void *user,
                              weft_generate_result *result) {
  return guardHandle(llm, [&]() -> Status {
    if (result)
      if (Status s = checkSize(result); !s)
        return s;
    Result<TextRequest> request = makeRequest(*llm, options);
    if (!request)
      return request.getStatus();
    if (callback)
      request->onPiece = [&](const TextPiece &piece) {
        return callBack(callback, user, piece);
      };
    Result<TextResult> text = llm->session->generateText(*request);
    if (!text)
      return text.getStatus();
    if (!result)
      return Status::ok();
    const GenerationTimes &times = llm->session->getGenerator().getTimes();
    weft_generate_result facts = {};
    facts.reason = weft_finish_reason(text->tokens.reason);
    facts.stop_id = text->tokens.stopId;
    facts.prompt_tokens = times.promptTokens;
    facts.generated_tokens = int64_t(text->tokens.ids.size());
    facts.prompt_seconds = times.promptSeconds;
    facts.generate_seconds = times.generateSeconds;
    writeStruct(facts, result);
    return Status::ok();
  });
}

weft_status weft_llm_score(weft_llm *llm, const int32_t *ids, size_t count,
                           double *log_probabilities, double *total) {
  if (total)
    *total = 0;
  return guardHandle(llm, [&]() -> Status {
    Result<std::span<const int32_t>> span = makeSpan(ids, count, "ids");
    if (!span)
      return span.getStatus();
    Result<std::vector<Score>> scores =
        llm->session->getGenerator().score(std::span(&*span, 1));
    if (!scores)
      return scores.getStatus();
    const Score &score = scores->front();
    if (log_probabilities)
      std::copy(score.logProbabilities.begin(), score.logProbabilities.end(),
                log_probabilities);
    if (total)
      *total = score.negativeLogLikelihood;
    return Status::ok();
  });
}
