//===- RegexClasses.cpp - Oniguruma's character classes in PCRE2's terms --===//

#include "runtime/Llm/Tokenizer/RegexClasses.h"

#include <algorithm>
#include <iterator>

using namespace weft;

namespace {

// The bodies of classes, in PCRE2's spelling.
constexpr std::string_view spaceItems =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view wordItems =
    R"(\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
/// Outside of brackets Oniguruma's \w also has the superscripts and fractions
/// of Latin-1.
constexpr std::string_view shorthandWordExtra =
    R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr std::string_view hexItems = "0-9a-fA-F";

struct Property {
  std::string_view name; ///< Lower case, without spaces, '-' and '_'.
  std::string_view items;
};

/// Property names of Oniguruma (POSIX brackets and long names of general
/// categories) that PCRE2 10.42 lacks or understands differently.
constexpr Property properties[] = {
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"ascii", R"(\x{0}-\x{7f})"},
    {"blank", R"(\p{Zs}\x{9})"},
    {"cntrl", R"(\p{Cc})"},
    {"digit", R"(\p{Nd})"},
    {"lower", R"(\p{Lowercase})"},
    {"punct", R"(\p{P}\p{S})"},
    {"space", spaceItems},
    {"upper", R"(\p{Uppercase})"},
    {"xdigit", hexItems},
    {"word", wordItems},
    {"letter", R"(\p{L})"},
    {"uppercaseletter", R"(\p{Lu})"},
    {"lowercaseletter", R"(\p{Ll})"},
    {"titlecaseletter", R"(\p{Lt})"},
    {"casedletter", R"(\p{Lu}\p{Ll}\p{Lt})"},
    {"modifierletter", R"(\p{Lm})"},
    {"otherletter", R"(\p{Lo})"},
    {"mark", R"(\p{M})"},
    {"nonspacingmark", R"(\p{Mn})"},
    {"spacingmark", R"(\p{Mc})"},
    {"enclosingmark", R"(\p{Me})"},
    {"number", R"(\p{N})"},
    {"decimalnumber", R"(\p{Nd})"},
    {"letternumber", R"(\p{Nl})"},
    {"othernumber", R"(\p{No})"},
    {"punctuation", R"(\p{P})"},
    {"connectorpunctuation", R"(\p{Pc})"},
    {"dashpunctuation", R"(\p{Pd})"},
    {"openpunctuation", R"(\p{Ps})"},
    {"closepunctuation", R"(\p{Pe})"},
    {"initialpunctuation", R"(\p{Pi})"},
    {"finalpunctuation", R"(\p{Pf})"},
    {"otherpunctuation", R"(\p{Po})"},
    {"symbol", R"(\p{S})"},
    {"mathsymbol", R"(\p{Sm})"},
    {"currencysymbol", R"(\p{Sc})"},
    {"modifiersymbol", R"(\p{Sk})"},
    {"othersymbol", R"(\p{So})"},
    {"separator", R"(\p{Z})"},
    {"spaceseparator", R"(\p{Zs})"},
    {"lineseparator", R"(\p{Zl})"},
    {"paragraphseparator", R"(\p{Zp})"},
    {"other", R"(\p{C})"},
    {"control", R"(\p{Cc})"},
    {"format", R"(\p{Cf})"},
    {"unassigned", R"(\p{Cn})"},
    {"privateuse", R"(\p{Co})"},
    {"surrogate", R"(\p{Cs})"},
};

/// Binary properties that both know; every other long name is a script.
constexpr std::string_view binaryProperties[] = {
    "alphabetic",
    "any",
    "asciihexdigit",
    "caseignorable",
    "cased",
    "dash",
    "defaultignorablecodepoint",
    "diacritic",
    "emoji",
    "emojicomponent",
    "emojimodifier",
    "emojimodifierbase",
    "emojipresentation",
    "extendedpictographic",
    "extender",
    "graphemebase",
    "graphemeextend",
    "hexdigit",
    "idcontinue",
    "idstart",
    "ideographic",
    "joincontrol",
    "lowercase",
    "math",
    "quotationmark",
    "radical",
    "unifiedideograph",
    "uppercase",
    "variationselector",
    "whitespace",
    "xidcontinue",
    "xidstart",
};

} // namespace

std::optional<std::string> rt::getShorthandItems(char letter, bool inBrackets) {
  switch (letter) {
  case 's':
    return std::string(spaceItems);
  case 'w':
    return std::string(wordItems) +
           std::string(inBrackets ? "" : shorthandWordExtra);
  case 'd':
    return R"(\p{Nd})";
  case 'h':
    return std::string(hexItems);
  default:
    return std::nullopt;
  }
}

std::optional<std::string_view> rt::findPropertyItems(std::string_view name) {
  for (const Property &entry : properties)
    if (entry.name == name)
      return entry.items;
  return std::nullopt;
}

bool rt::isBinaryProperty(std::string_view name) {
  return std::find(std::begin(binaryProperties), std::end(binaryProperties),
                   name) != std::end(binaryProperties);
}
