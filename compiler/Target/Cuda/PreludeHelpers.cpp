//===- PreludeHelpers.cpp - Text of the helpers
//----------------------------===//
//
// PTX instructions are those of the PTX ISA, section 9.7. Helpers that touch
// memory which ordinary C++ statements touch too clobber "memory", so that the
// compiler keeps their order; all of them are volatile, so that they keep their
// order among each other.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Cuda/PreludeHelpers.h"

#include <array>
#include <utility>

using namespace llvm;
using namespace weft;

namespace {

struct FixedHelper {
  StringRef name, needs, text;
};

/// Helpers that differ in a few words: `$word` in the text is replaced.
struct Pattern {
  StringRef name, needs, text;
  std::array<std::pair<StringRef, StringRef>, 4> words;
};

} // namespace

static constexpr StringLiteral loadText = R"(
template <class V> DEVICE V $name($address) {
  Bits<V> r;
  if constexpr (sizeof(V) == 16)
    asm volatile("$load.v4.b32 {%0, %1, %2, %3}, [%4]$end"
                 : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3]) : $from);
  else if constexpr (sizeof(V) == 8)
    asm volatile("$load.v2.b32 {%0, %1}, [%2]$end" : "=r"(r.word[0]), "=r"(r.word[1]) : $from);
  else if constexpr (sizeof(V) == 4)
    asm volatile("$load.b32 %0, [%1]$end" : "=r"(r.word[0]) : $from);
  else if constexpr (sizeof(V) == 2)
    asm volatile("$load.b16 %0, [%1]$end" : "=h"(r.half[0]) : $from);
  else
    asm volatile("$load.u8 %0, [%1]$end" : "=h"(r.half[0]) : $from);
  return r.value;
}
)";

static constexpr StringLiteral storeText = R"(
template <class V> DEVICE void $name($address, V value) {
  Bits<V> r;
  r.value = value;
  if constexpr (sizeof(V) == 16)
    asm volatile("$store.v4.b32 [%0], {%1, %2, %3, %4};"
                 : : $to, "r"(r.word[0]), "r"(r.word[1]), "r"(r.word[2]), "r"(r.word[3]) : "memory");
  else if constexpr (sizeof(V) == 8)
    asm volatile("$store.v2.b32 [%0], {%1, %2};" : : $to, "r"(r.word[0]), "r"(r.word[1]) : "memory");
  else if constexpr (sizeof(V) == 4)
    asm volatile("$store.b32 [%0], %1;" : : $to, "r"(r.word[0]) : "memory");
  else if constexpr (sizeof(V) == 2)
    asm volatile("$store.b16 [%0], %1;" : : $to, "h"(r.half[0]) : "memory");
  else
    asm volatile("$store.u8 [%0], %1;" : : $to, "h"(r.half[0]) : "memory");
}
)";

static constexpr StringLiteral matrixText = R"(
template <int N> DEVICE Vec<int, N> $name(u32 row) {
  Vec<int, N> r;
  if constexpr (N == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4$how.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
  else if constexpr (N == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2$how.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(row) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1$how.shared.b16 {%0}, [%1];"
                 : "=r"(r[0]) : "r"(row) : "memory");
  return r;
}
)";

static constexpr StringLiteral storeMatrixText = R"(
template <int N> DEVICE void $name(u32 row, Vec<int, N> value) {
  if constexpr (N == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4$how.shared.b16 [%0], {%1, %2, %3, %4};"
                 : : "r"(row), "r"(value[0]), "r"(value[1]), "r"(value[2]), "r"(value[3]) : "memory");
  else if constexpr (N == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2$how.shared.b16 [%0], {%1, %2};"
                 : : "r"(row), "r"(value[0]), "r"(value[1]) : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x1$how.shared.b16 [%0], {%1};"
                 : : "r"(row), "r"(value[0]) : "memory");
}
)";

static constexpr StringLiteral mmaText = R"(
DEVICE Vec<float, 4> mma_$type(Vec<int, 4> a, Vec<int, 2> b, Vec<float, 4> c) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.$type.$type.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
)";

