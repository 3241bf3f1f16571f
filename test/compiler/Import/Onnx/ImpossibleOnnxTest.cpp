//===- ImpossibleOnnxTest.cpp - ONNX files of shapes that cannot be -------===//
//
// Numbers of a file must not crash the importer, keep it busy or make kernels
// that read behind the end of a tensor.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Onnx/ImportOnnx.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "test/compiler/Import/Checkpoint.h"
#include "test/compiler/Import/Onnx/OnnxWriter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gmock/gmock.h>
#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::test;
using namespace weft::test::onnx;
using testing::HasSubstr;

namespace {
class ImpossibleOnnx : public testing::Test {
protected:
  ImpossibleOnnx() {
    context
        .loadDialect<weft::onnx::OnnxDialect, WeftDialect, func::FuncDialect>();
  }

  /// What the report says of a file.
  std::string import(const std::string &file) {
    folder.write("m.onnx", file);
    ImportReport report;
    (void)importOnnx(folder / "m.onnx", {}, context, report);
    return print(report);
  }

  /// Imports nodes that read `x`, f32 of `sizes`, and initializers, and make y.
  void refuse(const Texts &nodes, const Texts &sizes, const Texts &initializers,
              const std::string &message, int64_t version = 24) {
    EXPECT_THAT(import(model({opset(version)},
                             graph(nodes, {value("x", 1, sizes)},
                                   {value("y", 1, {})}, initializers))),
                HasSubstr(message));
  }

  MLIRContext context;
  TemporaryFolder folder;
};

constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                  most = std::numeric_limits<int64_t>::max();
} // namespace

static std::string ints(const std::string &name,
                        const std::vector<int64_t> &values) {
  return rawTensor(name, 7, {int64_t(values.size())}, raw(values));
}

static std::string number(const std::string &name, int64_t value) {
  return rawTensor(name, 7, {}, raw<int64_t>({value}));
}

/// A tensor of f32 ones.
static std::string ones(const std::string &name,
                        const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= size_t(size);
  return rawTensor(name, 1, shape, raw(std::vector<float>(count, 1)));
}

TEST_F(ImpossibleOnnx, SizesThatNoTensorHas) {
  auto make = [&](const std::string &op, const std::vector<int64_t> &sizes,
                  const std::string &message) {
    refuse({node(op, {"x", "s"}, {"y"})}, {"2"}, {ints("s", sizes)}, message);
  };
  refuse({node("Expand", {"w", "s"}, {"y"})}, {"2"},
         {ones("w", {1}), ints("s", {-3})},
         "found a result of shape [-3], expected sizes");
  make("Tile", {-3}, "found a result of shape [-6]");
  make("Tile", {int64_t(1) << 62}, "found a result of shape [more than 64");
  make("Tile", {int64_t(1) << 58}, "less than 2^56 elements");
  make("Reshape", {-2, -1}, "expected");
  make("Pad", {most, most}, "found a result of shape [more than 64 bits]");
  make("Pad", {-2, -3}, "found a result of shape [-3]");
  refuse({node("ConstantOfShape", {"s"}, {"y"})}, {"2"}, {ints("s", {-5})},
         "found a result of shape [-5]");
  refuse({node("ConstantOfShape", {"s"}, {"y"})}, {"2"},
         {ints("s", {int64_t(1) << 40, int64_t(1) << 40})},
         "less than 2^56 elements");
  refuse({node("Relu", {"x"}, {"y"})}, {"4611686018427387904"}, {},
         "input 'x': found shape [4611686018427387904]");
  refuse({node("Split", {"x", "s"}, {"y", "z"})}, {"2"}, {ints("s", {-1, 3})},
         "found a result of shape [-1]");
  refuse({node("Split", {"x"}, {})}, {"2"}, {}, "found the sizes 2 and 0");
  // A size that doubles.
  Texts nodes;
  for (int i = 0; i < 70; ++i)
    nodes.push_back(
        node("Concat", Texts(2, i == 0 ? "x" : "v" + std::to_string(i)),
             {"v" + std::to_string(i + 1)}, {attribute("axis", 0)}));
  refuse(nodes, {"2"}, {}, "less than 2^56 elements");
  refuse(nodes, {"n"}, {}, "found a result of shape [more than 64 bits]");
}

