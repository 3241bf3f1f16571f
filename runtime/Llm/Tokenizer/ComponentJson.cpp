//===- ComponentJson.cpp - Steps of tokenizer.json ------------------------===//

#include "runtime/Llm/Tokenizer/ComponentJson.h"

#include "runtime/Llm/Tokenizer/RegexSyntax.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

namespace weft::rt {

namespace {

/// A string of exactly one character.
char32_t readCharacter(JsonReader &reader, const char *key) {
  std::string text = reader.string(key);
  if (text.empty() || utf8Length(text[0]) != text.size()) {
    reader.reject(key, "one character is expected");
    return U' ';
  }
  size_t at = 0;
  return nextChar(text, at);
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

/// Adds the steps that one normalizer is.
void readNormalizer(JsonReader &reader, const std::string &type, Status &error,
                    std::vector<std::unique_ptr<Normalizer>> &steps) {
  auto add = [&](auto step) { steps.push_back(std::move(step)); };
  if (type == "NFC") {
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
  result.replacement = readCharacter(reader, "replacement");
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

void readPreTokenizer(JsonReader &reader, const std::string &type,
                      Status &error,
                      std::vector<std::unique_ptr<PreTokenizer>> &steps) {
  using CharClass = CharSplitPreTokenizer::Class;
  auto add = [&](auto step) { steps.push_back(std::move(step)); };
  if (type == "ByteLevel") {
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
        CharClass::One, SplitBehavior::Removed,
        readCharacter(reader, "delimiter")));
  } else if (type == "FixedLength") {
    add(std::make_unique<FixedLengthPreTokenizer>(static_cast<size_t>(
        reader.optInteger("length", 1, INT32_MAX).value_or(5))));
  } else {
    reader.reject("type", "this pre-tokenizer is not supported");
  }
}

/// What the steps before a decoder step hand on.
enum class Flow { Tokens, Characters, Fused };

void readDecoder(JsonReader &reader, const std::string &type, Status &error,
                 Flow &flow, std::vector<std::unique_ptr<DecodeStep>> &steps) {
  auto add = [&](auto step) { steps.push_back(std::move(step)); };
  // A step that treats tokens differently by where they begin and end cannot
  // stand behind ByteFallback, which hands on characters as they complete.
  auto needsTokens = [&] {
    if (flow != Flow::Tokens)
      reader.reject("type",
                    "it is not supported behind ByteFallback, ByteLevel "
                    "or Fuse");
  };
  if (type == "ByteLevel") {
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
    char32_t content = readCharacter(reader, "content");
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
}

/// Sequences in sequences deeper than this are refused.
constexpr int maxDepth = 16;

void readNested(
    const Json &value, const std::string &path, const char *listKey, int depth,
    Status &error,
    const std::function<void(JsonReader &, const std::string &type)> &read) {
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
    const Json &items = reader.array(listKey);
    for (size_t i = 0; i < items.size() && error; ++i)
      readNested(items[i], itemPath(reader.pathOf(listKey), i), listKey,
                 depth + 1, error, read);
  } else {
    read(reader, type);
  }
  reader.finish();
}

} // namespace

std::string itemPath(const std::string &path, size_t i) {
  return path + "[" + std::to_string(i) + "]";
}

void readComponents(
    const Json &value, const std::string &path, const char *listKey,
    Status &error,
    const std::function<void(JsonReader &, const std::string &type)> &read) {
  readNested(value, path, listKey, 0, error, read);
}

std::vector<std::unique_ptr<Normalizer>> readNormalizers(const Json &value,
                                                         Status &error) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  readComponents(value, "normalizer", "normalizers", error,
                 [&](JsonReader &reader, const std::string &type) {
                   readNormalizer(reader, type, error, steps);
                 });
  return steps;
}

std::vector<std::unique_ptr<PreTokenizer>> readPreTokenizers(const Json &value,
                                                             Status &error) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  readComponents(value, "pre_tokenizer", "pretokenizers", error,
                 [&](JsonReader &reader, const std::string &type) {
                   readPreTokenizer(reader, type, error, steps);
                 });
  return steps;
}

std::vector<std::unique_ptr<DecodeStep>> readDecoders(const Json &value,
                                                      Status &error) {
  std::vector<std::unique_ptr<DecodeStep>> steps;
  Flow flow = Flow::Tokens;
  readComponents(value, "decoder", "decoders", error,
                 [&](JsonReader &reader, const std::string &type) {
                   readDecoder(reader, type, error, flow, steps);
                 });
  return steps;
}

} // namespace weft::rt
