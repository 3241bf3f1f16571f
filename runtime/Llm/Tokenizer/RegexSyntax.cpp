//===- RegexSyntax.cpp - Oniguruma's Ruby syntax in terms of PCRE2 --------===//

#include "runtime/Llm/Tokenizer/RegexSyntax.h"

#include "runtime/Llm/Tokenizer/RegexClasses.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

#include <optional>
#include <vector>

namespace weft::rt {

namespace {

/// Deeper nesting is refused; real patterns have two or three levels.
constexpr int maxDepth = 32;

/// A set of characters while it is parsed: plain items of one bracket, and
/// sets that need brackets of their own.
struct CharSet {
  std::string items;
  std::vector<std::string> others;

  /// PCRE2 text that matches one character of the set.
  std::string text() const {
    if (others.empty())
      return items.empty() ? "(?!)" : "[" + items + "]";
    std::string result = "(?:";
    if (!items.empty())
      result += "[" + items + "]|";
    for (size_t i = 0; i < others.size(); ++i)
      result += (i ? "|" : "") + others[i];
    return result + ")";
  }
};

class Translator {
public:
  explicit Translator(std::string_view pattern) : pattern(pattern) {}

  Result<std::string> run();

private:
  bool atEnd() const { return at >= pattern.size(); }
  char peek(size_t offset = 0) const {
    return at + offset < pattern.size() ? pattern[at + offset] : '\0';
  }
  bool startsWith(std::string_view text) const {
    return pattern.substr(at).starts_with(text);
  }
  Status fail(std::string_view what) const {
    return Status::unsupported(
        "the regular expression \"" + std::string(pattern) + "\" has " +
        std::string(what) + " at byte " + std::to_string(at));
  }

  /// One more atom begins in the output: what a quantifier applies to.
  void beginAtom() { atomStart = out.size(); }
  void emitAtom(std::string_view text) {
    beginAtom();
    out += text;
  }

  Status group();
  Status escape();
  Status interval();
  Result<std::string> charClass(int depth);
  Status classItem(CharSet &set);
  Status property(CharSet &set);
  Result<std::string> codePoint();

  std::string_view pattern;
  size_t at = 0;
  std::string out;
  size_t atomStart = 0;
  std::vector<size_t> groupStarts;
};

std::string hexEscape(char32_t c) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  do
    hex.insert(hex.begin(), digits[c & 15]);
  while (c >>= 4);
  return "\\x{" + hex + "}";
}

void addClass(CharSet &set, std::string_view items, bool negated) {
  if (negated)
    set.others.push_back("[^" + std::string(items) + "]");
  else
    set.items += items;
}

/// Adds what \s, \W and so on mean; false when `letter` is no such class.
bool addShorthand(CharSet &set, char letter, bool inBrackets) {
  const bool isUpper = letter >= 'A' && letter <= 'Z';
  std::optional<std::string> items =
      getShorthandItems(isUpper ? char(letter + 32) : letter, inBrackets);
  if (items)
    addClass(set, *items, isUpper);
  return items.has_value();
}

/// Reads \p{...} or \P{...}; `at` is at the p.
Status Translator::property(CharSet &set) {
  bool negated = pattern[at++] == 'P';
  size_t close = pattern.find('}', at);
  if (peek() != '{' || close == std::string_view::npos)
    return fail("\\p without a name in braces");
  std::string_view name = pattern.substr(at + 1, close - at - 1);
  at = close + 1;
  if (name.starts_with('^')) {
    negated = !negated;
    name.remove_prefix(1);
  }
  std::string plain;
  for (char c : name)
    if (c != ' ' && c != '-' && c != '_')
      plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (std::optional<std::string_view> items = findPropertyItems(plain)) {
    addClass(set, *items, negated);
    return Status::ok();
  }
  for (char c : plain)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
      return fail("a property name with strange characters");
  // General categories, binary properties and scripts have the same names in
  // PCRE2, which rejects what it does not know. A script by its plain name is
  // its Script_Extensions there; Oniguruma means Script.
  bool script = plain.size() > 2 && !isBinaryProperty(plain);
  set.items += (negated ? "\\P{" : "\\p{") + std::string(script ? "sc:" : "") +
               plain + "}";
  return Status::ok();
}

/// Reads the rest of a numeric or letter escape whose backslash was read.
/// Returns PCRE2's spelling of the character.
Result<std::string> Translator::codePoint() {
  auto hex = [&](size_t most) {
    char32_t value = 0;
    size_t count = 0;
    for (; count < most && !atEnd(); ++count) {
      char c = peek();
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0)
        break;
      value = value * 16 + static_cast<char32_t>(digit);
      ++at;
    }
    return std::pair(value, count);
  };
  auto checked = [&](char32_t value) -> Result<std::string> {
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
      return fail("an escape that is not a Unicode character");
    return hexEscape(value);
  };
  char c = pattern[at];
  switch (c) {
  case 'n':
    ++at;
    return hexEscape('\n');
  case 'r':
    ++at;
    return hexEscape('\r');
  case 't':
    ++at;
    return hexEscape('\t');
  case 'f':
    ++at;
    return hexEscape('\f');
  case 'v':
    ++at;
    return hexEscape('\v');
  case 'a':
    ++at;
    return hexEscape('\a');
  case 'e':
    ++at;
    return hexEscape(0x1b);
  case 'u': {
    ++at;
    auto [value, count] = hex(4);
    if (count != 4)
      return fail("\\u without four hexadecimal digits");
    return checked(value);
  }
  case 'x': {
    ++at;
    if (peek() == '{') {
      ++at;
      auto [value, count] = hex(8);
      if (count == 0 || peek() != '}')
        return fail("\\x{ without hexadecimal digits and }");
      ++at;
      return checked(value);
    }
    auto [value, count] = hex(2);
    if (value >= 0x80)
      return fail("\\x with a byte that is not ASCII");
    return checked(value);
  }
  case '0': {
    ++at;
    char32_t value = 0;
    for (int i = 0; i < 2 && peek() >= '0' && peek() <= '7'; ++i)
      value = value * 8 + static_cast<char32_t>(pattern[at++] - '0');
    return checked(value);
  }
  default:
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        (c >= '0' && c <= '9'))
      return fail("an escape that is not supported (\\" + std::string(1, c) +
                  ")");
    return hexEscape(nextChar(pattern, at));
  }
}