TEST_F(ImpossibleOnnx, ArithmeticThatOverflows) {
  for (const char *op : {"Div", "Mod"})
    EXPECT_THAT(import(model({opset(18)},
                             graph({node(op, {"a", "b"}, {"s"}),
                                    node("Add", {"s", "i"}, {"t"}),
                                    node("ConstantOfShape", {"t"}, {"y"})},
                                   {value("i", 7, {"1"})}, {value("y", 1, {})},
                                   {ints("a", {least}), ints("b", {-1})}))),
                HasSubstr("its shape depends on values"))
        << op;
  // The square of a square, and so on, of the shape.
  Texts nodes = {node("Shape", {"x"}, {"v0"})};
  for (int i = 0; i < 80; ++i)
    nodes.push_back(node("Mul", Texts(2, "v" + std::to_string(i)),
                         {"v" + std::to_string(i + 1)}));
  nodes.push_back(node("ConstantOfShape", {"v80"}, {"y"}));
  refuse(nodes, {"n"}, {}, "its shape depends on values");
  // A product of many sums.
  Texts sums = {node("Shape", {"x0"}, {"p0"})}, inputs;
  for (int i = 0; i < 24; ++i) {
    const std::string k = std::to_string(i), next = std::to_string(i + 1);
    inputs.push_back(value("x" + k, 1, {"n" + k}));
    sums.push_back(node("Shape", {"x" + k}, {"s" + k}));
    sums.push_back(node("Add", {"s" + k, "one"}, {"a" + k}));
    sums.push_back(node("Mul", {"p" + k, "a" + k}, {"p" + next}));
  }
  sums.push_back(node("ConstantOfShape", {"p24"}, {"y"}));
  EXPECT_THAT(import(model({opset(18)}, graph(sums, inputs, {value("y", 1, {})},
                                              {ints("one", {1})}))),
              HasSubstr("its shape depends on values"));
}

TEST_F(ImpossibleOnnx, ListsInPlaceOfNumbers) {
  refuse({node("Range", {"s", "e", "d"}, {"y"})}, {"2"},
         {ints("s", {}), number("e", 5), number("d", 1)},
         "found a list of 0 numbers, expected one number");
  refuse({node("OneHot", {"i", "d", "v"}, {"y"})}, {"2"},
         {ints("i", {1}), ints("d", {}), ones("v", {2})},
         "found a list of 0 numbers");
  refuse({node("TopK", {"x", "k"}, {"y", "i"})}, {"5"}, {ints("k", {50})},
         "found k 50, expected at most the 5 elements");
  refuse({node("Range", {"s", "e", "d"}, {"y"})}, {"2"},
         {number("s", least), number("e", most), number("d", 1)},
         "found more than 64 bits in steps of 1");
}

TEST_F(ImpossibleOnnx, LoopsCountWhatTheirBodiesCall) {
  Texts nodes;
  for (int i = 0; i < 100; ++i)
    nodes.push_back(node("Relu", {i == 0 ? "a" : "t" + std::to_string(i)},
                         {"t" + std::to_string(i + 1)}));
  const std::string body =
      graph({node("F", {"c"}, {"d"}, {}, "my"), node("Identity", {"k"}, {"l"})},
            {value("i", 7, {}), value("k", 9, {}), value("c", 1, {"2"})},
            {value("l", 9, {}), value("d", 1, {"2"})});
  EXPECT_THAT(
      import(model({opset(18), opset(1, "my")},
                   graph({node("Loop", {"n", "", "x"}, {"y"},
                               {graphAttribute("body", body)})},
                         {value("x", 1, {"2"})}, {value("y", 1, {"2"})},
                         {number("n", 60000)}),
                   {function("my", "F", {"a"}, {"t100"}, nodes)})),
      HasSubstr("found a loop whose copies have more than 65536 nodes"));
}

TEST_F(ImpossibleOnnx, NamesThatAreThereTwice) {
  EXPECT_THAT(import(model({opset(18)},
                           graph({node("Relu", {"x"}, {"y"})},
                                 {value("x", 1, {"2"}), value("x", 1, {"2"})},
                                 {value("y", 1, {"2"})}))),
              HasSubstr("input 'x': found two of this name"));
  refuse({node("Add", {"x", "w"}, {"y"})}, {"2"},
         {ones("w", {2}), ones("w", {1})},
         "initializer 'w': found two of this name");
}

