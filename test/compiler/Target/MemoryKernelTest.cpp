//===- MemoryKernelTest.cpp - Loads, stores, columns, control flow --------===//

#include "test/compiler/Target/KernelRunner.h"
#include "test/compiler/Target/Numbers.h"

#include <gtest/gtest.h>

using namespace weft::test;

namespace {

LoadedKernel compileOne(const std::string &symbols, const std::string &kernel,
                        const std::string &level) {
  std::string error;
  auto kernels = compile(makeProgram("k", symbols, kernel, level), &error);
  EXPECT_EQ(kernels.size(), 1u) << error << kernel;
  return kernels.empty() ? LoadedKernel() : std::move(kernels.front());
}

/// Replaces every "$" by `number`.
std::string with(std::string text, int64_t number) {
  for (size_t at; (at = text.find('$')) != std::string::npos;)
    text.replace(at, 1, std::to_string(number));
  return text;
}

} // namespace

TEST(MemoryKernel, StoresOnlyRowsAndColumnsThatAreInside) {
  for (const std::string &level : hostLevels())
    for (Element element : {Element::F32, Element::F16, Element::BF16})
      for (int64_t columns : {1, 5, 16, 39}) {
        SCOPED_TRACE(level + " " + name(element) + " " +
                     std::to_string(columns));
        std::string text = with(
            "(%x: memref<?x48xE>, %y: memref<?x48xE>) symbols (%n, %m) "
            "item (%i) {\n %two = arith.constant 2 : index\n"
            " %t = tile.load %x[%i, %two] rows %n : memref<?x48xE> -> "
            "tensor<4x$xE>\n tile.store %t, %y[%i, %two] rows %n columns %m : "
            "tensor<4x$xE>, memref<?x48xE>\n tile.return\n}",
            columns);
        for (size_t at; (at = text.find("xE")) != std::string::npos;)
          text.replace(at + 1, 1, name(element));
        LoadedKernel kernel = compileOne("\"n\", \"m\"", text, level);
        for (int64_t rows = 1; rows <= 4; ++rows)
          for (int64_t inside = 0; inside <= columns; ++inside) {
            Array x = randomArray(element, 48 * 6, 5), y(element, 48 * 6);
            kernel.run({x.data(), y.data()}, {rows, inside}, 1, 2);
            for (int64_t r = 0; r < 6; ++r)
              for (int64_t c = 0; c < 48; ++c) {
                bool in = r >= 1 && r < 1 + rows && c >= 2 && c < 2 + inside;
                ASSERT_EQ(y.get(r * 48 + c), in ? x.get(r * 48 + c) : 0)
                    << rows << " " << inside << " at " << r << " " << c;
              }
          }
      }
}

TEST(MemoryKernel, RowsBehindTheLastRepeatIt) {
  for (const std::string &level : hostLevels()) {
    LoadedKernel kernel = compileOne(
        "\"n\"",
        R"((%x: memref<?x3x20xf32>, %y: memref<4x20xf32>) symbols (%n)
          item (%i) {
        %z = arith.constant 0 : index
        %t = tile.load %x[%i, %i, %z] rows %n dims [0, 2]
          : memref<?x3x20xf32> -> tensor<4x20xf32>
        tile.store %t, %y[%z, %z] : tensor<4x20xf32>, memref<4x20xf32>
        tile.return })",
        level);
    Array x = randomArray(Element::F32, 5 * 60, 3), y(Element::F32, 80);
    for (int64_t rows = 1; rows <= 4; ++rows) {
      kernel.run({x.data(), y.data()}, {rows}, 1, 2);
      for (int64_t r = 0; r < 4; ++r)
        for (int64_t c = 0; c < 20; ++c)
          ASSERT_EQ(y.get(r * 20 + c),
                    x.get((1 + std::min(r, rows - 1)) * 60 + 20 + c));
    }
  }
}

