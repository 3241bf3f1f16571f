//===- SafetensorsTest.cpp - The safetensors format, valid and broken -----===//

#include "compiler/Import/Safetensors.h"
#include "test/compiler/Import/Checkpoint.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using testing::HasSubstr;

static llvm::ArrayRef<uint8_t> bytes(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// The report for a file that must be refused.
static std::string refuse(const std::string &file) {
  std::vector<TensorInfo> tensors;
  ImportReport report;
  EXPECT_FALSE(readSafetensors(bytes(file), "m", tensors, report));
  EXPECT_TRUE(report.hasErrors());
  EXPECT_TRUE(tensors.empty());
  return print(report);
}

static std::string refuse(const std::string &header, const std::string &data) {
  return refuse(makeSafetensors(header, data));
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirData) {
  std::string file = makeSafetensors(
      R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("e":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]},)"
      R"("__metadata__":{"format":"pt"}}   )",
      std::string(16, 'x'));
  std::vector<TensorInfo> tensors;
  ImportReport report;
  ASSERT_TRUE(readSafetensors(bytes(file), "m", tensors, report))
      << print(report);
  ASSERT_EQ(tensors.size(), 3u);
  size_t start = file.size() - 16;
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].type, ElementType::F32);
  EXPECT_TRUE(tensors[0].shape.empty());
  EXPECT_EQ(tensors[0].offset, start);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].byteSize, 12u);
  EXPECT_EQ(tensors[1].offset, start + 4);
  EXPECT_EQ(printShape(tensors[1].shape), "[2, 3]");
  EXPECT_EQ(tensors[2].byteSize, 0u);
}

TEST(Safetensors, ReadsAnEmptyFile) {
  std::vector<TensorInfo> tensors;
  ImportReport report;
  EXPECT_TRUE(
      readSafetensors(bytes(makeSafetensors("{}", "")), "m", tensors, report));
  EXPECT_TRUE(tensors.empty());
}

TEST(Safetensors, A22OffsetsThatDoNotFitTheShape) {
  EXPECT_THAT(
      refuse(
          R"({"t":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})",
          "abcd"),
      HasSubstr("found 4 bytes between the data_offsets, expected 4000000 "
                "bytes for shape [1000, 1000] of f32"));
}

TEST(Safetensors, A22OffsetsOutOfOrderOrRange) {
  auto with = [](const std::string &offsets) {
    return refuse(R"({"t":{"dtype":"U8","shape":[4],"data_offsets":)" +
                      offsets + "}}",
                  "abcd");
  };
  EXPECT_THAT(with("[4,0]"), HasSubstr("begin <= end <= 4"));
  EXPECT_THAT(with("[-4,0]"), HasSubstr("not negative"));
  EXPECT_THAT(with("[1,5]"), HasSubstr("begin <= end <= 4"));
  EXPECT_THAT(with("[0,18446744073709551615]"), HasSubstr("data_offsets"));
  EXPECT_THAT(with("[0,9223372036854775807]"), HasSubstr("begin <= end <= 4"));
  EXPECT_THAT(with("[0]"), HasSubstr("[begin, end]"));
  EXPECT_THAT(with("[0,2,4]"), HasSubstr("[begin, end]"));
  EXPECT_THAT(with("[0,4.5]"), HasSubstr("[begin, end]"));
  EXPECT_THAT(with("\"0,4\""), HasSubstr("[begin, end]"));
}

TEST(Safetensors, A22ShapesThatOverflow) {
  auto with = [](const std::string &shape) {
    return refuse(R"({"t":{"dtype":"F32","shape":)" + shape +
                      R"(,"data_offsets":[0,4]}})",
                  "abcd");
  };
  EXPECT_THAT(with("[8589934592,8589934592]"), HasSubstr("less than 2^63"));
  EXPECT_THAT(with("[4294967296,4294967296,0]"), HasSubstr("less than 2^63"));
  EXPECT_THAT(with("[9223372036854775807]"), HasSubstr("less than 2^63"));
  EXPECT_THAT(with("[-1]"), HasSubstr("not negative"));
  EXPECT_THAT(with("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
              HasSubstr("at most 16"));
  EXPECT_THAT(with("null"), HasSubstr("shape null"));
}

TEST(Safetensors, A22HeadersThatAreNoHeaders) {
  EXPECT_THAT(refuse(""), HasSubstr("0 bytes"));
  EXPECT_THAT(refuse(std::string("\x09\0\0\0\0\0\0", 7)), HasSubstr("7 bytes"));
  // A header of 9 bytes in a file that has 4 more.
  EXPECT_THAT(refuse(std::string("\x09\0\0\0\0\0\0\0{}  ", 12)),
              HasSubstr("a header length of 9, expected at most 4"));
  EXPECT_THAT(refuse(std::string(8, '\xff') + "{}"),
              HasSubstr("a header length of 18446744073709551615"));
  EXPECT_THAT(refuse("[1,2]", ""), HasSubstr("found [1,2]"));
  EXPECT_THAT(refuse("", ""), HasSubstr("a JSON object"));
  EXPECT_THAT(refuse("{\"t\":", ""), HasSubstr("line 1"));
  EXPECT_THAT(refuse(std::string(100'000, '['), ""),
              HasSubstr("nested deeper"));
}

TEST(Safetensors, A22DuplicateNames) {
  EXPECT_THAT(refuse(R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                     R"("t":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                     "abcd"),
              HasSubstr("key 't' stands twice"));
}

TEST(Safetensors, A22OverlapsAndHoles) {
  auto with = [](const std::string &first, const std::string &second) {
    return refuse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                      R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                      second + "}}",
                  std::string(12, 'x'));
  };
  EXPECT_THAT(with("[0,4]", "[2,6]"),
              HasSubstr("right after tensor 'a'; tensors may neither overlap"));
  EXPECT_THAT(with("[0,4]", "[8,12]"), HasSubstr("data at byte 8"));
  EXPECT_THAT(with("[0,4]", "[4,8]"),
              HasSubstr("found 12 bytes of data, expected 8"));
  EXPECT_THAT(with("[4,8]", "[8,12]"), HasSubstr("data at byte 0"));
}

TEST(Safetensors, A22EveryProblemIsReported) {
  std::string text =
      refuse(R"({"a":{"dtype":"Q4","shape":[4],"data_offsets":[0,4]},)"
             R"("b":7,"c":{"shape":[1]},"__metadata__":{"x":1}})",
             "abcd");
  EXPECT_THAT(text, HasSubstr("tensor 'a': found dtype \"Q4\""));
  EXPECT_THAT(text, HasSubstr("tensor 'b': found 7"));
  EXPECT_THAT(text, HasSubstr("tensor 'c': found no dtype"));
  EXPECT_THAT(text, HasSubstr("tensor 'c': found no data_offsets"));
  EXPECT_THAT(text, HasSubstr("__metadata__"));
}

TEST(Safetensors, TruncatedAtAnyByte) {
  std::string file = makeSafetensors(
      R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", "abcd");
  for (size_t size = 0; size < file.size(); ++size)
    refuse(file.substr(0, size));
}