TEST_F(ImpossibleOnnx, AxesGroupsAndTypes) {
  refuse({node("Softmax", {"x"}, {"y"}, {attribute("axis", 7)})}, {"2", "3"},
         {}, "found axis 7, expected one of a tensor of 2 dimensions");
  refuse({node("ReverseSequence", {"x", "l"}, {"y"},
               {attribute("batch_axis", 5)})},
         {"2", "3"}, {ints("l", {1, 1})}, "found axis 5");
  refuse({node("ReverseSequence", {"x", "l"}, {"y"},
               {attribute("batch_axis", 0), attribute("time_axis", 0)})},
         {"2", "3"}, {ints("l", {1, 1})}, "expected two");
  for (int64_t groups : {0, 3})
    refuse({node("GroupNormalization", {"x", "w", "w"}, {"y"},
                 {attribute("num_groups", groups)})},
           {"1", "4", "3"}, {ones("w", {4})},
           "found num_groups " + std::to_string(groups) +
               ", expected a divisor of the 4 channels");
  refuse({node("Conv", {"x", "w"}, {"y"},
               {attribute("pads", std::vector<int64_t>{most, most})})},
         {"1", "1", "5"}, {ones("w", {1, 1, 1})},
         "found kernel_shape, strides, dilations or pads that do not fit");
  refuse({node("Conv", {"x", "w"}, {"y"}, {attribute("group", 0)})},
         {"1", "0", "5"}, {ones("w", {1, 0, 1})}, "in 0 groups");
  refuse({node("Where", {"x", "x", "x"}, {"y"})}, {"2"}, {},
         "found the condition of f32, expected truth values");
  refuse({node("Exp", {"i"}, {"y"})}, {"2"}, {ints("i", {1, 2})},
         "found an input of i64, expected floating-point numbers");
  refuse({node("Gather", {"x", "w"}, {"y"})}, {"2"}, {ones("w", {2})},
         "found the indices of f32, expected integers");
  for (const auto &[op, attributes] :
       {std::pair<const char *, Texts>{"Concat", {attribute("axis", 0)}},
        {"MatMul", {}},
        {"Clip", {}}})
    refuse({node(op, {"x", "i"}, {"y"}, attributes)}, {"2"},
           {ints("i", {1, 2})},
           "found operands of f32 and i64, expected one type");
  for (const char *op : {"Add", "Less"})
    refuse({node(op, {"x", "i"}, {"y"})}, {"2"}, {ints("i", {1, 2})},
           "found operands of f32 and i64, expected one type");
  refuse({node("Where", {"c", "x", "i"}, {"y"})}, {"2"},
         {ints("i", {1, 2}), rawTensor("c", 9, {1}, "\1")},
         "found operands of f32 and i64, expected one type");
}

// Loops read these where the result says.
TEST_F(ImpossibleOnnx, OperandsThatAreTooSmall) {
  const Texts x = {"1", "8", "6"};
  const Texts w = {ones("w", {2})};
  auto channels = [&](const std::string &op, const Texts &inputs,
                      const Texts &attributes = {}) {
    refuse({node(op, inputs, {"y"}, attributes)}, x, w,
           "found the scale of shape [2], expected [8]");
  };
  channels("BatchNormalization", {"x", "w", "w", "w", "w"});
  channels("InstanceNormalization", {"x", "w", "w"});
  channels("GroupNormalization", {"x", "w", "w"}, {attribute("num_groups", 2)});
  for (const char *op : {"LayerNormalization", "RMSNormalization"})
    refuse({node(op, {"x", "w"}, {"y"})}, x, w,
           "found the scale of shape [2], expected one that is broadcast to "
           "[1, 8, 6]");
  refuse({node("BiasGelu", {"x", "w"}, {"y"}, {}, "com.microsoft")}, x, w,
         "found the bias of shape [2], expected [6]");
  refuse({node("SkipLayerNormalization", {"x", "x", "w"}, {"y"}, {},
               "com.microsoft")},
         x, w, "found the gamma, beta or bias of shape [2], expected [6]");
  refuse({node("SkipLayerNormalization", {"x", "s", "w"}, {"y"}, {},
               "com.microsoft")},
         x, {ones("w", {6}), ones("s", {3, 8, 6})}, "found the skip of shape");
  refuse({node("Conv", {"x", "k", "w"}, {"y"})}, x,
         {ones("k", {3, 8, 1}), ones("w", {1})},
         "found the bias of shape [1], expected [3]");
  refuse({node("ConvTranspose", {"x", "k", "w"}, {"y"})}, x,
         {ones("k", {8, 3, 1}), ones("w", {1})},
         "found the bias of shape [1], expected [3]");
  refuse({node("Clip", {"x", "w"}, {"y"})}, x, w,
         "found the min of shape [2], expected one element");
  refuse({node("Pad", {"x", "p", "w"}, {"y"})}, x,
         {ints("p", {0, 0, 1, 0, 0, 1}), ones("w", {2})},
         "found the constant_value of shape [2]");
  refuse({node("OneHot", {"i", "d", "v"}, {"y"})}, x,
         {ints("i", {1}), number("d", 3), ones("v", {1})},
         "found the values of shape [1], expected [2]");
  refuse({node("Trilu", {"x"}, {"y"})}, {"8"}, {},
         "found the input of shape [8], expected at least 2 dimensions");
  refuse({node("EyeLike", {"x"}, {"y"})}, x, {},
         "found the input of shape [1, 8, 6], expected 2 dimensions");
}

