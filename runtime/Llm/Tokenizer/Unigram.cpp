//===- Unigram.cpp - The most probable segmentation -----------------------===//

#include "runtime/Llm/Tokenizer/Model.h"

#include <algorithm>

namespace weft::rt {

namespace {

/// How much less than the worst token an unknown character scores
/// (SentencePiece's kUnkPenalty).
constexpr double unkPenalty = 10.0;

} // namespace

/// Buffers that all pieces of a text share.
struct UnigramModel::Scratch {
  /// The best way to cover the text up to some byte.
  struct Best {
    double score = 0;
    size_t begin = SIZE_MAX; ///< Where the last token begins; SIZE_MAX: no way.
    int32_t id = 0;
  };
  std::vector<Best> best;
  std::vector<std::pair<size_t, size_t>> parts; ///< Last first.
};

Result<std::unique_ptr<Model>>
UnigramModel::create(Vocabulary vocabulary, std::vector<double> scores,
                     std::optional<int32_t> unkId, bool byteFallback) {
  std::unique_ptr<UnigramModel> model(new UnigramModel(std::move(vocabulary)));
  const Vocabulary &tokens = model->vocabulary;
  if (unkId && (*unkId < 0 || *unkId >= tokens.size()))
    return Status::corrupt("unk_id is " + std::to_string(*unkId) +
                           "; the vocabulary has " +
                           std::to_string(tokens.size()) + " tokens");
  model->unkId = unkId.value_or(-1);
  if (!scores.empty())
    model->unkScore =
        *std::min_element(scores.begin(), scores.end()) - unkPenalty;
  model->scores = std::move(scores);
  if (byteFallback)
    if (auto bytes = tokens.byteTokens())
      model->byteIds = std::move(*bytes);
  std::vector<ByteTrie::Entry> entries;
  for (int32_t id = 0; id < tokens.size(); ++id)
    if (auto token = tokens.get(id);
        token && !token->empty() && tokens.find(*token) == id)
      entries.push_back({*token, id});
  model->trie = ByteTrie(std::move(entries));
  return std::unique_ptr<Model>(std::move(model));
}

Status UnigramModel::encodePiece(std::string_view text, Scratch &scratch,
                                 std::vector<int32_t> &ids) const {
  auto &best = scratch.best;
  best.assign(text.size() + 1, {});
  for (size_t at = 0; at < text.size();) {
    double before = best[at].score;
    size_t charLength = utf8Length(text[at]);
    bool known = false;
    auto offer = [&](size_t length, double score, int32_t id) {
      Scratch::Best &target = best[at + length];
      if (target.begin == SIZE_MAX || before + score > target.score)
        target = {before + score, at, id};
    };
    trie.forEachPrefix(text.substr(at), [&](size_t length, int32_t id) {
      offer(length, scores[id], id);
      known |= length == charLength;
    });
    if (!known) {
      if (unkId < 0)
        return Status::invalid("the text has a character that the vocabulary "
                               "lacks, and the tokenizer has no unknown token");
      offer(charLength, unkScore, unkId);
    }
    at += charLength;
  }
  // Unknown characters in a row are one token.
  auto &parts = scratch.parts;
  parts.clear();
  bool fusing = false;
  for (size_t end = text.size(); end > 0;) {
    const Scratch::Best &last = best[end];
    bool unknown = last.id == unkId;
    if (unknown && fusing)
      parts.back().first = last.begin;
    else
      parts.push_back({last.begin, end});
    fusing = unknown;
    end = last.begin;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::string_view token =
        text.substr(part->first, part->second - part->first);
    if (auto id = vocabulary.find(token)) {
      ids.push_back(*id);
    } else if (!byteIds.empty()) {
      for (char b : token)
        ids.push_back(byteIds[static_cast<uint8_t>(b)]);
    } else {
      ids.push_back(unkId);
    }
  }
  return Status::ok();
}

Status UnigramModel::encode(const Pieces &pieces,
                            std::vector<int32_t> &ids) const {
  Scratch scratch;
  for (const Piece &piece : pieces.list) {
    if (piece.token >= 0)
      ids.push_back(piece.token);
    else if (Status status = encodePiece(pieces.get(piece), scratch, ids);
             !status)
      return status;
  }
  return Status::ok();
}

} // namespace weft::rt
