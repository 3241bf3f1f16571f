//===- PreTokenizer.cpp - Text to pieces that are encoded on their own ----===//

#include "runtime/Llm/Tokenizer/PreTokenizer.h"

#include <algorithm>

namespace weft::rt {

Status PreTokenizerSequence::apply(Pieces &pieces) const {
  for (const auto &step : steps)
    if (Status status = step->apply(pieces); !status)
      return status;
  return Status::ok();
}

namespace {

/// Consecutive ranges that cover a piece; `match` marks the delimiters.
struct Cut {
  size_t begin, end;
  bool match;
};

/// What a delimiter joins; the rules (odd ones for a delimiter that follows a
/// delimiter) are those of the tokenizers library.
void mergeCuts(std::vector<Cut> &cuts, SplitBehavior behavior) {
  std::vector<Cut> merged;
  merged.reserve(cuts.size());
  bool previous = false;
  switch (behavior) {
  case SplitBehavior::Isolated:
    return;
  case SplitBehavior::Removed:
    std::erase_if(cuts, [](const Cut &cut) { return cut.match; });
    return;
  case SplitBehavior::Contiguous:
    for (const Cut &cut : cuts) {
      if (cut.match == previous && !merged.empty())
        merged.back().end = cut.end;
      else
        merged.push_back(cut);
      previous = cut.match;
    }
    break;
  case SplitBehavior::MergedWithPrevious:
    for (const Cut &cut : cuts) {
      if (cut.match && !previous && !merged.empty())
        merged.back().end = cut.end;
      else
        merged.push_back(cut);
      previous = cut.match;
    }
    break;
  case SplitBehavior::MergedWithNext:
    for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
      if (cut->match && !previous && !merged.empty())
        merged.back().begin = cut->begin;
      else
        merged.push_back(*cut);
      previous = cut->match;
    }
    std::reverse(merged.begin(), merged.end());
    break;
  }
  cuts = std::move(merged);
}

/// Replaces each text piece by the parts that find(text of the piece, cuts)
/// and `behavior` make of it.
template <typename Find>
Status splitPieces(Pieces &pieces, SplitBehavior behavior, Find find) {
  std::vector<Piece> list;
  list.reserve(pieces.list.size());
  std::vector<Cut> cuts;
  for (const Piece &piece : pieces.list) {
    if (piece.token >= 0) {
      list.push_back(piece);
      continue;
    }
    cuts.clear();
    if (Status status = find(pieces.get(piece), cuts); !status)
      return status;
    mergeCuts(cuts, behavior);
    for (const Cut &cut : cuts) {
      if (cut.begin == cut.end)
        continue;
      Piece part = piece;
      part.begin = piece.begin + cut.begin;
      part.end = piece.begin + cut.end;
      part.startBytes =
          std::min(piece.startBytes - std::min(piece.startBytes, cut.begin),
                   part.size());
      list.push_back(part);
    }
  }
  pieces.list = std::move(list);
  return Status::ok();
}

/// Cuts at characters for which isDelimiter holds.
template <typename Predicate>
Status splitAtChars(Pieces &pieces, SplitBehavior behavior,
                    Predicate isDelimiter) {
  return splitPieces(pieces, behavior,
                     [&](std::string_view text, std::vector<Cut> &cuts) {
                       size_t last = 0;
                       for (size_t at = 0; at < text.size();) {
                         size_t begin = at;
                         if (!isDelimiter(nextChar(text, at)))
                           continue;
                         if (last < begin)
                           cuts.push_back({last, begin, false});
                         cuts.push_back({begin, at, true});
                         last = at;
                       }
                       if (last < text.size())
                         cuts.push_back({last, text.size(), false});
                       return Status::ok();
                     });
}

Status splitAtMatches(Pieces &pieces, const Regex &pattern,
                      SplitBehavior behavior, bool invert) {
  Regex::Matches matches(pattern);
  return splitPieces(
      pieces, behavior, [&](std::string_view text, std::vector<Cut> &cuts) {
        matches.reset(text);
        size_t last = 0;
        while (true) {
          Result<std::optional<TextRange>> match = matches.next();
          if (!match)
            return match.getStatus();
          if (!*match)
            break;
          TextRange range = **match;
          if (last != range.begin)
            cuts.push_back({last, range.begin, invert});
          cuts.push_back({range.begin, range.end, !invert});
          last = range.end;
        }
        if (last != text.size())
          cuts.push_back({last, text.size(), invert});
        return Status::ok();
      });
}

/// Rewrites the text pieces: rewrite(piece, its text, out) appends the new
/// text and sets Piece::startBytes.
template <typename Rewrite>
void rewritePieces(Pieces &pieces, Rewrite rewrite) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.text.size() / 4);
  for (Piece &piece : pieces.list) {
    std::string_view old = pieces.get(piece);
    piece.begin = text.size();
    if (piece.token < 0)
      rewrite(piece, old, text);
    piece.end = text.size();
    piece.startBytes = std::min(piece.startBytes, piece.size());
  }
  pieces.text = std::move(text);
}

} // namespace

