//===- WordPiece.cpp - Greedy longest match, and whole words --------------===//

#include "runtime/Llm/Tokenizer/Model.h"

namespace weft::rt {

Result<std::unique_ptr<Model>>
WordPieceModel::create(Vocabulary vocabulary, const std::string &unkToken,
                       std::string_view continuingPrefix, size_t maxChars) {
  std::unique_ptr<WordPieceModel> model(
      new WordPieceModel(std::move(vocabulary)));
  const Vocabulary &tokens = model->vocabulary;
  auto unkId = tokens.find(unkToken);
  if (!unkId)
    return Status::corrupt(
        "unk_token \"" + unkToken +
        "\" is not in the vocabulary of the WordPiece model");
  model->unkId = *unkId;
  model->maxChars = maxChars;
  std::vector<ByteTrie::Entry> starts, continuations;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    auto token = tokens.get(id);
    if (!token)
      continue;
    if (!token->empty())
      starts.push_back({*token, id});
    if (token->starts_with(continuingPrefix) &&
        token->size() > continuingPrefix.size())
      continuations.push_back({token->substr(continuingPrefix.size()), id});
  }
  model->starts = ByteTrie(std::move(starts));
  model->continuations = ByteTrie(std::move(continuations));
  return std::unique_ptr<Model>(std::move(model));
}

bool WordPieceModel::encodePiece(std::string_view text,
                                 std::vector<int32_t> &ids) const {
  size_t chars = 0;
  for (size_t at = 0; at < text.size(); at += utf8Length(text[at]))
    ++chars;
  if (chars > maxChars)
    return false;
  for (size_t at = 0; at < text.size();) {
    size_t longest = 0;
    int32_t id = -1;
    (at == 0 ? starts : continuations)
        .forEachPrefix(text.substr(at), [&](size_t length, int32_t value) {
          longest = length;
          id = value;
        });
    if (id < 0)
      return false;
    ids.push_back(id);
    at += longest;
  }
  return true;
}

Status WordPieceModel::encode(const Pieces &pieces,
                              std::vector<int32_t> &ids) const {
  for (const Piece &piece : pieces.list) {
    size_t before = ids.size();
    if (piece.token >= 0) {
      ids.push_back(piece.token);
    } else if (!encodePiece(pieces.get(piece), ids)) {
      ids.resize(before);
      ids.push_back(unkId);
    }
  }
  return Status::ok();
}

Status WordLevelModel::encode(const Pieces &pieces,
                              std::vector<int32_t> &ids) const {
  for (const Piece &piece : pieces.list) {
    std::optional<int32_t> id = piece.token;
    if (piece.token < 0)
      id = vocabulary.find(pieces.get(piece));
    if (!id)
      id = unkId;
    if (!id)
      return Status::invalid(
          "the text has the word \"" + std::string(pieces.get(piece)) +
          "\", which the vocabulary lacks, and the tokenizer "
          "has no unknown token");
    ids.push_back(*id);
  }
  return Status::ok();
}

} // namespace weft::rt
