/* Functions that make the compiler use every section and relocation kind that
   the object loader has to handle: constants, a jump table, pointers in
   constants, the address table, zeros, calls of memory functions. */

#include <immintrin.h>

void *memset(void *to, int value, unsigned long size);
void *memcpy(void *to, const void *from, unsigned long size);
void *memmove(void *to, const void *from, unsigned long size);

static const int digits[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
const char *const names[3] = {"warp", "weft", "selvage"};
int counter;
int start = 5;

int digit(int index) { return digits[index & 15]; }

const char *name(int index) { return names[index]; }

int count(void) { return start + counter++; }

int choose(int which) {
  switch (which) {
  case 0:
    return digit(counter);
  case 1:
    return 77;
  case 2:
    return start;
  case 3:
    return 9 * counter + 1;
  case 4:
    return -10;
  case 5:
    counter += 2;
    return counter;
  case 6:
    return which * which;
  }
  return -1;
}

void clear(char *to, long size) { memset(to, 0, size); }
void move(char *to, const char *from, long size) { memmove(to, from, size); }

typedef void *(*Copy)(void *, const void *, unsigned long);
Copy getCopy(void) { return memcpy; }

double line(double x) { return x * 3.25 + 2.5; }

__attribute__((target("avx512f"))) void addRamp(float *values) {
  __m512 ramp =
      _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  _mm512_storeu_ps(values, _mm512_fmadd_ps(_mm512_loadu_ps(values),
                                           _mm512_set1_ps(2), ramp));
}