TEST(MemoryKernel, StridedColumnsTransposeThroughScratch) {
  for (const std::string &level : hostLevels()) {
    SCOPED_TRACE(level);
    // Rows of x become columns of a scratch view; its rows are written to y,
    // its columns (with a stride again) to w.
    LoadedKernel kernel = compileOne("\"columns\"", R"((%x: memref<4x20xf32>,
        %y: memref<20x4xf32>, %w: memref<4x20xf32>) symbols (%n) item (%i) {
        %z = arith.constant 0 : index
        %one = arith.constant 1 : index
        %rows = arith.constant 4 : index
        %apart = tile.scratch : memref<7xf32>
        %t = tile.scratch : memref<1x20x4xf32>
        %zero = arith.constant dense<0.0> : tensor<20x4xf32>
        tile.store %zero, %t[%z, %z, %z] : tensor<20x4xf32>, memref<1x20x4xf32>
        scf.for %r = %z to %rows step %one {
          %b = tile.load %x[%r, %z] : memref<4x20xf32> -> tensor<1x20xf32>
          tile.store %b, %t[%z, %z, %r] columns %n dims [0, 1]
            : tensor<1x20xf32>, memref<1x20x4xf32>
        }
        %c = tile.load %t[%z, %z, %z] : memref<1x20x4xf32> -> tensor<20x4xf32>
        tile.store %c, %y[%z, %z] : tensor<20x4xf32>, memref<20x4xf32>
        scf.for %r = %z to %rows step %one {
          %d = tile.load %t[%z, %z, %r] dims [0, 1]
            : memref<1x20x4xf32> -> tensor<1x20xf32>
          tile.store %d, %w[%r, %z] : tensor<1x20xf32>, memref<4x20xf32>
        }
        tile.return })",
                                     level);
    for (int64_t inside : {20, 13}) {
      Array x = randomArray(Element::F32, 80, 3), y(Element::F32, 80),
            w(Element::F32, 80), scratch(Element::F32, 200);
      auto aligned = reinterpret_cast<uintptr_t>(scratch.data()) + 63 & ~63;
      kernel.run({x.data(), y.data(), w.data()}, {inside}, 0, 1,
                 reinterpret_cast<void *>(aligned));
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 20; ++c) {
          double expected = c < inside ? x.get(r * 20 + c) : 0;
          EXPECT_EQ(y.get(c * 4 + r), expected);
          EXPECT_EQ(w.get(r * 20 + c), expected);
        }
    }
  }
}

TEST(MemoryKernel, MovesColumns) {
  for (const std::string &level : hostLevels()) {
    SCOPED_TRACE(level);
    // The halves of 40 columns, swapped, and every second column woven with
    // its neighbour's negative; 3 rows.
    LoadedKernel kernel = compileOne("", R"((%x: memref<3x40xf32>,
        %y: memref<3x40xf32>, %w: memref<3x40xf32>) symbols () item (%i) {
        %z = arith.constant 0 : index
        %a = tile.load %x[%z, %z] : memref<3x40xf32> -> tensor<3x40xf32>
        %l = tile.slice %a at 0 : tensor<3x40xf32> -> tensor<3x20xf32>
        %h = tile.slice %a at 20 : tensor<3x40xf32> -> tensor<3x20xf32>
        %s = tile.join %h, %l : tensor<3x20xf32>, tensor<3x20xf32> -> tensor<3x40xf32>
        tile.store %s, %y[%z, %z] : tensor<3x40xf32>, memref<3x40xf32>
        %e = "tile.slice"(%a) <{offset = 0 : i64, stride = 2 : i64}>
          : (tensor<3x40xf32>) -> tensor<3x20xf32>
        %o = "tile.slice"(%a) <{offset = 1 : i64, stride = 2 : i64}>
          : (tensor<3x40xf32>) -> tensor<3x20xf32>
        %n = arith.negf %o : tensor<3x20xf32>
        %v = tile.join %n, %e {interleaved} : tensor<3x20xf32>, tensor<3x20xf32> -> tensor<3x40xf32>
        tile.store %v, %w[%z, %z] : tensor<3x40xf32>, memref<3x40xf32>
        tile.return })",
                                     level);
    Array x = randomArray(Element::F32, 120, 9), y(Element::F32, 120),
          w(Element::F32, 120);
    kernel.run({x.data(), y.data(), w.data()}, {}, 0, 1);
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 40; ++c) {
        EXPECT_EQ(y.get(r * 40 + c), x.get(r * 40 + (c + 20) % 40));
        double woven =
            c % 2 == 0 ? -x.get(r * 40 + c + 1) : x.get(r * 40 + c - 1);
        EXPECT_EQ(w.get(r * 40 + c), woven);
      }
  }
}