/// One item between brackets, or a range of characters.
Status Translator::classItem(CharSet &set) {
  auto single = [&](bool &isSet) -> Result<std::string> {
    if (peek() != '\\')
      return hexEscape(nextChar(pattern, at));
    ++at;
    if (atEnd())
      return fail("a backslash without a character");
    if (peek() == 'b') {
      ++at;
      return hexEscape('\b');
    }
    if (peek() == 'p' || peek() == 'P') {
      isSet = true;
      if (Status status = property(set); !status)
        return status;
      return std::string();
    }
    if (addShorthand(set, peek(), true)) {
      ++at;
      isSet = true;
      return std::string();
    }
    return codePoint();
  };
  bool isSet = false;
  Result<std::string> first = single(isSet);
  if (!first)
    return first.getStatus();
  if (isSet)
    return Status::ok();
  set.items += *first;
  // A '-' before ']', '[' or '&&' is a plain character.
  if (peek() != '-' || peek(1) == ']' || peek(1) == '[' || peek(1) == '\0' ||
      (peek(1) == '&' && peek(2) == '&'))
    return Status::ok();
  ++at;
  Result<std::string> last = single(isSet);
  if (!last)
    return last.getStatus();
  if (isSet)
    return fail("a range that ends in a class");
  set.items += "-" + *last;
  return Status::ok();
}

/// Reads a bracket expression from '['. Returns PCRE2 text for one character.
Result<std::string> Translator::charClass(int depth) {
  if (depth > maxDepth)
    return fail("too deeply nested brackets");
  ++at;
  bool negated = peek() == '^';
  if (negated)
    ++at;
  std::vector<CharSet> operands(1);
  if (peek() == ']') {
    operands.back().items += hexEscape(']');
    ++at;
  }
  while (true) {
    if (atEnd())
      return fail("'[' without ']'");
    if (peek() == ']') {
      ++at;
      break;
    }
    CharSet &set = operands.back();
    if (startsWith("&&")) {
      at += 2;
      operands.emplace_back();
    } else if (startsWith("[:")) {
      size_t close = pattern.find(":]", at);
      if (close == std::string_view::npos)
        return fail("'[:' without ':]'");
      std::string_view name = pattern.substr(at + 2, close - at - 2);
      bool negatedName = name.starts_with('^');
      std::optional<std::string_view> items =
          findPropertyItems(name.substr(negatedName));
      if (!items)
        return fail("an unknown POSIX bracket");
      addClass(set, *items, negatedName);
      at = close + 2;
    } else if (peek() == '[') {
      Result<std::string> inner = charClass(depth + 1);
      if (!inner)
        return inner;
      set.others.push_back(inner.take());
    } else if (Status status = classItem(set); !status) {
      return status;
    }
  }
  std::string text;
  if (operands.size() == 1) {
    CharSet &set = operands[0];
    if (negated && set.others.empty())
      return "[^" + set.items + "]";
    text = set.text();
  } else {
    text = "(?:";
    for (size_t i = 0; i + 1 < operands.size(); ++i)
      text += "(?=" + operands[i].text() + ")";
    text += operands.back().text() + ")";
  }
  return negated ? "(?:(?!" + text + ")(?s:.))" : text;
}

