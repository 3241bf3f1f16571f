//===- KernelCacheTest.cpp - Compiled kernels on disk ---------------------===//

#include "runtime/Nvrtc/KernelCache.h"
#include "test/reference/Scratch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

using namespace weft;
using namespace weft::rt;
namespace fs = std::filesystem;

namespace {

using Arguments = std::vector<std::string>;

const CacheEntry sample{{1, 2, 3, 0, 255}, "a log\n", "some ptx"};

std::string makeKey(const std::string &source) {
  return KernelCache::makeKey(source, Arguments{"-a", "-b"}, "13.0");
}

std::vector<fs::path> listEntries(const fs::path &folder) {
  std::vector<fs::path> entries;
  for (const auto &file : fs::directory_iterator(folder))
    if (file.path().filename().string().starts_with("kernel-"))
      entries.push_back(file.path());
  return entries;
}

TEST(KernelCache, KeyDependsOnEverything) {
  std::string key = makeKey("source");
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(key, makeKey("source"));
  EXPECT_NE(key, makeKey("source "));
  EXPECT_NE(key, KernelCache::makeKey("source", Arguments{"-a", "-c"}, "13.0"));
  EXPECT_NE(key, KernelCache::makeKey("source", Arguments{"-a-b"}, "13.0"));
  EXPECT_NE(key,
            KernelCache::makeKey("source", Arguments{"-a", "-b", ""}, "13.0"));
  EXPECT_NE(key, KernelCache::makeKey("source", Arguments{"-a", "-b"}, "13.1"));
}

TEST(KernelCache, KeepsEntries) {
  reference::Scratch scratch("kernel-cache");
  KernelCache cache((scratch.path / "a" / "b").string());
  std::string key = makeKey("source");
  EXPECT_FALSE(cache.find(key, false));
  EXPECT_EQ(cache.store(key, sample), std::nullopt);
  EXPECT_EQ(cache.find(key, false), sample);
  EXPECT_EQ(cache.find(key, true), sample);
  EXPECT_FALSE(cache.find(makeKey("other"), false));

  CacheEntry withoutPtx = sample;
  withoutPtx.ptx.clear();
  EXPECT_EQ(cache.store(key, withoutPtx), std::nullopt);
  EXPECT_EQ(cache.find(key, false), withoutPtx);
  EXPECT_FALSE(cache.find(key, true)); // It has to be made again.
  cache.prune();
  EXPECT_TRUE(cache.find(key, false));
}

TEST(KernelCache, PruningKeepsWhatWasUsedLast) {
  reference::Scratch scratch("kernel-cache-prune");
  KernelCache cache(scratch.path.string());
  const uint64_t bytes = encodeCacheEntry(makeKey("0"), sample).size();
  auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(cache.store(makeKey(std::to_string(i)), sample), std::nullopt);
    fs::last_write_time(scratch.path / ("kernel-" + makeKey(std::to_string(i))),
                        now - std::chrono::hours(10 - i));
  }
  std::ofstream(scratch.path / "other") << "not of the cache";
  EXPECT_TRUE(cache.find(makeKey("0"), false)); // From now on the youngest.
  cache.prune(4 * bytes);
  EXPECT_EQ(listEntries(scratch.path).size(), 4u);
  cache.prune(2 * bytes);
  EXPECT_EQ(listEntries(scratch.path).size(), 2u);
  EXPECT_TRUE(cache.find(makeKey("0"), false));
  EXPECT_FALSE(cache.find(makeKey("1"), false));
  EXPECT_FALSE(cache.find(makeKey("2"), false));
  EXPECT_TRUE(cache.find(makeKey("3"), false));
  EXPECT_TRUE(fs::exists(scratch.path / "other"));
  KernelCache((scratch.path / "missing").string()).prune(0);
}

TEST(KernelCache, WithoutAFolderKeepsNothing) {
  KernelCache cache("");
  EXPECT_EQ(cache.store(makeKey("source"), sample), std::nullopt);
  EXPECT_FALSE(cache.find(makeKey("source"), false));
  cache.prune();
}

TEST(KernelCache, FolderThatCannotBeWritten) {
  reference::Scratch scratch("kernel-cache-file");
  fs::create_directories(scratch.path);
  std::ofstream(scratch.path / "file") << "not a folder";
  KernelCache cache((scratch.path / "file" / "kernels").string());
  auto problem = cache.store(makeKey("source"), sample);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("cannot create '"), std::string::npos) << *problem;
  EXPECT_FALSE(cache.find(makeKey("source"), false));
}

/// Whatever happens to the bytes of an entry, it is not taken for one.
TEST(KernelCache, DamagedEntries) {
  std::string key = makeKey("source");
  std::vector<uint8_t> bytes = encodeCacheEntry(key, sample);
  ASSERT_EQ(decodeCacheEntry(key, bytes), sample);
  EXPECT_FALSE(decodeCacheEntry(makeKey("other"), bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> changed = bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(decodeCacheEntry(key, changed)) << "byte " << i;
    changed.resize(i);
    EXPECT_FALSE(decodeCacheEntry(key, changed)) << i << " bytes";
  }
  bytes.push_back(0);
  EXPECT_FALSE(decodeCacheEntry(key, bytes));

  reference::Scratch scratch("kernel-cache-damaged");
  KernelCache cache(scratch.path.string());
  ASSERT_EQ(cache.store(key, sample), std::nullopt);
  std::vector<fs::path> entries = listEntries(scratch.path);
  ASSERT_EQ(entries.size(), 1u);
  fs::resize_file(entries[0], 70);
  EXPECT_FALSE(cache.find(key, false));
  EXPECT_EQ(cache.store(key, sample), std::nullopt);
  EXPECT_EQ(cache.find(key, false), sample);
}

TEST(KernelCache, ManyWriters) {
  reference::Scratch scratch("kernel-cache-writers");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      KernelCache cache(scratch.path.string());
      for (int round = 0; round < 50; ++round) {
        std::string key = makeKey(std::to_string((round + thread) % 5));
        EXPECT_EQ(cache.store(key, sample), std::nullopt);
        EXPECT_EQ(cache.find(key, true), sample);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(listEntries(scratch.path).size(), 5u);
}

TEST(KernelCache, DefaultFolder) {
  auto restore = [](const char *name) {
    const char *value = std::getenv(name);
    return std::optional<std::string>(value ? std::optional(value)
                                            : std::nullopt);
  };
  std::optional<std::string> cache = restore("XDG_CACHE_HOME");
  std::optional<std::string> home = restore("HOME");
  setenv("XDG_CACHE_HOME", "/x/cache", 1);
  EXPECT_EQ(KernelCache::getDefaultFolder(), "/x/cache/weft/kernels");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/x/me", 1);
  EXPECT_EQ(KernelCache::getDefaultFolder(), "/x/me/.cache/weft/kernels");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(KernelCache::getDefaultFolder(), "");
  for (auto [name, value] :
       {std::pair("XDG_CACHE_HOME", cache), std::pair("HOME", home)})
    if (value)
      setenv(name, value->c_str(), 1);
}

} // namespace
