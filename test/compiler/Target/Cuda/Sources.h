//===- Sources.h - CUDA C++ kernels for tests -------------------*- C++ -*-===//
//
// Written by hand with the interface of docs/architecture.md, for sm_80 and
// later unless said otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_COMPILER_TARGET_CUDA_SOURCES_H
#define WEFT_TEST_COMPILER_TARGET_CUDA_SOURCES_H

namespace weft::test {

/// y[i] = 2 x[i]; an item is 256 elements of `rows` x 64.
inline constexpr const char *doubleSource = R"(
extern "C" __global__ void __launch_bounds__(256)
    twice(const float *x, float *y, long long rows, long long items) {
  long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < rows * 64)
    y[i] = 2.0f * x[i];
}
)";

/// The same with a local array that is indexed at run time: a stack frame.
inline constexpr const char *stackSource = R"(
extern "C" __global__ void __launch_bounds__(256)
    twice(const float *x, float *y, long long rows, long long items) {
  float local[64];
  for (int k = 0; k < 64; ++k)
    local[k] = x[k];
  for (long long i = 0; i < rows; ++i)
    local[(int)x[i] & 63] += x[i];
  y[threadIdx.x] = local[rows & 63];
}
)";

/// 64 accumulators in at most 32 registers: spills.
inline constexpr const char *spillSource = R"(
extern "C" __global__ void __launch_bounds__(1024, 2)
    twice(const float *x, float *y, long long rows, long long items) {
  float sum[64];
#pragma unroll
  for (int k = 0; k < 64; ++k)
    sum[k] = 0;
  for (int i = 0; i < (int)rows; ++i) {
#pragma unroll
    for (int k = 0; k < 64; ++k)
      sum[k] = fmaf(x[i * 64 + k], x[threadIdx.x + k * i], sum[k]);
  }
#pragma unroll
  for (int k = 0; k < 64; ++k)
    y[threadIdx.x * 64 + k] = sum[k];
}
)";

/// sm_90a: an accumulator is changed between two wgmma of a group, so that
/// ptxas serialises them.
inline constexpr const char *serialisedSource = R"(
__device__ __forceinline__ void mma(float (&d)[4], unsigned long long a,
                                    unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a), "l"(b));
}
extern "C" __global__ void __launch_bounds__(256, 1)
    twice(const float *x, float *y, long long rows, long long items) {
  float d[4] = {0, 0, 0, 0};
  for (long long i = 0; i < rows; ++i) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    mma(d, i, rows);
    d[0] *= 1.5f;
    mma(d, i + 2, rows + 2);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  for (int k = 0; k < 4; ++k)
    y[threadIdx.x * 4 + k] = d[k];
}
)";

} // namespace weft::test

#endif // WEFT_TEST_COMPILER_TARGET_CUDA_SOURCES_H
