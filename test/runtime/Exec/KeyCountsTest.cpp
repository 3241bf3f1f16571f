//===- KeyCountsTest.cpp - Keys that attention sees, by formula -----------===//

#include "runtime/Exec/KeyCounts.h"
#include "test/runtime/Exec/ToySession.h"

#include <random>

using namespace weft::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using enum KeyCount::Kind;

KeyCount make(KeyCount::Kind kind, bool isCausal = true, uint64_t window = 0) {
  return {kind, isCausal, window, 0, 1, 2};
}

/// The inputs of a step made of pieces: the last `tokens` of `length`.
struct Pieces {
  struct Piece {
    int32_t tokens, length;
  };

  explicit Pieces(std::vector<Piece> pieces) : pieces(std::move(pieces)) {
    for (const Piece &piece : this->pieces) {
      for (int32_t i = piece.length - piece.tokens; i < piece.length; ++i)
        positions.push_back(i);
      starts.push_back(int32_t(positions.size()));
      lengths.push_back(piece.length);
    }
  }

  int64_t count(const KeyCount &count) const {
    return countKeys(count, {positions, starts, lengths});
  }

  /// By the definition of weft.attention: key j is visible from position p if
  /// j <= p (causal) and p - j < window.
  int64_t countOneByOne(const KeyCount &count) const {
    int64_t seen = 0, read = 0;
    for (const Piece &piece : pieces) {
      std::vector<bool> isSeen(piece.length);
      for (int64_t p = piece.length - piece.tokens; p < piece.length; ++p)
        for (int64_t j = 0; j < piece.length; ++j) {
          if ((count.isCausal && j > p) ||
              (count.window && p - j >= int64_t(count.window)))
            continue;
          ++seen;
          isSeen[j] = true;
        }
      read += std::ranges::count(isSeen, true);
    }
    return count.kind == Seen ? seen : read;
  }

  std::vector<Piece> pieces;
  std::vector<int32_t> positions, starts = {0}, lengths;
};

TEST(KeyCounts, PromptIsATriangle) {
  for (int32_t n : {1, 2, 64, 65, 512}) {
    Pieces prompt({{n, n}});
    EXPECT_EQ(prompt.count(make(Seen)), int64_t(n) * (n + 1) / 2);
    EXPECT_EQ(prompt.count(make(Read)), n);
    EXPECT_EQ(prompt.count(make(Seen, false)), int64_t(n) * n);
    EXPECT_EQ(prompt.count(make(Read, false)), n);
  }
}

TEST(KeyCounts, OneTokenSeesItsContext) {
  for (int32_t n : {1, 63, 64, 65, 4096}) {
    Pieces step({{1, n}});
    EXPECT_EQ(step.count(make(Seen)), n);
    EXPECT_EQ(step.count(make(Read)), n);
    EXPECT_EQ(step.count(make(Seen, true, 512)), std::min(n, 512));
    EXPECT_EQ(step.count(make(Read, true, 512)), std::min(n, 512));
  }
}

TEST(KeyCounts, WindowOfAPrompt) {
  // The first W tokens are a triangle, the others see W keys each.
  for (int64_t n : {4, 5, 100})
    for (int64_t w : {1, 2, 4, 5, 200}) {
      const int64_t triangle = std::min(n, w);
      Pieces prompt({{int32_t(n), int32_t(n)}});
      EXPECT_EQ(prompt.count(make(Seen, true, w)),
                triangle * (triangle + 1) / 2 + (n - triangle) * w);
      EXPECT_EQ(prompt.count(make(Read, true, w)), n);
    }
  // A chunk of 4 behind 96 reads back to the window of its first token.
  EXPECT_EQ(Pieces({{4, 100}}).count(make(Read, true, 8)), 7 + 4);
  EXPECT_EQ(Pieces({{4, 100}}).count(make(Seen, true, 8)), 4 * 8);
}

TEST(KeyCounts, MixedBatchesAreTheSumOfTheirSequences) {
  constexpr uint32_t seed = 11;
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<Pieces::Piece> pieces(1 + random() % 5);
    for (Pieces::Piece &piece : pieces) {
      piece.length = int32_t(1 + random() % 40);
      piece.tokens = int32_t(1 + random() % piece.length);
    }
    Pieces step(pieces);
    for (KeyCount::Kind kind : {Seen, Read})
      for (bool isCausal : {true, false})
        for (uint64_t window : {0, 1, 7, 100})
          EXPECT_EQ(step.count(make(kind, isCausal, window)),
                    step.countOneByOne(make(kind, isCausal, window)))
              << "seed " << seed << ", round " << round << ", "
              << getName(make(kind, isCausal, window));
  }
}

TEST(KeyCounts, WithoutLengthsASequenceIsItsTokens) {
  std::vector<int32_t> positions = {0, 1, 2, 0, 1}, starts = {0, 3, 5};
  EXPECT_EQ(countKeys(make(Seen, false), {positions, starts, {}}), 9 + 4);
  EXPECT_EQ(countKeys(make(Seen, true), {positions, starts, {}}), 6 + 3);
  EXPECT_EQ(countKeys(make(Read, false), {positions, starts, {}}), 5);
}

