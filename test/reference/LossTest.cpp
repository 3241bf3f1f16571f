// The loss of a trained model over the last tenth of its text, against the
// value recorded after training.

#include "test/e2e/Golden.h"
#include "test/reference/Transformer.h"

#include <fstream>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::reference;

TEST(Loss, ShakespeareDraftEqualsTheRecordedOne) {
  std::ifstream stream(WEFT_SOURCE_DIR
                       "/test/e2e/data/shakespeare-validation.u16",
                       std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::vector<int32_t> ids;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2)
    ids.push_back(uint8_t(bytes[i]) + 256 * uint8_t(bytes[i + 1]));
  ASSERT_EQ(ids.size(), 49439u);

  auto folder = e2e::dataFolder("shakespeare-llama-draft");
  Checkpoint checkpoint = Checkpoint::open(folder);
  Config config = parseConfig(checkpoint.config());
  for (Rope &rope : config.rope)
    rope.roundFrequencies = true; // As recorded; see SOURCE.md.
  Transformer model(checkpoint, config);
  double sum = 0;
  int64_t windows = 0;
  for (size_t i = 0; i + 257 <= ids.size(); i += 256, ++windows)
    sum += model.loss(std::span(ids).subspan(i, 257));
  EXPECT_EQ(windows, 193);
  auto recorded = e2e::Golden::load(folder).validationLoss;
  ASSERT_TRUE(recorded);
  EXPECT_NEAR(sum / double(windows), *recorded, 1e-6);
}
