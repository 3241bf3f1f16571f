//===- KvCacheTest.cpp ----------------------------------------------------===//

#include "runtime/Llm/KvCache.h"
#include "runtime/Llm/StepBuilder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <ranges>

using namespace weft::rt;
using testing::ElementsAre;

namespace {

TEST(KvCacheTest, SlotsAreBlockTimesSizePlusOffset) {
  Result<KvCache> cache = KvCache::create(4, 8);
  ASSERT_TRUE(cache);
  SequenceId a = cache->addSequence(), b = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 9));
  ASSERT_TRUE(cache->append(b, 1));
  ASSERT_TRUE(cache->append(a, 8));
  EXPECT_THAT(cache->getBlocks(a), ElementsAre(0, 1, 3));
  EXPECT_THAT(cache->getBlocks(b), ElementsAre(2));
  EXPECT_EQ(cache->getSlot(a, 0), 0);
  EXPECT_EQ(cache->getSlot(a, 8), 8);
  EXPECT_EQ(cache->getSlot(a, 16), 24);
  EXPECT_EQ(cache->getSlot(b, 0), 16);
  EXPECT_EQ(cache->getFreeBlockCount(), 0);
  EXPECT_EQ(cache->getRoom(a), 7);
}

TEST(KvCacheTest, ShortageChangesNothing) {
  Result<KvCache> cache = KvCache::create(2, 8);
  SequenceId a = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 3));
  Status s = cache->append(a, 14);
  EXPECT_EQ(s.getCode(), StatusCode::LimitExceeded);
  EXPECT_EQ(s.getMessage(),
            "the cache has 1 of 2 blocks free and 2 are needed; remove "
            "sequences or give the session more cache");
  EXPECT_EQ(cache->getLength(a), 3);
  EXPECT_TRUE(cache->verify());
  EXPECT_TRUE(cache->append(a, 13));
}

TEST(KvCacheTest, BadArgumentsAreErrors) {
  EXPECT_FALSE(KvCache::create(0, 8));
  EXPECT_FALSE(KvCache::create(8, 0));
  EXPECT_FALSE(KvCache::create(int64_t(1) << 40, 64));
  Result<KvCache> cache = KvCache::create(2, 8);
  SequenceId a = cache->addSequence();
  EXPECT_FALSE(cache->append(a, -1));
  EXPECT_FALSE(cache->append(a, INT64_MAX));
  EXPECT_FALSE(cache->rewind(a, 1));
  EXPECT_FALSE(cache->rewind(a, -1));
  EXPECT_FALSE(cache->append(a + 1, 1));
  EXPECT_TRUE(cache->removeSequence(a));
  EXPECT_EQ(cache->removeSequence(a).getCode(), StatusCode::NotFound);
}

TEST(KvCacheTest, BlocksAddUpUnderRandomUse) {
  constexpr uint32_t seed = 20240611;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Result<KvCache> cache = KvCache::create(37, 5);
  ASSERT_TRUE(cache);
  std::map<SequenceId, int64_t> lengths;
  for (int i = 0; i < 20000; ++i) {
    uint32_t choice = random() % 8;
    if (lengths.empty() || choice == 0) {
      lengths[cache->addSequence()] = 0;
      continue;
    }
    auto it = lengths.begin();
    std::advance(it, random() % lengths.size());
    if (choice == 1) {
      ASSERT_TRUE(cache->removeSequence(it->first));
      lengths.erase(it);
    } else if (choice == 2) {
      it->second = random() % (it->second + 1);
      ASSERT_TRUE(cache->rewind(it->first, it->second));
    } else {
      int64_t count = random() % 20;
      bool fits = count <= cache->getRoom(it->first);
      ASSERT_EQ(bool(cache->append(it->first, count)), fits);
      it->second += fits ? count : 0;
    }
    ASSERT_TRUE(cache->verify());
    for (auto [id, length] : lengths)
      ASSERT_EQ(cache->getLength(id), length);
  }
}

