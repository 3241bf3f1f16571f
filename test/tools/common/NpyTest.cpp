//===- NpyTest.cpp --------------------------------------------------------===//

#include "tools/common/Npy.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace weft;
using rt::DType;
using rt::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A version 1.0 file with the given header text.
std::string file(std::string header, std::string_view data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += char(header.size() & 0xff);
  bytes += char(header.size() >> 8);
  return bytes + header + std::string(data);
}

rt::Result<NpyArray> parse(const std::string &bytes) {
  return parseNpy(std::as_bytes(std::span(bytes)), "x.npy");
}

// The bytes that numpy.save writes for numpy.array([[1, 2], [3, 4], [5, 6]],
// dtype="<f4"), from the format's specification.
TEST(NpyTest, ReadsWhatNumpyWrites) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  float values[] = {1, 2, 3, 4, 5, 6};
  std::string data(reinterpret_cast<char *>(values), sizeof values);
  auto array = parse(file(header, data));
  ASSERT_TRUE(array) << array.getStatus().getMessage();
  EXPECT_EQ(array->dtype, DType::F32);
  EXPECT_THAT(array->shape, ElementsAre(3, 2));
  ASSERT_EQ(array->data.size(), sizeof values);
  EXPECT_EQ(std::memcmp(array->data.data(), values, sizeof values), 0);
}

TEST(NpyTest, ReadsOtherVersionsAndSpellings) {
  std::string header =
      "{\"shape\":(),\"fortran_order\":True,\"descr\":\"<i8\"}\n";
  std::string bytes("\x93NUMPY\x02\x00", 8);
  bytes += char(header.size());
  bytes += std::string(3, '\0') + header + std::string(8, '\x01');
  auto scalar = parse(bytes);
  ASSERT_TRUE(scalar) << scalar.getStatus().getMessage();
  EXPECT_EQ(scalar->dtype, DType::I64);
  EXPECT_TRUE(scalar->shape.empty());
  // Without elements the other extents do not matter.
  auto empty = parse(
      file("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 5)}", ""));
  ASSERT_TRUE(empty);
  EXPECT_THAT(empty->shape, ElementsAre(0, 5));
}

TEST(NpyTest, RoundTripsEveryType) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F64,
                      DType::I8, DType::U8, DType::I16, DType::I32, DType::I64,
                      DType::Bool, DType::U32, DType::U64}) {
    std::vector<int64_t> shape = {2, 3};
    std::vector<std::byte> data(6 * rt::getByteSize(dtype));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = std::byte(i);
    std::vector<std::byte> bytes = printNpy(dtype, shape, data);
    EXPECT_EQ((bytes.size() - data.size()) % 64, 0u);
    auto array = parseNpy(bytes, "x.npy");
    ASSERT_TRUE(array) << array.getStatus().getMessage();
    EXPECT_EQ(array->dtype, dtype);
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->data, data);
  }
}

TEST(NpyTest, BadFilesAreErrors) {
  auto expect = [](const std::string &bytes, StatusCode code,
                   const char *message) {
    auto array = parse(bytes);
    ASSERT_FALSE(array) << message;
    EXPECT_EQ(array.getStatus().getCode(), code) << message;
    EXPECT_THAT(array.getStatus().getMessage(), HasSubstr(message));
  };
  auto header = [](std::string descr, std::string order, std::string shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order +
           ", 'shape': " + shape + "}";
  };
  const StatusCode corrupt = StatusCode::Corrupt;
  expect("", corrupt, "does not start with");
  expect("PK\x03\x04", corrupt, "does not start with");
  expect(std::string("\x93NUMPY\x07\x00", 8), corrupt, "version 7");
  expect(std::string("\x93NUMPY\x01\x00", 8), corrupt, "ends in its header");
  expect(std::string("\x93NUMPY\x01\x00\xff\xff{", 11), corrupt,
         "ends in its header");
  expect(file("{'descr': '<f4'}", ""), corrupt, "dictionary");
  expect(file(header("[('a', '<f4')]", "False", "(1,)"), ""), corrupt,
         "dictionary");
  expect(file(header("'<f4'", "False", "(-1,)"), ""), corrupt, "dictionary");
  expect(file(header("'<f4'", "False", "(2,)"), "1234567"), corrupt,
         "7 bytes of elements where its header needs 8");
  expect(file(header("'<f4'", "False", "(2,)"), "123456789"), corrupt,
         "9 bytes");
  expect(file(header("'<f4'", "False", "(4294967296, 4294967296)"), ""),
         corrupt, "more than 2^64");
  expect(file(header("'<f4'", "False", "(99999999999999999999,)"), ""), corrupt,
         "dictionary");
  expect(file(header("'>f4'", "False", "(1,)"), "1234"),
         StatusCode::Unsupported, "'>f4'");
  expect(file(header("'<f4'", "True", "(1, 1)"), "1234"),
         StatusCode::Unsupported, "Fortran order");
}

TEST(NpyTest, FilesAppearWholeOrNotAtAll) {
  std::string folder = testing::TempDir();
  std::string path = folder + "/weft-npy-test.npy";
  std::vector<int64_t> shape = {1};
  std::vector<std::byte> data(4);
  ASSERT_TRUE(writeNpy(path, DType::I32, shape, data));
  auto array = readNpy(path);
  ASSERT_TRUE(array) << array.getStatus().getMessage();
  EXPECT_EQ(array->data, data);
  std::filesystem::remove(path);
  EXPECT_FALSE(
      writeNpy(folder + "/no-such-folder/x.npy", DType::I32, shape, data));
  EXPECT_EQ(readNpy(path).getStatus().getCode(), StatusCode::NotFound);
}

} // namespace
