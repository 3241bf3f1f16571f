//===- ImportOnnxTest.cpp - ONNX files as operations ----------------------===//

#include "compiler/Import/Onnx/ImportOnnx.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "test/compiler/Import/Checkpoint.h"
#include "test/compiler/Import/Onnx/OnnxWriter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/DebugStringHelper.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace weft;
using namespace weft::test;
using namespace weft::test::onnx;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {
class ImportOnnx : public testing::Test {
protected:
  ImportOnnx() {
    context
        .loadDialect<weft::onnx::OnnxDialect, WeftDialect, func::FuncDialect>();
  }

  /// The IR of a model, or what the report says.
  std::string import(const std::string &file) {
    folder.write("m.onnx", file);
    ImportReport report;
    auto imported = importOnnx(folder / "m.onnx", options, context, report);
    EXPECT_EQ(imported.has_value(), !report.hasErrors()) << print(report);
    if (!imported)
      return print(report);
    EXPECT_TRUE(succeeded(verify(*imported->module)));
    std::string text;
    llvm::raw_string_ostream stream(text);
    imported->module->print(stream);
    return text;
  }

  MLIRContext context;
  TemporaryFolder folder;
  OnnxImportOptions options;
};
} // namespace

static std::string ints(const std::string &name,
                        const std::vector<int64_t> &values) {
  return rawTensor(name, 7, {int64_t(values.size())}, raw(values));
}

static std::string constant(const std::string &name,
                            const std::vector<int64_t> &values) {
  return node("Constant", {}, {name},
              {tensorAttribute("value", ints("", values))});
}

TEST_F(ImportOnnx, SymbolsKeepTheirNames) {
  std::string ir = import(model(
      {opset(18)},
      graph({node("Concat", {"past", "x"}, {"y"}, {attribute("axis", 1)})},
            {value("past", 1, {"batch", "past_length", "8"}),
             value("x", 1, {"batch", "sequence", "8"})},
            {value("y", 1, {"batch", "past_length + sequence", "8"})})));
  EXPECT_THAT(ir, HasSubstr("weft.symbols = [\"batch\", \"past_length\"]"));
  EXPECT_THAT(ir, HasSubstr("-> tensor<?x?x8xf32, #onnx.dims<\"batch\", "
                            "\"past_length + sequence\">>"));
}

TEST_F(ImportOnnx, SizesThatMustBeEqualBecomeOne) {
  // The mask's last size has a name of its own and turns out to be the sum.
  std::string ir = import(model(
      {opset(18)},
      graph({node("Concat", {"past", "k"}, {"keys"}, {attribute("axis", 0)}),
             node("Add", {"keys", "mask"}, {"y"})},
            {value("past", 1, {"past"}), value("k", 1, {"sequence"}),
             value("mask", 1, {"total"})},
            {value("y", 1, {"total"})})));
  EXPECT_THAT(ir, AllOf(HasSubstr("{weft.name = \"mask\", weft.symbols = "
                                  "[\"past + sequence\"]}"),
                        Not(HasSubstr("total"))));
}

TEST_F(ImportOnnx, NamesThatAreNoSumsBecomeSymbols) {
  EXPECT_THAT(
      import(model({opset(18)}, graph({node("Neg", {"x"}, {"y"})},
                                      {value("x", 1, {"floor(n/2)", "?"})},
                                      {value("y", 1, {"a", "b"})}))),
      HasSubstr("#onnx.dims<\"floor_n_2_\", \"x_1\">"));
}

TEST_F(ImportOnnx, A1ShapesFromInitializersConstantsAndArithmetic) {
  Texts inputs = {value("x", 1, {"2", "3"})},
        outputs = {value("y", 1, {"3", "2"})};
  for (const Texts &nodes :
       {Texts{node("Reshape", {"x", "s"}, {"y"})},
        Texts{constant("c", {3, 2}), node("Reshape", {"x", "c"}, {"y"})},
        Texts{constant("c", {3, 2}), node("Identity", {"c"}, {"i"}),
              node("Cast", {"i"}, {"k"}, {attribute("to", 7)}),
              node("Reshape", {"x", "k"}, {"y"})},
        Texts{node("Shape", {"x"}, {"k"}), constant("i", {1, 0}),
              node("Gather", {"k", "i"}, {"g"}),
              node("Reshape", {"x", "g"}, {"y"})}})
    EXPECT_THAT(import(model({opset(18)}, graph(nodes, inputs, outputs,
                                                {ints("s", {3, 2})}))),
                HasSubstr("-> (tensor<3x2xf32> {weft.name = \"y\"})"));
}

