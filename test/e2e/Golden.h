//===- Golden.h - Recorded answers of real models, and how to compare -----===//
//
// A checkpoint folder of test/e2e/data comes with golden.json (prompts as ids,
// the ids that greedy decoding continues with) and .npy files (logits of the
// prompts, or hidden states of an encoder), recorded from the model's own
// framework; SOURCE.md says how. Anything that runs a model can be checked
// against them through two functions.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_GOLDEN_H
#define WEFT_TEST_E2E_GOLDEN_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::e2e {

/// A row-major matrix.
struct Table {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values;
};

/// Reads a version 1 NumPy file of little-endian float32 with one or two
/// dimensions in C order. Throws std::runtime_error with the file's name.
Table readNpy(const std::filesystem::path &file);

struct GoldenCase {
  std::vector<int32_t> ids;
  std::vector<int32_t> greedy; ///< Empty for encoders.
  Table output;                ///< Logits or hidden states, a row per id.
};

struct Golden {
  std::vector<GoldenCase> cases;
  /// Mean loss in nats per token over windows of 256 ids, if recorded.
  std::optional<double> validationLoss;

  /// Reads golden.json and its .npy files from a checkpoint folder. Throws
  /// std::runtime_error.
  static Golden load(const std::filesystem::path &folder);
};

/// The unpacked checkpoint of a name like "families/llama" or
/// "shakespeare/llama-draft"; see test/e2e/data/SOURCE.md.
std::filesystem::path dataFolder(const std::string &name);

/// Names of all folders with a golden.json below dataFolder("families").
std::vector<std::string> familyNames();

/// A function from ids to outputs: logits [ids, vocabulary] of a decoder, or
/// hidden states [ids, hidden] of an encoder.
using RunModel = std::function<Table(std::span<const int32_t> ids)>;

/// A function from a prompt and a count to that many greedy ids.
using RunGreedy = std::function<std::vector<int32_t>(
    std::span<const int32_t> ids, int64_t count)>;

/// Runs every prompt and compares with the recorded output. Returns what
/// differs by more than `tolerance` (absolute), or has the wrong shape or a
/// NaN, as a text; empty if nothing does. `largest`, if given, receives the
/// largest difference.
std::string compareOutputs(const Golden &golden, const RunModel &run,
                           double tolerance, double *largest = nullptr);

/// Decodes greedily from every prompt and compares ids. Returns the first
/// difference of each prompt as a text; empty if there is none.
std::string compareGreedy(const Golden &golden, const RunGreedy &run);

/// The same proof from one run per prompt: for a causal model whose outputs do
/// not depend on later ids, the largest logit after each prefix of prompt +
/// greedy ids must be the next recorded id.
std::string compareGreedyForced(const Golden &golden, const RunModel &run);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_GOLDEN_H