/// A multiplication by `columns` columns, whose number is part of the name.
/// Matrices without swizzle: PTX ISA, "Matrix Descriptor" of wgmma.
static std::string makeWarpgroupMma(StringRef type, int columns) {
  int count = columns / 2;
  std::string registers, sums;
  for (int i = 0; i < count; ++i) {
    std::string comma = i ? ", " : "", number = std::to_string(i);
    registers += comma + "%" + number;
    sums += comma + "\"+f\"(c[" + number + "])";
  }
  auto input = [&](int i) { return "%" + std::to_string(count + i); };
  std::string held = "Vec<float, " + std::to_string(count) + ">";
  return "\nDEVICE " + held + " warpgroup_mma_" + type.str() +
         "(Vec<int, 4> a, u32 matrices, u32 k_stride, u32 column_stride, " +
         held + R"( c) {
  const u64 b = u64(matrices >> 4 & 0x3fff) | u64(k_stride >> 4) << 16 | u64(column_stride >> 4) << 32;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n)" +
         std::to_string(columns) + "k16.f32." + type.str() + "." + type.str() +
         " \"\n               \"{" + registers + "}, \"\n               \"{" +
         input(0) + ", " + input(1) + ", " + input(2) + ", " + input(3) +
         "}, " + input(4) + ", p, 1, 1, 0;\\n}\"\n               : " + sums +
         R"(
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory");
  return c;
}
)";
}

