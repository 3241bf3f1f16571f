//===- HostFeatures.cpp - What the processor can execute ------------------===//
//
// Bits from the Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2, CPUID, and volume 1, chapter 13 (XSAVE state components).
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Cpu/HostFeatures.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace weft::rt;

#if defined(__x86_64__)
namespace {

enum Register : uint8_t { EAX, EBX, ECX, EDX };

/// State that the operating system has to save for the registers of a feature:
/// bits of XCR0.
enum Xcr0 : uint64_t {
  noState = 0,
  ymmState = 0x6,      // XMM, upper halves of YMM
  zmmState = 0xE6,     // and opmask, upper halves of ZMM, ZMM16-31
  tileState = 0x60000, // XTILECFG, XTILEDATA
};

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  Xcr0 state;
};

constexpr Feature features[] = {
    {"aes", 1, 0, ECX, 25, noState},
    {"amx-bf16", 7, 0, EDX, 22, tileState},
    {"amx-fp16", 7, 1, EAX, 21, tileState},
    {"amx-int8", 7, 0, EDX, 25, tileState},
    {"amx-tile", 7, 0, EDX, 24, tileState},
    {"avx", 1, 0, ECX, 28, ymmState},
    {"avx2", 7, 0, EBX, 5, ymmState},
    {"avx512bf16", 7, 1, EAX, 5, zmmState},
    {"avx512bitalg", 7, 0, ECX, 12, zmmState},
    {"avx512bw", 7, 0, EBX, 30, zmmState},
    {"avx512cd", 7, 0, EBX, 28, zmmState},
    {"avx512dq", 7, 0, EBX, 17, zmmState},
    {"avx512f", 7, 0, EBX, 16, zmmState},
    {"avx512fp16", 7, 0, EDX, 23, zmmState},
    {"avx512ifma", 7, 0, EBX, 21, zmmState},
    {"avx512vbmi", 7, 0, ECX, 1, zmmState},
    {"avx512vbmi2", 7, 0, ECX, 6, zmmState},
    {"avx512vl", 7, 0, EBX, 31, zmmState},
    {"avx512vnni", 7, 0, ECX, 11, zmmState},
    {"avx512vpopcntdq", 7, 0, ECX, 14, zmmState},
    {"avxvnni", 7, 1, EAX, 4, ymmState},
    {"bmi", 7, 0, EBX, 3, noState},
    {"bmi2", 7, 0, EBX, 8, noState},
    {"cx16", 1, 0, ECX, 13, noState},
    {"f16c", 1, 0, ECX, 29, ymmState},
    {"fma", 1, 0, ECX, 12, ymmState},
    {"gfni", 7, 0, ECX, 8, noState},
    {"lzcnt", 0x80000001, 0, ECX, 5, noState},
    {"movbe", 1, 0, ECX, 22, noState},
    {"popcnt", 1, 0, ECX, 23, noState},
    {"sahf", 0x80000001, 0, ECX, 0, noState},
    {"sse3", 1, 0, ECX, 0, noState},
    {"sse4.1", 1, 0, ECX, 19, noState},
    {"sse4.2", 1, 0, ECX, 20, noState},
    {"ssse3", 1, 0, ECX, 9, noState},
    {"vaes", 7, 0, ECX, 9, ymmState},
    {"vpclmulqdq", 7, 0, ECX, 10, ymmState},
};

/// The register states that the operating system saves; 0 without XSAVE.
uint64_t readXcr0() {
  constexpr uint32_t osxsave = 1u << 27;
  uint32_t r[4];
  if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) ||
      !(r[ECX] & osxsave))
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

std::vector<std::string> detect() {
  const uint64_t xcr0 = readXcr0();
  std::vector<std::string> found;
  for (const Feature &feature : features) {
    uint32_t r[4] = {};
    // Fails for a leaf that the processor does not have. A subleaf that it
    // does not have reads as zeros.
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &r[EAX], &r[EBX],
                          &r[ECX], &r[EDX]) &&
        (r[feature.reg] >> feature.bit & 1) &&
        (xcr0 & feature.state) == feature.state)
      found.push_back(feature.name);
  }
  std::ranges::sort(found);
  return found;
}

} // namespace
#endif

const std::vector<std::string> &weft::rt::getHostFeatures() {
#if defined(__x86_64__)
  static const std::vector<std::string> found = detect();
#else
  static const std::vector<std::string> found;
#endif
  return found;
}

bool weft::rt::hasAllFeatures(std::span<const std::string> features) {
  return std::ranges::all_of(features, [](const std::string &name) {
    return std::ranges::binary_search(getHostFeatures(), name);
  });
}