TEST_F(ImportOnnx, ShapeArithmeticOfSymbols) {
  // Splits the heads: [batch, sequence, 64] as [batch, sequence, 4, 16].
  std::string ir = import(model(
      {opset(17)}, graph({node("Shape", {"x"}, {"s"}), constant("zero", {0}),
                          constant("one", {1}), constant("heads", {4, -1}),
                          node("Gather", {"s", "zero"}, {"b"}),
                          node("Gather", {"s", "one"}, {"n"}),
                          node("Concat", {"b", "n", "heads"}, {"shape"},
                               {attribute("axis", 0)}),
                          node("Reshape", {"x", "shape"}, {"y"})},
                         {value("x", 1, {"batch", "sequence", "64"})},
                         {value("y", 1, {"batch", "sequence", "4", "16"})})));
  EXPECT_THAT(ir, HasSubstr("tensor<?x?x4x16xf32, #onnx.dims<\"batch\", "
                            "\"sequence\">>"));
}

TEST_F(ImportOnnx, OlderVersionsBecomeTheNewest) {
  Texts x = {value("x", 1, {"2", "3", "4"})}, y = {value("y", 1, {})};
  EXPECT_THAT(
      import(model({opset(12)}, graph({node("Softmax", {"x"}, {"y"})}, x, y))),
      AllOf(HasSubstr("onnx.Flatten(%arg0) {axis = 1 : i64}"),
            HasSubstr("onnx.Softmax(%0) {axis = 1 : i64} : "
                      "(tensor<2x12xf32>)"),
            HasSubstr("-> tensor<2x3x4xf32>")));
  EXPECT_THAT(
      import(model({opset(11)},
                   graph({node("Unsqueeze", {"x"}, {"y"},
                               {attribute("axes", std::vector<int64_t>{0})})},
                         x, y))),
      HasSubstr("-> tensor<1x2x3x4xf32>"));
  EXPECT_THAT(
      import(model({opset(13)},
                   graph({node("ReduceMean", {"x"}, {"y"},
                               {attribute("axes", std::vector<int64_t>{-1}),
                                attribute("keepdims", 0)})},
                         x, y))),
      HasSubstr("-> tensor<2x3xf32>"));
  EXPECT_THAT(
      import(model({opset(9)},
                   graph({node("Slice", {"x"}, {"y"},
                               {attribute("starts", std::vector<int64_t>{1}),
                                attribute("ends", std::vector<int64_t>{9})})},
                         x, y))),
      HasSubstr("-> tensor<1x3x4xf32>"));
  EXPECT_THAT(
      import(model({opset(10)}, graph({node("Clip", {"x"}, {"y"},
                                            {floatAttribute("min", 0)})},
                                      x, y))),
      HasSubstr("onnx.Clip(%arg0, %0, none)"));
  EXPECT_THAT(import(model({opset(18)},
                           graph({node("GroupNormalization", {"x", "x", "x"},
                                       {"y"}, {attribute("num_groups", 2)})},
                                 x, y))),
              HasSubstr("GroupNormalization before version 21"));
}

TEST_F(ImportOnnx, FunctionsAreCalledWithTheirAttributes) {
  std::string leaky = bytes(1, "alpha") + bytes(21, "slope") + number(20, 1);
  std::string f =
      function("d", "f", {"a"}, {"b"},
               {node("LeakyRelu", {"a"}, {"b"}, {leaky})}, {bytes(6, "slope")});
  std::string ir = import(model(
      {opset(18), opset(1, "d")},
      graph({node("f", {"x"}, {"y"}, {floatAttribute("slope", 0.5f)}, "d"),
             node("f", {"y"}, {"z"}, {}, "d")},
            {value("x", 1, {"2"})}, {value("z", 1, {"2"})}),
      {f}));
  EXPECT_THAT(ir,
              HasSubstr("onnx.LeakyRelu(%arg0) {alpha = 5.000000e-01 : f32}"));
  EXPECT_THAT(ir,
              HasSubstr("onnx.LeakyRelu(%0) {alpha = 0.00999999977 : f32}"));
}

TEST_F(ImportOnnx, BranchesOfKnownAndUnknownConditions) {
  std::string then =
      graph({node("Neg", {"x"}, {"t"})}, {}, {value("t", 1, {})});
  std::string otherwise =
      graph({node("Abs", {"x"}, {"e"})}, {}, {value("e", 1, {})});
  Texts attributes = {graphAttribute("then_branch", then),
                      graphAttribute("else_branch", otherwise)};
  std::string file =
      model({opset(18)}, graph({node("If", {"c"}, {"y"}, attributes)},
                               {value("c", 9, {"1"}), value("x", 1, {"2"})},
                               {value("y", 1, {"2"})}));
  EXPECT_THAT(import(file),
              AllOf(HasSubstr("onnx.If %arg0"), HasSubstr("onnx.Neg(%arg1)"),
                    HasSubstr("onnx.Abs(%arg1)")));
  options.constants["c"] = {OnnxType::Bool, {1}, {0}};
  EXPECT_THAT(import(file),
              AllOf(Not(HasSubstr("onnx.If")), Not(HasSubstr("onnx.Neg")),
                    HasSubstr("onnx.Abs(%arg0)")));
  options.constants["d"] = {OnnxType::Bool, {1}, {0}};
  EXPECT_THAT(import(file), HasSubstr("constant 'd': found no such input"));
  options.constants = {};
  options.constants["c"] = {OnnxType::Float, {1}, {0, 0, 0, 0}};
  EXPECT_THAT(import(file), HasSubstr("found a constant of FLOAT"));
}

