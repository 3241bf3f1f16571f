//===- CheckpointsTest.cpp - Real checkpoints import without a word -------===//

#include "compiler/Import/HuggingFace/Import.h"
#include "test/compiler/Import/Checkpoint.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

class Checkpoints : public testing::TestWithParam<std::string> {};

TEST_P(Checkpoints, Import) {
  ImportReport report;
  auto model = importCheckpoint(GetParam(), {}, report);
  EXPECT_TRUE(model.has_value());
  EXPECT_TRUE(report.getProblems().empty()) << print(report);
}

static std::vector<std::string> findCheckpoints() {
  std::vector<std::string> paths = {std::string(WEFT_SOURCE_DIR) +
                                    "/models/stories260k"};
  for (const auto &entry : std::filesystem::recursive_directory_iterator(
           std::string(WEFT_BINARY_DIR) + "/e2e-data"))
    if (entry.path().filename() == "config.json")
      paths.push_back(entry.path().parent_path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(CheckpointsFound, AllOfThem) { EXPECT_GE(findCheckpoints().size(), 21u); }

INSTANTIATE_TEST_SUITE_P(
    Recorded, Checkpoints, testing::ValuesIn(findCheckpoints()),
    [](const auto &info) {
      std::string name = std::filesystem::path(info.param).filename().string();
      for (char &c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)))
          c = '_';
      return name;
    });