TEST(MemoryKernel, ReducesBroadcastsCounts) {
  for (const std::string &level : hostLevels())
    for (int64_t columns : {1, 2, 7, 16, 23, 64, 100}) {
      SCOPED_TRACE(level + " " + std::to_string(columns));
      LoadedKernel kernel =
          compileOne("",
                     with(R"((%x: memref<5x$xf32>, %s: memref<5x1xf32>,
              %m: memref<5x1xf32>, %b: memref<5x$xf32>, %c: memref<5x$xi32>)
              symbols () item (%i) {
            %z = arith.constant 0 : index
            %k = arith.constant 100 : i32
            %a = tile.load %x[%z, %z] : memref<5x$xf32> -> tensor<5x$xf32>
            %sum = tile.reduce add %a : tensor<5x$xf32> -> tensor<5x1xf32>
            %max = tile.reduce max %a : tensor<5x$xf32> -> tensor<5x1xf32>
            %all = tile.broadcast %max : tensor<5x1xf32> -> tensor<5x$xf32>
            %f = tile.load %x[%z, %z] : memref<5x$xf32> -> tensor<1x$xf32>
            %g = tile.broadcast %f : tensor<1x$xf32> -> tensor<5x$xf32>
            %d = arith.subf %all, %g : tensor<5x$xf32>
            %p = tile.iota %k dim 0 : tensor<5x$xi32>
            %q = tile.iota %k dim 1 : tensor<5x$xi32>
            %u = tile.splat %k : i32 -> tensor<5x$xi32>
            %t = arith.muli %p, %u : tensor<5x$xi32>
            %w = arith.addi %t, %q : tensor<5x$xi32>
            tile.store %sum, %s[%z, %z] : tensor<5x1xf32>, memref<5x1xf32>
            tile.store %max, %m[%z, %z] : tensor<5x1xf32>, memref<5x1xf32>
            tile.store %d, %b[%z, %z] : tensor<5x$xf32>, memref<5x$xf32>
            tile.store %w, %c[%z, %z] : tensor<5x$xi32>, memref<5x$xi32>
            tile.return })",
                          columns),
                     level);
      size_t count = 5 * columns;
      Array x = randomArray(Element::F32, count, 21), s(Element::F32, 5),
            m(Element::F32, 5), b(Element::F32, count);
      std::vector<int32_t> c(count);
      kernel.run({x.data(), s.data(), m.data(), b.data(), c.data()}, {}, 0, 1);
      for (int64_t r = 0; r < 5; ++r) {
        double sum = 0, max = -INFINITY;
        for (int64_t j = 0; j < columns; ++j) {
          sum += x.get(r * columns + j);
          max = std::max(max, x.get(r * columns + j));
        }
        EXPECT_NEAR(s.get(r), sum, 1e-5);
        EXPECT_EQ(m.get(r), max);
        for (int64_t j = 0; j < columns; ++j) {
          EXPECT_EQ(b.get(r * columns + j),
                    static_cast<float>(max) - static_cast<float>(x.get(j)));
          EXPECT_EQ(c[r * columns + j], (100 + r) * 100 + 100 + j);
        }
      }
    }
}

TEST(MemoryKernel, AReductionPropagatesNan) {
  for (const std::string &level : hostLevels()) {
    LoadedKernel kernel = compileOne("", R"((%x: memref<1x20xf32>,
        %m: memref<1x1xf32>) symbols () item (%i) {
        %z = arith.constant 0 : index
        %a = tile.load %x[%z, %z] : memref<1x20xf32> -> tensor<1x20xf32>
        %max = tile.reduce max %a : tensor<1x20xf32> -> tensor<1x1xf32>
        tile.store %max, %m[%z, %z] : tensor<1x1xf32>, memref<1x1xf32>
        tile.return })",
                                     level);
    for (int at = 0; at < 20; ++at) {
      Array x = randomArray(Element::F32, 20, 4), m(Element::F32, 1);
      x.set(at, NAN);
      kernel.run({x.data(), m.data()}, {}, 0, 1);
      EXPECT_TRUE(std::isnan(m.get(0))) << at;
    }
  }
}