TEST_F(ImportOnnx, NodesMayStandInAnyOrder) {
  EXPECT_THAT(
      import(model({opset(18)},
                   graph({node("Neg", {"h"}, {"y"}), node("Abs", {"x"}, {"h"})},
                         {value("x", 1, {"2"})}, {value("y", 1, {"2"})}))),
      HasSubstr("%1 = onnx.Neg(%0)"));
  EXPECT_THAT(import(model({opset(18)}, graph({node("Neg", {"y"}, {"x"}),
                                               node("Abs", {"x"}, {"y"})},
                                              {}, {value("y", 1, {"2"})}))),
              HasSubstr("found a read of 'y'"));
}

TEST_F(ImportOnnx, EveryUncoveredOperatorIsReported) {
  std::string report =
      import(model({opset(18), opset(3, "com.example")},
                   graph({node("GRU", {"x"}, {"y"}), node("Relu", {"y"}, {"z"}),
                          node("Foo", {"z"}, {"w"}, {}, "com.example")},
                         {value("x", 1, {"2"})}, {value("w", 1, {"2"})})));
  EXPECT_THAT(report, HasSubstr("the node of 'y' (GRU): found operator GRU of "
                                "ai.onnx version 18"));
  EXPECT_THAT(report, HasSubstr("operator Foo of com.example version 3"));
}

TEST_F(ImportOnnx, UncoveredOperatorsOfGraphsAndFunctionsAreReported) {
  // Functions have versions of their own; what nothing calls does not matter.
  Texts older = {bytes(9, opset(14))};
  std::string inner =
      function("f", "inner", {"a"}, {"b"}, {node("RNN", {"a"}, {"b"})}, older);
  std::string outer = function("f", "outer", {"a"}, {"b"},
                               {node("inner", {"a"}, {"b"}, {}, "f")});
  std::string unused =
      function("f", "unused", {"a"}, {"b"}, {node("LSTM", {"a"}, {"b"})});
  std::string branch =
      graph({node("Det", {"x"}, {"d"})}, {}, {value("d", 1, {})});
  std::string report = import(model(
      {opset(18), opset(1, "f")},
      graph({node("outer", {"x"}, {"y"}, {}, "f"),
             node("If", {"c"}, {"z"},
                  {graphAttribute("then_branch", branch),
                   graphAttribute("else_branch", branch)})},
            {value("x", 1, {"2"}), value("c", 9, {})}, {value("y", 1, {"2"})}),
      {inner, outer, unused}));
  EXPECT_THAT(report, HasSubstr("the node of 'b' (RNN): found operator RNN of "
                                "ai.onnx version 14"));
  EXPECT_THAT(report, HasSubstr("the node of 'd' (Det): found operator Det of "
                                "ai.onnx version 18"));
  EXPECT_THAT(report, Not(HasSubstr("LSTM")));
}

TEST_F(ImportOnnx, ErrorsSayWhatIsWrong) {
  Texts x = {value("x", 1, {"2", "3"})}, y = {value("y", 1, {})};
  auto refuse = [&](const std::string &file, const std::string &message) {
    EXPECT_THAT(import(file), HasSubstr(message));
  };
  auto single = [&](const std::string &one) {
    return model({opset(18)}, graph({one}, x, y));
  };
  refuse(single(node("Relu", {"q"}, {"y"})), "found a read of 'q'");
  refuse(single(node("Relu", {"x"}, {"y"}, {attribute("slope", 1)})),
         "found the attribute 'slope', expected none");
  refuse(single(node("Relu", {"x", "x"}, {"y"})), "found 2 inputs");
  refuse(single(node("Add", {"x"}, {"y"})), "found no input 1");
  refuse(single(node("Relu", {"x"}, {"y", "z"})), "found 2 outputs");
  refuse(single(node("Relu", {"x"}, {"x"})), "found a second value 'x'");
  refuse(single(node("Concat", {"x"}, {"y"})), "requires attribute 'axis'");
  refuse(single(node("Transpose", {"x"}, {"y"},
                     {attribute("perm", std::vector<int64_t>{0, 0})})),
         "found axis 0 twice");
  refuse(single(node("MatMul", {"x", "x"}, {"y"})),
         "found the sizes 3 and 2, expected equal ones");
  refuse(single(node("If", {"x"}, {"y"})), "expected one BOOL");
  refuse(single(node("Constant", {}, {"y"})), "found no value of numbers");
  refuse(single(node("NonZero", {"x"}, {"y"})),
         "depends on values of an input");
  refuse(single(node("Initializer", {}, {"y"})), "operator Initializer");
  refuse(model({opset(18)}, graph({}, {value("s", 8, {"2"})}, {})),
         "found a tensor of STRING");
  refuse(model({opset(29)}, graph({}, {}, {})),
         "found version 29 of ai.onnx, expected 7 to 28");
  refuse(model({opset(18)}, graph({}, {}, {}), {}, 15),
         "found 15, expected 3 to 14");
  refuse(model({opset(18)},
               graph({node("Reshape", {"x", "s"}, {"y"})},
                     {value("x", 1, {"2"}), value("s", 7, {"1"})}, y)),
         "give the values of 's' with --constant NAME=FILE.npy");
}