TEST(KvCacheTest, ForksCopyTheBlockThatTheyWriteTo) {
  Result<KvCache> cache = KvCache::create(6, 4);
  SequenceId a = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 6)); // blocks 0, 1
  SequenceId b = *cache->fork(a);
  EXPECT_THAT(cache->getBlocks(b), ElementsAre(0, 1));
  EXPECT_EQ(cache->getFreeBlockCount(), 4);
  EXPECT_EQ(cache->countNewBlocks(b, 1), 1);
  EXPECT_EQ(cache->countNewBlocks(b, 3), 2);
  EXPECT_EQ(cache->getRoom(b), 18 - 4);
  ASSERT_TRUE(cache->append(b, 1));
  EXPECT_THAT(cache->getBlocks(b), ElementsAre(0, 2));
  EXPECT_THAT(cache->getPendingCopies(), ElementsAre(BlockCopy{1, 2}));
  // Until the copy is made its source stays as it is, so a writes elsewhere.
  ASSERT_TRUE(cache->append(a, 1));
  EXPECT_THAT(cache->getBlocks(a), ElementsAre(0, 3));
  EXPECT_TRUE(cache->verify());
  cache->clearPendingCopies();
  EXPECT_EQ(cache->getFreeBlockCount(), 3);
  // Nobody shares the last block now.
  ASSERT_TRUE(cache->append(b, 1));
  EXPECT_THAT(cache->getBlocks(b), ElementsAre(0, 2));
  EXPECT_TRUE(cache->getPendingCopies().empty());
  EXPECT_TRUE(cache->verify());
  EXPECT_EQ(cache->fork(99).getStatus().getCode(), StatusCode::NotFound);
}

TEST(KvCacheTest, CopiesToBlocksThatWentAreForgotten) {
  Result<KvCache> cache = KvCache::create(4, 4);
  SequenceId a = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 3));
  SequenceId b = *cache->fork(a);
  ASSERT_TRUE(cache->append(b, 1));
  ASSERT_EQ(cache->getPendingCopies().size(), 1u);
  ASSERT_TRUE(cache->removeSequence(a));
  EXPECT_EQ(cache->getFreeBlockCount(), 2) << "the source waits for its copy";
  ASSERT_TRUE(cache->removeSequence(b));
  EXPECT_TRUE(cache->getPendingCopies().empty());
  EXPECT_EQ(cache->getFreeBlockCount(), 4);
  EXPECT_TRUE(cache->verify());
}

TEST(KvCacheTest, PrefixesAreSharedByWholeBlocks) {
  Result<KvCache> cache = KvCache::create(8, 2);
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5};
  SequenceId a = cache->addSequence();
  EXPECT_EQ(cache->reusePrefix(a, 0, ids), 0);
  ASSERT_TRUE(cache->append(a, 5));
  cache->sharePrefix(a, 0, ids);
  SequenceId b = cache->addSequence(), c = cache->addSequence();
  EXPECT_EQ(cache->reusePrefix(b, 0, ids), 4);
  EXPECT_THAT(cache->getBlocks(b), ElementsAre(0, 1));
  EXPECT_EQ(cache->reusePrefix(c, 1, ids), 0) << "another space";
  // What was computed twice is kept once.
  ASSERT_TRUE(cache->append(c, 5));
  cache->sharePrefix(c, 0, ids);
  EXPECT_THAT(cache->getBlocks(c), ElementsAre(0, 1, 5));
  EXPECT_EQ(cache->getFreeBlockCount(), 4);
  // A shared block stays as it is when a holder goes on from its middle.
  ASSERT_TRUE(cache->rewind(b, 3));
  ASSERT_TRUE(cache->append(b, 1));
  ASSERT_EQ(cache->getPendingCopies().size(), 1u);
  EXPECT_EQ(cache->getPendingCopies()[0].from, 1);
  EXPECT_EQ(cache->getSlot(b, 2) / 2, cache->getPendingCopies()[0].to);
  cache->clearPendingCopies();
  for (SequenceId id : {a, b, c})
    ASSERT_TRUE(cache->removeSequence(id));
  EXPECT_TRUE(cache->verify());
  EXPECT_EQ(cache->getSharedBlockCount(), 2);
  EXPECT_EQ(cache->getFreeBlockCount(), 8) << "unused prefixes count as free";
  // Whoever needs their place gets it.
  SequenceId d = cache->addSequence();
  ASSERT_TRUE(cache->append(d, 16));
  EXPECT_EQ(cache->getSharedBlockCount(), 0);
  EXPECT_TRUE(cache->verify());
}

