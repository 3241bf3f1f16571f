//===- Scratch.h - A folder that goes away with its test ------------------===//

#ifndef WEFT_TEST_REFERENCE_SCRATCH_H
#define WEFT_TEST_REFERENCE_SCRATCH_H

#include <filesystem>
#include <string>

#include <unistd.h>

namespace weft::reference {

/// Names a folder in the system's temporary folder that no other process uses;
/// whoever writes creates it, the destructor removes it.
class Scratch {
public:
  explicit Scratch(const std::string &name)
      : path(std::filesystem::temp_directory_path() /
             ("weft-" + std::to_string(getpid()) + "-" + name)) {
    std::filesystem::remove_all(path);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  const std::filesystem::path path;
};

} // namespace weft::reference

#endif // WEFT_TEST_REFERENCE_SCRATCH_H
