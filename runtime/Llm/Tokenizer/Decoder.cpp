//===- Decoder.cpp - Token strings back to text, as a stream --------------===//

#include "runtime/Llm/Tokenizer/Decoder.h"

#include <algorithm>

namespace weft::rt {

void Decoder::run(State &state, size_t first, DecodeStep::Tokens tokens,
                  std::string &out) const {
  for (size_t i = first; i < steps.size() && !tokens.empty(); ++i) {
    DecodeStep::Tokens next;
    for (std::string &token : tokens)
      steps[i]->push(state[i], std::move(token), next);
    tokens = std::move(next);
  }
  for (const std::string &token : tokens)
    out += token;
}

void Decoder::push(State &state, std::string token, std::string &out) const {
  DecodeStep::Tokens tokens;
  tokens.push_back(std::move(token));
  run(state, 0, std::move(tokens), out);
}

void Decoder::finish(State &state, std::string &out) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    DecodeStep::Tokens tokens;
    steps[i]->finish(state[i], tokens);
    run(state, i + 1, std::move(tokens), out);
  }
}

namespace {

std::string charText(char32_t c) {
  std::string text;
  appendChar(text, c);
  return text;
}

void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  if (from.empty())
    return;
  std::string out;
  size_t copied = 0;
  for (size_t at; (at = text.find(from, copied)) != std::string::npos;) {
    out.append(text, copied, at - copied);
    out += to;
    copied = at + from.size();
  }
  if (copied == 0)
    return;
  out.append(text, copied);
  text = std::move(out);
}

/// English clean-up of transformers and tokenizers.
void cleanUp(std::string &text) {
  static constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (auto [from, to] : rules)
    replaceAll(text, from, to);
}

/// Bytes of characters, which may be unfinished.
void pushBytes(DecodeState &state, std::string_view bytes,
               DecodeStep::Tokens &out) {
  std::string text;
  state.assembler.push(bytes, text);
  if (!text.empty())
    out.push_back(std::move(text));
}

/// The end of such bytes.
void finishBytes(DecodeState &state, DecodeStep::Tokens &out) {
  std::string text;
  state.assembler.finish(text);
  if (!text.empty())
    out.push_back(std::move(text));
}

} // namespace

void ByteLevelDecoder::push(DecodeState &state, std::string token,
                            Tokens &out) const {
  // A token outside of the alphabet (an added one) stands for itself.
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    auto byte = alphabetToByte(nextChar(token, at));
    if (!byte) {
      bytes = std::move(token);
      break;
    }
    bytes += static_cast<char>(*byte);
  }
  pushBytes(state, bytes, out);
}

void ByteLevelDecoder::finish(DecodeState &state, Tokens &out) const {
  finishBytes(state, out);
}

void ByteFallbackDecoder::push(DecodeState &state, std::string token,
                               Tokens &out) const {
  auto hex = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  if (token.size() == 6 && token.starts_with("<0x") && token[5] == '>' &&
      hex(token[3]) >= 0 && hex(token[4]) >= 0) {
    char byte = static_cast<char>(hex(token[3]) * 16 + hex(token[4]));
    pushBytes(state, std::string_view(&byte, 1), out);
    return;
  }
  finish(state, out);
  out.push_back(std::move(token));
}

void ByteFallbackDecoder::finish(DecodeState &state, Tokens &out) const {
  finishBytes(state, out);
}

void WordPieceDecoder::push(DecodeState &state, std::string token,
                            Tokens &out) const {
  if (state.count++ > 0) {
    if (token.starts_with(prefix))
      token.erase(0, prefix.size());
    else
      token.insert(0, " ");
  }
  if (cleanup)
    cleanUp(token);
  out.push_back(std::move(token));
}

MetaspaceDecoder::MetaspaceDecoder(char32_t replacement, bool dropFirst,
                                   bool fused)
    : mark(charText(replacement)), dropFirst(dropFirst), fused(fused) {}

void MetaspaceDecoder::push(DecodeState &state, std::string token,
                            Tokens &out) const {
  bool first = state.count++ == 0 || fused;
  replaceAll(token, mark, first && dropFirst ? "" : " ");
  out.push_back(std::move(token));
}

