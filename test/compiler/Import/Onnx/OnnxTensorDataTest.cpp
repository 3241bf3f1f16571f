//===- OnnxTensorDataTest.cpp - Values in every storage form --------------===//

#include "compiler/Import/Onnx/OnnxTensorData.h"
#include "compiler/Import/Onnx/ReadOnnx.h"
#include "test/compiler/Import/Checkpoint.h"
#include "test/compiler/Import/Onnx/OnnxWriter.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using namespace weft::test::onnx;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
/// The values of a tensor message; empty with a report if it is refused.
class Values {
public:
  explicit Values(std::string message, const Folder *folder = nullptr)
      : message(std::move(message)) {
    auto tensor =
        readOnnxTensor({reinterpret_cast<const uint8_t *>(this->message.data()),
                        this->message.size()},
                       "t", report);
    if (!tensor)
      return;
    std::optional<OnnxDataFiles> files;
    if (folder)
      files.emplace(*folder);
    auto data =
        readTensorData(*tensor, files ? &*files : nullptr, "m: w", report);
    isRead = data.has_value();
    if (isRead)
      values.assign(data->bytes.begin(), data->bytes.end());
  }

  std::string message;
  ImportReport report;
  bool isRead = false;
  std::vector<uint8_t> values;
};
} // namespace

static std::string refuse(const std::string &message,
                          const Folder *folder = nullptr) {
  Values values(message, folder);
  EXPECT_FALSE(values.isRead);
  return print(values.report);
}

/// Entries of int32_data, not packed, as signed numbers.
static std::string int32Data(const std::vector<int32_t> &entries) {
  std::string text;
  for (int32_t entry : entries)
    text += number(5, entry);
  return text;
}

