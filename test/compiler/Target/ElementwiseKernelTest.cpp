//===- ElementwiseKernelTest.cpp - Arithmetic of kernels vs float64 -------===//

#include "test/compiler/Target/KernelRunner.h"
#include "test/compiler/Target/Numbers.h"

#include <functional>
#include <gtest/gtest.h>

using namespace weft::test;

namespace {

/// `body` computes %r of `out` from %a of `in`; both tiles are [rows, columns].
std::string mapProgram(const std::string &name, const std::string &body,
                       const std::string &in, const std::string &out,
                       int64_t rows, int64_t columns,
                       const std::string &level) {
  std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
  std::string inView = "memref<?x" + std::to_string(columns) + "x" + in + ">";
  std::string outView = "memref<?x" + std::to_string(columns) + "x" + out + ">";
  return makeProgram(
      name, "",
      "(%x: " + inView + ", %y: " + outView +
          ") symbols () item (%i) {\n %z = arith.constant 0 : index\n"
          " %rows = arith.constant " +
          std::to_string(rows) +
          " : index\n %row = arith.muli %i, %rows : index\n"
          " %a = tile.load %x[%row, %z] : " +
          inView + " -> tensor<" + shape + "x" + in + ">\n" + body +
          "\n tile.store %r, %y[%row, %z] : tensor<" + shape + "x" + out +
          ">, " + outView + "\n tile.return\n}",
      level);
}

LoadedKernel compileMap(const std::string &body, const std::string &in,
                        const std::string &out, int64_t rows, int64_t columns,
                        const std::string &level) {
  auto kernels =
      compile(mapProgram("map", body, in, out, rows, columns, level));
  EXPECT_EQ(kernels.size(), 1u) << body;
  return kernels.empty() ? LoadedKernel() : std::move(kernels.front());
}

uint16_t *halves(Array &array) {
  return reinterpret_cast<uint16_t *>(array.data());
}

struct Function {
  const char *op;
  double (*reference)(double);
  double low, high;
  double absolute, relative;
};

double rsqrtOf(double x) { return 1 / std::sqrt(x); }

// The bounds are a few units in the last place of f32 (2^-24 = 6e-8), relative
// or, around zeros of the function, absolute.
const Function functions[] = {
    {"math.exp", std::exp, -87, 88, 0, 3e-7},
    {"math.exp", std::exp, -1, 1, 0, 3e-7},
    {"math.exp2", std::exp2, -20, 20, 0, 2e-6},
    {"math.expm1", std::expm1, -2, 2, 3e-7, 3e-7},
    {"math.log", std::log, 1e-30, 1e30, 3e-7, 3e-7},
    {"math.log", std::log, 0.5, 2, 3e-7, 3e-7},
    {"math.log2", std::log2, 0.5, 2, 3e-7, 3e-7},
    {"math.log1p", std::log1p, -0.5, 2, 3e-7, 3e-7},
    {"math.tanh", std::tanh, -12, 12, 3e-7, 3e-7},
    {"math.erf", std::erf, -5, 5, 3e-7, 3e-7},
    {"math.sin", std::sin, -3.1416, 3.1416, 2.5e-7, 0},
    {"math.cos", std::cos, -3.1416, 3.1416, 2.5e-7, 0},
    {"math.sqrt", std::sqrt, 0, 1e6, 0, 6e-8},
    {"math.rsqrt", rsqrtOf, 1e-6, 1e6, 0, 1.3e-7},
    {"math.floor", std::floor, -5, 5, 0, 0},
    {"math.ceil", std::ceil, -5, 5, 0, 0},
    {"math.roundeven", std::nearbyint, -5, 5, 0, 0},
    {"math.round", std::round, -5, 5, 0, 0},
    {"math.trunc", std::trunc, -5, 5, 0, 0},
    {"math.absf", std::fabs, -5, 5, 0, 0},
};

} // namespace

TEST(ElementwiseKernel, FunctionsAgreeWithFloat64) {
  const int64_t rows = 3, columns = 21, items = 200;
  for (const std::string &level : hostLevels()) {
    std::string text;
    int index = 0;
    for (const Function &function : functions)
      for (int64_t width : {columns, int64_t(1)})
        text +=
            mapProgram("f" + std::to_string(index++),
                       std::string(" %r = ") + function.op + " %a : tensor<3x" +
                           std::to_string(width) + "xf32>",
                       "f32", "f32", rows, width, level);
    auto kernels = compile(text);
    ASSERT_EQ(kernels.size(), 2 * std::size(functions));
    index = 0;
    for (const Function &function : functions)
      for (int64_t width : {columns, int64_t(1)}) {
        SCOPED_TRACE(level + " " + function.op);
        size_t count = rows * width * items;
        Array x(Element::F32, count), y(Element::F32, count);
        for (size_t i = 0; i < count; ++i)
          x.set(i, function.low +
                       (function.high - function.low) * i / (count - 1));
        kernels[index++].run({x.data(), y.data()}, {}, 0, items);
        for (size_t i = 0; i < count; ++i) {
          double expected = function.reference(x.get(i));
          double error = std::fabs(y.get(i) - expected);
          double bound =
              function.absolute + function.relative * std::fabs(expected);
          EXPECT_LE(error, bound)
              << "at " << x.get(i) << ": " << y.get(i) << " " << expected;
          if (error > bound)
            break;
        }
      }
  }
}