/// Halves of a 32-bit register.
static constexpr StringLiteral packText = R"(
DEVICE int pack_$type(float low, float high) {
  int r;
  asm("cvt.rn.$typex2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
)";

static constexpr StringLiteral multiplyPairsText = R"(
DEVICE int multiply_pairs_$type(int a, int b) {
  int r;
  asm("fma.rn.$typex2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0x80008000));
  return r;
}
)";

/// PTX has these for f32 only.
static constexpr StringLiteral extremeText = R"(
// NaN if one of the two is; -0 is less than +0.
DEVICE float $name(float a, float b) {
  float r;
  asm("$ptx.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DEVICE double $name(double a, double b) { return a != a || b != b ? a + b : f$ptx(a, b); }
)";

static constexpr StringLiteral divisionText = R"(
template <class T> DEVICE T $name(T a, T b) { return a / b $sign (a % b != 0 && (a < 0) $equal (b < 0)); }
)";

/// In the order in which they are printed: what a helper needs comes first.
static constexpr FixedHelper fixedHelpers[] = {
    {"Vec", "", R"(
template <class T, int N> struct Vec {
  T v[N];
  DEVICE T &operator[](int i) { return v[i]; }
  DEVICE const T &operator[](int i) const { return v[i]; }
};
)"},
    {"splat", "Vec", R"(
template <int N, class T> DEVICE Vec<T, N> splat(T x) {
  Vec<T, N> r;
#pragma unroll
  for (int e = 0; e < N; ++e)
    r[e] = x;
  return r;
}
)"},
    {"Bits", "", R"(
template <class V> union Bits {
  V value;
  u32 word[(sizeof(V) + 3) / 4];
  u16 half[(sizeof(V) + 1) / 2];
};
)"},
    {"bit_cast", "", R"(
template <class To, class From> DEVICE To bit_cast(From from) {
  union { From from; To to; } r = {from};
  return r.to;
}
)"},
    {"bf16", "", "struct bf16 { u16 bits; };\n"},
    {"f16", "", "struct f16 { u16 bits; };\n"},
    {"to_float(bf16)", "bf16", R"(
DEVICE float to_float(bf16 x) { return __uint_as_float(u32(x.bits) << 16); }
)"},
    {"to_float(f16)", "f16", R"(
DEVICE float to_float(f16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
)"},
    {"to_bf16(float)", "bf16", R"(
DEVICE bf16 to_bf16(float x) {
  bf16 r;
  // One number's conversion is a slow instruction, that of a pair is not.
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
  r.bits = u16(pair);
  return r;
}
)"},
    {"to_bf16(double)", "to_bf16(float)", R"(
// Rounds once: the float keeps in its last bit that something was cut off.
DEVICE bf16 to_bf16(double x) {
  float cut = __double2float_rz(x);
  return to_bf16(double(cut) == x ? cut : __uint_as_float(__float_as_uint(cut) | 1));
}
)"},
    {"to_f16(float)", "f16", R"(
DEVICE f16 to_f16(float x) {
  f16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  return r;
}
)"},
    {"to_f16(double)", "f16", R"(
DEVICE f16 to_f16(double x) {
  f16 r;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(x));
  return r;
}
)"},
    {"inf", "", R"(
DEVICE float inf() { return __uint_as_float(0x7f800000); }
)"},
    {"ordered", "", R"(
// Neither is NaN.
template <class T> DEVICE bool ordered(T a, T b) { return a == a && b == b; }
)"},
    {"differ", "", R"(
// Neither is NaN, and they are not equal.
template <class T> DEVICE bool differ(T a, T b) { return a < b || a > b; }
)"},
    {"ceil_div_unsigned", "", R"(
template <class T> DEVICE T ceil_div_unsigned(T a, T b) { return a / b + (a % b != 0); }
)"},
    {"divide_approx", "", R"(
// Off by two units in the last place at most; numbers that are not normal, and
// quotients by more than 2^126, are 0.
DEVICE float divide_approx(float a, float b) {
  float r;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
)"},
    {"exp2_approx", "", R"(
DEVICE float exp2_approx(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)"},
    {"shared_address", "", R"(
DEVICE u32 shared_address(const void *p) { return u32(__cvta_generic_to_shared(p)); }
)"},
    {"load_acquire", "Bits", R"(
DEVICE int load_acquire(const int *p) {
  int r;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  return r;
}
)"},
    {"store_release", "", R"(
DEVICE void store_release(int *p, int value) {
  asm volatile("st.release.gpu.global.b32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
}
)"},
    {"atomic_add_acq_rel(int)", "", R"(
DEVICE int atomic_add_acq_rel(int *p, int value) {
  int r;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(value) : "memory");
  return r;
}
)"},
    {"atomic_add_acq_rel(float)", "", R"(
DEVICE float atomic_add_acq_rel(float *p, float value) {
  float r;
  asm volatile("atom.acq_rel.gpu.global.add.f32 %0, [%1], %2;" : "=f"(r) : "l"(p), "f"(value) : "memory");
  return r;
}
)"},
    {"cluster_rank", "", R"(
DEVICE u32 cluster_rank() {
  u32 r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
)"},
    {"named_barrier", "", R"(
// The number is an immediate: one in a register would reserve all barriers.
template <int Id, int Threads> DEVICE void named_barrier() {
  asm volatile("bar.sync %0, %1;" : : "n"(Id), "n"(Threads) : "memory");
}
)"},
    {"cluster_arrive", "", R"(
DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory"); }
)"},
    {"cluster_arrive_relaxed", "", R"(
DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
)"},
    {"cluster_wait", "", R"(
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory"); }
)"},
    {"elect", "", R"(
DEVICE bool elect() {
  u32 chosen;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(chosen));
  return chosen != 0;
}
)"},
    {"fence_cluster", "", R"(
DEVICE void fence_cluster() { asm volatile("fence.acq_rel.cluster;" : : : "memory"); }
)"},
    {"fence_async", "", R"(
DEVICE void fence_async() { asm volatile("fence.proxy.async;" : : : "memory"); }
)"},
    {"copy_async", "", R"(
template <int Bytes> DEVICE void copy_async(u32 to, const void *from) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(to), "l"(from), "n"(Bytes) : "memory");
}
)"},
    {"copy_async_if", "", R"(
// Zeros where `valid` is false.
template <int Bytes> DEVICE void copy_async_if(bool valid, u32 to, const void *from) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 : : "r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 : : "r"(to), "l"(from), "n"(Bytes), "r"(valid ? Bytes : 0) : "memory");
}
)"},
    {"commit_copies", "", R"(
DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
)"},
    {"wait_copies", "", R"(
template <int Pending> DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(Pending) : "memory");
}
)"},
    {"mbarrier_init", "", R"(
DEVICE void mbarrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}
)"},
    {"fence_mbarrier_init", "", R"(
DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); }
)"},
    {"mbarrier_expect", "", R"(
DEVICE void mbarrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
)"},
    {"mbarrier_arrive", "", R"(
DEVICE void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}
)"},
    {"mbarrier_wait", "", R"(
DEVICE void mbarrier_wait(u32 barrier, u32 parity) {
  u32 done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
}
)"},
    {"map_cluster", "", R"(
DEVICE u32 map_cluster(u32 address, u32 rank) {
  u32 r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}
)"},
    {"store_async", "Bits", R"(
template <class V> DEVICE void store_async(u32 to, u32 barrier, V value) {
  Bits<V> r;
  r.value = value;
  if constexpr (sizeof(V) == 16)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 : : "r"(to), "r"(r.word[0]), "r"(r.word[1]), "r"(r.word[2]), "r"(r.word[3]),
                 "r"(barrier) : "memory");
  else if constexpr (sizeof(V) == 8)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];"
                 : : "r"(to), "r"(r.word[0]), "r"(r.word[1]), "r"(barrier) : "memory");
  else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 : : "r"(to), "r"(r.word[0]), "r"(barrier) : "memory");
}
)"},
    {"set_registers", "", R"(
template <int Count, bool Increase> DEVICE void set_registers() {
  if constexpr (Increase)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(Count));
  else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(Count));
}
)"},
    {"evict_first", "", R"(
// Cache policy, as createpolicy.fractional makes it.
constexpr u64 evict_first = 0x12f0000000000000;
)"},
    {"evict_last", "", R"(
// Cache policy, as createpolicy.fractional makes it.
constexpr u64 evict_last = 0x14f0000000000000;
)"},
    {"copy_bulk", "", R"(
DEVICE void copy_bulk(u32 to, const void *from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               : : "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
)"},
    {"copy_bulk_hint", "", R"(
DEVICE void copy_bulk_hint(u32 to, const void *from, u32 bytes, u32 barrier, u64 policy) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
               "[%0], [%1], %2, [%3], %4;"
               : : "r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
}
)"},
    {"warpgroup_arrive", "Vec", R"(
// What the compiler computes for registers that multiplications use has to be
// there before they start, and to stay until they have ended.
template <int N> DEVICE void pin(Vec<float, N> &v) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(v[i]) : : "memory");
}
template <int N> DEVICE void pin(Vec<int, N> &v) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+r"(v[i]) : : "memory");
}
template <class... V> DEVICE void warpgroup_arrive(V &...v) {
  (pin(v), ...);
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
)"},
    {"warpgroup_wait", "warpgroup_arrive", R"(
template <class... V> DEVICE void warpgroup_wait(V &...v) {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" : : : "memory");
  (pin(v), ...);
}
)"},
    {"wait_dependency", "", R"(
DEVICE void wait_dependency() { asm volatile("griddepcontrol.wait;" : : : "memory"); }
)"},
    {"launch_dependents", "", R"(
DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" : : : "memory"); }
)"},
};