TEST(OnnxTensorData, TypedFieldsAndRawBytesAreTheSame) {
  std::string packed;
  for (int64_t entry : {1, -2, 300})
    packed += varint(static_cast<uint64_t>(entry));
  for (auto [typed, rawBytes] :
       std::vector<std::pair<std::string, std::string>>{
           {tensor("w", 1, {2}, bytes(4, raw<float>({1.5f, -2.f}))),
            rawTensor("w", 1, {2}, raw<float>({1.5f, -2.f}))},
           {tensor("w", 11, {2}, bytes(10, raw<double>({1.5, -2.}))),
            rawTensor("w", 11, {2}, raw<double>({1.5, -2.}))},
           {tensor("w", 7, {3}, bytes(7, packed)),
            rawTensor("w", 7, {3}, raw<int64_t>({1, -2, 300}))},
           {tensor("w", 6, {3}, bytes(5, packed)),
            rawTensor("w", 6, {3}, raw<int32_t>({1, -2, 300}))},
           {tensor("w", 5, {2}, int32Data({-7, 300})),
            rawTensor("w", 5, {2}, raw<int16_t>({-7, 300}))},
           {tensor("w", 3, {2}, int32Data({-7, 5})),
            rawTensor("w", 3, {2}, raw<int8_t>({-7, 5}))},
           {tensor("w", 2, {1}, int32Data({200})),
            rawTensor("w", 2, {1}, raw<uint8_t>({200}))},
           {tensor("w", 9, {2}, int32Data({0, 1})),
            rawTensor("w", 9, {2}, raw<uint8_t>({0, 1}))},
           {tensor("w", 10, {1}, int32Data({0x3c00})),
            rawTensor("w", 10, {1}, raw<uint16_t>({0x3c00}))},
           {tensor("w", 16, {1}, int32Data({0x3f80})),
            rawTensor("w", 16, {1}, raw<uint16_t>({0x3f80}))},
           {tensor("w", 17, {1}, int32Data({0x38})),
            rawTensor("w", 17, {1}, raw<uint8_t>({0x38}))},
           {tensor("w", 12, {1}, number(11, 4'000'000'000)),
            rawTensor("w", 12, {1}, raw<uint32_t>({4'000'000'000u}))},
           {tensor("w", 13, {1}, number(11, -1)),
            rawTensor("w", 13, {1}, raw<uint64_t>({~0ull}))},
           {tensor("w", 1, {0, 4}, ""), rawTensor("w", 1, {0, 4}, "")}}) {
    Values a(typed), b(rawBytes);
    ASSERT_TRUE(a.isRead) << print(a.report);
    ASSERT_TRUE(b.isRead) << print(b.report);
    EXPECT_EQ(a.values, b.values);
  }
}

TEST(OnnxTensorData, A3Int4WithExtendedSigns) {
  // -8, -1, 7, 0, -3: the first of two values is the low half of a byte.
  Values rawBytes(rawTensor("w", 22, {5}, "\xf8\x07\x0d"));
  Values typed(tensor("w", 22, {5}, int32Data({-8, 7, 0xfd})));
  ASSERT_TRUE(rawBytes.isRead && typed.isRead);
  EXPECT_THAT(rawBytes.values, ElementsAre(0xf8, 0x07, 0x0d));
  // The high half of the last byte is padding and may be anything.
  EXPECT_THAT(typed.values, ElementsAre(0xf8, 0x07, 0xfd));
  Values twoBits(tensor("w", 26, {5}, int32Data({-28, 1})));
  ASSERT_TRUE(twoBits.isRead);
  EXPECT_THAT(twoBits.values, ElementsAre(0xe4, 0x01));
}

TEST(OnnxTensorData, RefusesSizesThatDoNotFit) {
  EXPECT_THAT(refuse(rawTensor("w", 1, {3}, std::string(8, ' '))),
              HasSubstr("m: w: found 8 bytes, expected 12 bytes for shape [3] "
                        "of FLOAT"));
  EXPECT_THAT(refuse(rawTensor("w", 22, {5}, "12")),
              HasSubstr("found 2 bytes, expected 3 bytes"));
  EXPECT_THAT(refuse(tensor("w", 7, {3}, number(7, 1))),
              HasSubstr("found 1 values, expected 3"));
  EXPECT_THAT(refuse(tensor("w", 1, {1'000'000'000, 1'000}, "")),
              HasSubstr("found 0 values, expected 1000000000000"));
  EXPECT_THAT(refuse(tensor("w", 1, {-1}, "")),
              HasSubstr("sizes that are not negative"));
  EXPECT_THAT(refuse(tensor("w", 1, {int64_t(1) << 40, int64_t(1) << 40}, "")),
              HasSubstr("less than 2^60 elements"));
  for (int type : {0, 8, 14, 77})
    EXPECT_THAT(refuse(tensor("w", type, {1}, "")),
                HasSubstr("numbers or BOOL"));
}

TEST(OnnxTensorData, A6ExternalDataStaysInTheFolder) {
  TemporaryFolder outside, inside;
  outside.write("secret.bin", "0123");
  inside.write("sub/ok.bin", "xx0123xx");
  inside.write("linked.bin", "0123");
  std::filesystem::create_symlink(outside / "secret.bin", inside / "link.bin");
  std::filesystem::create_hard_link(inside / "linked.bin", inside / "hard.bin");
  auto folder = Folder::open(inside.getPath());
  ASSERT_TRUE(bool(folder));
  using Entries = std::vector<std::pair<std::string, std::string>>;
  auto make = [](const Entries &entries) {
    return tensor("w", 1, {1}, external(entries));
  };

  Values good(make({{"location", "sub/ok.bin"},
                    {"offset", "2"},
                    {"length", "4"},
                    {"checksum", "0"}}),
              &*folder);
  ASSERT_TRUE(good.isRead) << print(good.report);
  EXPECT_THAT(good.values, ElementsAre('0', '1', '2', '3'));

  for (auto [location, message] :
       {std::pair("../secret.bin", "leaves the folder"),
        {"a/../../x", "leaves the folder"},
        {"/etc/hostname", "an absolute path"},
        {"link.bin", "a symbolic link"},
        {"hard.bin", "hard links"},
        {"missing.bin", "cannot open 'missing.bin'"},
        {"sub", "not a regular file"},
        {"", "an empty file name"}})
    EXPECT_THAT(refuse(make({{"location", location}}), &*folder),
                HasSubstr(message));
  auto refuseEntries = [&](Entries entries) {
    entries.insert(entries.begin(), {"location", "sub/ok.bin"});
    return refuse(make(entries), &*folder);
  };
  EXPECT_THAT(refuseEntries({{"offset", "-1"}}),
              HasSubstr("offset '-1', expected a number of bytes"));
  EXPECT_THAT(refuseEntries({{"offset", "9"}}),
              HasSubstr("4 bytes from byte 9 of 'sub/ok.bin', expected a part "
                        "of the file, which has 8 bytes"));
  EXPECT_THAT(refuseEntries({{"offset", "5"}}),
              HasSubstr("a part of the file"));
  EXPECT_THAT(refuseEntries({{"length", "9"}}),
              HasSubstr("found 9 bytes of external data, expected 4 bytes"));
  EXPECT_THAT(refuseEntries({{"length", "4611686018427387904"}}),
              HasSubstr("expected 4 bytes"));
  EXPECT_THAT(refuseEntries({{"offset", "18446744073709551615"}}),
              HasSubstr("a part of the file"));
  EXPECT_THAT(refuseEntries({{"offset", "0"}, {"offset", "0"}}),
              HasSubstr("two times the key 'offset'"));
  EXPECT_THAT(refuseEntries({{"url", "x"}}), HasSubstr("the key 'url'"));
  EXPECT_THAT(refuse(make({{"location", "sub/ok.bin"}})),
              HasSubstr("not opened from a folder"));
}
