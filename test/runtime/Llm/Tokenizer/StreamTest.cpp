//===- StreamTest.cpp - Streaming text and stop strings -------------------===//

#include "runtime/Llm/Tokenizer/StopMatcher.h"
#include "runtime/Llm/Tokenizer/StreamDecoder.h"
#include "runtime/Llm/Tokenizer/Unicode.h"
#include "test/runtime/Llm/Tokenizer/TestData.h"

#include <gtest/gtest.h>

#include <random>

using namespace weft::rt;
using namespace weft::rt::test;

namespace {

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

/// Byte-level, with a token for each byte.
std::unique_ptr<Tokenizer> shakespeare() {
  auto file = findData("shakespeare/tokenizer.json");
  EXPECT_TRUE(file);
  return file ? loadTokenizer({{"tokenizer.json", *file}}) : nullptr;
}

/// SentencePiece style, with byte fallback.
std::unique_ptr<Tokenizer> stories() {
  return loadTokenizer(
      {{"tokenizer.json",
        readRepositoryFile("models/stories260k/tokenizer.json")}});
}

Ids bytesAsIds(const Tokenizer &tokenizer, const std::string &bytes) {
  Ids ids;
  for (char b : bytes) {
    std::string token;
    appendChar(token, byteToAlphabet(static_cast<uint8_t>(b)));
    auto id = tokenizer.tokenToId(token);
    // The vocabulary of the model with byte fallback names bytes.
    ids.push_back(id ? *id : 0);
  }
  return ids;
}

Strings stream(const Tokenizer &tokenizer, const Ids &ids) {
  StreamDecoder decoder(tokenizer);
  Strings parts;
  for (int32_t id : ids) {
    auto part = decoder.push(id);
    EXPECT_TRUE(part);
    parts.push_back(part ? *part : "");
  }
  parts.push_back(decoder.finish());
  return parts;
}

TEST(StreamDecoderTest, A27_CharactersComeOutWhole) {
  auto byteLevel = shakespeare(), fallback = stories();
  ASSERT_TRUE(byteLevel && fallback);
  struct Case {
    std::string bytes;
    Strings parts;
  };
  const Case cases[] = {
      {"\xc4\x8f", {"", "\xc4\x8f", ""}},
      {"\xf0\x9f\x98\x84", {"", "", "", "\xf0\x9f\x98\x84", ""}},
      {"\xe2\x82", {"", "", "\xef\xbf\xbd"}},
      {"\xff", {"\xef\xbf\xbd", ""}},
      // A cut character before a whole one.
      {"\xe2\x82Z", {"", "", "\xef\xbf\xbdZ", ""}},
  };
  for (const Case &test : cases) {
    EXPECT_EQ(stream(*byteLevel, bytesAsIds(*byteLevel, test.bytes)),
              test.parts);
    Ids ids;
    for (char b : test.bytes)
      ids.push_back(b == 'Z' ? *fallback->tokenToId("Z")
                             : 3 + static_cast<uint8_t>(b));
    EXPECT_EQ(stream(*fallback, ids), test.parts);
  }
}

TEST(StreamDecoderTest, A27_StreamsEqualOneShotDecoding) {
  const unsigned seed = 20240527;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const auto &tokenizer : {shakespeare(), stories()}) {
    ASSERT_TRUE(tokenizer);
    for (int round = 0; round < 300; ++round) {
      Ids ids;
      for (unsigned i = random() % 40; i > 0; --i)
        // Every other token from the ids of bytes and control tokens.
        ids.push_back(static_cast<int32_t>(random() % (i % 2 ? 260 : 512)));
      std::string text;
      for (const std::string &part : stream(*tokenizer, ids)) {
        EXPECT_FALSE(findInvalidUtf8(part));
        text += part;
      }
      auto whole = tokenizer->decode(ids);
      ASSERT_TRUE(whole);
      EXPECT_EQ(text, *whole);
    }
  }
}

TEST(StreamDecoderTest, ContinuesThePromptWithItsSpaces) {
  auto tokenizer = stories();
  ASSERT_TRUE(tokenizer);
  Ids prompt = *tokenizer->encode("Once upon");
  Ids more = {*tokenizer->tokenToId("▁a"), *tokenizer->tokenToId("▁time")};
  StreamDecoder decoder(*tokenizer);
  ASSERT_TRUE(decoder.skip(prompt));
  EXPECT_EQ(*decoder.push(more[0]), " a");
  EXPECT_EQ(*decoder.push(more[1]), " time");
  EXPECT_EQ(decoder.finish(), "");
  // As new: the space of the first word is the tokenizer's.
  EXPECT_EQ(*decoder.push(more[0]), "a");
  EXPECT_FALSE(decoder.push(512));
  EXPECT_EQ(*decoder.push(more[1]), " time");
}