static constexpr StringLiteral pointer = "const void *p";
static constexpr StringLiteral viaPointer = R"("l"(p))";
static constexpr StringLiteral andMemory = R"("l"(p) : "memory")";

static constexpr Pattern patterns[] = {
    {"pack_bf16", "", packText, {{{"$type", "bf16"}}}},
    {"pack_f16", "", packText, {{{"$type", "f16"}}}},
    {"multiply_pairs_bf16", "", multiplyPairsText, {{{"$type", "bf16"}}}},
    {"multiply_pairs_f16", "", multiplyPairsText, {{{"$type", "f16"}}}},
    {"maximum", "", extremeText, {{{"$ptx", "max"}}}},
    {"minimum", "", extremeText, {{{"$ptx", "min"}}}},
    {"ceil_div", "", divisionText, {{{"$sign", "+"}, {"$equal", "=="}}}},
    {"floor_div", "", divisionText, {{{"$sign", "-"}, {"$equal", "!="}}}},
    {"load",
     "Bits",
     loadText,
     {{{"$load", "ld.global"},
       {"$address", pointer},
       {"$from", andMemory},
       {"$end", ";"}}}},
    {"load_read_only",
     "Bits",
     loadText,
     {{{"$load", "ld.global.nc"},
       {"$address", pointer},
       {"$from", viaPointer},
       {"$end", ";"}}}},
    {"load_stream",
     "Bits",
     loadText,
     {{{"$load", "ld.global.nc.L1::no_allocate.L2::256B"},
       {"$address", pointer},
       {"$from", viaPointer},
       {"$end", ";"}}}},
    // The policy as createpolicy.fractional.L2::evict_last makes it.
    {"load_l2",
     "Bits",
     loadText,
     {{{"$load", "ld.global.cg"},
       {"$address", pointer},
       {"$from", andMemory},
       {"$end", ";"}}}},
    {"load_keep",
     "Bits",
     loadText,
     {{{"$load", R"({.reg .b64 keep; mov.b64 keep, 0x14f0000000000000; )"
                 R"(ld.global.L2::cache_hint)"},
       {"$address", pointer},
       {"$from", andMemory},
       {"$end", ", keep;}"}}}},
    {"load_shared",
     "Bits",
     loadText,
     {{{"$load", "ld.shared"},
       {"$address", "u32 p"},
       {"$from", R"("r"(p) : "memory")"},
       {"$end", ";"}}}},
    {"load_cluster",
     "Bits",
     loadText,
     {{{"$load", "ld.shared::cluster"},
       {"$address", "u32 p"},
       {"$from", R"("r"(p) : "memory")"},
       {"$end", ";"}}}},
    {"store_cluster",
     "Bits",
     storeText,
     {{{"$store", "st.shared::cluster"},
       {"$address", "u32 p"},
       {"$to", R"("r"(p))"}}}},
    {"store",
     "Bits",
     storeText,
     {{{"$store", "st.global"}, {"$address", "void *p"}, {"$to", viaPointer}}}},
    {"store_shared",
     "Bits",
     storeText,
     {{{"$store", "st.shared"}, {"$address", "u32 p"}, {"$to", R"("r"(p))"}}}},
    {"load_matrix", "Vec", matrixText, {{{"$how", ""}}}},
    {"load_matrix_transposed", "Vec", matrixText, {{{"$how", ".trans"}}}},
    {"store_matrix", "Vec", storeMatrixText, {{{"$how", ""}}}},
    {"store_matrix_transposed", "Vec", storeMatrixText, {{{"$how", ".trans"}}}},
    {"mma_bf16", "Vec", mmaText, {{{"$type", "bf16"}}}},
    {"mma_f16", "Vec", mmaText, {{{"$type", "f16"}}}},
};

static std::string expand(const Pattern &pattern) {
  std::string text = pattern.text.str();
  auto replace = [&](StringRef word, StringRef by) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;
         at += by.size())
      text.replace(at, word.size(), by);
  };
  replace("$name", pattern.name);
  for (auto [word, by] : pattern.words)
    if (!word.empty())
      replace(word, by);
  return text;
}

ArrayRef<PreludeHelper> weft::getPreludeHelpers() {
  static const std::vector<PreludeHelper> all = [] {
    std::vector<PreludeHelper> helpers;
    for (const FixedHelper &fixed : fixedHelpers)
      helpers.push_back({fixed.name.str(), fixed.needs, fixed.text.str()});
    for (const Pattern &pattern : patterns)
      helpers.push_back({pattern.name.str(), pattern.needs, expand(pattern)});
    for (StringRef type : {"bf16", "f16"})
      for (int columns = 8; columns <= 128; columns += 8)
        helpers.push_back(
            {("warpgroup_mma_" + type + "_" + Twine(columns)).str(), "Vec",
             makeWarpgroupMma(type, columns)});
    return helpers;
  }();
  return all;
}
