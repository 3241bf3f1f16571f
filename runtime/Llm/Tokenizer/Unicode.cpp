//===- Unicode.cpp - UTF-8 and the character classes tokenizers use -------===//

#include "runtime/Llm/Tokenizer/Unicode.h"

#include <algorithm>
#include <array>
#include <utf8proc.h>
#include <vector>

namespace weft::rt {

namespace {

constexpr std::string_view replacementChar = "\xef\xbf\xbd";

utf8proc_category_t categoryOf(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool isContinuation(uint8_t b) { return (b & 0xc0) == 0x80; }

/// How many bytes of `text` from `at` form a well-formed character or the
/// start of one, and how many the whole character has. A `found` smaller than
/// `wanted` is an ill-formed part, or unfinished when the text ends there.
struct Utf8Part {
  size_t found, wanted;
};

/// Table 3-7 of the Unicode standard.
Utf8Part scanUtf8(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return {1, 1};
  if (lead < 0xc2 || lead > 0xf4)
    return {0, 1};
  size_t wanted = utf8Length(static_cast<char>(lead));
  size_t left = text.size() - at;
  if (left < 2)
    return {1, wanted};
  uint8_t low = 0x80, high = 0xbf;
  if (lead == 0xe0)
    low = 0xa0;
  else if (lead == 0xed)
    high = 0x9f;
  else if (lead == 0xf0)
    low = 0x90;
  else if (lead == 0xf4)
    high = 0x8f;
  if (byte(1) < low || byte(1) > high)
    return {1, wanted};
  size_t found = 2;
  while (found < wanted && found < left && isContinuation(byte(found)))
    ++found;
  return {found, wanted};
}

} // namespace

char32_t nextChar(std::string_view text, size_t &at) {
  auto byte = [&] { return static_cast<uint8_t>(text[at++]); };
  uint8_t lead = byte();
  if (lead < 0x80)
    return lead;
  if (lead < 0xe0) {
    char32_t c = lead & 0x1f;
    return c << 6 | (byte() & 0x3f);
  }
  char32_t c = lead < 0xf0 ? lead & 0x0f : lead & 0x07;
  for (int i = lead < 0xf0 ? 2 : 3; i > 0; --i)
    c = c << 6 | (byte() & 0x3f);
  return c;
}

char32_t previousChar(std::string_view text, size_t &at) {
  do
    --at;
  while (isContinuation(static_cast<uint8_t>(text[at])));
  size_t start = at;
  return nextChar(text, start);
}

void appendChar(std::string &out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  utf8proc_uint8_t bytes[4];
  auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  out.append(reinterpret_cast<const char *>(bytes), count);
}

std::optional<size_t> findInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    Utf8Part part = scanUtf8(text, at);
    if (part.found != part.wanted)
      return at;
    at += part.found;
  }
  return std::nullopt;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                : c >= 'a' && c <= 'z' ? c - 'a' + 26
                : c >= '0' && c <= '9' ? c - '0' + 52
                : c == '+'             ? 62
                : c == '/'             ? 63
                                       : -1;
    if (value < 0)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  return bytes;
}

void Utf8Assembler::push(std::string_view bytes, std::string &out) {
  std::string joined;
  if (!pending.empty()) {
    joined = std::move(pending);
    pending.clear();
    joined += bytes;
    bytes = joined;
  }
  for (size_t at = 0; at < bytes.size();) {
    Utf8Part part = scanUtf8(bytes, at);
    if (part.found == part.wanted) {
      out += bytes.substr(at, part.found);
      at += part.found;
    } else if (part.found > 0 && at + part.found == bytes.size()) {
      pending = bytes.substr(at);
      return;
    } else {
      out += replacementChar;
      at += part.found > 0 ? part.found : 1;
    }
  }
}

void Utf8Assembler::finish(std::string &out) {
  if (pending.empty())
    return;
  pending.clear();
  out += replacementChar;
}

