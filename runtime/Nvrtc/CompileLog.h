//===- CompileLog.h - What ptxas says about a kernel ------------*- C++ -*-===//
//
// NVRTC's log holds, with --ptxas-options=-v, the resources of each function
// and ptxas' notes. A kernel that spills, has a stack frame or whose
// tensor-core instructions ptxas has serialised is legal and several times too
// slow, so the compiler takes another schedule. Source: NVIDIA, "Parallel
// Thread Execution ISA" (wgmma, setmaxnreg) and the messages of ptxas 12
// and 13.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_NVRTC_COMPILELOG_H
#define WEFT_RUNTIME_NVRTC_COMPILELOG_H

#include "runtime/Format/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

/// Of a kernel with the functions that it calls.
struct KernelResources {
  uint32_t registers = 0;         ///< Of a thread, when the kernel starts.
  uint32_t barriers = 0;          ///< Named barriers of a block, of 16.
  uint64_t staticSharedBytes = 0; ///< Of a block, beside the dynamic ones.
  uint64_t stackBytes = 0;        ///< Of a thread, in local memory.
  uint64_t spillStoreBytes = 0;   ///< Of a thread.
  uint64_t spillLoadBytes = 0;

  bool operator==(const KernelResources &) const = default;
};

/// A warning or note of NVRTC's front end or of ptxas.
struct CompileMessage {
  std::string code; ///< "C7511"; empty if it has none.
  std::string text; ///< One line.

  bool operator==(const CompileMessage &) const = default;
};

struct CompileReport {
  /// Nothing if the log does not describe the kernel.
  std::optional<KernelResources> resources;
  std::vector<CompileMessage> messages;
};

/// Reads a log; `symbol` is the kernel. Never fails: lines that mean nothing
/// here are skipped.
CompileReport parseCompileLog(std::string_view log, std::string_view symbol);

/// The lines of a log that say why there is no code, without the rest; the
/// whole log if none does. Adds what ptxas leaves out.
std::string explainErrors(std::string_view log);

/// What one block may have on an architecture.
struct BlockLimits {
  uint64_t sharedBytes = 0; ///< Static and dynamic together.
  uint32_t registers = 0;   ///< Of all threads together.
};

/// Why a kernel should not be used; a smaller weight is less bad.
struct Rejection {
  std::string reason; ///< "spills 640 bytes ...": goes on after the name.
  /// It would run, though slowly.
  bool isUsable = false;
  uint64_t weight = 0;
};

/// Nothing if the kernel is as its schedule meant it: no spills, no stack, none
/// of ptxas' notes of lost performance, within the limits of a block.
std::optional<Rejection> checkResources(const CompileReport &report,
                                        const LaunchShape &launch,
                                        const BlockLimits &limits);

} // namespace weft::rt

#endif // WEFT_RUNTIME_NVRTC_COMPILELOG_H