TEST_F(ImpossibleOnnx, PlacesThatDoNotFit) {
  const Texts x = {"1", "8", "6"};
  auto at = [](const std::vector<int64_t> &shape) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    return rawTensor("i", 7, shape,
                     raw(std::vector<int64_t>(size_t(count), 0)));
  };
  refuse({node("GatherElements", {"x", "i"}, {"y"}, {attribute("axis", 2)})}, x,
         {at({1, 20, 1})}, "found the indices of shape [1, 20, 1], expected");
  refuse({node("GatherND", {"x", "i"}, {"y"}, {attribute("batch_dims", 1)})}, x,
         {at({10, 1, 2})}, "expected the first 1 sizes of [1, 8, 6]");
  refuse({node("ScatterElements", {"x", "i", "u"}, {"y"})}, x,
         {at({1, 2, 3}), ones("u", {1, 1, 1})},
         "found the updates of shape [1, 1, 1], expected [1, 2, 3]");
  refuse({node("ScatterElements", {"x", "i", "u"}, {"y"})}, x,
         {at({1}), ones("u", {1})}, "found the indices of shape [1]");
  refuse({node("ScatterND", {"x", "i", "u"}, {"y"})}, x,
         {at({2, 3}), ones("u", {1})},
         "found the updates of shape [1], expected [2]");
  refuse({node("ScatterND", {"x", "i", "u"}, {"y"})}, x,
         {at({2, 5}), ones("u", {2})}, "expected at most 3 numbers");
  refuse({node("TensorScatter", {"x", "u"}, {"y"})}, x, {ones("u", {1, 2, 5})},
         "found the update of shape [1, 2, 5], expected [1, 2, 6]");
  refuse({node("ReverseSequence", {"x", "i"}, {"y"})}, x, {at({3})},
         "found the sequence_lens of shape [3], expected [8]");
}

TEST_F(ImpossibleOnnx, ScalesThatDoNotFit) {
  const Texts x = {"1", "8", "6"};
  refuse({node("QuantizeLinear", {"x", "w"}, {"y"})}, x, {ones("w", {2})},
         "found the scale of shape [2], expected [8]");
  refuse(
      {node("QuantizeLinear", {"x", "w"}, {"y"}, {attribute("block_size", 3)})},
      x, {ones("w", {1, 2, 6})},
      "found the scale of shape [1, 2, 6], expected [1, 3, 6]");
  refuse({node("QuantizeLinear", {"x", "w"}, {"y"},
               {attribute("block_size", -3)})},
         x, {ones("w", {2})}, "found block_size -3");
  refuse(
      {node("QuantizeLinear", {"x", "w"}, {"y"}, {attribute("block_size", 3)})},
      {"1", "n", "6"}, {ones("w", {1, 2, 6})},
      "found blocks of 3 of n elements");
  const std::string bytes2(2, '\0'), bytes8(8, '\0');
  refuse({node("MatMulInteger", {"a", "b", "z"}, {"y"})}, x,
         {rawTensor("a", 3, {4, 2}, bytes8), rawTensor("b", 3, {2, 4}, bytes8),
          rawTensor("z", 3, {2}, bytes2)},
         "found the zero point of the left factor of shape [2], expected [4]");
  refuse({node("MatMulInteger", {"a", "b", "", "z"}, {"y"})}, x,
         {rawTensor("a", 3, {4, 2}, bytes8), rawTensor("b", 3, {2, 4}, bytes8),
          rawTensor("z", 3, {2, 1}, bytes2)},
         "expected a number, or one for each row or column");
  refuse(
      {node("QLinearMatMul", {"a", "s", "z", "b", "s", "z", "s", "z"}, {"y"})},
      x,
      {rawTensor("a", 3, {4, 2}, bytes8), rawTensor("b", 3, {2, 4}, bytes8),
       ones("s", {4}), rawTensor("z", 3, {1}, std::string(1, '\0'))},
      "found the scale or zero point of shape [4], expected one element");
}

