//===- Folder.cpp - Files of one folder and nothing else ------------------===//

#include "compiler/Import/Folder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace weft {

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

MappedFile::~MappedFile() {
  if (size != 0)
    munmap(const_cast<uint8_t *>(data), size);
}

std::string checkRelativePath(StringRef name) {
  if (name.empty())
    return "an empty file name";
  if (name.contains('\0'))
    return "a file name with a NUL byte";
  if (name.starts_with("/"))
    return "an absolute path";
  SmallVector<StringRef> parts;
  name.split(parts, '/');
  if (is_contained(parts, ".."))
    return "a path with '..', which leaves the folder";
  if (is_contained(parts, "") || is_contained(parts, "."))
    return "a path with an empty part or '.'";
  return "";
}

Expected<Folder> Folder::open(StringRef path, bool followLinks) {
  std::string text = path.str();
  int descriptor = ::open(text.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return makeError("cannot open the folder '" + path +
                     "': " + sys::StrError(errno));
  return Folder(std::move(text), descriptor, followLinks);
}

Folder::Folder(Folder &&other)
    : path(std::move(other.path)), descriptor(other.descriptor),
      followLinks(other.followLinks) {
  other.descriptor = -1;
}

Folder::~Folder() {
  if (descriptor >= 0)
    close(descriptor);
}

std::vector<std::string> Folder::list() const {
  std::vector<std::string> names;
  int copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy < 0 ? nullptr : fdopendir(copy);
  if (!dir)
    return names;
  while (const dirent *entry = readdir(dir)) {
    StringRef name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(name.str());
  }
  closedir(dir);
  llvm::sort(names);
  return names;
}

bool Folder::exists(StringRef name) const {
  struct stat info;
  return checkRelativePath(name).empty() &&
         fstatat(descriptor, name.str().c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
             0;
}

Expected<std::pair<int, size_t>> Folder::openFile(StringRef name,
                                                  bool singleLink) const {
  std::string bad = checkRelativePath(name);
  if (!bad.empty())
    return makeError("'" + name + "' is " + bad +
                     "; expected the name of a file inside the folder");

  // One part at a time, so that no part is followed through a link. The
  // non-blocking flag keeps the open of a FIFO from waiting for a writer.
  SmallVector<StringRef> parts;
  name.split(parts, '/');
  int current = descriptor;
  for (auto [i, part] : llvm::enumerate(parts)) {
    bool last = i + 1 == parts.size();
    int flags = O_RDONLY | O_CLOEXEC | (followLinks ? 0 : O_NOFOLLOW) |
                (last ? O_NONBLOCK : O_DIRECTORY);
    int next = openat(current, part.str().c_str(), flags);
    int code = errno;
    struct stat info;
    bool isLink =
        next < 0 &&
        fstatat(current, part.str().c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(info.st_mode);
    if (current != descriptor)
      close(current);
    if (isLink && !followLinks)
      return makeError(
          "'" + name +
          "' is a symbolic link, which could lead out of the "
          "folder; expected a file. Copy the file into the folder or, for a "
          "folder that you trust (those of the Hugging Face cache consist of "
          "links), allow links with --follow-links");
    if (next < 0)
      return makeError("cannot open '" + name + "': " + sys::StrError(code));
    current = next;
  }

  struct stat info;
  if (fstat(current, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(current);
    return makeError("'" + name + "' is not a regular file");
  }
  if (singleLink && !followLinks && info.st_nlink > 1) {
    close(current);
    return makeError("'" + name +
                     "' is one of several names of a file (hard links), which "
                     "could lie outside of the folder; expected a file of its "
                     "own. Copy it or allow links with --follow-links");
  }
  return std::pair(current, static_cast<size_t>(info.st_size));
}

Expected<std::unique_ptr<MappedFile>> Folder::map(StringRef name,
                                                  bool singleLink) const {
  auto file = openFile(name, singleLink);
  if (!file)
    return file.takeError();
  auto [fd, size] = *file;
  llvm::scope_exit closeFile([fd = fd] { close(fd); });
  if (size == 0)
    return std::make_unique<MappedFile>(nullptr, 0);
  void *data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return makeError("cannot map the " + Twine(size) + " bytes of '" + name +
                     "': " + sys::StrError(errno));
  return std::make_unique<MappedFile>(static_cast<const uint8_t *>(data), size);
}

Expected<std::string> Folder::readText(StringRef name, size_t maxBytes) const {
  auto file = map(name);
  if (!file)
    return file.takeError();
  ArrayRef<uint8_t> bytes = (*file)->getBytes();
  if (bytes.size() > maxBytes)
    return makeError("'" + name + "' has " + Twine(bytes.size()) +
                     " bytes; expected at most " + Twine(maxBytes));
  return toStringRef(bytes).str();
}

} // namespace weft
