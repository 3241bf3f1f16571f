//===- HostPrelude.h - What printed kernels use, on the host ----*- C++ -*-===//
//
// Stands in for the prelude of CUDA helpers and for the parts of CUDA C++ that
// kernels use (docs/cuda.md).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTPRELUDE_H
#define WEFT_TEST_E2E_CUDA_HOSTPRELUDE_H

#include "test/e2e/cuda/HostThreads.h"

#include <cmath>
#include <limits>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define threadIdx weft::host::place.thread
#define blockIdx weft::host::place.block
#define gridDim weft::host::place.grid

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
// Rounds once: the float keeps in its last bit that something was cut off.
inline float cut_to_float(double x) {
  float cut = float(x);
  if (x != x || double(cut) == x)
    return cut;
  if (std::fabs(double(cut)) > std::fabs(x))
    cut = std::nextafter(cut, 0.0f);
  return bit_cast<float>(bit_cast<u32>(cut) | 1);
}
inline bf16 to_bf16(double x) { return to_bf16(cut_to_float(x)); }
inline f16 to_f16(double x) { return {bit_cast<u16>(_Float16(x))}; }

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
inline float divide_approx(float a, float b) { return a / b; }
inline float exp2_approx(float x) { return exp2f(x); }

// Memory. Addresses of shared memory count from its start.

inline u32 shared_address(const void *) { return 0; }
inline u32 map_cluster(u32 address, u32 rank) {
  return weft::host::mapCluster(address, rank);
}
template <class V> V load(const void *p) {
  V r;
  weft::host::readGlobal(&r, p, sizeof(V));
  return r;
}
template <class V> V load_read_only(const void *p) { return load<V>(p); }
template <class V> V load_stream(const void *p) { return load<V>(p); }
template <class V> V load_keep(const void *p) { return load<V>(p); }
template <class V> V load_l2(const void *p) { return load<V>(p); }
template <class V> V load_shared(u32 p) {
  V r;
  weft::host::readShared(&r, p, sizeof(V), false);
  return r;
}
template <class V> V load_cluster(u32 p) {
  V r;
  weft::host::readShared(&r, p, sizeof(V), true);
  return r;
}
template <class V> void store(void *p, V value) {
  weft::host::writeGlobal(p, &value, sizeof(V));
}
template <class V> void store_shared(u32 p, V value) {
  weft::host::writeShared(p, &value, sizeof(V), false);
}
template <class V> void store_cluster(u32 p, V value) {
  weft::host::writeShared(p, &value, sizeof(V), true);
}

// Asynchronous copies.

constexpr u64 evict_first = 1, evict_last = 2;

template <int Bytes> void copy_async(u32 to, const void *from) {
  weft::host::copyAsync(to, from, Bytes, true);
}
template <int Bytes> void copy_async_if(bool valid, u32 to, const void *from) {
  weft::host::copyAsync(to, from, Bytes, valid);
}
inline void commit_copies() { weft::host::commitCopies(); }
template <int Pending> void wait_copies() { weft::host::waitCopies(Pending); }
inline void copy_bulk(u32 to, const void *from, u32 bytes, u32 barrier) {
  weft::host::copyBulk(to, from, bytes, barrier);
}
inline void copy_bulk_hint(u32 to, const void *from, u32 bytes, u32 barrier,
                           u64) {
  weft::host::copyBulk(to, from, bytes, barrier);
}
template <class V> void store_async(u32 to, u32 barrier, V value) {
  weft::host::storeAsync(to, barrier, &value, sizeof(V));
}
inline void fence_async() { weft::host::fenceAsync(); }

// Barriers. Order between threads comes from these only; what a fence adds is
// within them.

inline void __syncthreads() { weft::host::blockBarrier(0, 0); }
inline void __syncwarp() { weft::host::warpBarrier(); }
template <int Id, int Threads> void named_barrier() {
  weft::host::blockBarrier(Id, Threads);
}
inline void cluster_arrive() { weft::host::arriveAtCluster(false); }
inline void cluster_arrive_relaxed() { weft::host::arriveAtCluster(true); }
inline void cluster_wait() { weft::host::waitForCluster(); }
inline u32 cluster_rank() { return weft::host::place.rank; }
inline void fence_cluster() {}
inline void mbarrier_init(u32 barrier, u32 count) {
  weft::host::initMBarrier(barrier, count);
}
inline void fence_mbarrier_init() { weft::host::fenceMBarrierInit(); }
inline void mbarrier_expect(u32 barrier, u32 bytes) {
  weft::host::expectBytes(barrier, bytes);
}
inline void mbarrier_arrive(u32 barrier) { weft::host::arrive(barrier); }
inline void mbarrier_wait(u32 barrier, u32 parity) {
  weft::host::waitMBarrier(barrier, parity);
}

