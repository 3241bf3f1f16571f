//===- MakeCorpus.cpp - Seeds for artifact-fuzzer -------------------------===//
//
// Writes artifacts of different structure into a folder: the test plan, the
// plan without each of its parts, and random small plans.
//
//===----------------------------------------------------------------------===//

#include "test/artifact/TestPlan.h"

#include <cstdio>
#include <functional>
#include <random>

using namespace weft::rt;
using namespace weft::rt::test;

/// A random expression over `symbols` symbols with `depth` levels.
static Expr makeExpr(std::mt19937 &random, uint32_t symbols, int depth) {
  if (depth == 0 || random() % 4 == 0)
    return symbols && random() % 2 ? Expr::symbol(random() % symbols)
                                   : Expr::constant(1 + random() % 100);
  const Expr a = makeExpr(random, symbols, depth - 1);
  const Expr b = makeExpr(random, symbols, depth - 1);
  switch (random() % 4) {
  case 0:
    return a + b;
  case 1:
    return a * b;
  case 2:
    return Expr::max(a, b);
  default:
    return Expr::ceilDiv(a, Expr::constant(1 + random() % 9));
  }
}

/// A chain of launches, each from one Temp to the next, one after the other in
/// the workspace.
static Plan makeRandomPlan(uint32_t seed) {
  std::mt19937 random(seed);
  Plan plan;
  plan.target = seed % 2 ? "cpu" : "cuda:sm_90a";
  const uint32_t symbols = random() % 4;
  for (uint32_t i = 0; i < symbols; ++i)
    plan.symbols.push_back(
        {"s" + std::to_string(i), 1, 1 + int64_t(random() % 1000), i % 2 == 1});
  Kernel &kernel = plan.kernels.emplace_back();
  kernel.name = "move";
  kernel.bufferCount = 2;
  kernel.symbolCount = symbols;
  kernel.code = {{Code::Kind::Elf,
                  "x86-64-v3",
                  {"avx2", "fma"},
                  "move",
                  std::vector<uint8_t>(random() % 100, uint8_t(seed))}};
  if (seed % 2 == 0) {
    const LaunchShape shape = {
        uint32_t(32 * (1 + random() % 32)), uint32_t(random() % 65536),
        uint32_t(1 + random() % 16), uint32_t(random() % 4), random() % 2 == 1};
    kernel.code[0].kind = seed % 4 ? Code::Kind::Cubin : Code::Kind::CudaSource;
    kernel.code[0].bytes = std::vector<uint8_t>(random() % 100, 'x');
    kernel.code[0].launch = shape;
  }
  Entry &entry = plan.entries.emplace_back();
  entry.name = "run";
  for (uint32_t i = 0; i < symbols; ++i)
    entry.symbols.push_back(i);
  Expr offset;
  // Few and small, so that the sum of their sizes stays below 64 operations.
  const uint32_t count = 2 + random() % 3;
  for (uint32_t i = 0; i < count; ++i) {
    Buffer &buffer = entry.buffers.emplace_back();
    buffer.name = "t" + std::to_string(i);
    buffer.dtype = static_cast<DType>(1 + random() % 10);
    buffer.shape = {makeExpr(random, symbols, 1)};
    buffer.offset = offset;
    buffer.firstUse = i ? i - 1 : 0;
    buffer.lastUse = i + 1 < count ? i : i - 1;
    offset = offset + Expr::ceilDiv(buffer.shape[0] * Expr::constant(8),
                                    Expr::constant(64)) *
                          Expr::constant(64);
  }
  for (uint32_t i = 0; i + 1 < count; ++i) {
    Command &command = entry.commands.emplace_back();
    command.label = "move." + std::to_string(i);
    command.buffers = {i, i + 1};
    for (uint32_t k = 0; k < symbols; ++k)
      command.symbols.push_back(makeExpr(random, symbols, 1));
    command.grid = makeExpr(random, symbols, 2);
  }
  entry.workspaceBytes = offset;
  for (uint32_t i = 0; i < random() % 4; ++i) {
    Param &param = plan.params.emplace_back();
    param.name = "p" + std::to_string(i);
    param.dtype = static_cast<DType>(1 + random() % 10);
    param.shape = {int64_t(random() % 9), int64_t(random() % 9)};
    const bool isFloat = param.dtype <= DType::BF16;
    if (isFloat && random() % 2)
      param.generated = {true, double(random() % 100) / 64, random()};
  }
  return plan;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make-artifact-corpus FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  writePlan(folder / "all", makePlan());
  const std::pair<const char *, std::function<void(Plan &)>> removals[] = {
      {"no-params",
       [](Plan &p) {
         p.params.clear();
         p.entries.clear();
       }},
      {"no-entries", [](Plan &p) { p.entries.clear(); }},
      {"no-debug", [](Plan &p) { p.debug.clear(); }},
      {"no-key-counts",
       [](Plan &p) {
         p.entries[0].keyCounts.clear();
         for (Command &command : p.entries[0].commands)
           command.countedFlops = command.countedBytes = Expr();
       }},
      {"no-tokenizer", [](Plan &p) { p.tokenizerFiles.clear(); }},
      {"no-code",
       [](Plan &p) {
         for (Kernel &kernel : p.kernels)
           kernel.code.clear();
       }},
      {"empty",
       [](Plan &p) {
         p = Plan();
         p.target = "cpu";
       }},
  };
  for (const auto &[name, remove] : removals) {
    Plan plan = makePlan();
    remove(plan);
    writePlan(folder / name, plan);
  }
  for (uint32_t seed = 0; seed < 24; ++seed)
    writePlan(folder / ("random-" + std::to_string(seed)),
              makeRandomPlan(seed));
  return 0;
}
