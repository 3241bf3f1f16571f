//===- Tokenizer.cpp - Text to token ids and back -------------------------===//

#include "runtime/Llm/Tokenizer/Tokenizer.h"

#include "runtime/Llm/Tokenizer/StreamDecoder.h"
#include "runtime/Llm/Tokenizer/TokenizerParts.h"

#include <algorithm>

namespace weft::rt {

namespace {

std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

Status inFile(std::string_view name, const Status &status) {
  return Status(status.getCode(),
                std::string(name) + ": " + status.getMessage());
}

/// transformers builds the template of these classes from add_bos_token and
/// add_eos_token rather than taking the one in tokenizer.json.
bool templateFollowsConfig(std::string_view tokenizerClass) {
  for (std::string_view name : {"Llama", "CodeLlama", "Gemma"})
    if (tokenizerClass.starts_with(name))
      return true;
  return false;
}

/// Fills in the ids with a meaning, and the template where the configuration
/// decides it.
void applyConfig(const TokenizerConfig &config, bool configDecides,
                 TokenizerParts &parts) {
  SpecialIds &special = parts.special;
  auto lookUp = [&](const std::optional<std::string> &token) {
    return token ? findToken(parts, *token) : std::nullopt;
  };
  auto set = [&](std::optional<int32_t> &id, std::optional<int32_t> value) {
    if (value)
      id = value;
  };
  set(special.bos, config.bosId);
  set(special.bos, lookUp(config.bos));
  set(special.unk, lookUp(config.unk));
  set(special.pad, config.padId);
  set(special.pad, lookUp(config.pad));
  auto eos = lookUp(config.eos);
  if (eos || !config.eosIds.empty())
    special.eos = config.eosIds;
  if (eos)
    special.eos.push_back(*eos);
  std::sort(special.eos.begin(), special.eos.end());
  special.eos.erase(std::unique(special.eos.begin(), special.eos.end()),
                    special.eos.end());
  if (!configDecides)
    return;
  auto decide = [](std::vector<int32_t> &ids, std::optional<bool> wanted,
                   std::optional<int32_t> id) {
    if (wanted && !*wanted)
      ids.clear();
    else if (wanted && id)
      ids = {*id};
  };
  decide(parts.prefix, config.addBos, special.bos);
  decide(parts.suffix, config.addEos,
         eos                   ? eos
         : special.eos.empty() ? std::nullopt
                               : std::optional(special.eos.front()));
}

} // namespace

std::optional<int32_t> findToken(const TokenizerParts &parts,
                                 std::string_view token) {
  if (const AddedToken *added = parts.added.find(token))
    return added->id;
  return parts.model->getVocabulary().find(token);
}

Tokenizer::Tokenizer(std::unique_ptr<TokenizerParts> parts)
    : parts(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>>
Tokenizer::fromFiles(std::span<const File> files) {
  auto find = [&](std::string_view name) -> const File * {
    for (const File &file : files)
      if (file.name == name)
        return &file;
    return nullptr;
  };
  TokenizerConfig config;
  using Reader = Status (*)(std::string_view, TokenizerConfig &);
  // The map repeats what older configurations lack; the configuration wins.
  for (auto [name, read] :
       {std::pair<std::string_view, Reader>("special_tokens_map.json",
                                            readSpecialTokensMap),
        {"tokenizer_config.json", readTokenizerConfig},
        {"generation_config.json", readGenerationConfig}})
    if (const File *file = find(name))
      if (Status status = read(textOf(file->bytes), config); !status)
        return inFile(name, status);

  const File *file = find("tokenizer.json");
  bool isJson = file != nullptr;
  if (!file)
    file = find("tokenizer.model");
  for (size_t i = 0; i < files.size() && !file; ++i)
    if (files[i].name.ends_with(".model") ||
        files[i].name.ends_with(".tiktoken"))
      file = &files[i];
  if (!file) {
    std::string names;
    for (const File &other : files)
      names += (names.empty() ? "" : ", ") + std::string(other.name);
    return Status::notFound(
        "no tokenizer: expected tokenizer.json, tokenizer.model or a .tiktoken "
        "file, found " +
        (names.empty() ? "no files" : names));
  }
  std::string_view bytes = textOf(file->bytes);
  bool isRanks = !isJson && isTiktoken(bytes);
  auto parts = isJson    ? loadTokenizerJson(bytes)
               : isRanks ? loadTiktoken(bytes)
                         : loadSentencePiece(bytes, config.addedTokens);
  if (!parts)
    return inFile(file->name, parts.getStatus());
  bool configDecides =
      !isRanks && (!isJson || templateFollowsConfig(config.tokenizerClass));
  applyConfig(config, configDecides, **parts);
  return std::make_unique<Tokenizer>(parts.take());
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromFiles(
    const std::vector<std::pair<std::string, std::vector<uint8_t>>> &files) {
  std::vector<File> views;
  for (const auto &[name, bytes] : files)
    views.push_back({name, bytes});
  return fromFiles(std::span<const File>(views));
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               EncodeOptions options) const {
  if (auto bad = findInvalidUtf8(text))
    return Status::invalid("the text is not valid UTF-8 at byte " +
                           std::to_string(*bad));
  std::vector<int32_t> ids;
  if (options.addSpecialTokens)
    ids = parts->prefix;
  Result<Pieces> pieces = parts->added.split(text, parts->normalizer.get(),
                                             options.parseSpecialTokens);
  if (!pieces)
    return pieces.getStatus();
  if (parts->preTokenizer)
    if (Status status = parts->preTokenizer->apply(*pieces); !status)
      return status;
  if (Status status = parts->model->encode(*pieces, ids); !status)
    return status;
  if (options.addSpecialTokens)
    ids.insert(ids.end(), parts->suffix.begin(), parts->suffix.end());
  return ids;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids,
                                      DecodeOptions options) const {
  StreamDecoder stream(*this, options);
  std::string text;
  for (int32_t id : ids) {
    Result<std::string> part = stream.push(id);
    if (!part)
      return part.getStatus();
    text += *part;
  }
  text += stream.finish();
  return text;
}

int32_t Tokenizer::vocabularySize() const {
  int32_t size = parts->model->getVocabulary().size();
  for (const AddedToken &token : parts->added.list())
    size = std::max(size, token.id + 1);
  return size;
}

std::optional<std::string_view> Tokenizer::idToToken(int32_t id) const {
  if (const AddedToken *added = parts->added.find(id))
    return added->content;
  return parts->model->getVocabulary().get(id);
}

std::optional<int32_t> Tokenizer::tokenToId(std::string_view token) const {
  return findToken(*parts, token);
}

bool Tokenizer::isSpecial(int32_t id) const {
  const AddedToken *added = parts->added.find(id);
  return added && added->special;
}

const SpecialIds &Tokenizer::specialIds() const { return parts->special; }

bool Tokenizer::addsBos() const {
  return parts->special.bos && !parts->prefix.empty() &&
         parts->prefix.front() == *parts->special.bos;
}

StreamDecoder::StreamDecoder(const Tokenizer &tokenizer, DecodeOptions options)
    : tokenizer(tokenizer), options(options),
      state(tokenizer.parts->decoder->makeState()) {}

Result<std::string> StreamDecoder::push(int32_t id) {
  const TokenizerParts &parts = *tokenizer.parts;
  std::string text;
  if (const AddedToken *added = parts.added.find(id)) {
    if (!added->special || !options.skipSpecialTokens)
      parts.decoder->push(state, parts.added.decodedForm(*added), text);
    return text;
  }
  if (id < 0 || id >= tokenizer.vocabularySize())
    return Status::invalid(
        "token id " + std::to_string(id) +
        " is out of range; the vocabulary has ids from 0 to " +
        std::to_string(tokenizer.vocabularySize() - 1));
  auto form = parts.decodedForms.find(id);
  if (form != parts.decodedForms.end())
    parts.decoder->push(state, form->second, text);
  else if (auto token = parts.model->getVocabulary().get(id))
    parts.decoder->push(state, std::string(*token), text);
  return text;
}

Status StreamDecoder::skip(std::span<const int32_t> ids) {
  for (int32_t id : ids)
    if (Result<std::string> text = push(id); !text)
      return text.getStatus();
  return Status::ok();
}

std::string StreamDecoder::finish() {
  std::string text;
  tokenizer.parts->decoder->finish(state, text);
  state = tokenizer.parts->decoder->makeState();
  return text;
}

} // namespace weft::rt
