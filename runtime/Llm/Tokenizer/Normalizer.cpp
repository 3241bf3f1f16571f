//===- Normalizer.cpp - Text to text, before it is split ------------------===//

#include "runtime/Llm/Tokenizer/Normalizer.h"

#include <algorithm>

namespace weft::rt {

Status NormalizerSequence::apply(NormalizedText &text) const {
  for (const auto &step : steps)
    if (Status status = step->apply(text); !status)
      return status;
  return Status::ok();
}

namespace {

/// Rewrites `text` character by character with map(c, out).
template <typename Map> void mapChars(NormalizedText &text, Map map) {
  std::string out;
  out.reserve(text.text.size());
  size_t startBytes = 0;
  for (size_t at = 0; at < text.text.size();) {
    bool atStart = at < text.startBytes;
    map(nextChar(text.text, at), out);
    if (atStart)
      startBytes = out.size();
  }
  text.text = std::move(out);
  text.startBytes = startBytes;
}

} // namespace

Status CharNormalizer::apply(NormalizedText &text) const {
  mapChars(text, [&](char32_t c, std::string &out) { map(c, out); });
  return Status::ok();
}

Status UnicodeNormalizer::apply(NormalizedText &text) const {
  // The characters that the first one becomes are those it becomes alone,
  // unless the next one composes with it: then the result is one character.
  if (text.startBytes > 0) {
    std::string first = normalizeUnicode(
        std::string_view(text.text).substr(0, text.startBytes), form);
    text.text = normalizeUnicode(text.text, form);
    text.startBytes = std::string_view(text.text).starts_with(first)
                          ? first.size()
                          : utf8Length(text.text[0]);
    return Status::ok();
  }
  text.text = normalizeUnicode(text.text, form);
  return Status::ok();
}

void LowercaseNormalizer::map(char32_t c, std::string &out) const {
  appendLower(out, c);
}

void StripAccentsNormalizer::map(char32_t c, std::string &out) const {
  if (!isCombiningMark(c))
    appendChar(out, c);
}

void NmtNormalizer::map(char32_t c, std::string &out) const {
  bool removed = (c >= 1 && c <= 8) || c == 0x0b || (c >= 0x0e && c <= 0x1f) ||
                 c == 0x7f || c == 0x8f || c == 0x9f;
  bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d ||
               c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
               c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
  if (!removed)
    appendChar(out, space ? U' ' : c);
}

void ByteLevelNormalizer::map(char32_t c, std::string &out) const {
  std::string bytes;
  appendChar(bytes, c);
  for (char b : bytes)
    appendChar(out, byteToAlphabet(static_cast<uint8_t>(b)));
}

Status StripNormalizer::apply(NormalizedText &text) const {
  std::string_view view = text.text;
  size_t begin = 0, end = view.size();
  if (left)
    for (size_t at = 0; at < end && isWhitespace(nextChar(view, at));)
      begin = at;
  if (right)
    for (size_t at = end; at > begin && isWhitespace(previousChar(view, at));)
      end = at;
  text.startBytes -= std::min(text.startBytes, begin);
  text.text = text.text.substr(begin, end - begin);
  text.startBytes = std::min(text.startBytes, text.text.size());
  return Status::ok();
}

Status PrependNormalizer::apply(NormalizedText &text) const {
  if (text.text.empty())
    return Status::ok();
  if (text.startBytes > 0)
    text.startBytes += prefix.size();
  text.text.insert(0, prefix);
  return Status::ok();
}

Status ReplaceNormalizer::apply(NormalizedText &text) const {
  std::string out;
  out.reserve(text.text.size());
  size_t copied = 0, startBytes = text.startBytes;
  Regex::Matches matches(pattern);
  matches.reset(text.text);
  if (text.text.empty())
    return Status::ok();
  while (true) {
    Result<std::optional<TextRange>> match = matches.next();
    if (!match)
      return match.getStatus();
    if (!*match)
      break;
    TextRange range = **match;
    out.append(text.text, copied, range.begin - copied);
    // The content counts as made of the last character of the match.
    if (range.begin < text.startBytes) {
      bool whole = range.end <= text.startBytes;
      startBytes = out.size() + (whole ? content.size() : 0) +
                   (whole ? text.startBytes - range.end : 0);
    }
    out += content;
    copied = range.end;
  }
  out.append(text.text, copied);
  text.text = std::move(out);
  text.startBytes = std::min(startBytes, text.text.size());
  return Status::ok();
}

Status BertNormalizer::apply(NormalizedText &text) const {
  mapChars(text, [&](char32_t c, std::string &out) {
    if (options.cleanText) {
      bool plainSpace = c == '\t' || c == '\n' || c == '\r';
      if (!plainSpace && (c == 0 || c == 0xfffd || isControl(c)))
        return;
      if (plainSpace || isWhitespace(c))
        c = ' ';
    }
    if (options.cjkSpaces && isBertCjk(c)) {
      out += ' ';
      appendChar(out, c);
      out += ' ';
      return;
    }
    appendChar(out, c);
  });
  if (options.stripAccents) {
    if (Status status = UnicodeNormalizer(NormalForm::Nfd).apply(text); !status)
      return status;
    mapChars(text, [](char32_t c, std::string &out) {
      if (!isNonspacingMark(c))
        appendChar(out, c);
    });
  }
  if (options.lowercase)
    mapChars(text, [](char32_t c, std::string &out) { appendLower(out, c); });
  return Status::ok();
}

Result<std::unique_ptr<Normalizer>>
CharsmapNormalizer::create(std::string_view charsmap) {
  auto load = [&](size_t at) {
    uint32_t value = 0;
    for (int i = 3; i >= 0; --i)
      value = value << 8 | static_cast<uint8_t>(charsmap[at + i]);
    return value;
  };
  uint32_t size = charsmap.size() >= 4 ? load(0) : 0;
  if (size == 0 || size % 4 != 0 || size > charsmap.size() - 4)
    return Status::corrupt("precompiled_charsmap of " +
                           std::to_string(charsmap.size()) +
                           " bytes claims a trie of " + std::to_string(size) +
                           " bytes, which does not fit");
  auto result = std::make_unique<CharsmapNormalizer>();
  result->trie.resize(size / 4);
  for (size_t i = 0; i < result->trie.size(); ++i)
    result->trie[i] = load(4 + 4 * i);
  result->strings = charsmap.substr(4 + size);
  if (auto bad = findInvalidUtf8(result->strings))
    return Status::corrupt("precompiled_charsmap has a replacement that is not "
                           "valid UTF-8 at byte " +
                           std::to_string(4 + size + *bad));
  return std::unique_ptr<Normalizer>(std::move(result));
}

// The layout of a unit is that of darts-clone: bit 31 marks a value, bits 0-7
// are the label, bit 8 says that a value hangs below, and the offset to the
// children is in bits 10-30, shifted by 8 more when bit 9 is set.
std::optional<std::string_view>
CharsmapNormalizer::find(std::string_view text) const {
  auto offsetOf = [](uint32_t unit) {
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
  };
  size_t position = offsetOf(trie[0]);
  for (char c : text) {
    auto byte = static_cast<uint8_t>(c);
    if (byte == 0)
      return std::nullopt;
    position ^= byte;
    if (position >= trie.size())
      return std::nullopt;
    uint32_t unit = trie[position];
    if ((unit & (1u << 31 | 0xff)) != byte)
      return std::nullopt;
    position ^= offsetOf(unit);
    if (unit & (1u << 8)) {
      size_t value =
          position < trie.size() ? trie[position] & 0x7fffffff : SIZE_MAX;
      if (value >= strings.size())
        return std::nullopt;
      std::string_view rest = std::string_view(strings).substr(value);
      return rest.substr(0, std::min(rest.find('\0'), rest.size()));
    }
  }
  return std::nullopt;
}

Status CharsmapNormalizer::apply(NormalizedText &text) const {
  std::string out;
  out.reserve(text.text.size());
  std::string_view view = text.text;
  size_t startBytes = 0;
  auto emit = [&](size_t from, std::string_view bytes) {
    out += bytes;
    if (from < text.startBytes)
      startBytes = out.size();
  };
  // Grapheme clusters of up to five bytes are looked up whole, then each
  // character. Looked up means: the shortest key at its start.
  for (size_t at = 0; at < view.size();) {
    size_t end = graphemeEnd(view, at);
    std::string_view cluster = view.substr(at, end - at);
    if (cluster.size() < 6)
      if (auto replacement = find(cluster)) {
        emit(at, *replacement);
        at = end;
        continue;
      }
    while (at < end) {
      size_t length = utf8Length(view[at]);
      std::string_view part = view.substr(at, length);
      emit(at, find(part).value_or(part));
      at += length;
    }
  }
  text.text = std::move(out);
  text.startBytes = startBytes;
  return Status::ok();
}

} // namespace weft::rt
