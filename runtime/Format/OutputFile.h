//===- OutputFile.h - A file that appears whole or not at all -------------===//

#ifndef WEFT_RUNTIME_FORMAT_OUTPUTFILE_H
#define WEFT_RUNTIME_FORMAT_OUTPUTFILE_H

#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::rt {

/// A file of known size under a temporary name in the target's folder, until
/// commit() renames it. Without commit the destructor removes it.
class OutputFile {
public:
  /// Reserves `size` bytes (zeros). Errors: Io, with the sizes when the disk or
  /// the process's file size limit is too small.
  static Result<OutputFile> create(const std::string &path, uint64_t size);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  /// Writes at a position. Threads may write different ranges.
  Status write(uint64_t offset, std::span<const std::byte> bytes) const;

  /// Where the bytes are until commit().
  const std::string &getTemporaryPath() const { return temporary; }

  /// Puts the bytes on the disk.
  Status sync() const;

  /// Gives the file its name, replacing an older file.
  Status commit();

private:
  OutputFile() = default;

  std::string path, temporary;
  int descriptor = -1;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_OUTPUTFILE_H
