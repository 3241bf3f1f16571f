//===- CpuLevel.cpp - The table of CPU levels -----------------------------===//

#include "passes/Kernel/CpuLevel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace weft;

static constexpr StringRef allFeatures[] = {
    // x86-64-v2
    "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf",
    // x86-64-v3
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe",
    // x86-64-v4
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl",
    // beyond
    "avx512bf16"};

static ArrayRef<StringRef> firstFeatures(size_t count) {
  return ArrayRef(allFeatures).take_front(count);
}

ArrayRef<CpuLevel> weft::getCpuLevels() {
  static const CpuLevel levels[] = {
      {"x86-64-v2", "x86-64-v2", "", firstFeatures(7), 16, 16,
       /*hasFma=*/false, /*hasF16c=*/false, /*hasDotBf16=*/false},
      {"x86-64-v3", "x86-64-v3", "", firstFeatures(15), 16, 32,
       /*hasFma=*/true, /*hasF16c=*/true, /*hasDotBf16=*/false},
      {"x86-64-v4", "x86-64-v4", "", firstFeatures(20), 32, 64,
       /*hasFma=*/true, /*hasF16c=*/true, /*hasDotBf16=*/false},
      {"x86-64-v4-bf16", "x86-64-v4", "+avx512bf16", firstFeatures(21), 32, 64,
       /*hasFma=*/true, /*hasF16c=*/true, /*hasDotBf16=*/true},
  };
  return levels;
}

const CpuLevel *weft::findCpuLevel(StringRef name) {
  const CpuLevel *found = find_if(getCpuLevels(), [&](const CpuLevel &level) {
    return level.name == name;
  });
  return found == getCpuLevels().end() ? nullptr : found;
}

std::string weft::listCpuLevels() {
  return join(map_range(getCpuLevels(),
                        [](const CpuLevel &level) { return level.name.str(); }),
              ", ");
}

bool weft::isSupportedByHost(const CpuLevel &level) {
  StringMap<bool> host = sys::getHostCPUFeatures();
  return all_of(level.required,
                [&](StringRef feature) { return host.lookup(feature); });
}

const CpuLevel &weft::getHostCpuLevel() {
  for (const CpuLevel &level : reverse(getCpuLevels()))
    if (isSupportedByHost(level))
      return level;
  return getCpuLevels().front();
}
