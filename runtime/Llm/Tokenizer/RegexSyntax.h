//===- RegexSyntax.h - Oniguruma's Ruby syntax in terms of PCRE2 ----------===//
//
// The two differ in more than spelling. Translated here:
//   \s \w \d \h \b      Unicode definitions of Oniguruma (its doc/RE)
//   [a[bc]] [a&&[^b]]   unions and intersections of character classes
//   \p{Alpha} \p{Letter} ...   property names that PCRE2 does not know
//   (?m:...)            dot matches newline, PCRE2's (?s:...)
//   x{1,3}+ x{2}?       a repeated, not a possessive or lazy, interval
// What has no equal in PCRE2 (absent operators, text segment boundaries) is an
// error that names it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_REGEXSYNTAX_H
#define WEFT_RUNTIME_LLM_TOKENIZER_REGEXSYNTAX_H

#include "runtime/Format/Status.h"

#include <string>
#include <string_view>

namespace weft::rt {

/// PCRE2's spelling (for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE) of a pattern
/// in Oniguruma's Ruby syntax.
Result<std::string> translateRegex(std::string_view pattern);

/// `text` with everything escaped that means something in a pattern.
std::string escapeRegex(std::string_view text);

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_REGEXSYNTAX_H
