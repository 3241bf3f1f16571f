// The validation loss of the trained models, over 49,408 predicted ids.

#include "test/e2e/CompileModel.h"
#include "test/e2e/PlanModel.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

using namespace weft::e2e;

namespace {

std::vector<int32_t> readValidationIds() {
  std::ifstream file(WEFT_SOURCE_DIR
                     "/test/e2e/data/shakespeare-validation.u16",
                     std::ios::binary);
  std::vector<int32_t> ids;
  for (unsigned char bytes[2]; file.read(reinterpret_cast<char *>(bytes), 2);)
    ids.push_back(bytes[0] + 256 * bytes[1]);
  return ids;
}

class ShakespeareLoss : public testing::TestWithParam<const char *> {};

TEST_P(ShakespeareLoss, EqualsTheRecordedLoss) {
  auto folder = dataFolder(std::string("shakespeare-") + GetParam());
  Golden golden = Golden::load(folder);
  ASSERT_TRUE(golden.validationLoss);
  std::vector<int32_t> ids = readValidationIds();
  ASSERT_EQ(ids.size(), 49439u);
  PlanStore plans("shakespeare-loss");
  PlanModel model(plans.compile("model", folder, {.dtype = "f32"}));
  double loss = model.computeLoss(ids, 256);
  EXPECT_NEAR(loss, *golden.validationLoss, 1e-3);
  std::cout << GetParam() << ": loss " << loss << ", recorded "
            << *golden.validationLoss << "\n";
}

INSTANTIATE_TEST_SUITE_P(All, ShakespeareLoss,
                         testing::Values("llama-draft", "qwen3-moe",
                                         "llama-7m"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
