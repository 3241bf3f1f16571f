//===- HostKernels.h - Runs the text of CUDA kernels on the host *- C++ -*-===//
//
// Compiles kernels as Weft prints them with the host's compiler and another
// prelude (HostPrelude.h), to be run by HostThreads.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTKERNELS_H
#define WEFT_TEST_E2E_CUDA_HOSTKERNELS_H

#include "runtime/Format/Plan.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::e2e {

struct HostKernelSource {
  std::string symbol; ///< Of the function in the text.
  std::string text;   ///< What stands before its `extern "C"` is left out.
  uint32_t bufferCount = 0, symbolCount = 0;
  rt::LaunchShape shape;
};

struct HostLaunch {
  std::vector<void *> buffers;
  std::vector<int64_t> symbols;
  int64_t items = 0;
  uint64_t seed = 0; ///< Of the order of threads.
  bool findsRaces = true;
};

/// Kernels in a shared library of their own. Not thread-safe.
class HostKernels {
public:
  /// Writes files into `folder`, which is created. Throws std::runtime_error
  /// with the compiler's output if it fails.
  HostKernels(std::span<const HostKernelSource> sources,
              const std::filesystem::path &folder);

  bool has(const std::string &symbol) const;
  /// What runs from here on starts when all before is done.
  void startStep() const;
  /// Empty, or what was wrong first.
  std::string run(const std::string &symbol, const HostLaunch &launch) const;

private:
  struct Close {
    void operator()(void *library) const;
  };
  std::unique_ptr<void, Close> handle;
};

} // namespace weft::e2e

#endif // WEFT_TEST_E2E_CUDA_HOSTKERNELS_H
