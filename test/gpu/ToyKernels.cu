// The kernels of the toy plan (test/runtime/Support/ToyKernels.c) in the calling
// convention of docs/architecture.md. toy_linear loops over its items, the others
// do one item in each block.

typedef long long int64;

constexpr int width = 8;

__device__ inline void waitForPredecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

extern "C" __global__ void toy_linear(const float *x, const float *weight,
                                      const float *bias, float *y, int64 tokens,
                                      int64 items) {
  extern __shared__ float row[];
  waitForPredecessor();
  const int o = threadIdx.x;
  for (int64 t = blockIdx.x; t < items; t += gridDim.x) {
    if (o < width)
      row[o] = x[t * width + o];
    __syncthreads();
    if (o < width) {
      float sum = bias[o];
      for (int i = 0; i < width; ++i)
        sum += row[i] * weight[o * width + i];
      y[t * width + o] = sum;
    }
    __syncthreads();
  }
}

extern "C" __global__ void toy_append(const float *x, const int *slots,
                                      float *memory, int64 tokens, int64 rows,
                                      int64 items) {
  waitForPredecessor();
  const int64 i = blockIdx.x;
  if (i >= items || threadIdx.x != 0)
    return;
  for (int64 t = 0; t < tokens; ++t)
    if (slots[t] >= 0 && slots[t] < rows)
      memory[slots[t] * width + i] += x[t * width + i];
}

extern "C" __global__ void toy_sum(const float *memory, float *sums, int64 rows,
                                   int64 items) {
  waitForPredecessor();
  const int64 i = blockIdx.x;
  if (i >= items || threadIdx.x != 0)
    return;
  float sum = 0;
  for (int64 row = 0; row < rows; ++row)
    sum += memory[row * width + i];
  sums[i] = sum;
}

// Writes far outside of everything.
extern "C" __global__ void toy_fault(float *memory, int64 items) {
  waitForPredecessor();
  memory[int64(1) << 44] = 1;
}
