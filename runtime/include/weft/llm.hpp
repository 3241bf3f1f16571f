//===- llm.hpp - C++ wrapper of llm.h -------------------------------------===//
//
// Header-only; C++17. A failing call throws weft::Error as in weft.hpp.
//
//   weft::Plan plan("model.weft");
//   weft::Llm llm(plan, 512);
//   llm.append(llm.encode("Once upon a time", WEFT_ENCODE_START));
//   llm.generate(llm.getDefaults(), [](const weft_token &token) {
//     std::cout << std::string_view(token.text, token.text_length);
//     return true;
//   });
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LLM_HPP
#define WEFT_LLM_HPP

#include "llm.h"
#include "weft.hpp"

#include <exception>
#include <functional>
#include <string_view>

namespace weft {

/// A growing sequence of tokens of a decoder plan; see llm.h.
class Llm {
public:
  /// Returns whether to go on.
  using TokenCallback = std::function<bool(const weft_token &)>;

  explicit Llm(const Plan &plan, int64_t contextLength = 0,
               int64_t tokensPerStep = 0) {
    weft_llm_options options = {sizeof(options), contextLength, tokensPerStep};
    weft_llm *created = nullptr;
    check(weft_llm_create(plan.get(), &options, &created));
    handle.reset(created);
  }

  weft_llm *get() const { return handle.get(); }

  weft_llm_info getInfo() const {
    weft_llm_info info = {};
    info.struct_size = sizeof(info);
    check(weft_llm_get_info(get(), &info));
    return info;
  }

  std::vector<int32_t> encode(std::string_view text, uint32_t flags = 0) const {
    std::vector<int32_t> ids;
    readArray(ids, [&](int32_t *out, size_t capacity, size_t *count) {
      return weft_llm_encode(get(), text.data(), text.size(), flags, out,
                             capacity, count);
    });
    return ids;
  }

  std::string decode(const std::vector<int32_t> &ids) const {
    std::string text;
    readArray(text, [&](char *out, size_t capacity, size_t *count) {
      return weft_llm_decode(get(), ids.data(), ids.size(), out, capacity,
                             count);
    });
    return text;
  }

  void append(const std::vector<int32_t> &ids) {
    check(weft_llm_append(get(), ids.data(), ids.size()));
  }

  void rewind(int64_t length) { check(weft_llm_rewind(get(), length)); }

  std::vector<int32_t> getTokens() const {
    std::vector<int32_t> ids;
    readArray(ids, [&](int32_t *out, size_t capacity, size_t *count) {
      return weft_llm_get_tokens(get(), out, capacity, count);
    });
    return ids;
  }

  /// The model's own recommendation.
  weft_generate_options getDefaults() const {
    weft_generate_options options;
    check(weft_generate_options_init(get(), &options));
    return options;
  }

  /// An exception in the callback ends the generation and comes out here.
  weft_generate_result generate(const weft_generate_options &options,
                                TokenCallback callback = nullptr) {
    weft_generate_result result = {};
    result.struct_size = sizeof(result);
    Call call = {std::move(callback), nullptr};
    weft_status status = weft_llm_generate(
        get(), &options, call.function ? &Call::run : nullptr, &call, &result);
    if (call.exception)
      std::rethrow_exception(call.exception);
    check(status);
    return result;
  }

  /// log p(ids[i + 1] | ids[0..i]) for each but the first id.
  std::vector<double> score(const std::vector<int32_t> &ids) {
    std::vector<double> values(ids.empty() ? 0 : ids.size() - 1);
    check(
        weft_llm_score(get(), ids.data(), ids.size(), values.data(), nullptr));
    return values;
  }

private:
  struct Deleter {
    void operator()(weft_llm *llm) const { weft_llm_destroy(llm); }
  };
  struct Call {
    TokenCallback function;
    std::exception_ptr exception;

    static int run(const weft_token *token, void *user) {
      Call &call = *static_cast<Call *>(user);
      try {
        return call.function(*token) ? 0 : 1;
      } catch (...) {
        call.exception = std::current_exception();
        return 1;
      }
    }
  };

  /// Asks for the size first.
  template <typename Container, typename Function>
  static void readArray(Container &out, Function read) {
    size_t count = 0;
    weft_status status = read(nullptr, 0, &count);
    if (status != WEFT_LIMIT_EXCEEDED)
      check(status);
    out.resize(count);
    check(read(out.data(), out.size(), &count));
  }

  std::unique_ptr<weft_llm, Deleter> handle;
};

} // namespace weft

#endif // WEFT_LLM_HPP
