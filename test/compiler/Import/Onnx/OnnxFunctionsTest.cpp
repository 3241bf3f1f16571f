//===- OnnxFunctionsTest.cpp - Functions of an ONNX model -----------------===//

#include "compiler/Import/Onnx/OnnxFunctions.h"
#include "compiler/Import/Onnx/ReadOnnx.h"
#include "test/compiler/Import/Checkpoint.h"
#include "test/compiler/Import/Onnx/OnnxWriter.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using namespace weft::test::onnx;
using testing::HasSubstr;

/// A function of domain "d" that calls others.
static std::string calling(const std::string &name, const Texts &callees,
                           const std::string &overload = "") {
  Texts nodes;
  for (const std::string &callee : callees)
    nodes.push_back(node(callee, {"x"}, {"y"}, {}, "d"));
  return function("d", name, {"x"}, {"y"}, nodes, {}, overload);
}

/// What the report says about functions, "" if they are good.
static std::string check(const Texts &functions, const Texts &nodes,
                         size_t maxNodes = 1000) {
  std::string file = model({opset(18)}, graph(nodes, {}, {}), functions);
  ImportReport report;
  auto model =
      readOnnx({reinterpret_cast<const uint8_t *>(file.data()), file.size()},
               "m", report);
  EXPECT_TRUE(model) << print(report);
  auto table = OnnxFunctions::create(*model, maxNodes, report);
  EXPECT_EQ(table.has_value(), !report.hasErrors());
  return print(report);
}

TEST(OnnxFunctions, A5CyclesAreNamed) {
  EXPECT_THAT(check({calling("f", {"f"})}, {}),
              HasSubstr("the cycle of calls 'd.f' -> 'd.f'"));
  EXPECT_THAT(
      check({calling("a", {"f"}), calling("f", {"g"}), calling("g", {"f"})},
            {}),
      HasSubstr("the cycle of calls 'd.f' -> 'd.g' -> 'd.f'"));
  std::string branch =
      graph({node("f", {"x"}, {"y"}, {}, "d")}, {}, {value("y", 1, {})});
  EXPECT_THAT(check({function("d", "f", {"x"}, {"y"},
                              {node("If", {"c"}, {"y"},
                                    {graphAttribute("then_branch", branch)})})},
                    {}),
              HasSubstr("the cycle of calls 'd.f' -> 'd.f'"));
}

TEST(OnnxFunctions, A5ChainsAndOverloadsAreGood) {
  EXPECT_EQ(check({calling("a", {"b"}), calling("b", {"c"}), calling("c", {}),
                   calling("c", {}, "other")},
                  {node("a", {"x"}, {"y"}, {}, "d")}),
            "");
  EXPECT_THAT(check({calling("a", {}), calling("a", {})}, {}),
              HasSubstr("function 'd.a': found two definitions"));
}

TEST(OnnxFunctions, A5CallsThatMultiply) {
  Texts functions = {calling("f0", {})};
  for (int i = 1; i < 60; ++i) {
    std::string callee = "f" + std::to_string(i - 1);
    functions.push_back(calling("f" + std::to_string(i), {callee, callee}));
  }
  EXPECT_THAT(check(functions, {}), HasSubstr("more than 1000 nodes"));
  functions = {calling("f0", {})};
  for (int i = 1; i < 600; ++i)
    functions.push_back(
        calling("f" + std::to_string(i), {"f" + std::to_string(i - 1)}));
  std::reverse(functions.begin(), functions.end());
  EXPECT_THAT(check(functions, {}), HasSubstr("nested more than 256 deep"));
}

TEST(OnnxFunctions, FindsByDomainNameAndOverload) {
  std::string file =
      model({opset(18)},
            graph({node("c", {}, {}, {}, "d"), node("c", {}, {}, {}, "d", "o"),
                   node("c", {}, {})},
                  {}, {}),
            {calling("c", {}), calling("c", {"z"}, "o")});
  ImportReport report;
  auto model =
      readOnnx({reinterpret_cast<const uint8_t *>(file.data()), file.size()},
               "m", report);
  ASSERT_TRUE(model);
  auto table = OnnxFunctions::create(*model, 1000, report);
  ASSERT_TRUE(table) << print(report);
  EXPECT_EQ(table->find(model->graph.nodes[0]), &model->functions[0]);
  EXPECT_EQ(table->find(model->graph.nodes[1]), &model->functions[1]);
  EXPECT_EQ(table->find(model->graph.nodes[2]), nullptr);
}