TEST(ElementwiseKernel, SpecialValuesOfFunctions) {
  const float inf = INFINITY, nan = NAN;
  struct Case {
    const char *op;
    float in, out;
  };
  const Case cases[] = {
      {"exp", -inf, 0},  {"exp", inf, inf},  {"exp", nan, nan},
      {"exp", -104, 0},  {"exp", 89, inf},   {"exp", 0, 1},
      {"log", 0, -inf},  {"log", -1, nan},   {"log", inf, inf},
      {"tanh", inf, 1},  {"tanh", -inf, -1}, {"tanh", nan, nan},
      {"tanh", 0, 0},    {"erf", inf, 1},    {"erf", -inf, -1},
      {"erf", nan, nan}, {"rsqrt", 0, inf},  {"rsqrt", inf, 0},
      {"sqrt", -1, nan}, {"sin", 0, 0},      {"cos", 0, 1},
      {"sin", nan, nan},
  };
  for (const std::string &level : hostLevels()) {
    std::string text;
    for (size_t i = 0; i < std::size(cases); ++i)
      text += mapProgram("f" + std::to_string(i),
                         std::string(" %r = math.") + cases[i].op +
                             " %a : tensor<1x16xf32>",
                         "f32", "f32", 1, 16, level);
    auto kernels = compile(text);
    ASSERT_EQ(kernels.size(), std::size(cases));
    for (size_t i = 0; i < std::size(cases); ++i) {
      SCOPED_TRACE(level + " " + cases[i].op + " of " +
                   std::to_string(cases[i].in));
      Array x(Element::F32, 16), y(Element::F32, 16);
      for (int j = 0; j < 16; ++j)
        x.set(j, cases[i].in);
      kernels[i].run({x.data(), y.data()}, {}, 0, 1);
      for (int j = 0; j < 16; ++j) {
        if (std::isnan(cases[i].out))
          ASSERT_TRUE(std::isnan(y.get(j))) << y.get(j);
        else
          ASSERT_FLOAT_EQ(y.get(j), cases[i].out);
      }
    }
  }
}

TEST(ElementwiseKernel, ExtendsEveryHalf) {
  for (const std::string &level : hostLevels())
    for (auto [element, bits] :
         {std::pair(Element::F16, 5), std::pair(Element::BF16, 8)}) {
      SCOPED_TRACE(level + " " + name(element));
      std::string type = name(element);
      LoadedKernel kernel = compileMap(" %r = arith.extf %a : tensor<4x64x" +
                                           type + "> to tensor<4x64xf32>",
                                       type, "f32", 4, 64, level);
      Array x(element, 65536), y(Element::F32, 65536);
      for (uint32_t i = 0; i < 65536; ++i)
        halves(x)[i] = i;
      kernel.run({x.data(), y.data()}, {}, 0, 65536 / 256);
      for (uint32_t i = 0; i < 65536; ++i) {
        double expected = decode(i, bits);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(y.get(i))) << i;
          continue;
        }
        ASSERT_EQ(y.get(i), expected) << i;
        ASSERT_EQ(std::signbit(y.get(i)), std::signbit(expected)) << i;
      }
    }
}

TEST(ElementwiseKernel, RoundsToHalfNearestEven) {
  for (const std::string &level : hostLevels())
    for (auto [element, bits] :
         {std::pair(Element::F16, 5), std::pair(Element::BF16, 8)}) {
      SCOPED_TRACE(level + " " + name(element));
      std::string type = name(element);
      LoadedKernel kernel = compileMap(
          " %r = arith.truncf %a : tensor<4x64xf32> to tensor<4x64x" + type +
              ">",
          "f32", type, 4, 64, level);
      // Every half, the middle to the next one, and the f32 around both.
      std::vector<float> inputs;
      for (uint32_t i = 0; i < 65536; ++i) {
        float exact = static_cast<float>(decode(i, bits));
        float middle = static_cast<float>(
            (decode(i, bits) +
             decode((i & 0x7fff) == 0x7fff ? i : i + 1, bits)) /
            2);
        for (float value : {exact, middle})
          for (float near : {std::nextafterf(value, -INFINITY), value,
                             std::nextafterf(value, INFINITY)})
            inputs.push_back(near);
      }
      inputs.resize((inputs.size() + 255) / 256 * 256);
      Array x(Element::F32, inputs.size()), y(element, inputs.size());
      std::memcpy(x.data(), inputs.data(), inputs.size() * 4);
      kernel.run({x.data(), y.data()}, {}, 0, inputs.size() / 256);
      for (size_t i = 0; i < inputs.size(); ++i) {
        uint16_t expected = encode(inputs[i], bits);
        if (std::isnan(inputs[i]))
          ASSERT_TRUE(std::isnan(y.get(i)));
        else
          ASSERT_EQ(halves(y)[i], expected) << std::hexfloat << inputs[i];
      }
    }
}

