//===- KernelRunner.h - Compiles and runs tile programs in tests -*- C++ -*-==//

#ifndef WEFT_TEST_COMPILER_TARGET_KERNELRUNNER_H
#define WEFT_TEST_COMPILER_TARGET_KERNELRUNNER_H

#include "runtime/Device/Cpu/ObjectLoader.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::test {

/// A kernel of one level, loaded into this process.
struct LoadedKernel {
  std::string program, level;
  std::unique_ptr<rt::LoadedObject> object;
  void (*function)(void *const *, const int64_t *, int64_t, int64_t,
                   void *) = nullptr;

  void run(const std::vector<void *> &buffers,
           const std::vector<int64_t> &symbols, int64_t begin, int64_t end,
           void *scratch = nullptr) const {
    function(buffers.data(), symbols.data(), begin, end, scratch);
  }
};

/// Levels that this machine can run, lowest first.
std::vector<std::string> hostLevels();

/// `text` with every @LEVEL@ replaced.
std::string atLevel(std::string text, const std::string &level);

/// A program of one kernel: `kernel` is "(%x: memref<...>) symbols () item (%i)
/// { ... }"; further attributes go before the brace.
std::string makeProgram(const std::string &name, const std::string &symbols,
                        const std::string &kernel, const std::string &level);

/// Parses, lowers, compiles and loads all kernels of the text that this machine
/// can run. Returns nothing, with the diagnostics in `error`, if that fails.
std::vector<LoadedKernel> compile(const std::string &text,
                                  std::string *error = nullptr);

/// The assembly of all kernels of the text, one after another.
std::string assemble(const std::string &text);

/// Object bytes of all kernels of the text.
std::vector<std::vector<uint8_t>> compileToObjects(const std::string &text,
                                                   bool threads);

} // namespace weft::test

#endif // WEFT_TEST_COMPILER_TARGET_KERNELRUNNER_H
