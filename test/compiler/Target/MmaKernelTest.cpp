//===- MmaKernelTest.cpp - Multiplications at every level of the host -----===//
//
// The order of the steps is part of the meaning of tile.mma, so results are
// compared bit for bit with the same steps in plain C++.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/Target/KernelRunner.h"
#include "test/compiler/Target/Numbers.h"

#include "passes/Kernel/CpuLevel.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {

struct Shape {
  int64_t rows, inner, columns, group;
  Element left, right;
  bool dot = false;
  /// Empty, or the schedule's rows, columns and unroll.
  std::vector<int64_t> schedule = {};
  /// The fold's step; 0: one multiplication of the whole inner size.
  int64_t step = 0;

  std::string key() const {
    return "m" + std::to_string(rows) + "x" + std::to_string(inner) + "x" +
           std::to_string(columns) + "_g" + std::to_string(group) + "_" +
           name(left) + "_" + name(right) + (dot ? "_dot" : "") +
           (schedule.empty() ? "" : "_s" + std::to_string(schedule[1])) + "_" +
           std::to_string(step);
  }

  int64_t panelRows() const { return (inner + group - 1) / group; }

  std::string program(const std::string &level) const {
    auto s = [](int64_t value) { return std::to_string(value); };
    std::string lhsView = "memref<?x" + s(inner) + "x" + name(left) + ">";
    std::string rhsView = "memref<" + s(panelRows()) + "x" + s(columns) + "x" +
                          s(group) + "x" + name(right) + ">";
    std::string outView = "memref<?x" + s(columns) + "xf32>";
    std::string out = "tensor<" + s(rows) + "x" + s(columns) + "xf32>";
    int64_t k = step ? step : inner;
    std::string lhs = "tensor<" + s(rows) + "x" + s(k) + "x" + name(left) + ">";
    std::string rhs = "tensor<" + s((k + group - 1) / group) + "x" +
                      s(columns) + "x" + s(group) + "x" + name(right) + ">";
    std::string body = "%a = tile.load %x[%zero, %k] rows %n : " + lhsView +
                       " -> " + lhs + "\n %b = tile.load %w[%p, %zero, %zero]" +
                       " : " + rhsView + " -> " + rhs + "\n %r = tile.mma " +
                       (dot ? "dot_bf16" : "fma") + " %a, %b, %c : " + lhs +
                       ", " + rhs + ", " + out + "\n";
    std::string text = "(%x: " + lhsView + ", %w: " + rhsView +
                       ", %y: " + outView + ") symbols (%n) item (%i)";
    if (!schedule.empty())
      text +=
          " attributes {schedule = #tile.cpu_schedule<level = \"@LEVEL@\", "
          "rows = " +
          s(schedule[0]) + ", columns = " + s(schedule[1]) +
          ", unroll = " + s(schedule[2]) +
          ", row_columns = 1, row_panels = 1, row_unroll = 1, row_block = 1, "
          "column_block = 1, mma = fma>}";
    text += " {\n %zero = arith.constant 0 : index\n"
            " %c0 = tile.load %y[%zero, %zero] rows %n : " +
            outView + " -> " + out + "\n";
    if (step) {
      text += " %size = arith.constant " + s(inner) +
              " : index\n %step = arith.constant " + s(step) +
              " : index\n %g = arith.constant " + s(group) +
              " : index\n %f = tile.fold %k = %zero to %size step %step merge "
              "add init (%c = %c0 : " +
              out + ") {\n %p = arith.divui %k, %g : index\n" + body +
              " tile.yield %r : " + out + "\n }\n";
      text += " tile.store %f, %y[%zero, %zero] rows %n : " + out + ", " +
              outView + "\n tile.return\n}";
    } else {
      size_t at;
      while ((at = body.find("%k")) != std::string::npos)
        body.replace(at, 2, "%zero");
      while ((at = body.find("%p,")) != std::string::npos)
        body.replace(at, 2, "%zero");
      while ((at = body.find("%c ")) != std::string::npos)
        body.replace(at, 2, "%c0");
      text += body + " tile.store %r, %y[%zero, %zero] rows %n : " + out +
              ", " + outView + "\n tile.return\n}";
    }
    return makeProgram(key(), "\"rows\"", text, level);
  }
};

std::vector<Shape> shapes() {
  using enum Element;
  std::vector<Shape> list;
  for (Element left : {F32, F16, BF16})
    for (Element right : {F32, F16, BF16})
      for (int64_t group : {1, 2, 4})
        list.push_back({3, 11, 24, group, left, right});
  // Odd sizes, register tiles wider and higher than one, folds.
  for (int64_t rows : {1, 7})
    for (int64_t columns : {1, 7, 100})
      list.push_back({rows, 37, columns, 1, F32, F32});
  list.push_back({6, 64, 64, 1, F32, F32, false, {6, 64, 8}});
  list.push_back({6, 64, 64, 2, F32, BF16, false, {6, 16, 8}});
  list.push_back({4, 65, 128, 1, F32, F32, false, {2, 32, 4}});
  list.push_back({6, 64, 64, 1, F32, F32, false, {6, 64, 8}, 8});
  list.push_back({6, 64, 48, 2, BF16, BF16, false, {6, 32, 8}, 16});
  return list;
}