/// Reads an escape outside of brackets; `at` is at the backslash.
Status Translator::escape() {
  ++at;
  if (atEnd())
    return fail("a backslash without a character");
  char c = peek();
  CharSet set;
  if (c == 'p' || c == 'P') {
    if (Status status = property(set); !status)
      return status;
    emitAtom(set.text());
    return Status::ok();
  }
  if (addShorthand(set, c, false)) {
    ++at;
    emitAtom(set.text());
    return Status::ok();
  }
  std::string word = "[" + *getShorthandItems('w', false) + "]";
  std::string boundary =
      "(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + ")";
  switch (c) {
  case 'b':
    emitAtom("(?:" + boundary + ")");
    break;
  case 'B':
    emitAtom("(?!" + boundary + ")");
    break;
  case 'R':
    emitAtom(R"((?>\r\n|[\x{a}-\x{d}\x{85}\x{2028}\x{2029}]))");
    break;
  case 'N':
    emitAtom("[^\\x{a}]");
    break;
  case 'O':
    emitAtom("(?s:.)");
    break;
  case 'X':
  case 'K':
  case 'G':
  case 'A':
  case 'z':
  case 'Z':
    emitAtom(std::string("\\") + c);
    break;
  default: {
    if (c >= '1' && c <= '9')
      return fail("a back reference, which is not supported");
    Result<std::string> text = codePoint();
    if (!text)
      return text.getStatus();
    emitAtom(*text);
    return Status::ok();
  }
  }
  ++at;
  return Status::ok();
}

/// Reads what follows '(' up to the start of the group's content.
Status Translator::group() {
  beginAtom();
  groupStarts.push_back(out.size());
  ++at;
  if (peek() == '*')
    return fail("a callout, which is not supported");
  if (peek() != '?') {
    out += "(?:"; // nothing refers to a capture
    return Status::ok();
  }
  for (std::string_view same : {"?:", "?=", "?!", "?>", "?<=", "?<!"})
    if (startsWith(same)) {
      out += "(" + std::string(same);
      at += same.size();
      return Status::ok();
    }
  if (startsWith("?#")) {
    groupStarts.pop_back();
    size_t close = pattern.find(')', at);
    if (close == std::string_view::npos)
      return fail("'(?#' without ')'");
    at = close + 1;
    return Status::ok();
  }
  if (peek(1) == '<' || peek(1) == '\'') {
    char end = peek(1) == '<' ? '>' : '\'';
    size_t close = pattern.find(end, at + 2);
    if (close == std::string_view::npos)
      return fail("a group without the end of its name");
    out += "(?:";
    at = close + 1;
    return Status::ok();
  }
  out += "(?";
  for (++at; !atEnd(); ++at) {
    char c = peek();
    if (c == 'i' || c == '-') {
      out += c;
    } else if (c == 'm') {
      out += 's';
    } else if (c == ':') {
      out += ':';
      ++at;
      return Status::ok();
    } else if (c == ')') {
      out += ')';
      ++at;
      groupStarts.pop_back();
      return Status::ok();
    } else {
      break;
    }
  }
  return fail("a kind of group that is not supported");
}

/// Reads {n}, {n,}, {n,m} or {,m}; any other brace is a plain character.
Status Translator::interval() {
  size_t end = at + 1;
  bool digits = false, comma = false;
  while (end < pattern.size() && pattern[end] != '}') {
    if (pattern[end] == ',' && !comma)
      comma = true;
    else if (pattern[end] >= '0' && pattern[end] <= '9')
      digits = true;
    else
      break;
    ++end;
  }
  if (end >= pattern.size() || pattern[end] != '}' || !digits) {
    ++at;
    emitAtom(hexEscape('{'));
    return Status::ok();
  }
  std::string_view body = pattern.substr(at + 1, end - at - 1);
  out += (body.starts_with(',') ? "{0" : "{") + std::string(body) + "}";
  at = end + 1;
  // A '+' behind an interval repeats it, and so does '?' behind {n}.
  if (peek() == '+' || (peek() == '?' && !comma)) {
    out.insert(atomStart, "(?:");
    out += ")";
  }
  return Status::ok();
}

Result<std::string> Translator::run() {
  if (auto bad = findInvalidUtf8(pattern))
    return Status::corrupt("a regular expression is not valid UTF-8 at byte " +
                           std::to_string(*bad));
  while (!atEnd()) {
    Status status;
    switch (char c = peek()) {
    case '\\':
      status = escape();
      break;
    case '[': {
      Result<std::string> text = charClass(0);
      if (!text)
        return text;
      emitAtom(*text);
      break;
    }
    case '(':
      status = group();
      break;
    case ')':
      if (groupStarts.empty())
        return fail("')' without '('");
      out += ')';
      atomStart = groupStarts.back();
      groupStarts.pop_back();
      ++at;
      break;
    case '{':
      status = interval();
      break;
    case '*':
    case '+':
    case '?':
    case '|':
    case '^':
    case '$':
    case '.':
      if (c == '.' || c == '^' || c == '$')
        beginAtom();
      out += c;
      ++at;
      break;
    default:
      emitAtom(hexEscape(nextChar(pattern, at)));
      break;
    }
    if (!status)
      return status;
  }
  if (!groupStarts.empty())
    return fail("'(' without ')'");
  return std::move(out);
}

} // namespace

Result<std::string> translateRegex(std::string_view pattern) {
  return Translator(pattern).run();
}

std::string escapeRegex(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (static_cast<uint8_t>(c) < 0x80 && !isWordChar(static_cast<uint8_t>(c)))
      result += '\\';
    result += c;
  }
  return result;
}

} // namespace weft::rt
