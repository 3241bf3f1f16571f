//===- TokenizerJson.cpp - Reads tokenizer.json ---------------------------===//
//
// The format is what the tokenizers library 0.23 writes and reads. Every key
// is understood or refused; only "truncation" and "padding" are left out on
// purpose, because they say how a batch is cut and filled, not what the ids of
// a text are (transformers resets them, too).
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/ModelJson.h"
#include "runtime/Llm/Tokenizer/RegexSyntax.h"
#include "runtime/Llm/Tokenizer/TokenizerParts.h"

namespace weft::rt {

namespace {

/// Sequences in sequences deeper than this are refused.
constexpr int maxDepth = 16;

/// Reads one kind of component: `Part` is Normalizer or PreTokenizer.
template <typename Part> using Parts = std::vector<std::unique_ptr<Part>>;

std::string itemPath(const std::string &path, size_t i) {
  return path + "[" + std::to_string(i) + "]";
}

/// {"String": "..."} or {"Regex": "..."}, as text and as a regex.
struct Pattern {
  std::string text;
  bool isRegex = false;
  std::optional<Regex> regex;
};

Pattern readPattern(JsonReader &owner, Status &error) {
  Pattern pattern;
  const Json *value = owner.get("pattern");
  if (!value) {
    owner.reject("pattern", "an object with String or Regex is expected");
    return pattern;
  }
  JsonReader reader(*value, owner.pathOf("pattern"), error);
  auto text = reader.optString("String");
  if (!text) {
    text = reader.string("Regex");
    pattern.isRegex = true;
  }
  reader.finish();
  pattern.text = *text;
  Result<Regex> regex =
      Regex::compile(pattern.isRegex ? *text : escapeRegex(*text));
  if (regex)
    pattern.regex = regex.take();
  else
    owner.fail(Status(regex.getStatus().getCode(),
                      owner.pathOf("pattern") + ": " +
                          regex.getStatus().getMessage()));
  return pattern;
}

std::unique_ptr<Normalizer> readCharsmap(JsonReader &reader) {
  auto bytes = decodeBase64(reader.string("precompiled_charsmap"));
  if (!bytes) {
    reader.reject("precompiled_charsmap", "base64 is expected");
    return nullptr;
  }
  auto result = CharsmapNormalizer::create(*bytes);
  if (result)
    return result.take();
  reader.fail(result.getStatus());
  return nullptr;
}

/// Appends the steps of a normalizer; null on error.
void readNormalizer(const Json &value, const std::string &path, int depth,
                    Status &error, Parts<Normalizer> &steps) {
  JsonReader reader(value, path, error);
  std::string type = reader.string("type");
  if (!error)
    return;
  if (depth > maxDepth) {
    reader.fail(Status::unsupported(path + " is nested more than " +
                                    std::to_string(maxDepth) + " times"));
    return;
  }
  auto add = [&](auto step) { steps.push_back(std::move(step)); };
  if (type == "Sequence") {
    const Json &items = reader.array("normalizers");
    for (size_t i = 0; i < items.size() && error; ++i)
      readNormalizer(items[i], itemPath(reader.pathOf("normalizers"), i),
                     depth + 1, error, steps);
  } else if (type == "NFC") {
    add(std::make_unique<UnicodeNormalizer>(NormalForm::Nfc));
  } else if (type == "NFD") {
    add(std::make_unique<UnicodeNormalizer>(NormalForm::Nfd));
  } else if (type == "NFKC") {
    add(std::make_unique<UnicodeNormalizer>(NormalForm::Nfkc));
  } else if (type == "NFKD") {
    add(std::make_unique<UnicodeNormalizer>(NormalForm::Nfkd));
  } else if (type == "Lowercase") {
    add(std::make_unique<LowercaseNormalizer>());
  } else if (type == "StripAccents") {
    add(std::make_unique<StripAccentsNormalizer>());
  } else if (type == "Nmt") {
    add(std::make_unique<NmtNormalizer>());
  } else if (type == "ByteLevel") {
    // The library writes these three and does not read them.
    for (const char *key : {"add_prefix_space", "trim_offsets", "use_regex"})
      reader.skip(key);
    add(std::make_unique<ByteLevelNormalizer>());
  } else if (type == "Strip") {
    bool left = reader.boolean("strip_left"),
         right = reader.boolean("strip_right");
    add(std::make_unique<StripNormalizer>(left, right));
  } else if (type == "Prepend") {
    add(std::make_unique<PrependNormalizer>(reader.string("prepend")));
  } else if (type == "Replace") {
    Pattern pattern = readPattern(reader, error);
    std::string content = reader.string("content");
    if (error)
      add(std::make_unique<ReplaceNormalizer>(std::move(*pattern.regex),
                                              std::move(content)));
  } else if (type == "BertNormalizer" || type == "Bert") {
    BertNormalizer::Options options;
    options.cleanText = reader.boolean("clean_text");
    options.cjkSpaces = reader.boolean("handle_chinese_chars");
    options.lowercase = reader.boolean("lowercase");
    options.stripAccents = reader.boolean("strip_accents", options.lowercase);
    add(std::make_unique<BertNormalizer>(options));
  } else if (type == "Precompiled") {
    if (auto step = readCharsmap(reader))
      add(std::move(step));
  } else {
    reader.reject("type", "this normalizer is not supported");
  }
  reader.finish();
}

SplitBehavior readBehavior(JsonReader &reader,
                           std::optional<SplitBehavior> absent) {
  auto name = reader.optString("behavior");
  if (!name && absent)
    return *absent;
  static constexpr std::pair<std::string_view, SplitBehavior> names[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous},
  };
  for (auto [known, behavior] : names)
    if (name && *name == known)
      return behavior;
  reader.reject("behavior", "Removed, Isolated, MergedWithPrevious, "
                            "MergedWithNext or Contiguous is expected");
  return SplitBehavior::Isolated;
}

struct Metaspace {
  char32_t replacement = U'\u2581';
  MetaspacePreTokenizer::Prepend prepend =
      MetaspacePreTokenizer::Prepend::Always;
  bool split = true;
};

/// Metaspace is both a pre-tokenizer and a decoder.
Metaspace readMetaspace(JsonReader &reader) {
  using Prepend = MetaspacePreTokenizer::Prepend;
  Metaspace result;
  result.replacement = reader.character("replacement");
  reader.skip("str_rep");
  auto scheme = reader.optString("prepend_scheme");
  if (scheme && *scheme == "first")
    result.prepend = Prepend::First;
  else if (scheme && *scheme == "never")
    result.prepend = Prepend::Never;
  else if (scheme && *scheme != "always")
    reader.reject("prepend_scheme", "first, never or always is expected");
  // The key of older files; false is the scheme "never".
  if (!reader.boolean("add_prefix_space", true)) {
    if (scheme && result.prepend != Prepend::Never)
      reader.reject("add_prefix_space", "it contradicts prepend_scheme");
    result.prepend = Prepend::Never;
  }
  result.split = reader.boolean("split", true);
  return result;
}

void readPreTokenizer(const Json &value, const std::string &path, int depth,
                      Status &error, Parts<PreTokenizer> &steps) {
  using CharClass = CharSplitPreTokenizer::Class;
  JsonReader reader(value, path, error);
  std::string type = reader.string("type");
  if (!error)
    return;
  if (depth > maxDepth) {
    reader.fail(Status::unsupported(path + " is nested more than " +
                                    std::to_string(maxDepth) + " times"));
    return;
  }
  auto add = [&](auto step) { steps.push_back(std::move(step)); };
  if (type == "Sequence") {
    const Json &items = reader.array("pretokenizers");
    for (size_t i = 0; i < items.size() && error; ++i)
      readPreTokenizer(items[i], itemPath(reader.pathOf("pretokenizers"), i),
                       depth + 1, error, steps);
  } else if (type == "ByteLevel") {
    bool prefixSpace = reader.boolean("add_prefix_space");
    reader.optBool("trim_offsets"); // about offsets, which nobody asks for here
    std::optional<Regex> pattern;
    if (reader.boolean("use_regex", true)) {
      Result<Regex> regex =
          Regex::compile(ByteLevelPreTokenizer::gpt2Pattern());
      if (!regex)
        return reader.fail(regex.getStatus());
      pattern = regex.take();
    }
    add(std::make_unique<ByteLevelPreTokenizer>(prefixSpace,
                                                std::move(pattern)));
  } else if (type == "Split") {
    Pattern pattern = readPattern(reader, error);
    SplitBehavior behavior = readBehavior(reader, std::nullopt);
    bool invert = reader.boolean("invert");
    if (error)
      add(std::make_unique<SplitPreTokenizer>(std::move(*pattern.regex),
                                              behavior, invert));
  } else if (type == "Whitespace") {
    add(std::make_unique<WhitespacePreTokenizer>());
  } else if (type == "WhitespaceSplit") {
    add(std::make_unique<CharSplitPreTokenizer>(CharClass::Whitespace,
                                                SplitBehavior::Removed));
  } else if (type == "Punctuation") {
    add(std::make_unique<CharSplitPreTokenizer>(
        CharClass::Punctuation, readBehavior(reader, SplitBehavior::Isolated)));
  } else if (type == "Digits") {
    add(std::make_unique<CharSplitPreTokenizer>(
        CharClass::Digit, reader.boolean("individual_digits")
                              ? SplitBehavior::Isolated
                              : SplitBehavior::Contiguous));
  } else if (type == "Metaspace") {
    Metaspace metaspace = readMetaspace(reader);
    add(std::make_unique<MetaspacePreTokenizer>(
        metaspace.replacement, metaspace.prepend, metaspace.split));
  } else if (type == "BertPreTokenizer") {
    add(std::make_unique<CharSplitPreTokenizer>(CharClass::Whitespace,
                                                SplitBehavior::Removed));
    add(std::make_unique<CharSplitPreTokenizer>(CharClass::Punctuation,
                                                SplitBehavior::Isolated));
  } else if (type == "CharDelimiterSplit") {
    add(std::make_unique<CharSplitPreTokenizer>(
        CharClass::One, SplitBehavior::Removed, reader.character("delimiter")));
  } else if (type == "FixedLength") {
    add(std::make_unique<FixedLengthPreTokenizer>(static_cast<size_t>(
        reader.optInteger("length", 1, INT32_MAX).value_or(5))));
  } else {
    reader.reject("type", "this pre-tokenizer is not supported");
  }
  reader.finish();
}

/// What the steps before a decoder step hand on.
enum class Flow { Tokens, Characters, Fused };

void readDecoder(const Json &value, const std::string &path, int depth,
                 Status &error, Flow &flow,
                 std::vector<std::unique_ptr<DecodeStep>> &steps) {
  JsonReader reader(value, path, error);
  std::string type = reader.string("type");
  if (!error)
    return;
  if (depth > maxDepth) {
    reader.fail(Status::unsupported(path + " is nested more than " +
                                    std::to_string(maxDepth) + " times"));
    return;
  }
  auto add = [&](auto step) { steps.push_back(std::move(step)); };
  // A step that treats tokens differently by where they begin and end cannot
  // stand behind ByteFallback, which hands on characters as they complete.
  auto needsTokens = [&] {
    if (flow != Flow::Tokens)
      reader.reject("type",
                    "it is not supported behind ByteFallback, ByteLevel "
                    "or Fuse");
  };
  if (type == "Sequence") {
    const Json &items = reader.array("decoders");
    for (size_t i = 0; i < items.size() && error; ++i)
      readDecoder(items[i], itemPath(reader.pathOf("decoders"), i), depth + 1,
                  error, flow, steps);
  } else if (type == "ByteLevel") {
    for (const char *key : {"add_prefix_space", "trim_offsets", "use_regex"})
      reader.optBool(key); // for the pre-tokenizer of the same name
    add(std::make_unique<ByteLevelDecoder>());
    if (flow != Flow::Tokens)
      needsTokens();
    flow = Flow::Fused;
  } else if (type == "ByteFallback") {
    if (flow != Flow::Tokens)
      needsTokens();
    add(std::make_unique<ByteFallbackDecoder>());
    flow = Flow::Characters;
  } else if (type == "Fuse") {
    flow = Flow::Fused; // what is handed on are parts of one token from here on
  } else if (type == "WordPiece") {
    needsTokens();
    std::string prefix = reader.string("prefix");
    add(std::make_unique<WordPieceDecoder>(std::move(prefix),
                                           reader.boolean("cleanup")));
  } else if (type == "Metaspace") {
    if (flow == Flow::Characters)
      needsTokens();
    Metaspace metaspace = readMetaspace(reader);
    add(std::make_unique<MetaspaceDecoder>(
        metaspace.replacement,
        metaspace.prepend != MetaspacePreTokenizer::Prepend::Never,
        flow == Flow::Fused));
  } else if (type == "BPEDecoder") {
    needsTokens();
    add(std::make_unique<BpeSuffixDecoder>(reader.string("suffix")));
  } else if (type == "CTC") {
    needsTokens();
    std::string pad = reader.string("pad_token");
    std::string delimiter = reader.string("word_delimiter_token");
    add(std::make_unique<CtcDecoder>(std::move(pad), std::move(delimiter),
                                     reader.boolean("cleanup")));
  } else if (type == "Replace") {
    Pattern pattern = readPattern(reader, error);
    std::string content = reader.string("content");
    if (!error)
      return;
    if (flow == Flow::Tokens)
      add(std::make_unique<ReplaceDecoder>(std::move(*pattern.regex),
                                           std::move(content)));
    else if (!pattern.isRegex && !pattern.text.empty())
      add(std::make_unique<FusedReplaceDecoder>(pattern.text,
                                                std::move(content)));
    else
      reader.reject("pattern", "only a String that is not empty is supported "
                               "behind ByteFallback, ByteLevel or Fuse");
  } else if (type == "Strip") {
    char32_t content = reader.character("content");
    auto start = static_cast<size_t>(reader.integer("start", 0, INT32_MAX));
    auto stop = static_cast<size_t>(reader.integer("stop", 0, INT32_MAX));
    if (flow == Flow::Characters)
      needsTokens();
    if (flow == Flow::Fused)
      add(std::make_unique<FusedStripDecoder>(content, start, stop));
    else
      add(std::make_unique<StripDecoder>(content, start, stop));
  } else {
    reader.reject("type", "this decoder is not supported");
  }
  reader.finish();
}

/// Sets the ids around a text. Only one post-processor may: the tokenizers
/// library mixes up the parts when a second one does.
void wrap(JsonReader &reader, std::vector<int32_t> before,
          std::vector<int32_t> after, TokenizerParts &parts) {
  if (!parts.prefix.empty() || !parts.suffix.empty())
    reader.reject("type",
                  "only one post-processor that adds tokens is supported");
  parts.prefix = std::move(before);
  parts.suffix = std::move(after);
}

int32_t readId(const Json &value, const std::string &path, Status &error) {
  if (value.is_number_unsigned() && value.get<uint64_t>() < Vocabulary::idLimit)
    return value.get<int32_t>();
  if (error)
    error = Status::corrupt(path + " is " + describeJson(value) +
                            "; a token id is expected");
  return 0;
}

void readTemplate(JsonReader &reader, Status &error, TokenizerParts &parts) {
  const Json *tokens = reader.get("special_tokens");
  reader.skip("pair"); // encode() takes one text
  std::vector<int32_t> before, after;
  int texts = 0;
  const Json &items = reader.array("single");
  for (size_t i = 0; i < items.size() && error; ++i) {
    std::string path = itemPath(reader.pathOf("single"), i);
    JsonReader item(items[i], path, error);
    if (const Json *sequence = item.get("Sequence")) {
      JsonReader text(*sequence, item.pathOf("Sequence"), error);
      if (text.string("id") != "A")
        text.reject("id", "the template of a single text has only A");
      text.optInteger("type_id", 0, INT32_MAX);
      text.finish();
      ++texts;
    } else if (const Json *special = item.get("SpecialToken")) {
      JsonReader token(*special, item.pathOf("SpecialToken"), error);
      std::string name = token.string("id");
      token.optInteger("type_id", 0, INT32_MAX);
      token.finish();
      if (!tokens || !tokens->is_object() || !tokens->contains(name)) {
        token.reject("id", "it is not in special_tokens");
        break;
      }
      JsonReader entry((*tokens)[name], reader.pathOf("special_tokens." + name),
                       error);
      entry.skip("id");
      entry.skip("tokens");
      for (const Json &id : entry.array("ids"))
        (texts ? after : before)
            .push_back(readId(id, entry.pathOf("ids"), error));
      entry.finish();
    }
    item.finish();
  }
  if (error && texts != 1)
    reader.reject("single",
                  "a template with the text exactly once is expected");
  wrap(reader, std::move(before), std::move(after), parts);
}

void readPostProcessor(const Json &value, const std::string &path, int depth,
                       Status &error, TokenizerParts &parts) {
  JsonReader reader(value, path, error);
  std::string type = reader.string("type");
  if (!error)
    return;
  if (depth > maxDepth) {
    reader.fail(Status::unsupported(path + " is nested more than " +
                                    std::to_string(maxDepth) + " times"));
    return;
  }
  if (type == "Sequence") {
    const Json &items = reader.array("processors");
    for (size_t i = 0; i < items.size() && error; ++i)
      readPostProcessor(items[i], itemPath(reader.pathOf("processors"), i),
                        depth + 1, error, parts);
  } else if (type == "ByteLevel") {
    for (const char *key : {"add_prefix_space", "trim_offsets", "use_regex"})
      reader.optBool(key); // all about offsets
  } else if (type == "TemplateProcessing") {
    readTemplate(reader, error, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    auto token = [&](const char *key) -> std::vector<int32_t> {
      const Json &pair = reader.array(key);
      if (pair.size() == 2)
        return {readId(pair[1], reader.pathOf(key), error)};
      reader.reject(key, "a token and its id are expected");
      return {};
    };
    if (type == "RobertaProcessing")
      for (const char *key : {"trim_offsets", "add_prefix_space"})
        reader.optBool(key); // about offsets
    std::vector<int32_t> cls = token("cls"), sep = token("sep");
    wrap(reader, std::move(cls), std::move(sep), parts);
  } else {
    reader.reject("type", "this post-processor is not supported");
  }
  reader.finish();
}

std::vector<AddedToken> readAddedTokens(JsonReader &owner,
                                        const Vocabulary &vocabulary,
                                        Status &error) {
  std::vector<AddedToken> result;
  std::unordered_map<std::string, int32_t> seen;
  const Json &items = owner.array("added_tokens");
  for (size_t i = 0; i < items.size() && error; ++i) {
    JsonReader reader(items[i], itemPath("added_tokens", i), error);
    AddedToken token;
    token.id =
        static_cast<int32_t>(reader.integer("id", 0, Vocabulary::idLimit - 1));
    token.content = reader.string("content");
    token.singleWord = reader.boolean("single_word");
    token.lstrip = reader.boolean("lstrip");
    token.rstrip = reader.boolean("rstrip");
    token.normalized = reader.boolean("normalized");
    token.special = reader.boolean("special");
    reader.finish();
    if (!error)
      break;
    if (token.content.empty())
      continue; // the library drops these, too
    auto inModel = vocabulary.find(token.content);
    if (inModel && *inModel != token.id)
      reader.reject("id", "the vocabulary gives \"" + token.content +
                              "\" the id " + std::to_string(*inModel));
    auto [entry, isNew] = seen.try_emplace(token.content, token.id);
    if (!isNew && entry->second != token.id)
      reader.reject("id", "\"" + token.content +
                              "\" was added before with id " +
                              std::to_string(entry->second));
    if (isNew)
      result.push_back(std::move(token));
  }
  return result;
}

} // namespace

Result<std::unique_ptr<TokenizerParts>>
loadTokenizerJson(std::string_view text) {
  Result<Json> json = parseJson(text);
  if (!json)
    return json.getStatus();
  Status error;
  JsonReader reader(*json, "", error);
  auto version = reader.optString("version");
  if (version && *version != "1.0")
    reader.reject("version", "1.0 is supported");
  reader.skip("truncation");
  reader.skip("padding");
  auto parts = std::make_unique<TokenizerParts>();

  const Json *modelJson = reader.get("model");
  if (!modelJson)
    reader.reject("model", "an object is expected");
  if (!error)
    return error;
  auto model = readModel(*modelJson, parts->special.unk);
  if (!model)
    return model.getStatus();
  parts->model = model.take();

  if (const Json *value = reader.get("normalizer")) {
    Parts<Normalizer> steps;
    readNormalizer(*value, "normalizer", 0, error, steps);
    parts->normalizer = std::make_unique<NormalizerSequence>(std::move(steps));
  }
  if (const Json *value = reader.get("pre_tokenizer")) {
    Parts<PreTokenizer> steps;
    readPreTokenizer(*value, "pre_tokenizer", 0, error, steps);
    parts->preTokenizer =
        std::make_unique<PreTokenizerSequence>(std::move(steps));
  }
  if (const Json *value = reader.get("post_processor"))
    readPostProcessor(*value, "post_processor", 0, error, *parts);
  std::vector<std::unique_ptr<DecodeStep>> decodeSteps;
  if (const Json *value = reader.get("decoder")) {
    Flow flow = Flow::Tokens;
    readDecoder(*value, "decoder", 0, error, flow, decodeSteps);
  } else {
    decodeSteps.push_back(std::make_unique<SpacedDecoder>());
  }
  parts->decoder = std::make_unique<Decoder>(std::move(decodeSteps));
  std::vector<AddedToken> added =
      readAddedTokens(reader, parts->model->getVocabulary(), error);
  reader.finish();
  if (!error)
    return error;
  auto tokens = AddedTokens::create(std::move(added), parts->normalizer.get());
  if (!tokens)
    return tokens.getStatus();
  parts->added = tokens.take();
  return parts;
}

} // namespace weft::rt