TEST_F(ImportOnnx, ScanBeforeVersion9) {
  std::string body = graph({node("Add", {"sum", "next"}, {"total"}),
                            node("Identity", {"total"}, {"item"})},
                           {value("sum", 1, {"2"}), value("next", 1, {"2"})},
                           {value("total", 1, {"2"}), value("item", 1, {"2"})});
  auto scan = [&](const std::string &lengths, const std::string &batch) {
    return import(model(
        {opset(8)}, graph({node("Scan", {lengths, "s", "x"}, {"y", "z"},
                                {graphAttribute("body", body),
                                 attribute("num_scan_inputs", 1)})},
                          {value("n", 7, {batch}), value("s", 1, {batch, "2"}),
                           value("x", 1, {batch, "3", "2"})},
                          {value("y", 1, {batch, "2"}),
                           value("z", 1, {batch, "3", "2"})})));
  };
  EXPECT_THAT(scan("", "5"),
              AllOf(HasSubstr("tensor<5x2xf32> {weft.name = \"y\"}"),
                    HasSubstr("tensor<5x3x2xf32> {weft.name = \"z\"}")));
  EXPECT_THAT(scan("n", "5"),
              HasSubstr("found lengths of sequences in Scan before version 9"));
  EXPECT_THAT(scan("", "batch"),
              HasSubstr("expected a known number of sequences first"));
}

TEST_F(ImportOnnx, OperatorsThatCarryAState) {
  auto attend = [&](const std::string &rule, const std::string &tokens,
                    const Texts &inputs, int64_t heads) {
    return import(
        model({opset(27)}, graph({node("LinearAttention", inputs, {"y", "s"},
                                       {stringAttribute("update_rule", rule),
                                        attribute("q_num_heads", heads),
                                        attribute("kv_num_heads", 2)})},
                                 {value("q", 1, {"b", tokens, "24"}),
                                  value("k", 1, {"b", tokens, "12"}),
                                  value("v", 1, {"b", tokens, "10"}),
                                  value("g", 1, {"b", tokens, "2"})},
                                 {value("y", 1, {"b", tokens, "20"}),
                                  value("s", 1, {"b", "2", "6", "5"})})));
  };
  EXPECT_THAT(attend("gated", "3", {"q", "k", "v", "", "g"}, 4),
              AllOf(HasSubstr("<?x3x20xf32, #onnx.dims<\"b\">>"),
                    HasSubstr("<?x2x6x5xf32, #onnx.dims<\"b\">>")));
  EXPECT_THAT(attend("gated", "3", {"q", "k", "v"}, 4),
              HasSubstr("found the rule 'gated' with 4 and 2 heads"));
  EXPECT_THAT(attend("linear", "n", {"q", "k", "v"}, 4),
              HasSubstr("found a number of tokens that is not known"));
  EXPECT_THAT(attend("linear", "70000", {"q", "k", "v"}, 4),
              HasSubstr("found linear attention of 70000 tokens"));

  auto convolve = [&](const std::string &width, const std::string &function) {
    return import(model(
        {opset(27)},
        graph(
            {node("CausalConvWithState", {"x", "w"}, {"y", "s"},
                  {stringAttribute("activation", function)})},
            {value("x", 1, {"b", "4", "n"}), value("w", 1, {"4", "1", width})},
            {value("y", 1, {"b", "4", "n"}), value("s", 1, {"b", "4", "2"})})));
  };
  EXPECT_THAT(convolve("3", "silu"),
              AllOf(HasSubstr("onnx.Swish"),
                    HasSubstr("<?x4x2xf32, #onnx.dims<\"b\">>")));
  EXPECT_THAT(convolve("3", "tanh"), HasSubstr("found the activation 'tanh'"));
  EXPECT_THAT(convolve("k", "none"), HasSubstr("weight [channels, 1, width]"));
}
