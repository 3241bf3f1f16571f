//===- RandomModels.h - Compiled random models against the reference ------===//

#ifndef WEFT_TEST_E2E_RANDOMMODELS_H
#define WEFT_TEST_E2E_RANDOMMODELS_H

#include "test/e2e/Golden.h"
#include "test/e2e/PlanModel.h"
#include "test/reference/RandomCheckpoint.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace weft::e2e {

/// A family's random checkpoint with what makes the family special: windows,
/// two kinds of layers, biases, tied embeddings. Where 16 bits would choose
/// other experts than the reference, all experts are chosen.
reference::RandomOptions makeRandomModel(const std::string &family,
                                         reference::ElementType type,
                                         uint64_t seed);

/// A plan of a decoder or an encoder as the function that golden files are
/// compared with.
class AnyModel {
public:
  explicit AnyModel(const std::string &plan, bool isEncoder);

  RunModel asRunModel();

private:
  std::unique_ptr<PlanEncoder> encoder;
  std::unique_ptr<PlanModel> decoder;
};

/// Expects the plan's outputs for every prompt to be as near to the reference's
/// as the type allows: 1e-4 for f32; 2e-2 (bf16) or 5e-3 (f16) relative for
/// all together, and six times that for each value. Prints what was found.
void expectReferenceOutputs(const std::string &plan,
                            const std::filesystem::path &checkpoint,
                            reference::ElementType type,
                            const std::vector<std::vector<int32_t>> &prompts);

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_RANDOMMODELS_H
