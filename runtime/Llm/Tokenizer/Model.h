//===- Model.h - Pieces to token ids --------------------------------------===//
//
// The models of Hugging Face's tokenizer.json: BPE, Unigram, WordPiece and
// WordLevel. All take time near-linear in the text, also for one huge piece.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_MODEL_H
#define WEFT_RUNTIME_LLM_TOKENIZER_MODEL_H

#include "runtime/Llm/Tokenizer/PreTokenizer.h"
#include "runtime/Llm/Tokenizer/Vocabulary.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::rt {

/// Immutable and shared by threads.
class Model {
public:
  explicit Model(Vocabulary vocabulary) : vocabulary(std::move(vocabulary)) {}
  virtual ~Model() = default;

  const Vocabulary &getVocabulary() const { return vocabulary; }
  /// Appends the ids of all pieces, in order.
  virtual Status encode(const Pieces &pieces,
                        std::vector<int32_t> &ids) const = 0;

protected:
  Vocabulary vocabulary;
};

/// Byte pair encoding (Sennrich et al., 2016): the adjacent pair of the lowest
/// rank is merged, leftmost first, until no pair is left.
class BpeModel : public Model {
public:
  struct Options {
    std::optional<std::string> unkToken, continuingPrefix, wordSuffix;
    bool fuseUnk = false, byteFallback = false, ignoreMerges = false;
  };
  struct Merge {
    int32_t left, right, result;
    /// Lower ranks merge first; rank 0 and up.
    uint32_t rank;
  };

  static Result<std::unique_ptr<Model>> create(Vocabulary vocabulary,
                                               const std::vector<Merge> &merges,
                                               Options options);

  Status encode(const Pieces &pieces, std::vector<int32_t> &ids) const override;

private:
  struct MergeTarget {
    uint32_t rank;
    int32_t result; ///< -1: the pair does not merge.
  };
  /// A hash table from (left, right) to the merge: open addressing with linear
  /// probing, at most half full.
  class MergeTable {
  public:
    void build(const std::vector<Merge> &merges);
    MergeTarget find(int32_t left, int32_t right) const;

  private:
    struct Slot {
      int32_t left = -1, right = -1;
      MergeTarget target = {0, -1};
    };
    static uint64_t hash(int32_t left, int32_t right);
    std::vector<Slot> slots;
    uint64_t mask = 0;
  };
  struct Scratch;

  BpeModel(Vocabulary vocabulary, Options options)
      : Model(std::move(vocabulary)), options(std::move(options)) {}

  void splitIntoSymbols(std::string_view text, Scratch &scratch) const;
  void mergeSymbols(Scratch &scratch) const;

  Options options;
  MergeTable merges;
  int32_t unkId = -1;
  std::vector<int32_t> byteIds;        ///< Empty without byte fallback.
  std::array<int32_t, 512> smallChars; ///< Ids of characters below 512, or -1.
};

/// The most probable segmentation (Kudo, 2018), found by Viterbi's algorithm.
class UnigramModel : public Model {
public:
  /// `scores` by id. `unkId` is what unknown characters become.
  static Result<std::unique_ptr<Model>> create(Vocabulary vocabulary,
                                               std::vector<double> scores,
                                               std::optional<int32_t> unkId,
                                               bool byteFallback);

  Status encode(const Pieces &pieces, std::vector<int32_t> &ids) const override;

private:
  explicit UnigramModel(Vocabulary vocabulary) : Model(std::move(vocabulary)) {}

  struct Scratch;
  Status encodePiece(std::string_view text, Scratch &scratch,
                     std::vector<int32_t> &ids) const;

  std::vector<double> scores;
  double unkScore = 0;
  int32_t unkId = -1;
  std::vector<int32_t> byteIds;
  ByteTrie trie;
};

/// Greedy longest match from the left; a word that cannot be covered, or is
/// too long, becomes one unknown token.
class WordPieceModel : public Model {
public:
  static Result<std::unique_ptr<Model>>
  create(Vocabulary vocabulary, const std::string &unkToken,
         std::string_view continuingPrefix, size_t maxChars);

  Status encode(const Pieces &pieces, std::vector<int32_t> &ids) const override;

private:
  explicit WordPieceModel(Vocabulary vocabulary)
      : Model(std::move(vocabulary)) {}

  bool encodePiece(std::string_view text, std::vector<int32_t> &ids) const;

  int32_t unkId = -1;
  size_t maxChars = 0;
  ByteTrie starts;        ///< All tokens.
  ByteTrie continuations; ///< Tokens with the prefix, without it.
};

/// Whole pieces only.
class WordLevelModel : public Model {
public:
  WordLevelModel(Vocabulary vocabulary, std::optional<int32_t> unkId)
      : Model(std::move(vocabulary)), unkId(unkId) {}

  Status encode(const Pieces &pieces, std::vector<int32_t> &ids) const override;

private:
  std::optional<int32_t> unkId;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_MODEL_H