/// Sequences as lists of tokens, and what the blocks hold as a model would
/// write it. What a sequence reads must be its tokens, whatever is shared.
class ContentModel {
public:
  ContentModel(int64_t blocks, int64_t size, uint32_t seed, int64_t spaces)
      : cache(*KvCache::create(blocks, size)), random(seed), spaces(spaces),
        content(blocks * size, -1) {}

  void step() {
    const uint32_t choice = random() % 16;
    if (sequences.empty() || choice < 2)
      return add();
    auto it = sequences.begin();
    std::advance(it, random() % sequences.size());
    auto &[id, sequence] = *it;
    if (choice < 4) {
      ASSERT_TRUE(cache.removeSequence(id));
      sequences.erase(it);
    } else if (choice == 4) {
      sequence.tokens.resize(random() % (sequence.tokens.size() + 1));
      ASSERT_TRUE(cache.rewind(id, int64_t(sequence.tokens.size())));
    } else if (choice == 5) {
      Result<SequenceId> fork = cache.fork(id);
      ASSERT_TRUE(fork);
      sequences[*fork] = sequence;
    } else if (choice < 9) {
      cache.sharePrefix(id, sequence.space, sequence.tokens);
      published[sequence.space].push_back(sequence.tokens);
    } else {
      runStep();
    }
  }

  void check() {
    ASSERT_TRUE(cache.verify());
    // Where a copy is pending, what a block holds is elsewhere.
    auto read = [&](int64_t slot) {
      const int64_t size = cache.getBlockSize();
      for (const BlockCopy &copy :
           std::views::reverse(cache.getPendingCopies()))
        if (slot / size == copy.to)
          slot = copy.from * size + slot % size;
      return content[slot];
    };
    for (const auto &[id, sequence] : sequences) {
      ASSERT_EQ(cache.getLength(id), int64_t(sequence.tokens.size()));
      for (size_t i = 0; i < sequence.tokens.size(); ++i)
        ASSERT_EQ(read(cache.getSlot(id, int64_t(i))), sequence.tokens[i])
            << "sequence " << id << ", position " << i;
    }
  }

  void removeAll() {
    for (const auto &[id, sequence] : sequences)
      ASSERT_TRUE(cache.removeSequence(id));
    sequences.clear();
    ASSERT_TRUE(cache.verify());
    ASSERT_EQ(cache.getFreeBlockCount(), cache.getBlockCount());
  }

  KvCache cache;
  int64_t reused = 0, copied = 0;

private:
  struct Sequence {
    int64_t space = 0;
    std::vector<int32_t> tokens;
  };

  /// Starts as one of the published ones does, mostly.
  void add() {
    Sequence sequence = {int64_t(random() % spaces), {}};
    std::vector<int32_t> prompt;
    const auto &known = published[sequence.space];
    if (!known.empty())
      prompt = known[random() % known.size()];
    prompt.push_back(int32_t(random() % 3));
    const SequenceId id = cache.addSequence();
    const int64_t length = cache.reusePrefix(id, sequence.space, prompt);
    ASSERT_EQ(length % cache.getBlockSize(), 0);
    ASSERT_LE(length, int64_t(prompt.size()));
    prompt.resize(length);
    sequence.tokens = prompt;
    reused += length;
    sequences[id] = sequence;
  }

  /// Some sequences grow together. A step that fails gives back what it took,
  /// before or after its copies were made.
  void runStep() {
    const uint32_t outcome = random() % 8;
    std::map<SequenceId, int64_t> counts;
    for (auto &[id, sequence] : sequences) {
      if (random() % 2 != 0)
        continue;
      const int64_t count = random() % 9;
      const int64_t blocks = cache.countNewBlocks(id, count);
      const int64_t free = cache.getFreeBlockCount();
      ASSERT_EQ(count <= cache.getRoom(id), count == 0 || blocks <= free);
      const Status status = cache.append(id, count);
      ASSERT_EQ(status.isOk(), blocks <= free);
      ASSERT_EQ(cache.getFreeBlockCount(), free - (status ? blocks : 0));
      if (status)
        counts[id] = count;
    }
    if (outcome > 0) {
      const int64_t size = cache.getBlockSize();
      for (const BlockCopy &copy : cache.getPendingCopies()) {
        std::copy_n(content.begin() + copy.from * size, size,
                    content.begin() + copy.to * size);
        ++copied;
      }
      cache.clearPendingCopies();
    }
    for (auto [id, count] : counts) {
      Sequence &sequence = sequences[id];
      if (outcome < 2) {
        ASSERT_TRUE(cache.rewind(id, int64_t(sequence.tokens.size())));
        continue;
      }
      for (int64_t i = 0; i < count; ++i) {
        const int32_t token = int32_t(random() % 3);
        content[cache.getSlot(id, int64_t(sequence.tokens.size()))] = token;
        sequence.tokens.push_back(token);
      }
    }
  }