TEST_F(ImpossibleOnnx, AttentionsThatDoNotFit) {
  const Texts x = {"1", "8", "6"};
  const Texts heads = {attribute("q_num_heads", 2),
                       attribute("kv_num_heads", 2)};
  auto attention = [&](const Texts &inputs, const Texts &initializers,
                       const std::string &message) {
    refuse({node("Attention", inputs, {"y"}, heads)}, x, initializers, message);
  };
  // Other sizes of heads, batches, numbers of keys and values.
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{1, 8, 4}, {3, 8, 6}, {1, 3, 6}})
    attention({"x", "k", shape[1] == 3 ? "x" : "k"}, {ones("k", shape)},
              "expected the same batch, as many keys as values");
  attention({"x", "x", "x", "m"}, {ones("m", {2, 1})},
            "found the mask of shape [2, 1], expected one that is broadcast to "
            "[1, 2, 8, 1]");
  attention({"x", "x", "x", "", "p", "q"},
            {ones("p", {1, 2, 3, 3}), ones("q", {1, 2, 4, 3})},
            "found the past_value of shape [1, 2, 4, 3], expected "
            "[1, 2, 3, 3]");
  auto rotary = [&](const Texts &inputs, const Texts &initializers,
                    int64_t count, const std::string &message) {
    refuse({node("RotaryEmbedding", inputs, {"y"},
                 {attribute("num_heads", count)})},
           x, initializers, message);
  };
  const std::string positions =
      rawTensor("p", 7, {1, 8}, raw(std::vector<int64_t>(8, 5)));
  rotary({"x", "c", "s", "p"},
         {ones("c", {1, 3}), ones("s", {1, 2}), positions}, 1,
         "found the sine table of shape [1, 2], expected [1, 3]");
  rotary({"x", "c", "c", "p"}, {ones("c", {1, 2}), positions}, 1,
         "expected half of the 6 rotated elements of a head as columns");
  rotary({"x", "c", "c"}, {ones("c", {1, 4, 3})}, 1,
         "found the cosine table of shape [1, 4, 3], expected one that is "
         "broadcast to [1, 8, 3]");
  rotary({"x", "c", "c", "p"}, {ones("c", {1, 3}), positions}, 4,
         "found 4 heads in 6 columns, expected a divisor");
  rotary({"x", "c", "c", "p"}, {ones("c", {1, 3}), positions}, -1,
         "found num_heads -1");
}

// A link beside the model could lead to any file of whoever compiles it.
TEST_F(ImpossibleOnnx, FilesBesideTheModelAreNoLinks) {
  folder.write("secret", "{}");
  const std::string file =
      model({opset(18)}, graph({node("Relu", {"x"}, {"y"})},
                               {value("x", 1, {"2"})}, {value("y", 1, {})}));
  for (const char *name : {"chat_template.jinja", "genai_config.json"}) {
    std::filesystem::create_symlink("secret", folder / name);
    EXPECT_THAT(import(file), HasSubstr("is a symbolic link")) << name;
    std::filesystem::remove(folder / name);
  }
  EXPECT_EQ(import(file), "");
}

TEST_F(ImpossibleOnnx, FilesThatBelongToTheModelAreListed) {
  folder.write("config.json", "{}");
  folder.write("tokenizer.json", "{}");
  folder.write("other.json", "{}");
  const std::string constant = node(
      "Constant", {}, {"c"},
      {tensorAttribute(
          "value",
          test::onnx::tensor("", 1, {2}, external({{"location", "c.bin"}})))});
  folder.write(
      "m.onnx",
      model({opset(18)},
            graph({node("Add", {"x", "w"}, {"y"}), constant},
                  {value("x", 1, {"2"})}, {value("y", 1, {})},
                  {test::onnx::tensor("w", 1, {2},
                                      external({{"location", "w.bin"}}))})));
  EXPECT_THAT(listOnnxFiles(folder / "m.onnx"),
              testing::ElementsAre(folder / "c.bin", folder / "config.json",
                                   folder / "tokenizer.json",
                                   folder / "w.bin"));
  EXPECT_THAT(listOnnxFiles(folder / "none.onnx"), testing::IsEmpty());
}
