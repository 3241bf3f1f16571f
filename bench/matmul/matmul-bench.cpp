//===- matmul-bench.cpp - Speed of generated multiplications --------------===//
//
// Times kernels made from tile programs on one core, beside OpenBLAS (if the
// machine has it, single thread, chosen for this processor) in the same run.
// Times are processor time of this thread, the best of several interleaved
// runs, so that other load on the machine matters little. Each result is
// checked against float64 on a few elements before it is printed.
//
// Usage: matmul-bench [filter]; a case runs if its name contains the filter.
//
//===----------------------------------------------------------------------===//

#include "bench/matmul/LinearProgram.h"
#include "test/compiler/Target/KernelRunner.h"
#include "test/compiler/Target/Numbers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>

using namespace weft::bench;
using namespace weft::test;

static double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

namespace {

using Sgemm = void (*)(int, int, int, int, int, int, float, const float *, int,
                       const float *, int, float, float *, int);

/// cblas_sgemm of OpenBLAS, or null.
Sgemm loadOpenBlas() {
  unsetenv("OPENBLAS_CORETYPE");
  void *library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (!library)
    return nullptr;
  if (auto threads = reinterpret_cast<void (*)(int)>(
          dlsym(library, "openblas_set_num_threads")))
    threads(1);
  return reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
}

/// Memory aligned to 64 bytes.
struct Buffer {
  std::vector<uint8_t> bytes;
  explicit Buffer(size_t size) : bytes(size + 64) {}
  template <typename T> T *get() {
    auto address = reinterpret_cast<uintptr_t>(bytes.data());
    return reinterpret_cast<T *>((address + 63) & ~uintptr_t(63));
  }
};

struct Case {
  std::string name;
  int64_t tokens;
  LinearProgram program;
};

Element parseElement(const std::string &text) {
  return text == "f32" ? Element::F32
                       : (text == "f16" ? Element::F16 : Element::BF16);
}

void write(Buffer &buffer, Element element, size_t i, double value) {
  if (element == Element::F32)
    buffer.get<float>()[i] = static_cast<float>(value);
  else
    buffer.get<uint16_t>()[i] = encode(value, element == Element::F16 ? 5 : 8);
}

/// A number in [-1, 1] that all element types hold exactly.
double sample(size_t i) {
  return static_cast<double>((i * 2654435761u >> 7) % 129) / 64 - 1;
}

void runCase(const Case &test, Sgemm sgemm) {
  const LinearProgram &program = test.program;
  int64_t T = test.tokens, K = program.inner, N = program.columns;
  std::vector<LoadedKernel> kernels = compile(program.print("linear"));
  if (kernels.size() != 1) {
    std::printf("%-34s not for this machine\n", test.name.c_str());
    return;
  }
  Element left = parseElement(program.left),
          right = parseElement(program.right);
  size_t leftBytes = left == Element::F32 ? 4 : 2;
  size_t rightBytes = right == Element::F32 ? 4 : 2;
  Buffer x(T * K * leftBytes), w(K * N * rightBytes), y(T * N * 4);
  Buffer wide(sgemm ? K * N * 4 : 0), wideX(T * K * 4), peer(T * N * 4);
  for (int64_t i = 0; i < T * K; ++i) {
    write(x, left, i, sample(i));
    wideX.get<float>()[i] = static_cast<float>(sample(i));
  }
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      double value = sample(n * K + k + 17);
      int64_t g = program.group;
      write(w, right, (((n / 64) * (K / g) + k / g) * 64 + n % 64) * g + k % g,
            value);
      if (sgemm)
        wide.get<float>()[k * N + n] = static_cast<float>(value);
    }
  int64_t grid =
      (T + program.rowBlock - 1) / program.rowBlock * (N / program.columnBlock);
  std::vector<void *> buffers = {x.get<void>(), w.get<void>(), y.get<void>()};
  double best = 1e9, bestPeer = 1e9, spent = 0;
  for (int run = 0; run < 200 && (run < 5 || spent < 1.5); ++run) {
    double start = threadSeconds();
    kernels[0].run(buffers, {T}, 0, grid);
    double middle = threadSeconds();
    if (sgemm)
      sgemm(101, 111, 111, T, N, K, 1, wideX.get<float>(), K, wide.get<float>(),
            N, 0, peer.get<float>(), N);
    double end = threadSeconds();
    best = std::min(best, middle - start);
    bestPeer = std::min(bestPeer, end - middle);
    spent += end - start;
  }
  for (int64_t i = 0; i < 64; ++i) {
    int64_t t = i * 7919 % T, n = i * 104729 % N;
    double sum = 0;
    for (int64_t k = 0; k < K; ++k)
      sum += sample(t * K + k) * sample(n * K + k + 17);
    double found = y.get<float>()[t * N + n];
    if (std::fabs(found - sum) > 1e-3 * std::sqrt(static_cast<double>(K))) {
      std::printf("%-34s WRONG: %g instead of %g\n", test.name.c_str(), found,
                  sum);
      return;
    }
  }
  double flops = 2.0 * T * K * N;
  double bytes = static_cast<double>(K) * N * rightBytes;
  std::printf("%-34s %8.1f GFLOP/s %7.1f GB/s of weights", test.name.c_str(),
              flops / best / 1e9, bytes / best / 1e9);
  if (sgemm)
    std::printf("   OpenBLAS f32 %8.1f GFLOP/s  ratio %.2f",
                flops / bestPeer / 1e9, bestPeer / best);
  std::printf("\n");
  std::fflush(stdout);
}