  std::mt19937 random;
  int64_t spaces;
  std::map<SequenceId, Sequence> sequences;
  std::map<int64_t, std::vector<std::vector<int32_t>>> published;
  std::vector<int32_t> content; ///< By slot.
};

TEST(KvCacheTest, SequencesKeepTheirContentWhateverIsShared) {
  int64_t reused = 0, copied = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ContentModel model(seed % 2 ? 24 : 200, 4, seed, 1 + seed % 3);
    for (int i = 0; i < 1500 && !testing::Test::HasFatalFailure(); ++i) {
      model.step();
      model.check();
    }
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    reused += model.reused;
    copied += model.copied;
    model.removeAll();
  }
  EXPECT_GT(reused, 100);
  EXPECT_GT(copied, 100);
}

TEST(StepBuilderTest, FillsTheInputsOfTheStepEntry) {
  Result<KvCache> cache = KvCache::create(8, 4);
  SequenceId a = cache->addSequence(), b = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 4));
  ASSERT_TRUE(cache->append(b, 3)); // block 1
  ASSERT_TRUE(cache->append(a, 2)); // blocks 0, 2
  StepBuilder builder(/*hasRopeChoice=*/true, /*leastLogits=*/0);
  std::vector<int32_t> first = {7, 8, 9}, second = {5, 6};
  using Logits = SequencePiece::Logits;
  std::vector<SequencePiece> pieces = {{b, first, Logits::All, 0},
                                       {a, second, Logits::Last, 1}};
  ASSERT_TRUE(builder.build(*cache, pieces));
  const StepInputs &in = builder.getInputs();
  EXPECT_THAT(in.tokens, ElementsAre(7, 8, 9, 5, 6));
  EXPECT_THAT(in.positions, ElementsAre(0, 1, 2, 4, 5));
  EXPECT_THAT(in.sequenceIds, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(in.slots, ElementsAre(4, 5, 6, 8, 9));
  EXPECT_THAT(in.sequenceStarts, ElementsAre(0, 3, 5));
  EXPECT_THAT(in.contextLengths, ElementsAre(3, 6));
  EXPECT_EQ(in.tableWidth, 2);
  EXPECT_THAT(in.blockTable, ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(in.logitRows, ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(in.ropeChoice, ElementsAre(0, 0, 0, 1, 1));
}

TEST(StepBuilderTest, AsksForAsManyRowsAsThePlanNeeds) {
  Result<KvCache> cache = KvCache::create(8, 4);
  SequenceId a = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 2));
  std::vector<int32_t> tokens = {1, 2};
  std::vector<SequencePiece> pieces = {
      {a, tokens, SequencePiece::Logits::None, 0}};
  StepBuilder none(false, 0), one(false, 1);
  ASSERT_TRUE(none.build(*cache, pieces));
  EXPECT_THAT(none.getInputs().logitRows, ElementsAre());
  EXPECT_TRUE(none.getInputs().ropeChoice.empty());
  ASSERT_TRUE(one.build(*cache, pieces));
  EXPECT_THAT(one.getInputs().logitRows, ElementsAre(1));
}

