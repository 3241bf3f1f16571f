//===- RunText.h - weft-run: text from a prompt ---------------------------===//

#ifndef WEFT_TOOLS_WEFTRUN_RUNTEXT_H
#define WEFT_TOOLS_WEFTRUN_RUNTEXT_H

#include "runtime/Format/Status.h"
#include "runtime/Llm/Sampler.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// What the command line says; nothing where it says nothing.
struct TextOptions {
  std::string plan;
  std::optional<std::string> prompt, promptFile, ids;
  int64_t maxTokens = 256;
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
  double presencePenalty = 0, frequencyPenalty = 0;
  uint64_t seed = 0;
  std::vector<std::string> stopStrings;
  bool ignoreEos = false;
  bool outputIds = false;
  bool logProbabilities = false;
  unsigned threads = 0;
  std::string device; ///< Empty: that of the plan's target.
  int64_t contextLength = 0;
  int64_t tokensPerStep = 512;
  std::string tracePath;
};

/// The model's sampling with what the command line says instead.
rt::SamplingOptions getSampling(const TextOptions &options,
                                rt::SamplingOptions sampling);

/// Writes prompt and generated text to standard output as it comes, and
/// everything else to standard error. SIGINT ends the text after the current
/// token, with the status Cancelled.
rt::Status runText(const TextOptions &options);

} // namespace weft

#endif // WEFT_TOOLS_WEFTRUN_RUNTEXT_H