TEST(StreamDecoderTest, SpecialTokensAreSkippedOnRequest) {
  auto tokenizer = stories();
  ASSERT_TRUE(tokenizer);
  Ids ids = *tokenizer->encode("Hi<s>");
  EXPECT_EQ(*tokenizer->decode(ids), "Hi");
  EXPECT_EQ(*tokenizer->decode(ids, {false}), "<s> Hi<s>");
}

TEST(Utf8AssemblerTest, ReplacesMaximalSubparts) {
  // Unicode 15, section 3.9, table 3-8 and the text around it.
  const std::pair<std::string, int> cases[] = {
      {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 8},
      {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 8},
      {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 7},
      {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 4}};
  for (const auto &[bytes, replacements] : cases) {
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      Utf8Assembler assembler;
      std::string text;
      assembler.push(bytes.substr(0, cut), text);
      assembler.push(bytes.substr(cut), text);
      assembler.finish(text);
      int count = 0;
      for (size_t at = 0; (at = text.find("\xef\xbf\xbd", at)) != text.npos;
           at += 3)
        ++count;
      EXPECT_EQ(count, replacements) << cut;
      EXPECT_FALSE(findInvalidUtf8(text));
    }
  }
}

/// What a matcher does with parts of a text.
struct Stopped {
  std::string text;
  std::optional<size_t> stop;
  bool operator==(const Stopped &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Stopped &s) {
  return out << '"' << s.text << "\" " << (s.stop ? int(*s.stop) : -1);
}

Stopped run(const Strings &stops, const Strings &parts) {
  StopMatcher matcher(stops);
  Stopped result;
  for (const std::string &part : parts) {
    result.stop = matcher.push(part, result.text);
    if (result.stop)
      return result;
  }
  matcher.finish(result.text);
  return result;
}

TEST(StopMatcherTest, A28_StopsSpanTokens) {
  Strings parts = {"AB", "CD", "EF", "G"};
  EXPECT_EQ(run({"CDEFG"}, parts), (Stopped{"AB", 0}));
  EXPECT_EQ(run({"BC"}, parts), (Stopped{"A", 0}));
  EXPECT_EQ(run({"XCD"}, parts), (Stopped{"ABCDEFG", std::nullopt}));
  EXPECT_EQ(run({"DEX", "CDEG"}, parts), (Stopped{"ABCDEFG", std::nullopt}));
  EXPECT_EQ(run({"aab"}, {"aaab"}), (Stopped{"a", 0}));
  EXPECT_EQ(run({"aab"}, {"a", "a", "a", "b"}), (Stopped{"a", 0}));
  // One is a prefix of the other, or inside of it: what ends first wins.
  EXPECT_EQ(run({"stop!", "stop"}, {"go st", "op!"}), (Stopped{"go ", 1}));
  EXPECT_EQ(run({"ABCDEFG", "CD"}, parts), (Stopped{"AB", 1}));
  // Both end at the same byte: the longer one.
  EXPECT_EQ(run({"D", "BCD"}, parts), (Stopped{"A", 1}));
  EXPECT_EQ(run({""}, parts), (Stopped{"ABCDEFG", std::nullopt}));
  EXPECT_EQ(run({}, parts), (Stopped{"ABCDEFG", std::nullopt}));
}

TEST(StopMatcherTest, A28_NothingLeaksAndNearMissesAreReleased) {
  StopMatcher matcher({"CDEFG"});
  std::string out;
  EXPECT_FALSE(matcher.push("AB", out));
  EXPECT_EQ(out, "AB");
  EXPECT_FALSE(matcher.push("CD", out));
  EXPECT_EQ(out, "AB"); // may become the stop
  EXPECT_FALSE(matcher.push("EX", out));
  EXPECT_EQ(out, "ABCDEX");
  EXPECT_FALSE(matcher.push("CDEF", out));
  EXPECT_EQ(out, "ABCDEX");
  EXPECT_TRUE(matcher.push("GH", out));
  EXPECT_TRUE(matcher.push("more", out));
  matcher.finish(out);
  EXPECT_EQ(out, "ABCDEX");
}

/// The same by trying every position.
Stopped naive(const Strings &stops, const std::string &text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<size_t> best;
    for (size_t i = 0; i < stops.size(); ++i)
      if (!stops[i].empty() && stops[i].size() <= end &&
          text.compare(end - stops[i].size(), stops[i].size(), stops[i]) == 0 &&
          (!best || stops[i].size() > stops[*best].size()))
        best = i;
    if (best)
      return {text.substr(0, end - stops[*best].size()), best};
  }
  return {text, std::nullopt};
}

TEST(StopMatcherTest, A28_EqualsTryingEveryPosition) {
  const unsigned seed = 7;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto word = [&](unsigned longest) {
    std::string text;
    for (unsigned i = random() % (longest + 1); i > 0; --i)
      text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    Strings stops, parts;
    for (unsigned i = random() % 4; i > 0; --i)
      stops.push_back(word(6));
    std::string text;
    for (unsigned i = random() % 8; i > 0; --i)
      text += parts.emplace_back(word(5));
    EXPECT_EQ(run(stops, parts), naive(stops, text));
  }
}

} // namespace