TEST(StepBuilderTest, TablesAreAsWideAsTheNextPowerOfTwo) {
  struct Case {
    int64_t blocks, widest, expected;
  };
  const Case cases[] = {{1, 12, 1},  {2, 12, 2},   {3, 12, 4},   {5, 12, 8},
                        {9, 12, 12}, {12, 12, 12}, {9, 100, 16}, {9, 0, 9}};
  for (const Case &c : cases) {
    Result<KvCache> cache = KvCache::create(16, 4);
    SequenceId a = cache->addSequence();
    ASSERT_TRUE(cache->append(a, c.blocks * 4));
    StepBuilder builder(false, 0, c.widest);
    std::vector<int32_t> token = {1};
    std::vector<SequencePiece> pieces = {
        {a, token, SequencePiece::Logits::Last, 0}};
    ASSERT_TRUE(builder.build(*cache, pieces));
    const StepInputs &in = builder.getInputs();
    EXPECT_EQ(in.tableWidth, c.expected) << c.blocks;
    ASSERT_EQ(in.blockTable.size(), size_t(c.expected));
    for (int64_t i = 0; i < c.expected; ++i)
      EXPECT_EQ(in.blockTable[i], i < c.blocks ? i : 0);
  }
}

TEST(StepBuilderTest, RowsSayHowTheirIdsAreChosen) {
  Result<KvCache> cache = KvCache::create(8, 4);
  SequenceId a = cache->addSequence(), b = cache->addSequence(),
             c = cache->addSequence();
  for (SequenceId id : {a, b, c})
    ASSERT_TRUE(cache->append(id, 2));
  std::vector<int32_t> tokens = {1, 2};
  const RowSampling row = {40, 500, 0.5f, 0.75f, 0.25f, 0.125f};
  const std::vector<LogitAdjustment> changes = {
      {3, 2.0f, 0.5f}, {7, 1.0f, -1.0f}, {9, 4.0f, 0.0f}};
  using Logits = SequencePiece::Logits;
  std::vector<SequencePiece> pieces = {
      {a, tokens, Logits::All, 0},
      {b, tokens, Logits::None, 0, &row, changes},
      {c, tokens, Logits::Last, 0, &row, changes}};
  for (int64_t widest : {0, 8}) {
    StepBuilder builder(false, 0, widest, /*samples=*/true);
    for (int round = 0; round < 2; ++round) // Nothing is left of a step.
      ASSERT_TRUE(builder.build(*cache, pieces));
    const StepInputs &in = builder.getInputs();
    EXPECT_THAT(in.samplingCounts, ElementsAre(0, 1, 0, 1, 40, 500));
    EXPECT_THAT(in.samplingOptions,
                ElementsAre(0, 1, 0, 0, 0, 1, 0, 0, 0.5, 0.75, 0.25, 0.125));
    if (widest == 0) {
      EXPECT_THAT(in.adjustmentPlaces, ElementsAre(2, 3, 2, 7, 2, 9));
      EXPECT_THAT(in.adjustmentValues, ElementsAre(2, 0.5, 1, -1, 4, 0));
    } else { // As many as the next power of two.
      EXPECT_THAT(in.adjustmentPlaces, ElementsAre(2, 3, 2, 7, 2, 9, -1, -1));
      EXPECT_EQ(in.adjustmentValues.size(), 8u);
    }
  }
  StepBuilder none(false, 1, 8, true);
  ASSERT_TRUE(none.build(*cache, std::span(pieces).subspan(1, 1)));
  EXPECT_THAT(none.getInputs().samplingCounts, ElementsAre(0, 1));
  EXPECT_TRUE(none.getInputs().adjustmentPlaces.empty());
}

TEST(StepBuilderTest, BadPiecesAreErrors) {
  Result<KvCache> cache = KvCache::create(8, 4);
  SequenceId a = cache->addSequence();
  ASSERT_TRUE(cache->append(a, 2));
  StepBuilder builder(false, 0);
  std::vector<int32_t> tokens = {1, 2, 3};
  std::span<const int32_t> all = tokens;
  auto fails = [&](std::vector<SequencePiece> pieces) {
    return builder.build(*cache, pieces).getCode() ==
           StatusCode::InvalidArgument;
  };
  EXPECT_TRUE(fails({}));
  EXPECT_TRUE(fails({{.sequence = a, .tokens = all}}));
  EXPECT_TRUE(fails({{.sequence = a, .tokens = {}}}));
  EXPECT_TRUE(fails({{.sequence = a + 1, .tokens = all.first(1)}}));
  EXPECT_TRUE(fails({{.sequence = a, .tokens = all.first(1)},
                     {.sequence = a, .tokens = all.first(1)}}));
}

} // namespace