bool isWhitespace(char32_t c) {
  if (c < 0x80)
    return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

bool isNumeric(char32_t c) {
  auto category = categoryOf(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

namespace {

struct CharRange {
  char32_t first, last;
};

/// Where punctuation differs between Unicode 15 and Unicode 8, whose tables the
/// tokenizers library has: added later, but for U+166D and U+111C9, which were
/// punctuation then.
constexpr CharRange punctuationSinceUnicode8[] = {
    {0x61d, 0x61d},     {0x9fd, 0x9fd},     {0xa76, 0xa76},
    {0xc77, 0xc77},     {0xc84, 0xc84},     {0x166d, 0x166d},
    {0x1b7d, 0x1b7e},   {0x2e43, 0x2e4f},   {0x2e52, 0x2e5d},
    {0x10ead, 0x10ead}, {0x10f55, 0x10f59}, {0x10f86, 0x10f89},
    {0x111c9, 0x111c9}, {0x1144b, 0x1144f}, {0x1145a, 0x1145b},
    {0x1145d, 0x1145d}, {0x11660, 0x1166c}, {0x116b9, 0x116b9},
    {0x1183b, 0x1183b}, {0x11944, 0x11946}, {0x119e2, 0x119e2},
    {0x11a3f, 0x11a46}, {0x11a9a, 0x11a9c}, {0x11a9e, 0x11aa2},
    {0x11b00, 0x11b09}, {0x11c41, 0x11c45}, {0x11c70, 0x11c71},
    {0x11ef7, 0x11ef8}, {0x11f43, 0x11f4f}, {0x11fff, 0x11fff},
    {0x12ff1, 0x12ff2}, {0x16e97, 0x16e9a}, {0x16fe2, 0x16fe2},
    {0x1e95e, 0x1e95f},
};

/// The same for format characters.
constexpr CharRange formatSinceUnicode8[] = {
    {0x890, 0x891}, {0x8e2, 0x8e2}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}};

template <size_t count>
bool isIn(const CharRange (&ranges)[count], char32_t c) {
  auto range = std::lower_bound(
      std::begin(ranges), std::end(ranges), c,
      [](const CharRange &r, char32_t value) { return r.last < value; });
  return range != std::end(ranges) && range->first <= c;
}

} // namespace

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  auto category = categoryOf(c);
  bool now =
      category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
  return now != isIn(punctuationSinceUnicode8, c);
}

bool isNonspacingMark(char32_t c) {
  return categoryOf(c) == UTF8PROC_CATEGORY_MN;
}

bool isCombiningMark(char32_t c) {
  auto category = categoryOf(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool isControl(char32_t c) {
  auto category = categoryOf(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CO ||
         (category == UTF8PROC_CATEGORY_CF && !isIn(formatSinceUnicode8, c));
}

bool isWordChar(char32_t c) {
  if (c < 0x80)
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
  auto category = categoryOf(c);
  if ((category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
      category == UTF8PROC_CATEGORY_PC)
    return true; // Lu Ll Lt Lm Lo Mn Mc Me Nd Nl, Pc
  // Alphabetic symbols (circled and squared letters) and Join_Control.
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189) ||
         c == 0x200c || c == 0x200d;
}

bool isBertCjk(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void appendLower(std::string &out, char32_t c) {
  // The one character whose lower case has two (SpecialCasing.txt).
  if (c == 0x130) {
    out += "i\xcc\x87";
    return;
  }
  appendChar(out, static_cast<char32_t>(
                      utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

namespace {

/// Canonical ordering: sorts each run of characters with a combining class by
/// that class, without changing the order within one. `order` is a buffer.
void sortMarks(std::vector<utf8proc_int32_t> &chars,
               std::vector<uint64_t> &order) {
  auto classOf = [](utf8proc_int32_t c) {
    return static_cast<uint64_t>(utf8proc_get_property(c)->combining_class);
  };
  for (size_t begin = 0; begin < chars.size(); ++begin) {
    size_t end = begin;
    while (end < chars.size() && classOf(chars[end]) != 0)
      ++end;
    if (end > begin + 1) {
      order.clear();
      for (size_t i = begin; i < end; ++i)
        order.push_back(classOf(chars[i]) << 56 | (i - begin) << 24 |
                        static_cast<uint64_t>(chars[i]));
      std::sort(order.begin(), order.end());
      for (size_t i = begin; i < end; ++i)
        chars[i] = static_cast<utf8proc_int32_t>(order[i - begin] & 0xffffff);
    }
    begin = end;
  }
}

} // namespace

std::string normalizeUnicode(std::string_view text, NormalForm form) {
  bool compose = form == NormalForm::Nfc || form == NormalForm::Nfkc;
  bool compatible = form == NormalForm::Nfkc || form == NormalForm::Nfkd;
  int options = UTF8PROC_STABLE |
                (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                (compatible ? UTF8PROC_COMPAT : 0);
  // ASCII is its own normal form and most of what is encoded; runs of it are
  // copied. A run ends one character early because the next may combine.
  std::string out;
  out.reserve(text.size());
  std::vector<utf8proc_int32_t> buffer;
  std::vector<uint64_t> order;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && static_cast<uint8_t>(text[end]) < 0x80)
      ++end;
    if (end == text.size() || end > at + 1) {
      size_t stop = end == text.size() ? end : end - 1;
      out += text.substr(at, stop - at);
      at = stop;
      continue;
    }
    while (end < text.size() && static_cast<uint8_t>(text[end]) >= 0x80)
      ++end;
    // utf8proc sorts combining marks by insertion; a long run of them would
    // take quadratic time, so characters are decomposed here and sorted below.
    buffer.clear();
    for (size_t i = at; i < end;) {
      auto c = static_cast<utf8proc_int32_t>(nextChar(text, i));
      utf8proc_int32_t parts[32];
      int last = 0;
      auto count = utf8proc_decompose_char(
          c, parts, 32, static_cast<utf8proc_option_t>(options), &last);
      if (count < 0 || count > 32) {
        buffer.push_back(c);
        continue;
      }
      buffer.insert(buffer.end(), parts, parts + count);
    }
    sortMarks(buffer, order);
    auto count = static_cast<utf8proc_ssize_t>(buffer.size());
    if (compose)
      count = utf8proc_normalize_utf32(buffer.data(), count,
                                       static_cast<utf8proc_option_t>(options));
    for (utf8proc_ssize_t i = 0; i < count; ++i)
      appendChar(out, static_cast<char32_t>(buffer[i]));
    at = end;
  }
  return out;
}

size_t graphemeEnd(std::string_view text, size_t at) {
  utf8proc_int32_t state = 0;
  auto current = static_cast<utf8proc_int32_t>(nextChar(text, at));
  while (at < text.size()) {
    size_t next = at;
    auto following = static_cast<utf8proc_int32_t>(nextChar(text, next));
    if (utf8proc_grapheme_break_stateful(current, following, &state))
      break;
    current = following;
    at = next;
  }
  return at;
}

namespace {

/// Characters of the alphabet end below this.
constexpr size_t alphabetEnd = 0x144;

struct Alphabet {
  std::array<char16_t, 256> toChar{};
  std::array<int16_t, alphabetEnd> toByte{};

  constexpr Alphabet() {
    toByte.fill(-1);
    char16_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      bool printable =
          (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      toChar[b] = printable ? static_cast<char16_t>(b) : next++;
      toByte[toChar[b]] = static_cast<int16_t>(b);
    }
  }
};

constexpr Alphabet alphabet;

} // namespace

char32_t byteToAlphabet(uint8_t byte) { return alphabet.toChar[byte]; }

std::optional<uint8_t> alphabetToByte(char32_t c) {
  if (c >= alphabetEnd || alphabet.toByte[c] < 0)
    return std::nullopt;
  return static_cast<uint8_t>(alphabet.toByte[c]);
}

} // namespace weft::rt
