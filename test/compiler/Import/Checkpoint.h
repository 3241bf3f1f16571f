//===- Checkpoint.h - Making checkpoint files for tests -------------------===//

#ifndef WEFT_TEST_COMPILER_IMPORT_CHECKPOINT_H
#define WEFT_TEST_COMPILER_IMPORT_CHECKPOINT_H

#include "models/common/ImportReport.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace weft::test {

/// A safetensors file with this header and data.
inline std::string makeSafetensors(const std::string &header,
                                   const std::string &data) {
  uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

inline std::string print(const ImportReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  report.print(os);
  return text;
}

/// A new empty folder that is removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "weft-import-XXXXXX")
            .string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }

  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  const std::string &getPath() const { return path; }

  void write(const std::string &name, const std::string &content) const {
    std::filesystem::create_directories(
        std::filesystem::path(path + "/" + name).parent_path());
    std::ofstream(path + "/" + name, std::ios::binary) << content;
  }

private:
  std::string path;
};

} // namespace weft::test

#endif // WEFT_TEST_COMPILER_IMPORT_CHECKPOINT_H
