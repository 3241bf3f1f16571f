// FLOPs and bytes of attention in compiled plans are those of the keys that the
// tokens of a run see, by formula: causal prompts, windows, mixed batches,
// chunks.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/RandomModels.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;

namespace {

constexpr uint64_t kSeed = 31;
constexpr int64_t kWindow = 9; // Of makeRandomModel.

PlanStore &plans() {
  static PlanStore store("attention-work");
  return store;
}

struct AttentionWork {
  int64_t flops = 0, bytes = 0, steps = 0;
};

/// The sums of one attention's commands over what `run` does.
template <typename Run>
AttentionWork watch(rt::Session &session, const std::string &label, Run run) {
  AttentionWork work;
  uint32_t hook = session.addHook([&](const rt::CommandEvent &event) {
    if (event.command.label == label) {
      work.flops += event.flops;
      work.bytes += event.bytes;
      ++work.steps;
    }
    return rt::Status::ok();
  });
  run();
  session.removeHook(hook);
  return work;
}

/// Keys seen by the tokens [first, end) of a sequence.
int64_t countSeen(int64_t first, int64_t end, int64_t window) {
  int64_t sum = 0;
  for (int64_t p = first; p < end; ++p)
    sum += std::min(p + 1, window);
  return sum;
}

/// 4 heads of 16 over 2 key heads, f32. A score costs 4 FLOPs per element of a
/// head and 5 of the softmax, 3 more with a softcap; a result element one.
int64_t getFlops(int64_t seen, int64_t tokens, bool softcap) {
  return 4 * (4 * 16 + 5 + (softcap ? 3 : 0)) * seen + 4 * 16 * tokens;
}

struct Case {
  const char *family;
  int64_t window; ///< Of layer 0.
  bool softcap;
};

class AttentionWorkOf : public testing::TestWithParam<Case> {
protected:
  AttentionWorkOf()
      : plan(plans().compile(GetParam().family,
                             makeRandomModel(GetParam().family,
                                             reference::ElementType::F32,
                                             kSeed))) {
    RecordProperty("seed", std::to_string(kSeed));
  }

  std::vector<std::vector<int32_t>> makePrompts() {
    constexpr int64_t lengths[] = {1, 8, 9, 10, 70};
    return randomPrompts(lengths, 320, kSeed);
  }

  std::string plan;
};

TEST_P(AttentionWorkOf, PromptsAreTriangles) {
  PlanModel model(plan, {.threads = 1});
  for (const std::vector<int32_t> &prompt : makePrompts()) {
    const auto n = int64_t(prompt.size());
    AttentionWork work = watch(model.getSession(), "layers.0.attention",
                               [&] { model.computeLogits(prompt); });
    EXPECT_EQ(work.steps, 1);
    EXPECT_EQ(work.flops, getFlops(countSeen(0, n, GetParam().window), n,
                                   GetParam().softcap))
        << n;
    // Keys and values of 2 x 16 f32; queries and results of 4 x 16; position
    // and sequence of a token; two starts, a length, a table of one block more
    // or less.
    const int64_t blocks = (n + 63) / 64;
    EXPECT_EQ(work.bytes, n * 2 * 2 * 16 * 4 + n * (2 * 4 * 16 * 4 + 8) + 8 +
                              4 + 4 * blocks)
        << n;
  }
}

TEST_P(AttentionWorkOf, ChunksAndBatchesAddUp) {
  const auto prompts = makePrompts();
  int64_t seen = 0, tokens = 0;
  for (const std::vector<int32_t> &prompt : prompts) {
    seen += countSeen(0, int64_t(prompt.size()), GetParam().window);
    tokens += int64_t(prompt.size());
  }
  for (int64_t chunk : {1, 7, 512}) {
    PlanModel model(plan, {.tokensPerStep = chunk,
                           .threads = 1,
                           .sequences = int64_t(prompts.size())});
    AttentionWork work = watch(model.getSession(), "layers.0.attention",
                               [&] { model.computeLogits(prompts); });
    EXPECT_EQ(work.flops, getFlops(seen, tokens, GetParam().softcap)) << chunk;
  }
}

TEST_P(AttentionWorkOf, OneTokenReadsItsWindow) {
  PlanModel model(plan, {.threads = 1});
  const std::vector<int32_t> prompt = makePrompts().back();
  const auto n = int64_t(prompt.size());
  AttentionWork prompts = watch(model.getSession(), "layers.0.attention",
                                [&] { model.generateGreedily(prompt, 1); });
  AttentionWork both = watch(model.getSession(), "layers.0.attention",
                             [&] { model.generateGreedily(prompt, 2); });
  const int64_t keys = std::min(n + 1, GetParam().window);
  EXPECT_EQ(both.flops - prompts.flops, getFlops(keys, 1, GetParam().softcap));
  EXPECT_EQ(both.bytes - prompts.bytes,
            keys * 2 * 2 * 16 * 4 + 2 * 4 * 16 * 4 + 8 + 8 + 4 + 4 * 2);
}

INSTANTIATE_TEST_SUITE_P(All, AttentionWorkOf,
                         testing::Values(Case{"llama", 1 << 20, false},
                                         Case{"mistral", kWindow, false},
                                         Case{"gemma2", kWindow, true}),
                         [](const auto &info) { return info.param.family; });

// Both directions, without a cache: every token sees its whole sequence.
TEST(AttentionWorkOfAnEncoder, IsASquareForEverySequence) {
  const std::string &plan = plans().compile(
      "bert", makeRandomModel("bert", reference::ElementType::F32, kSeed));
  PlanEncoder encoder(plan, 1);
  constexpr int64_t lengths[] = {3, 5, 40};
  const auto texts = randomPrompts(lengths, 320, kSeed);
  AttentionWork work = watch(encoder.getSession(), "layers.0.attention",
                             [&] { encoder.encode(texts); });
  EXPECT_EQ(work.flops, getFlops(9 + 25 + 1600, 48, false));
}

} // namespace