// Steps of a warp: `compute(given, results)` has an element for each lane.

template <class Result, class Given, class Compute>
Result in_warp(const char *name, const Given &given, Compute) {
  Result result;
  weft::host::inWarp(name, &given, &result,
                     [](const void *const *all, void *const *results) {
                       Compute()(
                           [all](u32 lane) -> const Given & {
                             return *static_cast<const Given *>(all[lane]);
                           },
                           [results](u32 lane) -> Result & {
                             return *static_cast<Result *>(results[lane]);
                           });
                     });
  return result;
}

template <class T> struct Shuffled {
  T value;
  u32 lane;
};
template <class T> T shuffle(const char *name, T value, u32 lane) {
  return in_warp<T>(name, Shuffled<T>{value, lane % 32},
                    [](auto given, auto result) {
                      for (u32 lane = 0; lane < 32; ++lane)
                        result(lane) = given(given(lane).lane).value;
                    });
}
template <class T> T __shfl_xor_sync(u32, T value, int mask) {
  return shuffle("__shfl_xor_sync", value, threadIdx.x % 32 ^ u32(mask));
}
template <class T> T __shfl_sync(u32, T value, int lane) {
  return shuffle("__shfl_sync", value, u32(lane));
}
inline bool elect() {
  return in_warp<bool>("elect", 0, [](auto, auto result) {
    for (u32 lane = 0; lane < 32; ++lane)
      result(lane) = lane == 0;
  });
}

// Tensor cores. What lane 4 * g + t has: PTX ISA, "Matrix Fragments for
// mma.m16n8k16" and "ldmatrix".

template <class T> T half_of(u32 pair, u32 i) {
  return {u16(pair >> (16 * i))};
}
template <int Count, bool Transposed>
Vec<int, Count> load_matrices(const char *name, u32 row) {
  // The first lanes give the rows of the matrices.
  Vec<u32, 4> mine = {};
  if (threadIdx.x % 32 < 8 * Count)
    mine = load_shared<Vec<u32, 4>>(row);
  return in_warp<Vec<int, Count>>(name, mine, [](auto given, auto result) {
    for (u32 lane = 0; lane < 32; ++lane)
      for (u32 i = 0; i < Count; ++i) {
        u32 r = 0;
        for (u32 half = 0; half < 2; ++half) {
          u32 row = lane / 4, column = 2 * (lane % 4) + half;
          if (Transposed)
            std::swap(row, column);
          r |= u32(half_of<bf16>(given(8 * i + row)[column / 2], column % 2)
                       .bits)
               << 16 * half;
        }
        result(lane)[i] = int(r);
      }
  });
}
template <int Count> Vec<int, Count> load_matrix(u32 row) {
  return load_matrices<Count, false>("load_matrix", row);
}
template <int Count> Vec<int, Count> load_matrix_transposed(u32 row) {
  return load_matrices<Count, true>("load_matrix_transposed", row);
}
template <int Count, bool Transposed>
void store_matrices(const char *name, u32 row, const Vec<int, Count> &value) {
  const auto mine =
      in_warp<Vec<u32, 4>>(name, value, [](auto given, auto result) {
        for (u32 lane = 0; lane < 8 * Count; ++lane)
          for (u32 column = 0; column < 8; ++column) {
            u32 i = lane / 8, row = lane % 8, at = column;
            if (Transposed)
              std::swap(row, at);
            u32 half =
                half_of<bf16>(u32(given(4 * row + at / 2)[i]), at % 2).bits;
            u32 &word = result(lane)[column / 2];
            word = column % 2 ? word | half << 16 : half;
          }
      });
  if (threadIdx.x % 32 < 8 * Count)
    store_shared<Vec<u32, 4>>(row, mine);
}
template <int Count> void store_matrix(u32 row, Vec<int, Count> value) {
  store_matrices<Count, false>("store_matrix", row, value);
}
template <int Count>
void store_matrix_transposed(u32 row, Vec<int, Count> value) {
  store_matrices<Count, true>("store_matrix_transposed", row, value);
}

