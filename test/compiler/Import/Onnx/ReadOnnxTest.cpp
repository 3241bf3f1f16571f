//===- ReadOnnxTest.cpp - ONNX files, valid and broken --------------------===//

#include "compiler/Import/Onnx/ReadOnnx.h"
#include "test/compiler/Import/Checkpoint.h"
#include "test/compiler/Import/Onnx/OnnxWriter.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using namespace weft::test::onnx;
using testing::ElementsAre;
using testing::HasSubstr;

static llvm::ArrayRef<uint8_t> view(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// The report for a file that must be refused.
static std::string refuse(const std::string &file,
                          const OnnxLimits &limits = {}) {
  ImportReport report;
  EXPECT_FALSE(readOnnx(view(file), "m.onnx", report, limits));
  EXPECT_TRUE(report.hasErrors());
  return print(report);
}

TEST(ReadOnnx, ReadsAGraph) {
  std::string file = model(
      {opset(18), opset(1, "com.microsoft"), opset(21, "ai.onnx")},
      graph({node("MatMul", {"x", "w"}, {"h"}),
             node("Softmax", {"h", ""}, {"y", ""}, {attribute("axis", -1)})},
            {value("x", 1, {"batch", "past + seq", "?", "4"})},
            {value("y", 10, {})},
            {rawTensor("w", 1, {4, 2}, std::string(32, '\1'))}));
  ImportReport report;
  auto model = readOnnx(view(file), "m.onnx", report);
  ASSERT_TRUE(model) << print(report);
  EXPECT_EQ(model->irVersion, 10);
  ASSERT_EQ(model->opsets.size(), 3u);
  EXPECT_EQ(model->opsets[0].version, 18);
  EXPECT_EQ(model->opsets[1].domain, "com.microsoft");
  EXPECT_EQ(model->opsets[2].domain, "");
  ASSERT_EQ(model->graph.nodes.size(), 2u);
  const OnnxNode &softmax = model->graph.nodes[1];
  EXPECT_EQ(softmax.op, "Softmax");
  EXPECT_THAT(softmax.inputs, ElementsAre("h", ""));
  EXPECT_THAT(softmax.outputs, ElementsAre("y", ""));
  ASSERT_TRUE(softmax.find("axis"));
  EXPECT_THAT(softmax.find("axis")->ints, ElementsAre(-1));
  EXPECT_FALSE(softmax.find("axes"));
  ASSERT_EQ(model->graph.initializers.size(), 1u);
  const OnnxTensor &weight = model->graph.initializers[0];
  EXPECT_EQ(weight.name, "w");
  EXPECT_EQ(weight.type, OnnxType::Float);
  EXPECT_THAT(weight.shape, ElementsAre(4, 2));
  EXPECT_EQ(weight.raw->size(), 32u);
  const OnnxValueType &type = model->graph.inputs[0].type;
  ASSERT_TRUE(type.shape);
  ASSERT_EQ(type.shape->size(), 4u);
  EXPECT_EQ((*type.shape)[1].name, "past + seq");
  EXPECT_FALSE((*type.shape)[2].value);
  EXPECT_EQ((*type.shape)[3].value, 4);
  // A shape without sizes is that of a scalar, not of an unknown rank.
  EXPECT_TRUE(model->graph.outputs[0].type.shape);
}

TEST(ReadOnnx, ReadsAttributesOfEveryKind) {
  std::string inner = graph({node("Neg", {"x"}, {"y"})}, {}, {});
  std::string packed = bytes(1, "p") + bytes(8, varint(3) + varint(300)) +
                       bytes(7, raw<float>({0.5f, -2.f})) + number(20, 7);
  std::string file = model(
      {opset(18)},
      graph(
          {node("N", {}, {"y"},
                {packed, floatAttribute("f", 1.5f),
                 bytes(1, "s") + bytes(4, "tanh") + number(20, 3),
                 bytes(1, "zero") + number(20, 2),
                 bytes(1, "r") + bytes(21, "outer") + number(20, 1),
                 tensorAttribute("t", rawTensor("", 7, {}, raw<int64_t>({7}))),
                 graphAttribute("g", inner),
                 bytes(1, "old") + bytes(9, "a") + bytes(9, "b")})},
          {}, {}));
  ImportReport report;
  auto model = readOnnx(view(file), "m.onnx", report);
  ASSERT_TRUE(model) << print(report);
  const OnnxNode &read = model->graph.nodes[0];
  EXPECT_THAT(read.find("p")->ints, ElementsAre(3, 300));
  EXPECT_THAT(read.find("p")->floats, ElementsAre(0.5f, -2.f));
  EXPECT_THAT(read.find("f")->floats, ElementsAre(1.5f));
  EXPECT_THAT(read.find("s")->strings, ElementsAre("tanh"));
  // Protobuf does not write a zero.
  EXPECT_THAT(read.find("zero")->ints, ElementsAre(0));
  EXPECT_EQ(read.find("r")->reference, "outer");
  EXPECT_TRUE(read.find("r")->floats.empty());
  EXPECT_EQ(read.find("t")->tensors[0].raw->size(), 8u);
  EXPECT_EQ(read.find("g")->graphs[0]->nodes[0].op, "Neg");
  EXPECT_EQ(read.find("old")->kind, OnnxAttribute::Kind::Strings);
}

TEST(ReadOnnx, RefusesWhatIsNoModel) {
  EXPECT_THAT(refuse(""), HasSubstr("found no graph at byte 0"));
  EXPECT_THAT(refuse("PK\3\4 a zip file"), HasSubstr("expected an ONNX model"));
  EXPECT_THAT(refuse("{\"architectures\": []}"), HasSubstr("at byte"));
  EXPECT_THAT(refuse(bytes(7, "") + bytes(7, "")), HasSubstr("a second graph"));
}

TEST(ReadOnnx, RefusesEveryPrefixWithoutACrash) {
  std::string file =
      model({opset(18)},
            graph({node("Add", {"x", "w"}, {"y"})}, {value("x", 1, {"n", "2"})},
                  {}, {rawTensor("w", 1, {2}, std::string(8, 'w'))}));
  for (size_t size = 0; size < file.size(); ++size) {
    ImportReport report;
    bool isRead = readOnnx(view(file.substr(0, size)), "m", report).has_value();
    EXPECT_EQ(isRead, !report.hasErrors()) << size;
  }
}

TEST(ReadOnnx, RefusesBrokenEncoding) {
  auto inGraph = [](const std::string &field) {
    return number(1, 10) + bytes(7, field);
  };
  EXPECT_THAT(refuse(inGraph(std::string("\x0a\xff\x01", 3))),
              HasSubstr("a field that is longer than its message at byte 7"));
  EXPECT_THAT(refuse(inGraph("\x08")),
              HasSubstr("a number that ends outside of its message"));
  EXPECT_THAT(refuse(inGraph("\x08" + std::string(11, '\xff'))),
              HasSubstr("a number of more than 64 bits"));
  EXPECT_THAT(refuse(inGraph(std::string("\0\0", 2))),
              HasSubstr("an impossible field number"));
  EXPECT_THAT(refuse(inGraph("\x0b")), HasSubstr("an unknown wire type"));
  // The list of nodes as a number.
  EXPECT_THAT(refuse(inGraph(number(1, 5))), HasSubstr("another wire type"));
  EXPECT_THAT(refuse(inGraph(bytes(5, number(3, 1)))),
              HasSubstr("a tensor in segments"));
}

TEST(ReadOnnx, RefusesWhatIsTooMuch) {
  std::string nested = graph({}, {}, {});
  for (int i = 0; i < 100; ++i)
    nested = graph({node("If", {}, {}, {graphAttribute("g", nested)})}, {}, {});
  EXPECT_THAT(refuse(model({}, nested)), HasSubstr("nested more than 48 deep"));
  EXPECT_THAT(refuse(model({}, graph(Texts(20), {}, {})), {.parts = 10}),
              HasSubstr("more than 10 nodes, tensors, attributes and types"));
  EXPECT_THAT(refuse(model({}, graph({node("A", Texts(20), {})}, {}, {})),
                     {.numbers = 10}),
              HasSubstr("more than 10 names and numbers"));
  std::vector<int64_t> sizes(33, 1);
  EXPECT_THAT(
      refuse(model({}, graph({}, {}, {}, {rawTensor("t", 1, sizes, "")}))),
      HasSubstr("a tensor of more than 32 dimensions"));
  EXPECT_THAT(refuse(model({}, graph({}, {value("x", 1, Texts(33, "1"))}, {}))),
              HasSubstr("a shape of more than 32 dimensions"));
}

TEST(ReadOnnx, ReadsATensorOfItsOwn) {
  std::string file = rawTensor("x", 1, {1}, std::string(4, '\0'));
  ImportReport report;
  auto tensor = readOnnxTensor(view(file), "x.pb", report);
  ASSERT_TRUE(tensor) << print(report);
  EXPECT_EQ(tensor->name, "x");
  EXPECT_FALSE(readOnnxTensor(view("\xff"), "x.pb", report));
  EXPECT_THAT(print(report), HasSubstr("x.pb: found a number"));
}
