//===- Stories.h - What the bundled model was recorded to say ---*- C++ -*-===//

#ifndef WEFT_TEST_E2E_STORIES_H
#define WEFT_TEST_E2E_STORIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace weft::e2e {

/// A prompt and its greedy continuation.
struct Story {
  std::string prompt;
  std::vector<int32_t> promptIds, ids;
  std::string
      text; ///< Prompt and continuation, without what stands for a final 1.
  std::vector<float> firstLogits;
};

/// The recorded stories of models/stories260k; none if they cannot be read.
std::vector<Story> readStories();

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_STORIES_H
