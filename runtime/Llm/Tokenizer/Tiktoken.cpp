//===- Tiktoken.cpp - tiktoken rank files ---------------------------------===//
//
// A rank file has lines of a token in base64, a space and its rank, which is
// its id. tiktoken merges the adjacent pair whose concatenation has the lowest
// rank. That is byte-level BPE whose merge rules are all splits of a token into
// two tokens, ranked by the token: so the pipeline of tokenizer.json does it.
//
// The split pattern and the special tokens are not in the file. They are known
// for published vocabularies, which are told apart by their size.
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/RegexSyntax.h"
#include "runtime/Llm/Tokenizer/TokenizerParts.h"

#include <algorithm>
#include <charconv>

namespace weft::rt {

namespace {

// openai/tiktoken, tiktoken_ext/openai_public.py, without its possessive
// quantifiers, which do not change what matches.
constexpr std::string_view cl100kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view o200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using SpecialTokens = std::vector<std::pair<std::string, int32_t>>;

SpecialTokens cl100kTokens() {
  return {{"<|endoftext|>", 100257},
          {"<|fim_prefix|>", 100258},
          {"<|fim_middle|>", 100259},
          {"<|fim_suffix|>", 100260},
          {"<|endofprompt|>", 100276}};
}

SpecialTokens o200kTokens() {
  return {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}};
}

/// meta-llama/llama-models, models/llama3/tokenizer.py.
SpecialTokens llama3Tokens() {
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|finetune_right_pad_id|>",
                                    "<|step_id|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eom_id|>",
                                    "<|eot_id|>",
                                    "<|python_tag|>",
                                    "<|image|>"};
  for (int i = 2; names.size() < 256; ++i)
    names.push_back("<|reserved_special_token_" + std::to_string(i) + "|>");
  SpecialTokens tokens;
  for (size_t i = 0; i < names.size(); ++i)
    tokens.emplace_back(names[i], static_cast<int32_t>(128000 + i));
  return tokens;
}

/// QwenLM/Qwen, tokenization_qwen.py.
SpecialTokens qwenTokens() {
  SpecialTokens tokens = {{"<|endoftext|>", 151643},
                          {"<|im_start|>", 151644},
                          {"<|im_end|>", 151645}};
  for (int i = 0; i < 205; ++i)
    tokens.emplace_back("<|extra_" + std::to_string(i) + "|>", 151646 + i);
  return tokens;
}

struct Known {
  const char *name;
  size_t ranks;
  std::string_view pattern;
  SpecialTokens (*tokens)();
  const char *bos; ///< Starts every text; null for none.
  const char *eos;
};

constexpr Known knownVocabularies[] = {
    {"cl100k_base", 100256, cl100kPattern, cl100kTokens, nullptr,
     "<|endoftext|>"},
    {"o200k_base", 199998, o200kPattern, o200kTokens, nullptr, "<|endoftext|>"},
    {"Llama 3", 128000, cl100kPattern, llama3Tokens, "<|begin_of_text|>",
     "<|end_of_text|>"},
    {"Qwen", 151643, qwenPattern, qwenTokens, nullptr, "<|endoftext|>"},
};

/// One "base64 rank" line; the token in GPT-2's alphabet.
bool readLine(std::string_view line, std::string &token, int64_t &rank) {
  size_t space = line.find(' ');
  if (space == 0 || space == line.npos)
    return false;
  auto bytes = decodeBase64(line.substr(0, space));
  if (!bytes)
    return false;
  token.clear();
  for (char b : *bytes)
    appendChar(token, byteToAlphabet(static_cast<uint8_t>(b)));
  std::string_view number = line.substr(space + 1);
  auto [end, problem] =
      std::from_chars(number.data(), number.data() + number.size(), rank);
  return problem == std::errc() && end == number.data() + number.size() &&
         !token.empty();
}

/// Takes the next line off `rest`, without its line break.
std::string_view takeLine(std::string_view &rest) {
  size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

std::vector<BpeModel::Merge> makeMerges(const Vocabulary &vocabulary) {
  std::vector<BpeModel::Merge> merges;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    auto token = vocabulary.get(id);
    if (!token)
      continue;
    for (size_t cut = utf8Length((*token)[0]); cut < token->size();
         cut += utf8Length((*token)[cut])) {
      auto left = vocabulary.find(token->substr(0, cut));
      auto right = vocabulary.find(token->substr(cut));
      if (left && right)
        merges.push_back({*left, *right, id, static_cast<uint32_t>(id)});
    }
  }
  return merges;
}

} // namespace

bool isTiktoken(std::string_view bytes) {
  std::string token;
  int64_t rank = 0;
  return readLine(takeLine(bytes), token, rank);
}

Result<std::unique_ptr<TokenizerParts>> loadTiktoken(std::string_view bytes) {
  Vocabulary vocabulary;
  std::string token;
  size_t ranks = 0;
  for (size_t line = 1; !bytes.empty(); ++line) {
    std::string_view text = takeLine(bytes);
    if (text.empty())
      continue;
    int64_t rank = 0;
    if (!readLine(text, token, rank))
      return Status::corrupt(
          "line " + std::to_string(line) + " is \"" +
          std::string(text.substr(0, 80)) +
          "\"; a token in base64, a space and a rank are expected");
    if (Status status = vocabulary.add(token, rank); !status)
      return Status(status.getCode(), "line " + std::to_string(line) + ": " +
                                          status.getMessage());
    ++ranks;
  }
  const Known *known = nullptr;
  std::string names;
  for (const Known &entry : knownVocabularies) {
    if (entry.ranks == ranks)
      known = &entry;
    names += std::string(names.empty() ? "" : ", ") + entry.name + " (" +
             std::to_string(entry.ranks) + ")";
  }
  if (!known)
    return Status::unsupported(
        "a rank file of " + std::to_string(ranks) +
        " tokens does not say how text is split; known are " + names +
        "; for others convert it to tokenizer.json");

  auto parts = std::make_unique<TokenizerParts>();
  std::vector<AddedToken> tokens;
  for (auto &[content, id] : known->tokens()) {
    AddedToken added;
    added.id = id;
    added.content = content;
    added.special = true;
    tokens.push_back(std::move(added));
  }
  auto added = AddedTokens::create(std::move(tokens), nullptr);
  if (!added)
    return added.getStatus();
  parts->added = added.take();

  auto pattern = Regex::compile(known->pattern);
  if (!pattern)
    return pattern.getStatus();
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(std::make_unique<SplitPreTokenizer>(
      pattern.take(), SplitBehavior::Isolated, false));
  steps.push_back(std::make_unique<ByteLevelPreTokenizer>(false, std::nullopt));
  parts->preTokenizer =
      std::make_unique<PreTokenizerSequence>(std::move(steps));

  std::vector<BpeModel::Merge> merges = makeMerges(vocabulary);
  BpeModel::Options options;
  options.ignoreMerges = true;
  auto model =
      BpeModel::create(std::move(vocabulary), merges, std::move(options));
  if (!model)
    return model.getStatus();
  parts->model = model.take();

  std::vector<std::unique_ptr<DecodeStep>> decodeSteps;
  decodeSteps.push_back(std::make_unique<ByteLevelDecoder>());
  parts->decoder = std::make_unique<Decoder>(std::move(decodeSteps));
  parts->special.eos = {parts->added.find(known->eos)->id};
  if (known->bos) {
    parts->special.bos = parts->added.find(known->bos)->id;
    parts->prefix = {*parts->special.bos};
  }
  return parts;
}

} // namespace weft::rt
