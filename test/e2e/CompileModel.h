//===- CompileModel.h - Plans for tests, compiled in this process ---------===//

#ifndef WEFT_TEST_E2E_COMPILEMODEL_H
#define WEFT_TEST_E2E_COMPILEMODEL_H

#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Scratch.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::e2e {

struct CompileSettings {
  /// CPU levels by name; empty: the highest that this machine has.
  std::vector<std::string> levels = {};
  /// GPU architectures instead: a plan with CUDA sources and no machine code.
  std::vector<std::string> cudaArchs = {};
  std::string dtype = {}; ///< "f32", "f16", "bf16"; empty: the checkpoint's.
  bool fuse = true;
  bool batchInvariant = false;
  int64_t context = 0; ///< 0: the model's.
  bool keepIr = false;
  std::optional<bool> sample = {}; ///< As in CompileOptions.
};

/// Names of the CPU levels that this machine can run, lowest first.
std::vector<std::string> supportedLevels();

/// Compiles a checkpoint folder. Throws std::runtime_error with every
/// diagnostic if that fails.
void compileModel(const std::filesystem::path &checkpoint,
                  const std::filesystem::path &artifact,
                  const CompileSettings &settings = {});

/// Compiled plans of one test program by name, each made once, in a folder
/// that goes away with the store. Not thread-safe.
class PlanStore {
public:
  explicit PlanStore(const std::string &name);

  /// The plan of that name; `make` writes the file it is given if there is
  /// none yet.
  const std::string &
  get(const std::string &name,
      const std::function<void(const std::filesystem::path &)> &make);

  /// The plan of a checkpoint folder.
  const std::string &compile(const std::string &name,
                             const std::filesystem::path &checkpoint,
                             const CompileSettings &settings = {});

  /// The plan of a random checkpoint, which stays readable in
  /// getCheckpoint(name).
  const std::string &compile(const std::string &name,
                             const reference::RandomOptions &options,
                             const CompileSettings &settings = {});

  /// A folder of the store's; not created.
  std::filesystem::path getCheckpoint(const std::string &name) const {
    return scratch.path / (name + ".checkpoint");
  }
  const std::filesystem::path &getFolder() const { return scratch.path; }

private:
  reference::Scratch scratch;
  std::map<std::string, std::string> plans;
};

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_COMPILEMODEL_H
