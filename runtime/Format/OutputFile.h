//===- OutputFile.h - A file that appears whole or not at all -------------===//

#ifndef WEFT_RUNTIME_FORMAT_OUTPUTFILE_H
#define WEFT_RUNTIME_FORMAT_OUTPUTFILE_H

#include "runtime/Format/MappedFile.h"
#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::rt {

/// A file of known size that has no name, or a temporary one in the target's
/// folder, until commit(). Without commit nothing stays: the operating system
/// drops a file without a name even if the process is killed.
class OutputFile {
public:
  /// Whether to work without a name where the file system can, or never.
  enum class Naming { Late, Temporary };

  /// Reserves `size` bytes (zeros). A symbolic link at the end of `path` stays
  /// and what it points to is written, as with other programs. Errors: Io, with
  /// the sizes when the disk or the process's file size limit is too small.
  static Result<OutputFile> create(const std::string &path, uint64_t size,
                                   Naming naming = Naming::Late);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  /// Writes at a position. Threads may write different ranges.
  Status write(uint64_t offset, std::span<const std::byte> bytes) const;

  /// The bytes so far, for reading before commit().
  Result<MappedFile> map() const;

  /// Puts the bytes on the disk.
  Status sync() const;

  /// Gives the file its name, replacing an older file.
  Status commit();

private:
  OutputFile() = default;

  std::string getDescriptorPath() const;
  bool openWithoutName();
  /// Finds a free temporary name with `use`, which returns false and sets errno
  /// to EEXIST for a name that is taken.
  template <typename Use> bool takeTemporaryName(Use use);
  Status getError(const std::string &what) const;
  Status reserve(uint64_t size) const;

  std::string path;
  std::string temporary; ///< Name of the file so far; empty: it has none.
  int descriptor = -1;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_OUTPUTFILE_H
