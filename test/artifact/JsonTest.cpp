//===- JsonTest.cpp - JSON of foreign files, against RFC 8259 -------------===//

#include "runtime/Format/Json.h"

#include <gmock/gmock.h>

#include <string>

using namespace weft::rt;
using nlohmann::json;
using testing::HasSubstr;
using namespace std::string_view_literals;

namespace {

Status errorOf(std::string_view text, const JsonLimits &limits = {}) {
  Result<json> value = parseJson(text, limits);
  return value ? Status::ok() : value.getStatus();
}

std::string nest(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonTest, ReadsEveryKindOfValue) {
  Result<json> value = parseJson(
      R"( {"a": [1, -2, 2.5, "x\u00e9", true, false], "b": {"c": null},
           "": {}, "d": [[], [[3]]]} )");
  ASSERT_TRUE(value) << value.getStatus().getMessage();
  json expected = json::object();
  expected["a"] = json::array({1, -2, 2.5, "x\xc3\xa9", true, false});
  expected["b"] = json::object({{"c", nullptr}});
  expected[""] = json::object();
  expected["d"] = json::array({json::array(), json::array({json::array({3})})});
  EXPECT_EQ(*value, expected);
  for (std::string_view scalar : {"3", "\"x\"", "null", "true"})
    EXPECT_EQ(errorOf(scalar).getMessage(), "") << scalar;
}

TEST(JsonTest, KeepsLargeIntegers) {
  Result<json> value = parseJson(
      "[9223372036854775807, 18446744073709551615, -9223372036854775808]");
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)[0].get<int64_t>(), INT64_MAX);
  EXPECT_EQ((*value)[1].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ((*value)[2].get<int64_t>(), INT64_MIN);
}

TEST(JsonTest, RefusesEqualKeys) {
  for (std::string_view text :
       {R"({"a": 1, "b": 2, "a": 3})", R"({"a": {"x": 1}, "a": {}})",
        R"([{"a": 1}, {"b": [{"a": 1, "a": 1}]}])",
        R"({"a": 1, "\u0061": 1})"}) {
    Status error = errorOf(text);
    EXPECT_EQ(error.getCode(), StatusCode::Corrupt) << text;
    EXPECT_EQ(error.getMessage(),
              "not valid JSON: key 'a' stands twice in one object")
        << text;
  }
  EXPECT_TRUE(parseJson(R"([{"a": {"a": 1}}, {"a": 1}])"));
}

TEST(JsonTest, RefusesWhatIsNoJson) {
  for (std::string_view text :
       {"", " ", "{\"a\": 1", "[1] 2", "[1,]", "{\"a\": 1,}", "{a: 1}", "[NaN]",
        "[Infinity]", "[01]", "[+1]", "[1.]", "['a']", "\"a\nb\"", "// x\n1",
        "nul"}) {
    Status error = errorOf(text);
    EXPECT_EQ(error.getCode(), StatusCode::Corrupt) << text;
    EXPECT_THAT(error.getMessage(),
                testing::StartsWith("not valid JSON: parse error at line "))
        << text;
  }
  EXPECT_THAT(errorOf("[1,\n2,\n 3 4]").getMessage(), HasSubstr("at line 3"));
  EXPECT_THAT(errorOf("[1e999]").getMessage(), HasSubstr("number overflow"));
}

TEST(JsonTest, RefusesWhatIsNoUtf8) {
  // A byte that never occurs, an overlong "/", a surrogate, a cut sequence.
  for (std::string_view text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
                                "\"\xe2\x82\"", R"("\ud800")"})
    EXPECT_EQ(errorOf(text).getCode(), StatusCode::Corrupt) << text;
}

TEST(JsonTest, RefusesNulBytes) {
  EXPECT_EQ(errorOf("{}\0"sv).getMessage(),
            "not valid JSON: a NUL byte at offset 2");
  EXPECT_EQ(errorOf("{}\0{\"a\""sv).getMessage(),
            "not valid JSON: a NUL byte at offset 2");
  // As an escape it is a character of a string like others.
  EXPECT_EQ(*parseJson(R"("\u0000")"), json(std::string(1, '\0')));
}

TEST(JsonTest, BoundsDepth) {
  EXPECT_TRUE(parseJson(nest(32)));
  EXPECT_EQ(errorOf(nest(33)).getCode(), StatusCode::Unsupported);
  EXPECT_EQ(errorOf(std::string(1'000'000, '[')).getMessage(),
            "JSON nested deeper than 32");
  EXPECT_EQ(errorOf(R"({"a": {"b": {}}})", {.maxDepth = 2}).getMessage(),
            "JSON nested deeper than 2");
  EXPECT_TRUE(parseJson(nest(200), {.maxDepth = 200}));
}

TEST(JsonTest, BoundsNumberOfValues) {
  EXPECT_TRUE(parseJson(R"([1, {"a": 2}])", {.maxValues = 4}));
  Status error = errorOf(R"([1, {"a": 2}])", {.maxValues = 3});
  EXPECT_EQ(error.getCode(), StatusCode::Unsupported);
  EXPECT_EQ(error.getMessage(), "JSON of more than 3 values");
  EXPECT_EQ(errorOf("[[], []]", {.maxValues = 2}).getMessage(),
            "JSON of more than 2 values");
}

} // namespace
