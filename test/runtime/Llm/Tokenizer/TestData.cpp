//===- TestData.cpp - Vocabularies and vectors of the tokenizer tests -----===//

#include "test/runtime/Llm/Tokenizer/TestData.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::rt::test {

namespace {

std::optional<std::string> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string decompress(const std::string &packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_stream_decoder(&stream, UINT64_MAX, 0), LZMA_OK);
  std::string text;
  std::vector<uint8_t> buffer(1 << 20);
  stream.next_in = reinterpret_cast<const uint8_t *>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK) {
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    result = lzma_code(&stream, LZMA_FINISH);
    text.append(reinterpret_cast<char *>(buffer.data()),
                buffer.size() - stream.avail_out);
  }
  EXPECT_EQ(result, LZMA_STREAM_END);
  lzma_end(&stream);
  return text;
}

std::vector<Tokenizer::File>
viewsOf(const std::vector<std::pair<std::string, std::string>> &files) {
  std::vector<Tokenizer::File> views;
  for (const auto &[name, content] : files)
    views.push_back(
        {name,
         {reinterpret_cast<const uint8_t *>(content.data()), content.size()}});
  return views;
}

} // namespace

/// Folders that are looked through, in this order.
static std::vector<std::string> listFolders() {
  std::vector<std::string> folders = {std::string(WEFT_SOURCE_DIR) +
                                      "/test/runtime/Llm/Tokenizer/data/"};
  if (const char *extra = std::getenv("WEFT_TEST_DATA"))
    folders.push_back(std::string(extra) + "/tokenizers/");
  return folders;
}

bool hasData(const std::string &path) {
  for (const std::string &folder : listFolders())
    if (std::filesystem::exists(folder + path) ||
        std::filesystem::exists(folder + path + ".xz"))
      return true;
  return false;
}

std::optional<std::string> findData(const std::string &path) {
  for (const std::string &folder : listFolders()) {
    if (auto text = readFile(folder + path))
      return text;
    if (auto packed = readFile(folder + path + ".xz"))
      return decompress(*packed);
  }
  return std::nullopt;
}

std::string readRepositoryFile(const std::string &path) {
  auto text = readFile(std::string(WEFT_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text) << path;
  return text.value_or("");
}

std::unique_ptr<Tokenizer>
loadTokenizer(const std::vector<std::pair<std::string, std::string>> &files) {
  auto views = viewsOf(files);
  auto tokenizer = Tokenizer::fromFiles(views);
  if (tokenizer)
    return tokenizer.take();
  ADD_FAILURE() << tokenizer.getStatus().getMessage();
  return nullptr;
}

Status
loadError(const std::vector<std::pair<std::string, std::string>> &files) {
  auto views = viewsOf(files);
  auto tokenizer = Tokenizer::fromFiles(views);
  EXPECT_FALSE(tokenizer) << "an error was expected";
  return tokenizer ? Status() : tokenizer.getStatus();
}

std::vector<int32_t> parseIds(const std::string &line) {
  std::vector<int32_t> ids;
  bool inNumber = false;
  for (char c : line) {
    bool digit = c >= '0' && c <= '9';
    if (digit && !inNumber)
      ids.push_back(0);
    if (digit)
      ids.back() = ids.back() * 10 + (c - '0');
    inNumber = digit;
  }
  return ids;
}

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

} // namespace weft::rt::test