TEST(ElementwiseKernel, ArithmeticOnHalvesIsRounded) {
  for (const std::string &level : hostLevels())
    for (auto [element, bits] :
         {std::pair(Element::F16, 5), std::pair(Element::BF16, 8)}) {
      SCOPED_TRACE(level + " " + name(element));
      std::string type = "tensor<2x20x" + std::string(name(element)) + ">";
      LoadedKernel kernel =
          compileMap(" %c = arith.constant dense<1.5> : " + type +
                         "\n %s = arith.addf %a, %c : " + type +
                         "\n %r = arith.mulf %s, %a : " + type,
                     name(element), name(element), 2, 20, level);
      Array x = randomArray(element, 40, 7), y(element, 40);
      kernel.run({x.data(), y.data()}, {}, 0, 1);
      for (int i = 0; i < 40; ++i) {
        double sum = decode(encode(x.get(i) + 1.5, bits), bits);
        EXPECT_EQ(halves(y)[i], encode(sum * x.get(i), bits));
      }
    }
}

TEST(ElementwiseKernel, ComparesSelectsConverts) {
  for (const std::string &level : hostLevels()) {
    SCOPED_TRACE(level);
    // r = a < 0 ? float(int(a * 10)) : max(a, 0.5), also through i1 tiles.
    LoadedKernel kernel = compileMap(R"(
      %zero = arith.constant dense<0.0> : tensor<5x19xf32>
      %half = arith.constant dense<0.5> : tensor<5x19xf32>
      %ten = arith.constant dense<10.0> : tensor<5x19xf32>
      %one = arith.constant dense<true> : tensor<5x19xi1>
      %m = arith.cmpf olt, %a, %zero : tensor<5x19xf32>
      %n = arith.andi %m, %one : tensor<5x19xi1>
      %t = arith.mulf %a, %ten : tensor<5x19xf32>
      %j = arith.fptosi %t : tensor<5x19xf32> to tensor<5x19xi32>
      %f = arith.sitofp %j : tensor<5x19xi32> to tensor<5x19xf32>
      %g = arith.maximumf %a, %half : tensor<5x19xf32>
      %r = arith.select %n, %f, %g : tensor<5x19xi1>, tensor<5x19xf32>)",
                                     "f32", "f32", 5, 19, level);
    Array x = randomArray(Element::F32, 95, 11), y(Element::F32, 95);
    kernel.run({x.data(), y.data()}, {}, 0, 1);
    for (int i = 0; i < 95; ++i) {
      float a = x.get(i);
      EXPECT_EQ(y.get(i), a < 0 ? std::trunc(a * 10.0f) : std::max(a, 0.5f));
    }
  }
}

TEST(ElementwiseKernel, Float64AndIndexTiles) {
  for (const std::string &level : hostLevels()) {
    SCOPED_TRACE(level);
    // cos of a large angle, reduced in f64 as the rotary tables do it.
    LoadedKernel kernel = compileMap(R"(
      %tau = arith.constant dense<6.283185307179586> : tensor<3x20xf64>
      %d = arith.extf %a : tensor<3x20xf32> to tensor<3x20xf64>
      %q = arith.divf %d, %tau : tensor<3x20xf64>
      %n = math.roundeven %q : tensor<3x20xf64>
      %m = arith.mulf %n, %tau : tensor<3x20xf64>
      %e = arith.subf %d, %m : tensor<3x20xf64>
      %f = arith.truncf %e : tensor<3x20xf64> to tensor<3x20xf32>
      %r = math.cos %f : tensor<3x20xf32>)",
                                     "f32", "f32", 3, 20, level);
    Array x(Element::F32, 60 * 500), y(Element::F32, 60 * 500);
    for (size_t i = 0; i < x.size; ++i)
      x.set(i, 131072.0 * i / x.size);
    kernel.run({x.data(), y.data()}, {}, 0, 500);
    for (size_t i = 0; i < x.size; ++i)
      ASSERT_NEAR(y.get(i), std::cos(x.get(i)), 2.5e-7) << x.get(i);
  }
}

TEST(ElementwiseKernel, DiagnosesWhatHasNoLowering) {
  std::string error;
  auto fails = [&](const std::string &body, const std::string &message) {
    EXPECT_TRUE(
        compile(mapProgram("bad", body, "f32", "f32", 1, 16, "x86-64-v3"),
                &error)
            .empty());
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  fails(" %r = arith.remf %a, %a : tensor<1x16xf32>",
        "calls 'fmodf', which the runtime does not provide");
  fails(" %s = tensor.empty() : tensor<1x16xf32>\n"
        " %r = arith.addf %a, %s : tensor<1x16xf32>",
        "tensor.empty");
}
