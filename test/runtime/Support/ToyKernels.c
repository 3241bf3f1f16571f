/* Kernels of the toy plan, written by hand in the calling convention of
 * docs/architecture.md. Compiled to a relocatable object when the tests are
 * built; nothing here may call anything but memcpy, memmove and memset. */

typedef long long int64;

enum { width = 8 };

/* y[t, o] = bias[o] + sum over i of x[t, i] * weight[o, i].
 * buffers: x, weight, bias, y; symbols: tokens; one item per token. */
void toy_linear(void *const *buffers, const int64 *symbols, int64 begin,
                int64 end, void *scratch) {
  const float *x = buffers[0], *weight = buffers[1], *bias = buffers[2];
  float *y = buffers[3];
  (void)symbols;
  (void)scratch;
  for (int64 t = begin; t < end; ++t)
    for (int o = 0; o < width; ++o) {
      float sum = bias[o];
      for (int i = 0; i < width; ++i)
        sum += x[t * width + i] * weight[o * width + i];
      y[t * width + o] = sum;
    }
}

/* memory[slots[t]] += x[t]. buffers: x, slots, memory; symbols: tokens, rows.
 * One item per column, since two tokens may have one slot. */
void toy_append(void *const *buffers, const int64 *symbols, int64 begin,
                int64 end, void *scratch) {
  const float *x = buffers[0];
  const int *slots = buffers[1];
  float *memory = buffers[2];
  (void)scratch;
  for (int64 i = begin; i < end; ++i)
    for (int64 t = 0; t < symbols[0]; ++t)
      if (slots[t] >= 0 && slots[t] < symbols[1])
        memory[slots[t] * width + i] += x[t * width + i];
}

/* sums[i] = sum over rows of memory[row, i], through scratch memory.
 * buffers: memory, sums; symbols: rows; one item per column. */
void toy_sum(void *const *buffers, const int64 *symbols, int64 begin, int64 end,
             void *scratch) {
  const float *memory = buffers[0];
  float *sums = buffers[1];
  float *partial = scratch;
  for (int64 i = begin; i < end; ++i) {
    for (int part = 0; part < 4; ++part)
      partial[part] = 0;
    for (int64 row = 0; row < symbols[0]; ++row)
      partial[row % 4] += memory[row * width + i];
    sums[i] = (partial[0] + partial[1]) + (partial[2] + partial[3]);
  }
}

/* Three codes of one kernel: each tells which one was chosen.
 * buffers: int result[1]; one item. */
void toy_level_1(void *const *buffers, const int64 *symbols, int64 begin,
                 int64 end, void *scratch) {
  (void)symbols, (void)begin, (void)end, (void)scratch;
  *(int *)buffers[0] = 1;
}
void toy_level_2(void *const *buffers, const int64 *symbols, int64 begin,
                 int64 end, void *scratch) {
  (void)symbols, (void)begin, (void)end, (void)scratch;
  *(int *)buffers[0] = 2;
}
void toy_level_3(void *const *buffers, const int64 *symbols, int64 begin,
                 int64 end, void *scratch) {
  (void)symbols, (void)begin, (void)end, (void)scratch;
  *(int *)buffers[0] = 3;
}

/* out[i] = 7 * i + symbols[0]; counts[i] += 1. buffers: long out[n], int
 * counts[n]; one item per element. */
void toy_iota(void *const *buffers, const int64 *symbols, int64 begin,
              int64 end, void *scratch) {
  int64 *out = buffers[0];
  int *counts = buffers[1];
  (void)scratch;
  for (int64 i = begin; i < end; ++i) {
    out[i] = 7 * i + symbols[0];
    counts[i] += 1;
  }
}
