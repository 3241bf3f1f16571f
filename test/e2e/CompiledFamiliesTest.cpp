// What was recorded from each model's own framework, through the compiler and
// the runtime, from both spellings of config.json.

#include "test/e2e/CompileModel.h"
#include "test/e2e/OldSpelling.h"
#include "test/e2e/PlanModel.h"

#include <algorithm>

#include <gtest/gtest.h>

using namespace weft::e2e;
namespace fs = std::filesystem;

namespace {

PlanStore &plans() {
  static PlanStore store("families");
  return store;
}

struct Param {
  std::string family;
  bool oldSpelling;
};

std::vector<Param> allParams() {
  std::vector<Param> params;
  for (const std::string &family : familyNames())
    for (bool oldSpelling : {false, true})
      params.push_back({family, oldSpelling});
  return params;
}

class CompiledFamilies : public testing::TestWithParam<Param> {};

TEST_P(CompiledFamilies, OutputsAndGreedyIdsEqualTheRecordedOnes) {
  const auto &[family, oldSpelling] = GetParam();
  fs::path folder = dataFolder("families/" + family);
  Golden golden = Golden::load(folder);
  ASSERT_EQ(golden.cases.size(), 3u);
  std::string name = family + (oldSpelling ? "-old" : "");
  if (oldSpelling) {
    copyWithOldSpelling(folder, plans().getCheckpoint(name));
    folder = plans().getCheckpoint(name);
  }
  const std::string &plan = plans().compile(name, folder);
  double largest = 0;
  if (family == "bert") {
    PlanEncoder encoder(plan);
    EXPECT_EQ(compareOutputs(golden, encoder.asRunModel(), 1e-4, &largest), "");
  } else {
    PlanModel model(plan);
    EXPECT_EQ(compareOutputs(golden, model.asRunModel(), 1e-4, &largest), "");
    EXPECT_EQ(compareGreedy(golden, model.asRunGreedy()), "");
  }
  std::cout << name << ": largest difference " << largest << "\n";
}

INSTANTIATE_TEST_SUITE_P(All, CompiledFamilies, testing::ValuesIn(allParams()),
                         [](const auto &info) {
                           std::string name =
                               info.param.family +
                               (info.param.oldSpelling ? "_old" : "_new");
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A14's question for an encoder: texts of one step do not see each other.
TEST(CompiledBert, TextsTogetherEqualTextsAlone) {
  fs::path folder = dataFolder("families/bert");
  Golden golden = Golden::load(folder);
  PlanEncoder encoder(plans().compile("bert", folder));
  std::vector<std::vector<int32_t>> texts;
  for (const GoldenCase &entry : golden.cases)
    texts.push_back(entry.ids);
  std::vector<Table> together = encoder.encode(texts);
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(together[i].values, encoder.encode({&texts[i], 1})[0].values);
}

} // namespace
