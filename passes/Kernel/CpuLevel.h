//===- CpuLevel.h - The instruction sets that kernels are made for -*- C++ -*-//
//
// One table of x86-64 levels, lowest first. Schedules choose register tiles by
// it, the lowering to vectors chooses pieces and conversions by it, and code
// generation passes its strings to LLVM. Source of the levels: System V ABI,
// AMD64 supplement, section "Micro-Architecture Levels".
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_CPULEVEL_H
#define WEFT_PASSES_KERNEL_CPULEVEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace weft {

/// One instruction set. All strings are static.
struct CpuLevel {
  llvm::StringRef name;     ///< "x86-64-v3": what schedules and plans say.
  llvm::StringRef cpu;      ///< LLVM's target-cpu.
  llvm::StringRef features; ///< LLVM's target-features, beyond the cpu's.
  /// Names, as LLVM spells them, of what a processor must have to run the code.
  llvm::ArrayRef<llvm::StringRef> required;
  unsigned registers;     ///< Vector registers.
  unsigned registerBytes; ///< Bytes of one vector register.
  bool hasFma;            ///< One rounding for a * b + c.
  bool hasF16c;           ///< Conversions between f16 and f32.
  bool hasDotBf16;        ///< vdpbf16ps.

  /// f32 elements of one register.
  int64_t lanes() const { return registerBytes / 4; }
};

/// All levels, lowest first; the first is the baseline of every plan.
llvm::ArrayRef<CpuLevel> getCpuLevels();

/// The level of that name, or null.
const CpuLevel *findCpuLevel(llvm::StringRef name);

/// The names of all levels, for messages: "x86-64-v2, x86-64-v3, ...".
std::string listCpuLevels();

/// Whether this processor and operating system can run code of the level.
bool isSupportedByHost(const CpuLevel &level);

/// The highest level of this machine; the baseline if it has none.
const CpuLevel &getHostCpuLevel();

} // namespace weft

#endif // WEFT_PASSES_KERNEL_CPULEVEL_H
