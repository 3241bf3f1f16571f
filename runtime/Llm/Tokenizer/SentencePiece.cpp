//===- SentencePiece.cpp - SentencePiece .model files ---------------------===//
//
// Encoding is done by the SentencePiece library. Decoding is ours, because the
// library decodes whole sequences only; it gives the same text.
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/TokenizerParts.h"

#include <sentencepiece_processor.h>

#include <algorithm>

namespace weft::rt {

namespace {

using sentencepiece::SentencePieceProcessor;

constexpr std::string_view visibleSpace = "\xe2\x96\x81"; // U+2581
/// What the library writes for the unknown token.
constexpr std::string_view unknownSurface = " \xe2\x81\x87 ";

class SentencePieceModel : public Model {
public:
  SentencePieceModel(Vocabulary vocabulary,
                     std::unique_ptr<SentencePieceProcessor> processor)
      : Model(std::move(vocabulary)), processor(std::move(processor)) {}

  Status encode(const Pieces &pieces,
                std::vector<int32_t> &ids) const override {
    std::vector<int> part;
    for (const Piece &piece : pieces.list) {
      if (piece.token >= 0) {
        ids.push_back(piece.token);
        continue;
      }
      std::string_view text = pieces.get(piece);
      auto status = processor->Encode({text.data(), text.size()}, &part);
      if (!status.ok())
        return Status::internal("SentencePiece: " + status.ToString());
      ids.insert(ids.end(), part.begin(), part.end());
    }
    return Status::ok();
  }

private:
  std::unique_ptr<SentencePieceProcessor> processor;
};

/// Whether encoding puts a space in front of a text.
bool addsDummyPrefix(const SentencePieceProcessor &processor) {
  std::vector<std::string> pieces;
  return processor.Encode("x", &pieces).ok() && !pieces.empty() &&
         std::string_view(pieces[0]).starts_with(visibleSpace);
}

/// Whether encoding drops spaces at the ends and repeated ones.
bool removesSpaces(const SentencePieceProcessor &processor) {
  std::vector<int> single, repeated;
  return processor.Encode("x x", &single).ok() &&
         processor.Encode(" x   x ", &repeated).ok() && single == repeated;
}

/// The visible space becomes a space. The one that encoding put in front is
/// dropped: that of the first token, or of every token before any text.
class SpaceDecoder : public DecodeStep {
public:
  SpaceDecoder(bool dropFirst, bool dropAll)
      : dropFirst(dropFirst), dropAll(dropAll) {}

  void push(DecodeState &state, std::string token, Tokens &out) const override {
    std::string_view rest = token;
    if (state.count == 0 && (dropFirst || dropAll)) {
      if (rest.starts_with(visibleSpace))
        rest.remove_prefix(visibleSpace.size());
      state.count = !dropAll || !rest.empty();
    }
    std::string text;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(visibleSpace), rest.size());
      text += rest.substr(0, end);
      rest.remove_prefix(end);
      if (rest.empty())
        break;
      text += ' ';
      rest.remove_prefix(visibleSpace.size());
    }
    out.push_back(std::move(text));
  }

private:
  bool dropFirst, dropAll;
};

std::unique_ptr<Decoder> makeDecoder(const SentencePieceProcessor &processor) {
  std::vector<std::unique_ptr<DecodeStep>> steps;
  steps.push_back(std::make_unique<SpaceDecoder>(addsDummyPrefix(processor),
                                                 removesSpaces(processor)));
  steps.push_back(std::make_unique<ByteFallbackDecoder>());
  return std::make_unique<Decoder>(std::move(steps));
}

} // namespace

Result<std::unique_ptr<TokenizerParts>>
loadSentencePiece(std::string_view bytes,
                  std::vector<AddedToken> controlTokens) {
  auto processor = std::make_unique<SentencePieceProcessor>();
  auto status =
      processor->LoadFromSerializedProto({bytes.data(), bytes.size()});
  if (!status.ok())
    return Status::corrupt("not a SentencePiece model: " + status.ToString());

  auto parts = std::make_unique<TokenizerParts>();
  Vocabulary vocabulary;
  for (int id = 0; id < processor->GetPieceSize(); ++id) {
    const std::string &piece = processor->IdToPiece(id);
    if (Status added = vocabulary.add(piece, id); !added)
      return added;
    if (!processor->IsControl(id))
      continue;
    bool listed = false;
    for (const AddedToken &token : controlTokens)
      listed |= token.id == id;
    AddedToken token;
    token.id = id;
    token.content = piece;
    token.special = true;
    if (!listed && !piece.empty())
      controlTokens.push_back(std::move(token));
  }
  for (const AddedToken &token : controlTokens)
    if (auto piece = vocabulary.get(token.id); piece && *piece != token.content)
      return Status::corrupt("tokenizer_config.json gives id " +
                             std::to_string(token.id) + " to \"" +
                             token.content + "\", the model to \"" +
                             std::string(*piece) + "\"");
  auto set = [](std::optional<int32_t> &id, int value) {
    if (value >= 0)
      id = value;
  };
  set(parts->special.bos, processor->bos_id());
  set(parts->special.unk, processor->unk_id());
  set(parts->special.pad, processor->pad_id());
  if (processor->eos_id() >= 0)
    parts->special.eos = {processor->eos_id()};
  // What the slow tokenizers of transformers do unless add_bos_token says no.
  if (parts->special.bos)
    parts->prefix = {*parts->special.bos};
  if (parts->special.unk)
    parts->decodedForms[*parts->special.unk] = unknownSurface;

  auto added = AddedTokens::create(std::move(controlTokens), nullptr);
  if (!added)
    return added.getStatus();
  parts->added = added.take();
  parts->decoder = makeDecoder(*processor);
  parts->model = std::make_unique<SentencePieceModel>(std::move(vocabulary),
                                                      std::move(processor));
  return parts;
}

} // namespace weft::rt