struct MmaOperands {
  Vec<int, 4> a;
  Vec<int, 2> b;
  Vec<float, 4> c;
};
template <class T>
Vec<float, 4> mma(const char *name, const MmaOperands &operands) {
  return in_warp<Vec<float, 4>>(name, operands, [](auto given, auto result) {
    float left[16][16], right[16][8];
    for (u32 lane = 0; lane < 32; ++lane) {
      const u32 g = lane / 4, t = lane % 4;
      for (u32 half = 0; half < 2; ++half) {
        for (u32 i = 0; i < 4; ++i)
          left[g + i % 2 * 8][2 * t + half + i / 2 * 8] =
              to_float(half_of<T>(u32(given(lane).a[i]), half));
        for (u32 i = 0; i < 2; ++i)
          right[2 * t + half + i * 8][g] =
              to_float(half_of<T>(u32(given(lane).b[i]), half));
      }
    }
    for (u32 lane = 0; lane < 32; ++lane)
      for (u32 i = 0; i < 4; ++i) {
        const u32 row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float sum = given(lane).c[i];
        for (u32 k = 0; k < 16; ++k)
          sum += left[row][k] * right[k][column];
        result(lane)[i] = sum;
      }
  });
}
inline Vec<float, 4> mma_bf16(Vec<int, 4> a, Vec<int, 2> b, Vec<float, 4> c) {
  return mma<bf16>("mma_bf16", {a, b, c});
}
inline Vec<float, 4> mma_f16(Vec<int, 4> a, Vec<int, 2> b, Vec<float, 4> c) {
  return mma<f16>("mma_f16", {a, b, c});
}

// A warp has 16 rows of the product; lanes read 8 values of k of a column at a
// time.
template <int N> struct WarpgroupOperands {
  Vec<int, 4> a;
  Vec<Vec<u32, 4>, 8> b; // Two halves of k of columns lane, lane + 32, ...
  Vec<float, N> c;
};
template <class T, int N>
Vec<float, N> warpgroup_mma(const char *name, Vec<int, 4> a, u32 matrices,
                            u32 k_stride, u32 column_stride, Vec<float, N> c) {
  WarpgroupOperands<N> operands = {a, {}, c};
  for (u32 i = 0; i < 8; ++i) {
    const u32 column = threadIdx.x % 32 + i / 2 * 32;
    if (column < 2 * N)
      operands.b[i] = load_shared<Vec<u32, 4>>(matrices + i % 2 * k_stride +
                                               column / 8 * column_stride +
                                               column % 8 * 16);
  }
  return in_warp<Vec<float, N>>(name, operands, [](auto given, auto result) {
    float left[16][16];
    for (u32 lane = 0; lane < 32; ++lane)
      for (u32 half = 0; half < 2; ++half)
        for (u32 i = 0; i < 4; ++i)
          left[lane / 4 + i % 2 * 8][lane % 4 * 2 + half + i / 2 * 8] =
              to_float(half_of<T>(u32(given(lane).a[i]), half));
    for (u32 lane = 0; lane < 32; ++lane)
      for (u32 i = 0; i < u32(N); ++i) {
        const u32 row = lane / 4 + i / 2 % 2 * 8,
                  column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float sum = given(lane).c[i];
        for (u32 k = 0; k < 16; ++k)
          sum += left[row][k] *
                 to_float(half_of<T>(
                     given(column % 32).b[column / 32 * 2 + k / 8][k % 8 / 2],
                     k % 2));
        result(lane)[i] = sum;
      }
  });
}
template <int N>
Vec<float, N> warpgroup_mma_bf16(Vec<int, 4> a, u32 matrices, u32 k_stride,
                                 u32 column_stride, Vec<float, N> c) {
  return warpgroup_mma<bf16>("warpgroup_mma_bf16", a, matrices, k_stride,
                             column_stride, c);
}
template <int N>
Vec<float, N> warpgroup_mma_f16(Vec<int, 4> a, u32 matrices, u32 k_stride,
                                u32 column_stride, Vec<float, N> c) {
  return warpgroup_mma<f16>("warpgroup_mma_f16", a, matrices, k_stride,
                            column_stride, c);
}
template <class... V> void warpgroup_arrive(V &...) {}
template <class... V> void warpgroup_wait(V &...) {}

inline int pack_bf16(float low, float high) {
  return int(to_bf16(low).bits | u32(to_bf16(high).bits) << 16);
}
inline int pack_f16(float low, float high) {
  return int(to_f16(low).bits | u32(to_f16(high).bits) << 16);
}
template <class T> float product_of(int a, int b, u32 i) {
  return to_float(half_of<T>(u32(a), i)) * to_float(half_of<T>(u32(b), i));
}
inline int multiply_pairs_bf16(int a, int b) {
  return pack_bf16(product_of<bf16>(a, b, 0), product_of<bf16>(a, b, 1));
}
inline int multiply_pairs_f16(int a, int b) {
  return pack_f16(product_of<f16>(a, b, 0), product_of<f16>(a, b, 1));
}

// Other kernels.

inline void wait_dependency() { weft::host::waitDependency(); }
inline void launch_dependents() {}
template <int Count, bool Increase> void set_registers() {}

#endif // WEFT_TEST_E2E_CUDA_HOSTPRELUDE_H
