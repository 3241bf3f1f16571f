// What users can get wrong with ONNX files, through the programs: settings that
// a file has no use for, outputs that would replace what belongs to it, data
// that an operator has no result for.

#include "test/compiler/Import/Onnx/OnnxWriter.h"
#include "test/reference/Scratch.h"
#include "test/runtime/Support/RunCommand.h"
#include "tools/common/Npy.h"

#include <fstream>
#include <iterator>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test::onnx;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class BadOnnx : public testing::Test {
protected:
  BadOnnx() : scratch("bad-onnx") {
    fs::create_directories(scratch.path);
    // x + w, where w lies in a file of its own.
    write("model.onnx",
          model({opset(18)},
                graph({node("Add", {"x", "w"}, {"y"})}, {value("x", 1, {"2"})},
                      {value("y", 1, {"2"})},
                      {tensor("w", 1, {2},
                              external({{"location", "model.weights"}}))})));
    write("model.weights", raw<float>({1, 2}));
  }

  std::string file(const std::string &name) const {
    return (scratch.path / name).string();
  }
  void write(const std::string &name, const std::string &content) const {
    std::ofstream(file(name), std::ios::binary) << content;
  }
  std::string read(const std::string &name) const {
    std::ifstream stream(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  static test::CommandResult compile(const std::string &arguments) {
    return test::runCommand("'" WEFT_COMPILE "' " + arguments + " 2>&1");
  }

  const reference::Scratch scratch;
};

TEST_F(BadOnnx, OptionsOfCheckpointFoldersAreWrong) {
  for (const char *option :
       {"--dtype=bf16", "--context=64", "--ignore-config-key=x"}) {
    test::CommandResult result = compile("'" + file("model.onnx") + "' -o '" +
                                         file("a.weft") + "' " + option);
    EXPECT_EQ(result.exitCode, 2) << option << result.output;
    EXPECT_THAT(result.output, HasSubstr("is for checkpoint folders"));
  }
  test::CommandResult result = compile(
      "'" WEFT_SOURCE_DIR "/models/stories260k' --constant a=b.npy -o '" +
      file("a.weft") + "'");
  EXPECT_EQ(result.exitCode, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("--constant is for ONNX files only"));
}

TEST_F(BadOnnx, OutputsDoNotReplaceWhatTheModelIsMadeOf) {
  write("genai_config.json", R"({"model": {}})");
  auto expectRefused = [&](const std::string &kept, const std::string &options,
                           const std::string &message) {
    const std::string before = read(kept);
    test::CommandResult result =
        compile("'" + file("model.onnx") + "' " + options);
    EXPECT_EQ(result.exitCode, 1) << options << result.output;
    EXPECT_THAT(result.output, HasSubstr(message)) << options;
    EXPECT_TRUE(read(kept) == before) << options;
  };
  expectRefused("model.weights", "-o '" + file("model.weights") + "'",
                "-o '" + file("model.weights") +
                    "' would replace the model's file");
  expectRefused("model.weights",
                "--external-weights -o '" + file("model.weft") + "'",
                "the weights of -o '" + file("model.weights") +
                    "' would replace the model's file");
  expectRefused("genai_config.json",
                "-o '" + file("a.weft") + "' --import-report '" +
                    file("genai_config.json") + "'",
                "--import-report '" + file("genai_config.json") +
                    "' would replace the model's file");
  write("x.npy", "");
  expectRefused("x.npy",
                "--constant x='" + file("x.npy") + "' -o '" + file("x.npy") +
                    "'",
                "would replace --constant");
  EXPECT_FALSE(fs::exists(file("a.weft")));
}

// The reproducer of an earlier run makes way for that of the next one.
TEST_F(BadOnnx, ReproducerThatIsTheInputStays) {
  const std::string ir = file("a.weft.reproducer.mlir");
  ASSERT_EQ(
      compile("'" + file("model.onnx") + "' --compile-to=graph -o '" + ir + "'")
          .exitCode,
      0);
  test::CommandResult result =
      compile("'" + ir + "' --compile-from=graph --weights '" +
              file("model.onnx") + "' -o '" + file("a.weft") + "'");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("the reproducer of -o"));
  EXPECT_TRUE(fs::exists(ir));
}

// The standard leaves the results open; the processor would end the program.
TEST_F(BadOnnx, DivisionsOfIntegersByZeroGoOn) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  const std::vector<int64_t> a = {7, -7, least, 7, -7, 0},
                             b = {0, 0, -1, 2, -2, 0};
  const std::vector<int64_t> known = {3, 4};
  const auto bytes = std::as_bytes(std::span(a)),
             divisors = std::as_bytes(std::span(b));
  const int64_t shape[] = {6};
  ASSERT_TRUE(writeNpy(file("a.npy"), rt::DType::I64, shape, bytes));
  ASSERT_TRUE(writeNpy(file("b.npy"), rt::DType::I64, shape, divisors));
  for (const auto &[op, expected] :
       {std::pair("Div", std::vector<int64_t>{3, 3}),
        // With the sign of the divisor.
        {"Mod", std::vector<int64_t>{1, -1}}}) {
    write("i.onnx",
          model({opset(18)}, graph({node(op, {"a", "b"}, {"y"})},
                                   {value("a", 7, {"n"}), value("b", 7, {"n"})},
                                   {value("y", 7, {"n"})})));
    test::CommandResult result =
        compile("'" + file("i.onnx") + "' -o '" + file("i.weft") + "'");
    ASSERT_EQ(result.exitCode, 0) << result.output;
    result = test::runCommand("'" WEFT_RUN "' '" + file("i.weft") +
                              "' --entry main --input a='" + file("a.npy") +
                              "' --input b='" + file("b.npy") +
                              "' --output y='" + file("y.npy") + "' 2>&1");
    ASSERT_EQ(result.exitCode, 0) << op << result.output;
    auto y = readNpy(file("y.npy"));
    ASSERT_TRUE(y);
    const auto *values = reinterpret_cast<const int64_t *>(y->data.data());
    for (size_t i = 0; i < known.size(); ++i)
      EXPECT_EQ(values[known[i]], expected[i]) << op << " " << known[i];
  }
  test::CommandResult result = test::runCommand(
      "'" WEFT_RUN "' '" + file("i.weft") + "' --prompt x 2>&1");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("not that of a language model"));
}

} // namespace
