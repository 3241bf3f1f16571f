//===- KvCacheTest.cpp ----------------------------------------------------===//

#include "runtime/Llm/KvCache.h"
#include "runtime/Llm/StepBuilder.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

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
