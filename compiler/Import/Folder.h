//===- Folder.h - Files of one folder and nothing else --------------------===//
//
// A checkpoint names its own files (the index of a sharded checkpoint does),
// so names are foreign input. A Folder opens files below one folder and
// refuses names and links that leave it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_FOLDER_H
#define WEFT_COMPILER_IMPORT_FOLDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// A file mapped read-only. Reading the bytes of a file that another process
/// shortens meanwhile is an access violation, as with any mapping.
class MappedFile {
public:
  MappedFile(const uint8_t *data, size_t size) : data(data), size(size) {}
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  llvm::ArrayRef<uint8_t> getBytes() const { return {data, size}; }

private:
  const uint8_t *data;
  size_t size;
};

class Folder {
public:
  /// Opens the folder. Symbolic links inside it are refused unless
  /// `followLinks`; the path of the folder itself may contain links.
  static llvm::Expected<Folder> open(llvm::StringRef path,
                                     bool followLinks = false);
  Folder(Folder &&other);
  Folder &operator=(Folder &&) = delete;
  ~Folder();

  llvm::StringRef getPath() const { return path; }

  /// Names of the entries directly in the folder, sorted, without "." and "..".
  std::vector<std::string> list() const;

  /// Whether an entry with this name exists, even if it cannot be opened.
  bool exists(llvm::StringRef name) const;

  /// Maps a regular file, given by its path relative to the folder with '/'
  /// between the parts. With `singleLink` a file with several names (hard
  /// links) is refused, too, unless the folder follows links. An error says
  /// what was found and what to do.
  llvm::Expected<std::unique_ptr<MappedFile>>
  map(llvm::StringRef name, bool singleLink = false) const;

  /// The content of a regular file of at most `maxBytes` bytes.
  llvm::Expected<std::string> readText(llvm::StringRef name,
                                       size_t maxBytes) const;

private:
  Folder(std::string path, int descriptor, bool followLinks)
      : path(std::move(path)), descriptor(descriptor),
        followLinks(followLinks) {}

  /// A descriptor of the file and its size.
  llvm::Expected<std::pair<int, size_t>> openFile(llvm::StringRef name,
                                                  bool singleLink) const;

  std::string path;
  int descriptor;
  bool followLinks;
};

/// Why a relative path is not acceptable as the name of a file in a folder;
/// empty if it is. Looks only at the text.
std::string checkRelativePath(llvm::StringRef name);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_FOLDER_H