Status SplitPreTokenizer::apply(Pieces &pieces) const {
  return splitAtMatches(pieces, pattern, behavior, invert);
}

Status CharSplitPreTokenizer::apply(Pieces &pieces) const {
  switch (charClass) {
  case Class::Whitespace:
    return splitAtChars(pieces, behavior, isWhitespace);
  case Class::Punctuation:
    return splitAtChars(pieces, behavior, isPunctuation);
  case Class::Digit:
    return splitAtChars(pieces, behavior, isNumeric);
  case Class::One:
    return splitAtChars(pieces, behavior, [&](char32_t c) { return c == one; });
  }
  return Status::internal("unknown character class");
}

Status WhitespacePreTokenizer::apply(Pieces &pieces) const {
  enum class Kind { Space, Word, Other };
  auto kindOf = [](char32_t c) {
    return isWordChar(c)     ? Kind::Word
           : isWhitespace(c) ? Kind::Space
                             : Kind::Other;
  };
  return splitPieces(pieces, SplitBehavior::Removed,
                     [&](std::string_view text, std::vector<Cut> &cuts) {
                       for (size_t at = 0; at < text.size();) {
                         size_t begin = at, end = at;
                         Kind kind = kindOf(nextChar(text, at));
                         for (end = at; at < text.size(); end = at)
                           if (kindOf(nextChar(text, at)) != kind)
                             break;
                         at = end;
                         cuts.push_back({begin, end, kind == Kind::Space});
                       }
                       return Status::ok();
                     });
}

Status FixedLengthPreTokenizer::apply(Pieces &pieces) const {
  return splitPieces(pieces, SplitBehavior::Isolated,
                     [&](std::string_view text, std::vector<Cut> &cuts) {
                       for (size_t at = 0; at < text.size();) {
                         size_t begin = at;
                         for (size_t i = 0; i < length && at < text.size(); ++i)
                           at += utf8Length(text[at]);
                         cuts.push_back({begin, at, true});
                       }
                       return Status::ok();
                     });
}

std::string_view ByteLevelPreTokenizer::gpt2Pattern() {
  return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
}

Status ByteLevelPreTokenizer::apply(Pieces &pieces) const {
  if (addPrefixSpace)
    rewritePieces(pieces,
                  [](Piece &piece, std::string_view old, std::string &out) {
                    if (!old.empty() && old[0] != ' ') {
                      out += ' ';
                      piece.startBytes += piece.startBytes > 0;
                    }
                    out += old;
                  });
  if (pattern)
    if (Status status =
            splitAtMatches(pieces, *pattern, SplitBehavior::Isolated, false);
        !status)
      return status;
  rewritePieces(
      pieces, [](Piece &piece, std::string_view old, std::string &out) {
        size_t start = out.size(), startBytes = 0;
        for (size_t i = 0; i < old.size(); ++i) {
          appendChar(out, byteToAlphabet(static_cast<uint8_t>(old[i])));
          if (i < piece.startBytes)
            startBytes = out.size() - start;
        }
        piece.startBytes = startBytes;
      });
  return Status::ok();
}

Status MetaspacePreTokenizer::apply(Pieces &pieces) const {
  std::string mark;
  appendChar(mark, replacement);
  rewritePieces(
      pieces, [&](Piece &piece, std::string_view old, std::string &out) {
        if (old.empty())
          return;
        bool marked = old[0] == ' ' || old.starts_with(mark);
        bool wanted = prepend == Prepend::Always ||
                      (prepend == Prepend::First && piece.startBytes > 0);
        size_t start = out.size(), startBytes = 0;
        if (!marked && wanted) {
          out += mark;
          startBytes = piece.startBytes > 0 ? mark.size() : 0;
        }
        for (size_t i = 0; i < old.size(); ++i) {
          if (old[i] == ' ')
            out += mark;
          else
            out += old[i];
          if (i < piece.startBytes)
            startBytes = out.size() - start;
        }
        piece.startBytes = startBytes;
      });
  if (!split)
    return Status::ok();
  return splitAtChars(pieces, SplitBehavior::MergedWithNext,
                      [&](char32_t c) { return c == replacement; });
}

} // namespace weft::rt
