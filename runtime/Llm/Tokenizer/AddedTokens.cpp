//===- AddedTokens.cpp - Tokens that are found before the model runs ------===//

#include "runtime/Llm/Tokenizer/AddedTokens.h"

#include <algorithm>
#include <map>

namespace weft::rt {

Result<AddedTokens> AddedTokens::create(std::vector<AddedToken> list,
                                        const Normalizer *normalizer) {
  AddedTokens result;
  result.tokens = std::move(list);
  // Two tokens can have the same normalized form; the later one is found.
  std::map<std::string_view, int32_t> raw, normalized;
  result.normalizedForms.reserve(result.tokens.size());
  for (size_t i = 0; i < result.tokens.size(); ++i) {
    const AddedToken &token = result.tokens[i];
    result.byId[token.id] = i;
    std::string &form = result.normalizedForms.emplace_back(token.content);
    if (token.normalized && normalizer) {
      NormalizedText text{token.content, 0};
      if (Status status = normalizer->apply(text); !status)
        return status;
      form = std::move(text.text);
    }
    if (!form.empty())
      (token.normalized ? normalized : raw)[form] = static_cast<int32_t>(i);
  }
  auto makeTrie = [](const std::map<std::string_view, int32_t> &keys) {
    std::vector<ByteTrie::Entry> entries;
    for (auto [key, value] : keys)
      entries.push_back({key, value});
    return ByteTrie(std::move(entries));
  };
  result.rawTrie = makeTrie(raw);
  result.normalizedTrie = makeTrie(normalized);
  return result;
}

const AddedToken *AddedTokens::find(std::string_view content) const {
  auto token =
      std::find_if(tokens.begin(), tokens.end(),
                   [&](const AddedToken &t) { return t.content == content; });
  return token == tokens.end() ? nullptr : &*token;
}

/// Splits `text` at the leftmost, then longest, added tokens of `trie`. Piece
/// offsets are relative to `text`; Piece::startBytes is left to the caller.
void AddedTokens::splitText(std::string_view text, const ByteTrie &trie,
                            bool parseSpecial,
                            std::vector<Piece> &pieces) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size() && !trie.empty();) {
    size_t length = 0;
    int32_t index = -1;
    trie.forEachPrefix(text.substr(at), [&](size_t keyLength, int32_t value) {
      length = keyLength;
      index = value;
    });
    if (index < 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + length;
    at = end;
    const AddedToken &token = tokens[index];
    if (token.special && !parseSpecial)
      continue;
    if (token.singleWord) {
      size_t before = begin, after = end;
      if ((begin > 0 && isWordChar(previousChar(text, before))) ||
          (end < text.size() && isWordChar(nextChar(text, after))))
        continue;
    }
    if (token.lstrip) {
      // Not beyond what the previous token took.
      for (size_t space = begin; space > done;) {
        if (!isWhitespace(previousChar(text, space)))
          break;
        begin = space;
      }
      begin = std::max(begin, done);
    }
    if (token.rstrip)
      for (size_t space = end; space < text.size();) {
        if (!isWhitespace(nextChar(text, space)))
          break;
        end = space;
      }
    if (done < begin)
      pieces.push_back({done, begin, 0, -1});
    // A token of white space that the previous token took is gone.
    if (begin < end)
      pieces.push_back({begin, end, 0, token.id});
    done = end;
  }
  if (done < text.size())
    pieces.push_back({done, text.size(), 0, -1});
}

Result<Pieces> AddedTokens::split(std::string_view text,
                                  const Normalizer *normalizer,
                                  bool parseSpecial) const {
  std::vector<Piece> rawPieces, parts;
  splitText(text, rawTrie, parseSpecial, rawPieces);
  Pieces result;
  result.text.reserve(text.size());
  for (const Piece &raw : rawPieces) {
    if (raw.token >= 0) {
      result.list.push_back(
          {result.text.size(), result.text.size(), 0, raw.token});
      continue;
    }
    NormalizedText piece{std::string(text.substr(raw.begin, raw.size())), 0};
    if (raw.begin == 0)
      piece.startBytes = utf8Length(piece.text[0]);
    if (normalizer)
      if (Status status = normalizer->apply(piece); !status)
        return status;
    parts.clear();
    splitText(piece.text, normalizedTrie, parseSpecial, parts);
    size_t base = result.text.size();
    for (Piece part : parts) {
      part.startBytes =
          std::min(piece.startBytes - std::min(piece.startBytes, part.begin),
                   part.size());
      part.begin += base;
      part.end += base;
      result.list.push_back(part);
    }
    result.text += piece.text;
  }
  return result;
}

} // namespace weft::rt
