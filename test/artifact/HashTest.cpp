//===- HashTest.cpp - XXH64 against published values ----------------------===//

#include "runtime/Format/Hash.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

using namespace weft::rt;

namespace {

uint64_t hash(const std::string &text) {
  return xxh64(std::as_bytes(std::span(text)));
}

// From the reference implementation (xxhsum -H1 of the same text).
TEST(Xxh64, KnownValues) {
  EXPECT_EQ(hash(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(hash("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(hash("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(hash("Nobody inspects the spammish repetition"),
            0xFBCEA83C8A378BF1u);
}

TEST(Xxh64, PiecesGiveTheSame) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(300);
  for (std::byte &b : bytes)
    b = static_cast<std::byte>(random());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Xxh64 state;
    for (size_t at = 0; at < size;) {
      const size_t piece = std::min<size_t>(random() % 70, size - at);
      state.update(std::span(bytes).subspan(at, piece));
      at += piece;
    }
    EXPECT_EQ(state.digest(), xxh64(std::span(bytes).first(size))) << size;
  }
}

TEST(Xxh64, EndsOfAFile) {
  constexpr size_t mib = 1 << 20;
  std::vector<std::byte> bytes(2 * mib);
  EXPECT_EQ(xxh64OfEnds(bytes), xxh64(bytes));
  bytes.resize(3 * mib);
  const uint64_t before = xxh64OfEnds(bytes);
  bytes[mib + 5] = std::byte{1};
  EXPECT_EQ(xxh64OfEnds(bytes), before) << "the middle is not read";
  bytes.back() = std::byte{1};
  EXPECT_NE(xxh64OfEnds(bytes), before);
}

} // namespace
