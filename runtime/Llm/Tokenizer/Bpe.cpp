//===- Bpe.cpp - Byte pair encoding ---------------------------------------===//

#include "runtime/Llm/Tokenizer/Model.h"

#include <algorithm>

namespace weft::rt {

uint64_t BpeModel::MergeTable::hash(int32_t left, int32_t right) {
  uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
                 static_cast<uint32_t>(right);
  key *=
      0x9e3779b97f4a7c15; // Fibonacci hashing; the high bits are the good ones
  return key ^ key >> 32;
}

void BpeModel::MergeTable::build(const std::vector<Merge> &merges) {
  size_t size = 16;
  while (size < 2 * merges.size())
    size *= 2;
  slots.assign(size, {});
  mask = size - 1;
  for (const Merge &merge : merges) {
    uint64_t at = hash(merge.left, merge.right) & mask;
    while (slots[at].target.result >= 0 &&
           (slots[at].left != merge.left || slots[at].right != merge.right))
      at = (at + 1) & mask;
    // A pair that is listed twice has the later rank.
    slots[at] = {merge.left, merge.right, {merge.rank, merge.result}};
  }
}

BpeModel::MergeTarget BpeModel::MergeTable::find(int32_t left,
                                                 int32_t right) const {
  for (uint64_t at = hash(left, right) & mask;; at = (at + 1) & mask) {
    const Slot &slot = slots[at];
    if (slot.target.result < 0 || (slot.left == left && slot.right == right))
      return slot.target;
  }
}

/// Buffers that all pieces of a text share.
struct BpeModel::Scratch {
  /// A doubly linked list; a symbol that was merged into its left neighbour
  /// has id -1.
  struct Symbol {
    int32_t id;
    uint32_t previous, next;
  };
  struct Candidate {
    uint64_t order; ///< Rank, then position.
    int32_t result;
    uint32_t position() const { return static_cast<uint32_t>(order); }
    bool operator<(const Candidate &other) const { return order > other.order; }
  };
  static constexpr uint32_t none = UINT32_MAX;

  void add(int32_t id) {
    auto at = static_cast<uint32_t>(symbols.size());
    symbols.push_back({id, at ? at - 1 : none, none});
    if (at)
      symbols[at - 1].next = at;
  }

  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::string text;
};

Result<std::unique_ptr<Model>>
BpeModel::create(Vocabulary vocabulary, const std::vector<Merge> &merges,
                 Options options) {
  std::unique_ptr<BpeModel> model(
      new BpeModel(std::move(vocabulary), std::move(options)));
  const Options &opts = model->options;
  model->merges.build(merges);
  if (opts.unkToken) {
    // A missing unknown token only matters for a text that needs it.
    model->unkId = model->vocabulary.find(*opts.unkToken).value_or(-1);
  }
  if (opts.byteFallback)
    if (auto bytes = model->vocabulary.byteTokens())
      model->byteIds = std::move(*bytes);
  model->smallChars.fill(-1);
  for (char32_t c = 0; c < model->smallChars.size(); ++c) {
    std::string text;
    appendChar(text, c);
    model->smallChars[c] = model->vocabulary.find(text).value_or(-1);
  }
  return std::unique_ptr<Model>(std::move(model));
}

void BpeModel::splitIntoSymbols(std::string_view text, Scratch &scratch) const {
  scratch.symbols.clear();
  bool decorated = options.continuingPrefix || options.wordSuffix;
  // Unknown characters in a row are one token when they are fused.
  bool unkPending = false;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = nextChar(text, at);
    std::string_view symbol = text.substr(begin, at - begin);
    std::optional<int32_t> id;
    if (decorated) {
      scratch.text.clear();
      if (begin > 0 && options.continuingPrefix)
        scratch.text += *options.continuingPrefix;
      scratch.text += symbol;
      if (at == text.size() && options.wordSuffix)
        scratch.text += *options.wordSuffix;
      symbol = scratch.text;
      id = vocabulary.find(symbol);
    } else if (c < smallChars.size()) {
      if (smallChars[c] >= 0)
        id = smallChars[c];
    } else {
      id = vocabulary.find(symbol);
    }
    if (id) {
      if (unkPending)
        scratch.add(unkId);
      unkPending = false;
      scratch.add(*id);
    } else if (!byteIds.empty()) {
      for (char b : symbol)
        scratch.add(byteIds[static_cast<uint8_t>(b)]);
    } else if (unkId >= 0) {
      if (unkPending && !options.fuseUnk)
        scratch.add(unkId);
      unkPending = true;
    }
  }
  if (unkPending)
    scratch.add(unkId);
}

void BpeModel::mergeSymbols(Scratch &scratch) const {
  auto &symbols = scratch.symbols;
  auto &heap = scratch.heap;
  heap.clear();
  auto consider = [&](uint32_t left) -> bool {
    uint32_t right = symbols[left].next;
    if (right == Scratch::none)
      return false;
    MergeTarget target = merges.find(symbols[left].id, symbols[right].id);
    if (target.result < 0)
      return false;
    heap.push_back(
        {static_cast<uint64_t>(target.rank) << 32 | left, target.result});
    return true;
  };
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i)
    consider(i);
  std::make_heap(heap.begin(), heap.end());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Scratch::Candidate top = heap.back();
    heap.pop_back();
    uint32_t left = top.position();
    if (symbols[left].id < 0 || symbols[left].next == Scratch::none)
      continue;
    uint32_t right = symbols[left].next;
    // Entries are not removed when a neighbour changes; they are stale then.
    if (merges.find(symbols[left].id, symbols[right].id).result != top.result)
      continue;
    symbols[left].id = top.result;
    symbols[right].id = -1;
    symbols[left].next = symbols[right].next;
    if (symbols[left].next != Scratch::none)
      symbols[symbols[left].next].previous = left;
    if (symbols[left].previous != Scratch::none &&
        consider(symbols[left].previous))
      std::push_heap(heap.begin(), heap.end());
    if (consider(left))
      std::push_heap(heap.begin(), heap.end());
  }
}

Status BpeModel::encode(const Pieces &pieces, std::vector<int32_t> &ids) const {
  Scratch scratch;
  for (const Piece &piece : pieces.list) {
    if (piece.token >= 0) {
      ids.push_back(piece.token);
      continue;
    }
    if (piece.size() >= Scratch::none)
      return Status::limit("a piece of text has " +
                           std::to_string(piece.size()) +
                           " bytes; 4 GiB are the limit");
    std::string_view text = pieces.get(piece);
    if (options.ignoreMerges)
      if (auto id = vocabulary.find(text)) {
        ids.push_back(*id);
        continue;
      }
    splitIntoSymbols(text, scratch);
    mergeSymbols(scratch);
    for (const Scratch::Symbol &symbol : scratch.symbols)
      if (symbol.id >= 0)
        ids.push_back(symbol.id);
  }
  return Status::ok();
}

} // namespace weft::rt
