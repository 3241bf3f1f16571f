//===- ElementTest.cpp - Every element of tokenizer.json on its own -------===//
//
// Ids and text come from the tokenizers library; make_elements.py made them.
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/StreamDecoder.h"
#include "test/runtime/Llm/Tokenizer/TestData.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace weft::rt;
using namespace weft::rt::test;
using nlohmann::json;

namespace {

/// What one text must give; see record() of make_elements.py.
struct Row {
  std::vector<int32_t> ids, plainIds;
  std::string decoded;
};

Row readRow(const json &value, const std::string &text) {
  Row row;
  row.ids = value[0].get<std::vector<int32_t>>();
  row.plainIds =
      value[1].is_null() ? row.ids : value[1].get<std::vector<int32_t>>();
  row.decoded = value[2].is_null() ? text : value[2].get<std::string>();
  return row;
}

std::string quote(const std::string &text) { return json(text).dump(); }

void checkText(const Tokenizer &tokenizer, const std::string &text,
               const Row &row) {
  SCOPED_TRACE("text " + quote(text));
  auto ids = tokenizer.encode(text);
  ASSERT_TRUE(ids) << ids.getStatus().getMessage();
  EXPECT_EQ(*ids, row.ids);
  auto plain = tokenizer.encode(text, {false, false});
  ASSERT_TRUE(plain) << plain.getStatus().getMessage();
  EXPECT_EQ(*plain, row.plainIds);
  auto decoded = tokenizer.decode(row.ids);
  ASSERT_TRUE(decoded) << decoded.getStatus().getMessage();
  EXPECT_EQ(quote(*decoded), quote(row.decoded));
  StreamDecoder stream(tokenizer);
  std::string streamed;
  for (int32_t id : row.ids) {
    auto part = stream.push(id);
    ASSERT_TRUE(part);
    streamed += *part;
  }
  EXPECT_EQ(quote(streamed + stream.finish()), quote(row.decoded));
}

TEST(ElementTest, A25_EachElementGivesTheIdsOfTheLibrary) {
  auto file = findData("elements.json");
  ASSERT_TRUE(file);
  json all = json::parse(*file);
  auto texts = all["texts"].get<std::vector<std::string>>();
  ASSERT_GT(all["cases"].size(), 200u);
  for (const json &test : all["cases"]) {
    SCOPED_TRACE(test["name"].get<std::string>());
    json whole = all["shared"];
    whole.update(test["parts"]);
    auto tokenizer = loadTokenizer({{"tokenizer.json", whole.dump()}});
    if (!tokenizer)
      continue;
    for (size_t i = 0; i < texts.size(); ++i)
      checkText(*tokenizer, texts[i], readRow(test["rows"][i], texts[i]));
  }
}

} // namespace
