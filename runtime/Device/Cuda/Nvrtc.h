//===- Nvrtc.h - Compiles CUDA C++ to machine code ------------------------===//
//
// Own declarations of the NVRTC functions that are used; the library is opened
// when a kernel has to be compiled. Source: NVIDIA NVRTC documentation.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_NVRTC_H
#define WEFT_RUNTIME_DEVICE_CUDA_NVRTC_H

#include "runtime/Device/Cuda/DynamicLibrary.h"
#include "runtime/Format/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::rt::cuda {

#define WEFT_NVRTC_FUNCTIONS(F)                                                \
  F(int, version, "nvrtcVersion", (int *, int *))                              \
  F(const char *, getErrorString, "nvrtcGetErrorString", (int))                \
  F(int, createProgram, "nvrtcCreateProgram",                                  \
    (void **, const char *, const char *, int, const char *const *,            \
     const char *const *))                                                     \
  F(int, destroyProgram, "nvrtcDestroyProgram", (void **))                     \
  F(int, compileProgram, "nvrtcCompileProgram",                                \
    (void *, int, const char *const *))                                        \
  F(int, getCubinSize, "nvrtcGetCUBINSize", (void *, size_t *))                \
  F(int, getCubin, "nvrtcGetCUBIN", (void *, char *))                          \
  F(int, getLogSize, "nvrtcGetProgramLogSize", (void *, size_t *))             \
  F(int, getLog, "nvrtcGetProgramLog", (void *, char *))

/// Threading: `compile` may be called from any thread.
class Nvrtc {
public:
  /// Opens the first of the libraries that is there. Unsupported if none is,
  /// with what was looked for and what to install.
  static Result<std::unique_ptr<Nvrtc>>
  open(std::span<const std::string> libraries);

  /// "13.0".
  const std::string &getVersion() const { return versionText; }

  /// A cubin. `name` stands in messages; the options name the architecture.
  /// Unsupported with the start of the log if the source does not compile.
  Result<std::vector<uint8_t>>
  compile(const std::string &source, const std::string &name,
          std::span<const std::string> options) const;

private:
  Nvrtc() = default;

  std::string explain(void *program, int result) const;

  std::unique_ptr<DynamicLibrary> library;
  std::string versionText;
#define WEFT_DECLARE(RESULT, MEMBER, NAME, PARAMETERS)                         \
  RESULT(*MEMBER) PARAMETERS = nullptr;
  WEFT_NVRTC_FUNCTIONS(WEFT_DECLARE)
#undef WEFT_DECLARE
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_NVRTC_H
