//===- HostFeaturesTest.cpp - Against the compiler's own detection --------===//

#include "runtime/Device/Cpu/HostFeatures.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::rt;

namespace {

bool has(const std::string &name) {
  const std::string names[] = {name};
  return hasAllFeatures(names);
}

TEST(HostFeatures, UnknownNamesAreMissing) {
  EXPECT_FALSE(has("avx9000"));
  EXPECT_FALSE(has(""));
  EXPECT_TRUE(hasAllFeatures({}));
}

TEST(HostFeatures, AreSorted) {
  EXPECT_TRUE(std::ranges::is_sorted(getHostFeatures()));
}

#if defined(__x86_64__)
TEST(HostFeatures, AgreeWithTheCompilersRuntime) {
  // __builtin_cpu_supports takes literals only.
#define EXPECT_SAME(NAME)                                                      \
  EXPECT_EQ(has(NAME), __builtin_cpu_supports(NAME) != 0) << NAME
  EXPECT_SAME("ssse3");
  EXPECT_SAME("sse4.1");
  EXPECT_SAME("sse4.2");
  EXPECT_SAME("popcnt");
  EXPECT_SAME("avx");
  EXPECT_SAME("avx2");
  EXPECT_SAME("bmi");
  EXPECT_SAME("bmi2");
  EXPECT_SAME("fma");
  EXPECT_SAME("avx512f");
  EXPECT_SAME("avx512bw");
  EXPECT_SAME("avx512cd");
  EXPECT_SAME("avx512dq");
  EXPECT_SAME("avx512vl");
  EXPECT_SAME("avx512ifma");
  EXPECT_SAME("avx512vbmi");
  EXPECT_SAME("avx512vbmi2");
  EXPECT_SAME("avx512vnni");
  EXPECT_SAME("avx512bitalg");
  EXPECT_SAME("avx512vpopcntdq");
  EXPECT_SAME("gfni");
  EXPECT_SAME("vpclmulqdq");
  EXPECT_SAME("avx512bf16");
#undef EXPECT_SAME
}
#endif

} // namespace
