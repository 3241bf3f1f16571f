//===- HostPrelude.h - What printed kernels use, on the host ----*- C++ -*-===//
//
// Stands in for the prelude of CUDA helpers and for the parts of CUDA C++ that
// kernels use (docs/cuda.md).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTPRELUDE_H
#define WEFT_TEST_E2E_CUDA_HOSTPRELUDE_H

#include "test/e2e/cuda/HostBlock.h"

#include <cmath>
#include <limits>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

typedef signed char i8;
typedef short i16;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }

template <class To, class From> To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <class T, int N> struct Vec {
  T v[N];
  T &operator[](int i) { return v[i]; }
  const T &operator[](int i) const { return v[i]; }
};
template <int N, class T> Vec<T, N> splat(T x) {
  Vec<T, N> r;
  for (int e = 0; e < N; ++e)
    r[e] = x;
  return r;
}

// Half precision.

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
inline float to_float(bf16 x) { return bit_cast<float>(u32(x.bits) << 16); }
inline float to_float(f16 x) { return float(bit_cast<_Float16>(x.bits)); }
inline f16 to_f16(float x) { return {bit_cast<u16>(_Float16(x))}; }
inline bf16 to_bf16(float x) {
  u32 bits = bit_cast<u32>(x);
  if (x != x)
    return {0x7fff};
  return {u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// Numbers.

inline float inf() { return std::numeric_limits<float>::infinity(); }
template <class T> bool ordered(T a, T b) { return a == a && b == b; }
template <class T> bool differ(T a, T b) { return a < b || a > b; }
template <class T> T maximum(T a, T b) {
  return a != a || b != b ? a + b
         : a == b         ? (std::signbit(a) ? b : a)
                          : max(a, b);
}
template <class T> T minimum(T a, T b) {
  return a != a || b != b ? a + b
         : a == b         ? (std::signbit(a) ? a : b)
                          : min(a, b);
}
template <class T> T ceil_div(T a, T b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}
template <class T> T ceil_div_unsigned(T a, T b) {
  return a / b + (a % b != 0);
}
template <class T> T floor_div(T a, T b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline float exp2_approx(float x) { return exp2f(x); }

// Memory. A shared address counts from the start of shared memory.

inline u32 shared_address(const void *p) {
  return u32(static_cast<const char *>(p) - shared_memory);
}
template <class V> V load(const void *p) { return *static_cast<const V *>(p); }
template <class V> V load_read_only(const void *p) { return load<V>(p); }
template <class V> V load_stream(const void *p) { return load<V>(p); }
template <class V> V load_keep(const void *p) { return load<V>(p); }
template <class V> V load_l2(const void *p) { return load<V>(p); }
template <class V> V load_shared(u32 p) { return load<V>(shared_memory + p); }
template <class V> void store(void *p, V value) {
  *static_cast<V *>(p) = value;
}
template <class V> void store_shared(u32 p, V value) {
  store<V>(shared_memory + p, value);
}

// Copies. They are made at once; that they are waited for is not checked.

template <int Bytes> void copy_async(u32 to, const void *from) {
  using Chunk = Vec<u8, Bytes>;
  store_shared<Chunk>(to, load<Chunk>(from));
}
inline void commit_copies() {}
template <int Pending> void wait_copies() {}

// Tensor cores. What lane 4 * g + t has: PTX ISA, "Matrix Fragments for
// mma.m16n8k16".

template <class T> T half_of(u32 pair, int i) {
  return {u16(pair >> (16 * i))};
}
template <int Count> Vec<int, Count> load_matrix_transposed(u32 row) {
  const auto rows = load_shared<Vec<u32, 4>>(row);
  const auto all = weft::host::gather(rows.v, 4);
  const u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  Vec<int, Count> r;
  for (int i = 0; i < Count; ++i) {
    auto element = [&](u32 k) {
      return half_of<bf16>(all.lanes[8 * i + k][g / 2], g % 2).bits;
    };
    r[i] = int(element(2 * t) | u32(element(2 * t + 1)) << 16);
  }
  return r;
}
template <class T>
Vec<float, 4> mma(Vec<int, 4> a, Vec<int, 2> b, Vec<float, 4> c) {
  const u32 mine[6] = {u32(a[0]), u32(a[1]), u32(a[2]),
                       u32(a[3]), u32(b[0]), u32(b[1])};
  const auto all = weft::host::gather(mine, 6);
  const u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (u32 i = 0; i < 4; ++i) {
    const u32 row = g, column = 2 * t + i % 2;
    for (u32 k = 0; k < 16; ++k) {
      const u32 inGroup = k % 8 / 2;
      const u32 left = all.lanes[4 * row + inGroup][k / 8 * 2 + i / 2];
      const u32 right = all.lanes[4 * column + inGroup][4 + k / 8];
      c[i] += to_float(half_of<T>(left, k % 2)) *
              to_float(half_of<T>(right, k % 2));
    }
  }
  return c;
}
inline Vec<float, 4> mma_bf16(Vec<int, 4> a, Vec<int, 2> b, Vec<float, 4> c) {
  return mma<bf16>(a, b, c);
}
inline Vec<float, 4> mma_f16(Vec<int, 4> a, Vec<int, 2> b, Vec<float, 4> c) {
  return mma<f16>(a, b, c);
}
inline int pack_bf16(float low, float high) {
  return int(to_bf16(low).bits | u32(to_bf16(high).bits) << 16);
}
inline int pack_f16(float low, float high) {
  return int(to_f16(low).bits | u32(to_f16(high).bits) << 16);
}

// Threads.

template <class T> T __shfl_xor_sync(u32, T value, int mask) {
  return bit_cast<T>(weft::host::exchange(bit_cast<u32>(value), u32(mask)));
}
inline void wait_dependency() {}
inline void launch_dependents() {}

#endif // WEFT_TEST_E2E_CUDA_HOSTPRELUDE_H
