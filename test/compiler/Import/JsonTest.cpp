//===- JsonTest.cpp - Strict JSON and the report made of problems ---------===//

#include "compiler/Import/Json.h"
#include "test/compiler/Import/Checkpoint.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using testing::HasSubstr;

TEST(Json, ReadsNestedValues) {
  auto value = parseJson(R"({"a": [1, -2, 2.5, "x", true], "b": {"c": null}})");
  ASSERT_TRUE(bool(value));
  llvm::json::Value expected =
      llvm::json::Object{{"a", llvm::json::Array{1, -2, 2.5, "x", true}},
                         {"b", llvm::json::Object{{"c", nullptr}}}};
  EXPECT_EQ(*value, expected);
}

TEST(Json, KeepsLargeIntegers) {
  auto value = parseJson("[9223372036854775807, 18446744073709551615]");
  ASSERT_TRUE(bool(value));
  EXPECT_EQ((*value->getAsArray())[0].getAsInteger(), INT64_MAX);
  EXPECT_EQ((*value->getAsArray())[1].getAsInteger(), std::nullopt);
}

TEST(Json, RefusesWhatTheSharedReaderRefuses) {
  EXPECT_EQ(llvm::toString(parseJson(R"({"a": 1, "a": 1})").takeError()),
            "not valid JSON: key 'a' stands twice in one object");
}

TEST(ImportReport, TellsEverythingAsTextAndJson) {
  ImportReport report;
  report.warning("a", "1", "2", "ignored");
  EXPECT_FALSE(report.hasErrors());
  EXPECT_FALSE(bool(report.takeError()));
  report.error("b\n", "x", "y");
  report.unreadable("c", llvm::createStringError("cannot open 'c'"), "z", "go");
  EXPECT_EQ(print(report), "warning: a: found 1, expected 2; ignored\n"
                           "error: b\\x0a: found x, expected y\n"
                           "error: c: cannot open 'c'; expected z; go\n");
  EXPECT_EQ(llvm::toString(report.takeError()),
            "error: b\\x0a: found x, expected y\n"
            "error: c: cannot open 'c'; expected z; go");
  llvm::json::Value json = report.toJson();
  EXPECT_EQ(json.getAsObject()->getInteger("errors"), 2);
  const llvm::json::Array &problems = *json.getAsObject()->getArray("problems");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[1].getAsObject()->getString("found"), "x");
  EXPECT_EQ(problems[2].getAsObject()->getString("reason"), "cannot open 'c'");
}

TEST(ImportReport, StaysSmall) {
  ImportReport report;
  for (int i = 0; i < 5000; ++i)
    report.error("tensor", std::string(10'000, 'x'), "less");
  EXPECT_EQ(report.getErrorCount(), 5000u);
  EXPECT_EQ(report.getProblems().size(), ImportReport::maxProblems);
  EXPECT_LT(report.getProblems().front().found.size(), 500u);
  EXPECT_THAT(print(report), HasSubstr("and 4000 more problems"));
}
