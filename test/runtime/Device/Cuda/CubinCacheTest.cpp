//===- CubinCacheTest.cpp -------------------------------------------------===//

#include "runtime/Device/Cuda/CubinCache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

using namespace weft::rt;
using cuda::CubinCache;

namespace {

class CubinCacheTest : public testing::Test {
protected:
  CubinCacheTest() {
    std::string name =
        (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (!mkdtemp(name.data()))
      std::abort();
    folder = name;
  }
  ~CubinCacheTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  std::filesystem::path folder;
};

const std::vector<std::string> options = {"--fmad=true"};

TEST_F(CubinCacheTest, FindsWhatWasStored) {
  const CubinCache cache((folder / "a" / "b").string());
  const auto key = CubinCache::makeKey("source", options, "13.0");
  EXPECT_FALSE(cache.find(key));
  const std::vector<uint8_t> cubin = {1, 2, 3, 0, 255};
  cache.store(key, cubin);
  auto found = cache.find(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, Bytes(cubin));
  // Everything that matters is in the key.
  const std::vector<std::string> other = {"--fmad=false"};
  EXPECT_FALSE(cache.find(CubinCache::makeKey("source2", options, "13.0")));
  EXPECT_FALSE(cache.find(CubinCache::makeKey("source", other, "13.0")));
  EXPECT_FALSE(cache.find(CubinCache::makeKey("source", {}, "13.0")));
  EXPECT_FALSE(cache.find(CubinCache::makeKey("source", options, "13.1")));
}

TEST_F(CubinCacheTest, DamagedFilesAreNotFound) {
  const CubinCache cache(folder.string());
  const auto key = CubinCache::makeKey("source", options, "13.0");
  const std::vector<uint8_t> cubin(100, 7);
  cache.store(key, cubin);
  const auto path = std::filesystem::directory_iterator(folder)->path();
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  ASSERT_EQ(whole.size(), 164u);
  auto isFoundWith = [&](const std::string &content) {
    std::ofstream(path, std::ios::binary) << content;
    return cache.find(key).has_value();
  };
  EXPECT_TRUE(isFoundWith(whole));
  for (size_t size : {0, 1, 63, 64, 163})
    EXPECT_FALSE(isFoundWith(whole.substr(0, size))) << size;
  EXPECT_FALSE(isFoundWith(whole + "x"));
  // Each byte but those of the padding counts.
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i >= 40 && i < 64)
      continue;
    std::string changed = whole;
    changed[i] ^= 0x10;
    EXPECT_FALSE(isFoundWith(changed)) << i;
  }
}

TEST_F(CubinCacheTest, FolderThatCannotBeIsNoError) {
  const auto key = CubinCache::makeKey("source", options, "13.0");
  for (const char *name : {"", "/proc/no/such/folder"}) {
    const CubinCache cache(name);
    cache.store(key, std::vector<uint8_t>{1});
    EXPECT_FALSE(cache.find(key));
  }
}

} // namespace