std::vector<Shape> dotShapes() {
  using enum Element;
  std::vector<Shape> list;
  for (int64_t rows : {1, 6})
    for (int64_t columns : {1, 2, 31, 64})
      for (int64_t inner : {2, 42})
        list.push_back({rows, inner, columns, 2, BF16, BF16, true});
  list.push_back({6, 64, 64, 2, BF16, BF16, true, {6, 64, 8}, 16});
  return list;
}

struct Problem {
  Array x, w, y;
  std::vector<float> initial;

  Problem(const Shape &shape, int64_t rows, uint32_t seed)
      : x(randomArray(shape.left, 16 * shape.inner, seed)),
        w(randomArray(shape.right,
                      shape.panelRows() * shape.columns * shape.group,
                      seed + 1)),
        y(randomArray(Element::F32, rows * shape.columns, seed + 2)) {
    for (size_t i = 0; i < y.size; ++i)
      initial.push_back(static_cast<float>(y.get(i)));
  }
};

const uint32_t seed = 20240611;

} // namespace

TEST(MmaKernel, EveryElementHasItsStepsInOrder) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const std::string &level : hostLevels()) {
    std::string text;
    for (const Shape &shape : shapes())
      text += shape.program(level);
    std::vector<LoadedKernel> kernels = compile(text);
    std::vector<Shape> list = shapes();
    ASSERT_EQ(kernels.size(), list.size());
    bool fused = findCpuLevel(level)->hasFma;
    for (size_t s = 0; s < list.size(); ++s) {
      const Shape &shape = list[s];
      SCOPED_TRACE(level + " " + shape.key());
      // All rows, and fewer rows than the tile has.
      for (int64_t rows : {shape.rows, (shape.rows + 1) / 2}) {
        Problem problem(shape, shape.rows, seed + s);
        kernels[s].run({problem.x.data(), problem.w.data(), problem.y.data()},
                       {rows}, 0, 1);
        for (int64_t m = 0; m < shape.rows; ++m)
          for (int64_t n = 0; n < shape.columns; ++n) {
            float sum = problem.initial[m * shape.columns + n];
            for (int64_t k = 0; m < rows && k < shape.inner; ++k) {
              float a = problem.x.get(m * shape.inner + k);
              float b = problem.w.get(((k / shape.group) * shape.columns + n) *
                                          shape.group +
                                      k % shape.group);
              if (fused) {
                sum = std::fma(a, b, sum);
              } else {
                volatile float product = a * b;
                sum += product;
              }
            }
            ASSERT_EQ(problem.y.get(m * shape.columns + n), sum)
                << "row " << m << " column " << n << " of " << rows;
          }
      }
    }
  }
}

TEST(MmaKernel, DotBf16AddsPairs) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string level = "x86-64-v4-bf16";
  if (!isSupportedByHost(*findCpuLevel(level)))
    GTEST_SKIP() << "this processor has no avx512bf16";
  std::string text;
  for (const Shape &shape : dotShapes())
    text += shape.program(level);
  std::vector<LoadedKernel> kernels = compile(text);
  std::vector<Shape> list = dotShapes();
  ASSERT_EQ(kernels.size(), list.size());
  for (size_t s = 0; s < list.size(); ++s) {
    const Shape &shape = list[s];
    SCOPED_TRACE(shape.key());
    Problem problem(shape, shape.rows, seed + s);
    kernels[s].run({problem.x.data(), problem.w.data(), problem.y.data()},
                   {shape.rows}, 0, 1);
    for (int64_t m = 0; m < shape.rows; ++m)
      for (int64_t n = 0; n < shape.columns; ++n) {
        double sum = problem.initial[m * shape.columns + n];
        for (int64_t k = 0; k < shape.inner; ++k)
          sum += problem.x.get(m * shape.inner + k) *
                 problem.w.get(((k / 2) * shape.columns + n) * 2 + k % 2);
        ASSERT_NEAR(problem.y.get(m * shape.columns + n), sum, 1e-5)
            << "row " << m << " column " << n;
      }
  }
}

