//===- Nvrtc.h - NVIDIA's run-time compiler, loaded when needed -*- C++ -*-===//
//
// NVRTC compiles one CUDA C++ source to machine code (a cubin) without a GPU
// and without a CUDA installation besides its own two libraries, libnvrtc and
// libnvrtc-builtins. Nothing of it is needed to build or start this program.
// Source: NVIDIA, "NVRTC", sections "User Interface" and "Supported Compile
// Options", versions 12 and 13.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_NVRTC_NVRTC_H
#define WEFT_RUNTIME_NVRTC_NVRTC_H

#include "runtime/Format/Status.h"
#include "runtime/Nvrtc/CompileLog.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::rt {

class DynamicLibrary;
struct NvrtcFunctions;

struct NvrtcOptions {
  bool lineInfo = false; ///< For profilers and sanitizers; same code.
  bool keepPtx = false;  ///< Give the PTX text too.
  /// Further options of NVRTC, as a plan's CUDA source carries them.
  std::vector<std::string> extra = {"-std=c++17"};
};

/// What NVRTC made of one kernel.
struct Cubin {
  std::vector<uint8_t> bytes; ///< An ELF file for the GPU.
  std::string ptx;            ///< Only with keepPtx.
  std::string log;            ///< Of NVRTC and ptxas.
  CompileReport report;       ///< What the log says.
};

/// The loaded library. It stays in the process when the object is gone.
///
/// Threading: all functions may be called from several threads; NVRTC compiles
/// different programs at the same time.
class Nvrtc {
public:
  using Ptr = std::shared_ptr<const Nvrtc>;

  /// Loads NVRTC 13 or 12 from the CUDA installation `cudaPath`; if that is
  /// empty, from where the dynamic linker looks, then from $CUDA_HOME,
  /// $CUDA_PATH and /usr/local/cuda. Unsupported if there is none: says what
  /// was looked for and what to install.
  static Result<Ptr> load(const std::string &cudaPath = {});
  /// Loads this library.
  static Result<Ptr> open(const std::string &file);

  ~Nvrtc();
  Nvrtc(const Nvrtc &) = delete;

  /// "13.0".
  const std::string &getVersion() const { return version; }
  /// File of the library.
  const std::string &getPath() const { return path; }

  /// The options that a source is compiled with. They and getVersion() decide,
  /// with the source, what comes out.
  std::vector<std::string> getArguments(const std::string &arch,
                                        const NvrtcOptions &options) const;

  /// Compiles `source`, which has the kernel `symbol` (extern "C"), for one
  /// architecture ("sm_90a"). Errors: InvalidArgument with NVRTC's messages if
  /// the source is wrong; Unsupported for an architecture that this version
  /// does not know; Internal, OutOfMemory for what NVRTC reports as such.
  Result<Cubin> compileToCubin(const std::string &source,
                               const std::string &symbol,
                               const std::string &arch,
                               const NvrtcOptions &options = {}) const;

private:
  explicit Nvrtc(std::unique_ptr<DynamicLibrary> library);

  Status prepare();
  Status explainFailure(int result, const std::string &log,
                        const std::string &symbol,
                        const std::string &arch) const;
  std::string listArchitectures() const;

  std::unique_ptr<DynamicLibrary> library;
  std::unique_ptr<NvrtcFunctions> functions;
  std::pair<int, int> versionNumber;
  std::string version, path;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_NVRTC_NVRTC_H
