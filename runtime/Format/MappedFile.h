//===- MappedFile.h - A file mapped read-only -----------------------------===//
//
// The bytes stay valid as long as the object lives. The file must not be
// truncated meanwhile: the operating system would end the process with SIGBUS.
// Replacing it by rename, as the artifact writer does, is safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_MAPPEDFILE_H
#define WEFT_RUNTIME_FORMAT_MAPPEDFILE_H

#include "runtime/Format/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft::rt {

class MappedFile {
public:
  /// Maps a regular file. Errors (NotFound, Io) name the path.
  static Result<MappedFile> open(const std::string &path);

  /// Maps `relative` below the folder `folder`. Refuses a path that
  /// checkRelativePath refuses and any symbolic link on the way, so that the
  /// file cannot lie outside the folder.
  static Result<MappedFile> openBeneath(const std::string &folder,
                                        const std::string &relative);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  /// Page aligned; empty for an empty file.
  std::span<const std::byte> getBytes() const { return bytes; }
  const std::string &getPath() const { return path; }

private:
  static Result<MappedFile> mapDescriptor(int descriptor, std::string path);

  std::span<const std::byte> bytes;
  std::string path;
};

/// Checks that a path of an artifact names something below the artifact's
/// folder by its text alone: relative, without "..", ".", empty components,
/// backslashes or NUL.
Status checkRelativePath(std::string_view path);

/// The folder of a path: "." for a plain name.
std::string getFolder(const std::string &path);

/// The path behind symbolic links at its end, the last of which may point to
/// nothing yet; the path itself if it is no link. Errors: Io for links that go
/// in a circle.
Result<std::string> followLinks(const std::string &path);

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_MAPPEDFILE_H