TEST(MmaKernel, OneRowEqualsSixRows) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  using enum Element;
  for (const std::string &level : hostLevels()) {
    std::vector<std::pair<Shape, Shape>> pairs;
    for (auto [left, right, group, dot] :
         {std::tuple(F32, F32, 1, false), std::tuple(F32, BF16, 2, false),
          std::tuple(BF16, BF16, 2, true), std::tuple(F16, F16, 1, false)}) {
      if (dot && !findCpuLevel(level)->hasDotBf16)
        continue;
      pairs.push_back({Shape{6, 96, 64, group, left, right, dot, {6, 64, 8}},
                       Shape{1, 96, 64, group, left, right, dot}});
    }
    for (auto &[six, one] : pairs) {
      SCOPED_TRACE(level + " " + six.key());
      std::vector<LoadedKernel> kernels =
          compile(six.program(level) + one.program(level));
      ASSERT_EQ(kernels.size(), 2u);
      Problem all(six, 6, seed);
      kernels[0].run({all.x.data(), all.w.data(), all.y.data()}, {6}, 0, 1);
      Problem single(six, 6, seed);
      for (int64_t row = 0; row < 6; ++row) {
        int64_t bytes = six.left == F32 ? 4 : 2;
        kernels[1].run({static_cast<char *>(single.x.data()) + row * 96 * bytes,
                        single.w.data(),
                        static_cast<char *>(single.y.data()) + row * 64 * 4},
                       {1}, 0, 1);
      }
      EXPECT_EQ(all.y.words, single.y.words);
    }
  }
}

TEST(MmaKernel, RightHandSideFromRegisters) {
  for (const std::string &level : hostLevels()) {
    // (x * 2) on the right: computed, not loaded.
    auto kernels = compile(makeProgram(
        "k", "",
        R"((%x: memref<4x8xf32>, %w: memref<8x20xf32>, %y: memref<4x20xf32>)
        symbols () item (%i) {
      %z = arith.constant 0 : index
      %two = arith.constant dense<2.0> : tensor<8x20xf32>
      %zero = arith.constant dense<0.0> : tensor<4x20xf32>
      %a = tile.load %x[%z, %z] : memref<4x8xf32> -> tensor<4x8xf32>
      %b = tile.load %w[%z, %z] : memref<8x20xf32> -> tensor<8x20xf32>
      %d = arith.mulf %b, %two : tensor<8x20xf32>
      %r = tile.mma fma %a, %d, %zero
        : tensor<4x8xf32>, tensor<8x20xf32>, tensor<4x20xf32>
      tile.store %r, %y[%z, %z] : tensor<4x20xf32>, memref<4x20xf32>
      tile.return
    })",
        level));
    ASSERT_EQ(kernels.size(), 1u);
    Array x = randomArray(Element::F32, 32, 1),
          w = randomArray(Element::F32, 160, 2), y(Element::F32, 80);
    kernels[0].run({x.data(), w.data(), y.data()}, {}, 0, 1);
    for (int m = 0; m < 4; ++m)
      for (int n = 0; n < 20; ++n) {
        double sum = 0;
        for (int k = 0; k < 8; ++k)
          sum += x.get(m * 8 + k) * w.get(k * 20 + n) * 2;
        EXPECT_NEAR(y.get(m * 20 + n), sum, 1e-5);
      }
  }
}

TEST(MmaKernel, DiagnosesWhatItCannotRead) {
  const char *head = R"((%x: memref<2x4xf32>, %w: memref<4x4xf32>,
                        %y: memref<2x4xf32>) symbols () item (%i) {
      %z = arith.constant 0 : index
      %acc = arith.constant dense<0.0> : tensor<2x4xf32>
      %a = tile.load %x[%z, %z] : memref<2x4xf32> -> tensor<2x4xf32>
      %b = tile.load %w[%z, %z] : memref<4x4xf32> -> tensor<4x4xf32>
  )";
  std::string error;
  EXPECT_TRUE(compile(makeProgram("k", "", std::string(head) + R"(
      tile.store %acc, %x[%z, %z] : tensor<2x4xf32>, memref<2x4xf32>
      %r = tile.mma fma %a, %b, %acc
        : tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>
      tile.store %r, %y[%z, %z] : tensor<2x4xf32>, memref<2x4xf32>
      tile.return })",
                                  "x86-64-v2"),
                      &error)
                  .empty());
  EXPECT_NE(error.find("overwritten between its load"), std::string::npos)
      << error;
  EXPECT_TRUE(compile(makeProgram("k", "", std::string(head) + R"(
      %s = arith.addf %a, %a : tensor<2x4xf32>
      %r = tile.mma fma %s, %b, %acc
        : tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>
      tile.store %r, %y[%z, %z] : tensor<2x4xf32>, memref<2x4xf32>
      tile.return })",
                                  "x86-64-v2"),
                      &error)
                  .empty());
  EXPECT_NE(error.find("must be read by a tile.load"), std::string::npos)
      << error;
}
