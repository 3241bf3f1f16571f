#include "runtime/Llm/EntryInputs.h"

#include <climits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::rt;
using testing::HasSubstr;

namespace {

/// Inputs of a step of 5 tokens of two sequences, blocks of 4, 3 blocks.
class EntryInputs : public testing::Test {
protected:
  EntryInputs() {
    plan.metaJson = R"({"format": 1, "vocab_size": 10, "context_length": 7,
                        "block_size": 4})";
    entry.name = "step";
    set("tokens", {0, 9, 1, 2, 3}, {5});
    set("positions", {0, 1, 2, 0, 6}, {5});
    set("sequence_ids", {0, 0, 0, 1, 1}, {5});
    set("slots", {0, 1, 2, 4, 11}, {5});
    set("sequence_starts", {0, 3, 5}, {3});
    set("context_lengths", {3, 7}, {2});
    set("block_table", {0, 0, 1, 2}, {2, 2});
    set("logit_rows", {2, 4}, {2});
    set("sampling_counts", {0, 10, INT_MAX, 0}, {2, 2});
    set("adjustment_places", {0, 9, 1, 0, -1, 0}, {3, 2});
  }

  struct Values {
    std::vector<int32_t> data;
    std::vector<int64_t> shape;
  };

  void set(const std::string &name, std::vector<int32_t> data,
           std::vector<int64_t> shape) {
    inputs[name] = {std::move(data), std::move(shape)};
  }

  Status verify() {
    std::vector<Argument> arguments;
    for (auto &[name, values] : inputs)
      arguments.push_back(
          {name, {values.data.data(), DType::I32, values.shape}});
    return EntryInputVerifier(plan, cacheBlocks).verify(entry, arguments);
  }

  /// The message for one changed element.
  std::string change(const std::string &name, size_t place, int32_t value) {
    int32_t &element = inputs.at(name).data.at(place);
    const int32_t before = std::exchange(element, value);
    const Status status = verify();
    element = before;
    return status.getMessage();
  }

  Plan plan;
  Entry entry;
  std::map<std::string, Values> inputs;
  int64_t cacheBlocks = 3;
};

TEST_F(EntryInputs, EachHasItsRange) {
  ASSERT_TRUE(verify()) << verify().getMessage();
  const struct {
    const char *name;
    size_t place;
    int32_t least, most;
  } cases[] = {{"tokens", 1, 0, 9},
               {"positions", 4, 0, 6},
               {"sequence_ids", 3, 0, 1},
               {"slots", 0, 0, 11},
               {"sequence_starts", 2, 3, 5},
               {"context_lengths", 0, 0, 7},
               {"block_table", 3, 0, 2},
               {"logit_rows", 1, 0, 4},
               {"sampling_counts", 3, 0, 10},
               {"adjustment_places", 2, -1, 1},
               {"adjustment_places", 3, -1, 9}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.name);
    for (int32_t value : {one.least, one.most})
      EXPECT_THAT(change(one.name, one.place, value),
                  testing::Not(HasSubstr("; expected")));
    for (int32_t value : {one.least - 1, one.most + 1, INT_MIN, INT_MAX})
      EXPECT_THAT(
          change(one.name, one.place, value),
          testing::AllOf(HasSubstr("input '" + std::string(one.name)),
                         HasSubstr(std::to_string(value)),
                         HasSubstr("element " + std::to_string(one.place))));
  }
  EXPECT_THAT(change("tokens", 1, 10), HasSubstr("expected 0 to 9"));
  EXPECT_THAT(change("sequence_starts", 0, 4),
              HasSubstr("expected at least the element before, 4"));
}

TEST_F(EntryInputs, TokensLieInTheirSequence) {
  EXPECT_THAT(change("sequence_ids", 2, 1),
              HasSubstr("input 'sequence_ids' has 1 as element 2; "
                        "sequence_starts gives this sequence the tokens from 3 "
                        "to before 5"));
  EXPECT_THAT(change("sequence_starts", 2, 4), HasSubstr("has 1 as element 4"));
  EXPECT_THAT(change("context_lengths", 0, 2),
              HasSubstr("input 'positions' has 2 as element 2; context_lengths "
                        "says that sequence 0 has 2 positions"));
}

TEST_F(EntryInputs, PositionsHaveAPlaceInTheTable) {
  set("block_table", {0, 1}, {2, 1});
  EXPECT_THAT(verify().getMessage(), HasSubstr("expected 0 to 3"));
}

TEST_F(EntryInputs, EncodersHaveTokenTypes) {
  entry.name = "encode";
  inputs.clear();
  set("tokens", {0, 9}, {2});
  set("positions", {5, 6}, {2});
  set("token_types", {0, 1}, {2});
  plan.params.push_back(
      {"bert.embeddings.token_type_embeddings.weight", DType::F32, {2, 8}, ""});
  EXPECT_TRUE(verify()) << verify().getMessage();
  EXPECT_THAT(change("token_types", 0, 2), HasSubstr("'token_types'"));
  EXPECT_THAT(change("positions", 0, 7), HasSubstr("'positions'"));
}

// The session says what is wrong with those.
TEST_F(EntryInputs, OtherEntriesAndShapesAreLeftAlone) {
  inputs["tokens"].data = {99, 99, 99, 99, 99};
  entry.name = "other";
  EXPECT_TRUE(verify());
  entry.name = "step";
  EXPECT_FALSE(verify());
  plan.metaJson = "{}";
  EXPECT_TRUE(verify());
  plan.metaJson = R"({"format": 1, "vocab_size": 10, "context_length": 7})";
  inputs.clear();
  set("sequence_ids", {7}, {1});
  set("sequence_starts", {0}, {});
  EXPECT_TRUE(verify()) << verify().getMessage();
  set("block_table", {5}, {});
  set("sampling_counts", {}, {0, 2});
  set("positions", {}, {-3});
  cacheBlocks = INT64_MAX;
  EXPECT_TRUE(verify()) << verify().getMessage();
}

} // namespace