TEST(MemoryKernel, LoopsAndBranchesCarryTilesAndNumbers) {
  for (const std::string &level : hostLevels()) {
    SCOPED_TRACE(level);
    // A while loop doubles the tile until the first element passes a limit and
    // counts; an if adds the count to the tile where it is even.
    LoadedKernel kernel = compileOne("\"n\"", R"((%x: memref<?x10xf32>,
        %limits: memref<?xi32>, %y: memref<?x10xf32>) symbols (%n) item (%i) {
        %z = arith.constant 0 : index
        %one = arith.constant 1 : i32
        %two = arith.constant 2 : i32
        %none = arith.constant 0 : i32
        %start = tile.load %x[%i, %z] : memref<?x10xf32> -> tensor<1x10xf32>
        %limit = memref.load %limits[%i] : memref<?xi32>
        %r:2 = scf.while (%t = %start, %c = %none)
            : (tensor<1x10xf32>, i32) -> (tensor<1x10xf32>, i32) {
          %go = arith.cmpi slt, %c, %limit : i32
          scf.condition(%go) %t, %c : tensor<1x10xf32>, i32
        } do {
        ^bb0(%t: tensor<1x10xf32>, %c: i32):
          %d = arith.addf %t, %t : tensor<1x10xf32>
          %e = arith.addi %c, %one : i32
          scf.yield %d, %e : tensor<1x10xf32>, i32
        }
        %odd = arith.remsi %r#1, %two : i32
        %even = arith.cmpi eq, %odd, %none : i32
        %f = scf.if %even -> tensor<1x10xf32> {
          %g = arith.sitofp %r#1 : i32 to f32
          %h = tile.splat %g : f32 -> tensor<1x10xf32>
          %k = arith.addf %r#0, %h : tensor<1x10xf32>
          scf.yield %k : tensor<1x10xf32>
        } else {
          scf.yield %r#0 : tensor<1x10xf32>
        }
        tile.store %f, %y[%i, %z] : tensor<1x10xf32>, memref<?x10xf32>
        tile.return })",
                                     level);
    Array x = randomArray(Element::F32, 50, 8), y(Element::F32, 50);
    std::vector<int32_t> limits = {0, 1, 2, 7, 4};
    // The grid is cut into two ranges; the last item is left out.
    kernel.run({x.data(), limits.data(), y.data()}, {5}, 0, 1);
    kernel.run({x.data(), limits.data(), y.data()}, {5}, 1, 4);
    for (int i = 0; i < 5; ++i)
      for (int c = 0; c < 10; ++c) {
        float value =
            std::ldexp(static_cast<float>(x.get(i * 10 + c)), limits[i]);
        if (limits[i] % 2 == 0)
          value += limits[i];
        EXPECT_EQ(y.get(i * 10 + c), i < 4 ? value : 0);
      }
  }
}

TEST(MemoryKernel, ObjectsDoNotDependOnThreads) {
  std::string text;
  for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    text += makeProgram("copy_" + std::string(level).substr(7), "",
                        R"((%x: memref<?x64xf32>, %y: memref<?x64xf32>)
        symbols () item (%i) {
      %z = arith.constant 0 : index
      %a = tile.load %x[%i, %z] : memref<?x64xf32> -> tensor<1x64xf32>
      %b = math.exp %a : tensor<1x64xf32>
      tile.store %b, %y[%i, %z] : tensor<1x64xf32>, memref<?x64xf32>
      tile.return })",
                        level);
  auto parallel = compileToObjects(text, true);
  auto serial = compileToObjects(text, false);
  ASSERT_EQ(parallel.size(), 3u);
  EXPECT_EQ(parallel, serial);
}

TEST(MemoryKernel, DiagnosesAnUnknownLevel) {
  std::string error;
  EXPECT_TRUE(
      compile(makeProgram("k", "", "() symbols () item (%i) { }", "x86-64-v9"),
              &error)
          .empty());
  EXPECT_NE(error.find("unknown CPU level 'x86-64-v9'; expected one of "
                       "x86-64-v2, x86-64-v3"),
            std::string::npos)
      << error;
}