TEST(KeyCounts, WrongInputsGiveSomeNumber) {
  const std::vector<int32_t> extremes = {INT32_MIN, -1, 0, 1, INT32_MAX};
  for (KeyCount::Kind kind : {Seen, Read})
    for (uint64_t window : {uint64_t(0), uint64_t(3), UINT64_MAX})
      for (bool isCausal : {true, false})
        EXPECT_GE(countKeys(make(kind, isCausal, window),
                            {extremes, extremes, extremes}),
                  0);
  EXPECT_EQ(countKeys(make(Seen), {}), 0);
}

TEST(KeyCounts, Names) {
  EXPECT_EQ(getName(make(Seen)), "seen_keys");
  EXPECT_EQ(getName(make(Read, true, 512)), "read_keys.window_512");
  EXPECT_EQ(getName(make(Seen, false, 8)), "seen_keys.both_sides.window_8");
}

/// An entry over the symbols tokens and sequences.
Entry makeEntry(bool hasLengths) {
  Entry entry;
  entry.name = "step";
  const Expr tokens = Expr::symbol(0), sequences = Expr::symbol(1);
  auto add = [&](const char *name, Expr size) {
    entry.buffers.push_back(
        {name, BufferKind::Input, DType::I32, {size}, 0, {}, 0, 0});
  };
  add("positions", tokens);
  add("sequence_starts", sequences + Expr::constant(1));
  add("context_lengths", sequences);
  for (KeyCount::Kind kind : {Seen, Read}) {
    entry.keyCounts.push_back(make(kind));
    if (!hasLengths)
      entry.keyCounts.back().sequenceLengths = KeyCount::noBuffer;
  }
  return entry;
}

TEST(KeyCounts, EvenSteps) {
  auto count = [](int64_t tokens, int64_t sequences, int64_t context) {
    const int64_t symbols[] = {tokens, sequences};
    return countKeysOfEvenStep(makeEntry(true), symbols, context).take();
  };
  EXPECT_THAT(count(1, 1, 512), ElementsAre(512, 512));
  EXPECT_THAT(count(8, 8, 512), ElementsAre(8 * 512, 8 * 512));
  EXPECT_THAT(count(512, 1, 512), ElementsAre(512 * 513 / 2, 512));
  // Each sequence has two tokens that see 99 and 100 keys.
  EXPECT_THAT(count(6, 3, 100), ElementsAre(3 * 199, 300));
  // More tokens than the context.
  EXPECT_THAT(count(10, 1, 4), ElementsAre(55, 10));
  const int64_t symbols[] = {6, 2};
  EXPECT_THAT(countKeysOfEvenStep(makeEntry(false), symbols, 0).take(),
              ElementsAre(2 * 6, 6));
  const int64_t tooMany[] = {int64_t(1) << 40, 1};
  EXPECT_THAT(
      countKeysOfEvenStep(makeEntry(true), tooMany, 4).getStatus().getMessage(),
      HasSubstr("give smaller sizes"));
}

TEST(KeyCounts, WorkIsExactWhereThePlanSaysHow) {
  Command command;
  command.flops = Expr::constant(100);
  command.bytes = Expr::constant(50);
  const int64_t values[] = {3, 7};
  Work most = evaluateWork(command, values).take();
  EXPECT_EQ(most.flops, 100);
  EXPECT_EQ(most.bytes, 50);
  command.countedFlops = Expr::symbol(1) * Expr::constant(2);
  command.countedBytes = Expr::symbol(0);
  Work exact = evaluateWork(command, values).take();
  EXPECT_EQ(exact.flops, 14);
  EXPECT_EQ(exact.bytes, 3);
}

/// The toy's input `slots` taken for positions of one long sequence per token.
TEST_F(ToySession, HooksAreToldTheWorkOfTheRun) {
  Plan plan = toy::makePlan();
  Entry &entry = plan.entries[0];
  uint32_t slots = 0;
  while (entry.buffers[slots].name != "slots")
    ++slots;
  // Starts 0, 1, 2, 3: three sequences of one token, whose positions are the
  // same numbers.
  entry.keyCounts = {{Seen, true, 0, slots, slots, KeyCount::noBuffer}};
  Command &command = entry.commands[0];
  const auto keys = Expr::symbol(uint32_t(plan.symbols.size()));
  command.countedFlops = keys * Expr::constant(10);
  command.countedBytes = keys;
  make(1, 64, 16, plan);
  int64_t flops = -1, bytes = -1;
  session->addHook([&](const CommandEvent &event) {
    if (event.commandIndex == 0) {
      flops = event.flops;
      bytes = event.bytes;
    }
    return Status::ok();
  });
  Step step(4);
  ASSERT_OK(step.run(*session));
  EXPECT_EQ(bytes, 1 + 2 + 3);
  EXPECT_EQ(flops, 60);
  // Other data, equal sizes.
  step.slots = {0, 1, 1, 1};
  ASSERT_OK(step.run(*session));
  EXPECT_EQ(bytes, 1);
}

} // namespace
