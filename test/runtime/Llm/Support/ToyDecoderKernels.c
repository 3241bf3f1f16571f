/* Kernels of the toy decoder, written by hand in the calling convention of
 * docs/architecture.md. */

typedef long long int64;
typedef unsigned int uint32;

enum { block_size = 4, head_width = 264, tokenizer_size = 258 };

/* cache[slots[t]] = tokens[t]. buffers: tokens, slots, cache; symbols: tokens;
 * one item. */
void toy_remember(void *const *buffers, const int64 *symbols, int64 begin,
                  int64 end, void *scratch) {
  const int *tokens = buffers[0], *slots = buffers[1];
  int *cache = buffers[2];
  (void)scratch;
  for (int64 item = begin; item < end; ++item)
    for (int64 t = 0; t < symbols[0]; ++t)
      cache[slots[t]] = tokens[t];
}

/* buffers: positions, sequence_ids, block_table, logit_rows, story, cache,
 * logits; symbols: table_width, length of the story; one item per row of
 * logits. */
void toy_tell(void *const *buffers, const int64 *symbols, int64 begin,
              int64 end, void *scratch) {
  const int *positions = buffers[0], *sequence_ids = buffers[1];
  const int *block_table = buffers[2], *logit_rows = buffers[3];
  const int *story = buffers[4], *cache = buffers[5];
  float *logits = buffers[6];
  (void)scratch;
  for (int64 i = begin; i < end; ++i) {
    int row = logit_rows[i], last = positions[row];
    const int *blocks = block_table + sequence_ids[row] * symbols[0];
    uint32 seed = 0;
    for (int p = 0; p <= last; ++p)
      seed +=
          (uint32)cache[blocks[p / block_size] * block_size + p % block_size] *
          (uint32)(p + 1);
    for (uint32 v = 0; v < head_width; ++v)
      logits[i * head_width + v] =
          v < tokenizer_size ? (float)((seed * 31u + v * 17u) % 97u) / 97.0f
                             : 100.0f;
    logits[i * head_width + story[(last + 1) % symbols[1]]] += 8.0f;
  }
}
