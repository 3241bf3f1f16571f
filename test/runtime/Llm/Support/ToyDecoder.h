//===- ToyDecoder.h - A decoder plan made by hand that tells a story ------===//
//
// Its cache holds the tokens themselves. The logits behind position p of a
// sequence favour the story's id p + 1; the other logits depend on all tokens
// of the sequence, read through the block table, so that a wrong cache shows in
// every log probability. Ids are bytes, 256 is <s> and 257 is </s>; the head is
// wider than the tokenizer, with large logits behind it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_RUNTIME_LLM_SUPPORT_TOYDECODER_H
#define WEFT_TEST_RUNTIME_LLM_SUPPORT_TOYDECODER_H

#include "runtime/Format/Plan.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::rt::toydecoder {

constexpr int64_t headWidth = 264, tokenizerSize = 258;
constexpr int64_t blockSize = 4, contextLength = 96;
constexpr int32_t bos = 256, eos = 257;

/// Two-, three- and four-byte characters are in it.
inline const std::string story =
    "Once upon a time there was a caf\u00e9 \u2615 by the sea \U0001F604. "
    "The end.";

/// <s>, the bytes of the story, </s>.
std::vector<int32_t> storyIds();

/// The logits behind the last of `ids`, computed here.
std::vector<float> expectedLogits(std::span<const int32_t> ids);

struct FileOptions {
  bool tokenizer = true;
  std::string kind = "decoder"; ///< In META.
  std::string extraMeta =
      {}; ///< More members of META, each with a comma before.
  /// Code for the GPU of test/runtime/Device/Cuda/FakeCuda.h.
  bool fakeCuda = false;
  std::function<void(Plan &)> edit = {}; ///< Before it is written.
};

/// Writes the plan with the real writer.
Status writeFile(const std::string &path, const FileOptions &options = {});

} // namespace weft::rt::toydecoder

#endif // WEFT_TEST_RUNTIME_LLM_SUPPORT_TOYDECODER_H
