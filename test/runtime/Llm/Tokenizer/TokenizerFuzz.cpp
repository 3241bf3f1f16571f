//===- TokenizerFuzz.cpp - Arbitrary tokenizer files and texts ------------===//
//
// The first byte says what kind of file the rest is; a line of three '='
// separates the file from a text. Whatever loads must encode the text or say
// why not, and decode and stream the ids to the same valid UTF-8.
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/StreamDecoder.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

#include <cstdlib>

using namespace weft::rt;

namespace {

void check(bool condition) {
  if (!condition)
    std::abort();
}

void useTokenizer(const Tokenizer &tokenizer, std::string_view text) {
  auto ids = tokenizer.encode(text, {true, text.size() % 2 == 0});
  if (!ids) {
    check(!ids.getStatus().getMessage().empty());
    return;
  }
  // A template may name ids that the vocabulary does not have.
  auto whole = tokenizer.decode(*ids);
  StreamDecoder stream(tokenizer);
  std::string streamed;
  for (int32_t id : *ids) {
    auto part = stream.push(id);
    if (!part)
      return;
    check(!findInvalidUtf8(*part));
    streamed += *part;
  }
  check(static_cast<bool>(whole));
  check(streamed + stream.finish() == *whole);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static constexpr std::string_view names[] = {
      "tokenizer.json", "tokenizer.model", "x.tiktoken",
      "tokenizer_config.json", "generation_config.json"};
  if (size == 0)
    return 0;
  std::string_view name = names[data[0] % std::size(names)];
  std::string_view rest(reinterpret_cast<const char *>(data + 1), size - 1);
  size_t cut = std::min(rest.find("\n===\n"), rest.size());
  std::string_view content = rest.substr(0, cut);
  std::string_view text = rest.substr(std::min(cut + 5, rest.size()));
  static constexpr std::string_view plain =
      R"({"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0}}})";
  auto bytes = [](std::string_view view) {
    return std::span(reinterpret_cast<const uint8_t *>(view.data()),
                     view.size());
  };
  Tokenizer::File files[] = {{name, bytes(content)},
                             {"tokenizer.json", bytes(plain)}};
  bool isConfig = name.ends_with("config.json");
  auto tokenizer = Tokenizer::fromFiles(std::span(files, isConfig ? 2 : 1));
  if (tokenizer)
    useTokenizer(**tokenizer, text);
  else
    check(!tokenizer.getStatus().getMessage().empty());
  return 0;
}