void ReplaceDecoder::push(DecodeState &state, std::string token,
                          Tokens &out) const {
  if (token.empty()) {
    out.push_back(std::move(token));
    return;
  }
  std::string result;
  size_t copied = 0;
  Regex::Matches matches(pattern);
  matches.reset(token);
  while (true) {
    // Tokens are short; where a limit is hit all the same, the rest stays.
    auto match = matches.next();
    if (!match || !*match)
      break;
    TextRange range = **match;
    result.append(token, copied, range.begin - copied);
    result += content;
    copied = range.end;
  }
  result.append(token, copied);
  out.push_back(std::move(result));
}

void FusedReplaceDecoder::push(DecodeState &state, std::string token,
                               Tokens &out) const {
  std::string text = std::move(state.held) + token;
  state.held.clear();
  std::string result;
  size_t copied = 0;
  for (size_t at; (at = text.find(pattern, copied)) != std::string::npos;) {
    result.append(text, copied, at - copied);
    result += content;
    copied = at + pattern.size();
  }
  // What could be the start of the pattern waits.
  size_t hold = std::min(pattern.size() - 1, text.size() - copied);
  while (hold > 0 && !std::string_view(text).ends_with(
                         std::string_view(pattern).substr(0, hold)))
    --hold;
  result.append(text, copied, text.size() - hold - copied);
  state.held = text.substr(text.size() - hold);
  if (!result.empty())
    out.push_back(std::move(result));
}

void FusedReplaceDecoder::finish(DecodeState &state, Tokens &out) const {
  if (!state.held.empty())
    out.push_back(std::move(state.held));
  state.held.clear();
}

StripDecoder::StripDecoder(char32_t content, size_t start, size_t stop)
    : content(charText(content)), start(start), stop(stop) {}

void StripDecoder::push(DecodeState &state, std::string token,
                        Tokens &out) const {
  std::string_view rest = token;
  for (size_t i = 0; i < start && rest.starts_with(content); ++i)
    rest.remove_prefix(content.size());
  for (size_t i = 0; i < stop && rest.ends_with(content); ++i)
    rest.remove_suffix(content.size());
  out.emplace_back(rest);
}

FusedStripDecoder::FusedStripDecoder(char32_t content, size_t start,
                                     size_t stop)
    : content(charText(content)), start(start), stop(stop) {}

void FusedStripDecoder::push(DecodeState &state, std::string token,
                             Tokens &out) const {
  // `count` is how many were removed at the start, or more when that is over.
  std::string_view rest = token;
  while (state.count < start && !rest.empty()) {
    if (rest.starts_with(content)) {
      rest.remove_prefix(content.size());
      ++state.count;
    } else {
      state.count = start;
    }
  }
  // The last `stop` of them wait: they may be the end.
  std::string text = std::move(state.held) + std::string(rest);
  state.held.clear();
  size_t end = text.size();
  for (size_t i = 0;
       i < stop && std::string_view(text).substr(0, end).ends_with(content);
       ++i)
    end -= content.size();
  state.held = text.substr(end);
  text.resize(end);
  if (!text.empty())
    out.push_back(std::move(text));
}

void FusedStripDecoder::finish(DecodeState &state, Tokens &out) const {
  state.held.clear();
}

void BpeSuffixDecoder::push(DecodeState &state, std::string token,
                            Tokens &out) const {
  // One token waits, because the last one is treated differently.
  if (state.count++ > 0) {
    replaceAll(state.held, suffix, " ");
    out.push_back(std::move(state.held));
  }
  state.held = std::move(token);
}

void BpeSuffixDecoder::finish(DecodeState &state, Tokens &out) const {
  if (state.count == 0)
    return;
  replaceAll(state.held, suffix, "");
  out.push_back(std::move(state.held));
  state = {};
}

void CtcDecoder::push(DecodeState &state, std::string token,
                      Tokens &out) const {
  bool repeated = state.count++ > 0 && token == state.held;
  if (repeated)
    return;
  state.held = token;
  replaceAll(token, pad, "");
  if (cleanup) {
    cleanUp(token);
    replaceAll(token, delimiter, " ");
  }
  if (!token.empty())
    out.push_back(std::move(token));
}

void SpacedDecoder::push(DecodeState &state, std::string token,
                         Tokens &out) const {
  if (state.count++ > 0)
    token.insert(0, " ");
  out.push_back(std::move(token));
}

} // namespace weft::rt
