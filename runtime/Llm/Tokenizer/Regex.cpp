//===- Regex.cpp - The regular expressions of tokenizer.json --------------===//

#include "runtime/Llm/Tokenizer/Regex.h"

#include "runtime/Llm/Tokenizer/RegexSyntax.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

#include <algorithm>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace weft::rt {

struct Regex::Code {
  std::string pattern; ///< As it was in the file, for messages.
  pcre2_code *code = nullptr;

  ~Code() { pcre2_code_free(code); }
};

struct Regex::Matches::Buffers {
  pcre2_match_data *data = nullptr;
  pcre2_match_context *context = nullptr;
  pcre2_jit_stack *stack = nullptr;

  ~Buffers() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

namespace {

std::string errorText(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof(buffer)) < 0)
    return "PCRE2 error " + std::to_string(code);
  return reinterpret_cast<const char *>(buffer);
}

constexpr size_t jitStackBytes = 32 << 20;
constexpr uint32_t heapLimitKib = 256 << 10;
constexpr uint32_t minimalSteps = 10'000'000;
constexpr uint32_t stepsPerByte = 16;

} // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
  Result<std::string> translated = translateRegex(pattern);
  if (!translated)
    return translated.getStatus();
  auto code = std::make_shared<Code>();
  code->pattern = pattern;
  pcre2_compile_context *context = pcre2_compile_context_create(nullptr);
  if (!context)
    return Status::outOfMemory("no memory to compile a regular expression");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context, 100);
  int error = 0;
  PCRE2_SIZE at = 0;
  // Ruby's ^ and $ match at every line.
  code->code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
          PCRE2_NO_AUTO_CAPTURE,
      &error, &at, context);
  pcre2_compile_context_free(context);
  if (!code->code)
    return Status::unsupported("the regular expression \"" + code->pattern +
                               "\" cannot be compiled: " + errorText(error) +
                               " (near byte " + std::to_string(at) + " of \"" +
                               *translated + "\")");
  // Without the JIT, where a machine forbids it, the interpreter runs.
  (void)pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);
  Regex regex;
  regex.code = std::move(code);
  return regex;
}

Regex::Matches::Matches(const Regex &regex)
    : regex(regex), buffers(std::make_unique<Buffers>()) {
  buffers->data = pcre2_match_data_create(1, nullptr);
  buffers->context = pcre2_match_context_create(nullptr);
}

Regex::Matches::~Matches() = default;

void Regex::Matches::reset(std::string_view newText) {
  text = newText;
  from = 0;
  lastEnd.reset();
}

Result<std::optional<TextRange>> Regex::Matches::search(size_t from) {
  if (!buffers->data || !buffers->context)
    return Status::outOfMemory("no memory to run a regular expression");
  uint64_t steps = minimalSteps + uint64_t{stepsPerByte} * text.size();
  pcre2_set_match_limit(
      buffers->context,
      static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
  pcre2_set_heap_limit(buffers->context, heapLimitKib);
  auto run = [&](uint32_t options) {
    return pcre2_match(regex.code->code,
                       reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       from, PCRE2_NO_UTF_CHECK | options, buffers->data,
                       buffers->context);
  };
  int result = run(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT && !buffers->stack) {
    // Most patterns need no more than the small stack that PCRE2 starts with.
    buffers->stack = pcre2_jit_stack_create(64 << 10, jitStackBytes, nullptr);
    pcre2_jit_stack_assign(buffers->context, nullptr, buffers->stack);
    result = run(0);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = run(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH)
    return std::optional<TextRange>();
  if (result < 0)
    return Status::limit("the regular expression \"" + regex.code->pattern +
                         "\" fails on this text of " +
                         std::to_string(text.size()) + " bytes at byte " +
                         std::to_string(from) + ": " + errorText(result));
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(buffers->data);
  // \K in a lookaround can put the start behind the end.
  return std::optional<TextRange>(
      TextRange{std::min(range[0], range[1]), range[1]});
}

Result<std::optional<TextRange>> Regex::Matches::next() {
  while (from <= text.size()) {
    Result<std::optional<TextRange>> found = search(from);
    if (!found || !*found)
      return found;
    TextRange range = **found;
    // \K can also move the start of a match to before where the search began.
    range.begin = std::max(range.begin, lastEnd.value_or(0));
    range.end = std::max(range.begin, range.end);
    if (range.begin != range.end || lastEnd != range.end) {
      from = range.end;
      lastEnd = range.end;
      return std::optional<TextRange>(range);
    }
    from += from < text.size() ? utf8Length(text[from]) : 1;
  }
  return std::optional<TextRange>();
}

} // namespace weft::rt