struct Kind {
  const char *name, *level, *left, *right;
  int64_t group;
  bool dot;
  int64_t width;
};

const Kind kinds[] = {
    {"f32 v4", "x86-64-v4", "f32", "f32", 1, false, 64},
    {"f32 v3", "x86-64-v3", "f32", "f32", 1, false, 16},
    {"f32 v2", "x86-64-v2", "f32", "f32", 1, false, 8},
    {"f32xbf16 v4", "x86-64-v4", "f32", "bf16", 2, false, 64},
    {"f32xbf16 v3", "x86-64-v3", "f32", "bf16", 2, false, 16},
    {"bf16xbf16 v4", "x86-64-v4", "bf16", "bf16", 2, false, 64},
    {"bf16xbf16 v3", "x86-64-v3", "bf16", "bf16", 2, false, 16},
    {"bf16 dot", "x86-64-v4-bf16", "bf16", "bf16", 2, true, 64},
    {"f32xf16 v4", "x86-64-v4", "f32", "f16", 1, false, 64},
    {"f16xf16 v4", "x86-64-v4", "f16", "f16", 1, false, 64},
    {"f16xf16 v3", "x86-64-v3", "f16", "f16", 1, false, 16},
};

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](const Kind &kind, int64_t tokens, int64_t inner,
                 int64_t columns, int64_t panels, int64_t unroll = 4) {
    LinearProgram program;
    program.level = kind.level;
    program.inner = inner;
    program.columns = columns;
    program.left = kind.left;
    program.right = kind.right;
    program.group = kind.group;
    program.dot = kind.dot;
    program.width = kind.width;
    program.unroll = unroll;
    std::string name = std::string(kind.name) + " " + std::to_string(tokens) +
                       "x" + std::to_string(inner) + "x" +
                       std::to_string(columns);
    if (panels > 1) {
      program.rows = 1;
      program.width = 64;
      program.panels = panels;
      program.columnBlock = 512;
      name += " panels=" + std::to_string(panels);
    }
    if (unroll != 4)
      name += " unroll=" + std::to_string(unroll);
    list.push_back({name, tokens, program});
  };
  for (int64_t size : {512, 768, 1024, 1536, 2048})
    for (const Kind &kind : kinds)
      for (int64_t unroll : {4, 8, 16})
        add(kind, size, size, size, 1, unroll);
  // Llama-3.2-1B: qkv, output, gate and up, down.
  for (auto [inner, columns] : {std::pair(2048, 3072), std::pair(2048, 2048),
                                std::pair(2048, 16384), std::pair(8192, 2048)})
    for (const Kind &kind : kinds) {
      for (int64_t panels : {1, 2, 4, 8})
        add(kind, 1, inner, columns, panels);
      add(kind, 6, inner, columns, 1);
      add(kind, 512, inner, columns, 1);
    }
  return list;
}

} // namespace

int main(int argc, char **argv) {
  Sgemm sgemm = loadOpenBlas();
  for (const Case &test : cases())
    if (argc < 2 || test.name.find(argv[1]) != std::string::npos)
      runCase(test, sgemm);
  return 0;
}
