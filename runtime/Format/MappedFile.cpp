//===- MappedFile.cpp - A file mapped read-only ---------------------------===//

#include "runtime/Format/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::rt;

static Status getOpenError(const std::string &path) {
  const int error = errno;
  std::string message = "cannot open '" + path + "': " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR)
    return Status::notFound(std::move(message));
  return Status::io(std::move(message));
}

Result<MappedFile> MappedFile::mapDescriptor(int descriptor, std::string path) {
  struct stat info;
  if (fstat(descriptor, &info)) {
    Status status = getOpenError(path);
    close(descriptor);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    close(descriptor);
    return Status::io("'" + path + "' is " +
                      (S_ISDIR(info.st_mode) ? "a folder" : "no regular file") +
                      ", expected a file");
  }
  MappedFile file;
  if (info.st_size) {
    const size_t size = info.st_size;
    void *base = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED) {
      Status status =
          Status::io("cannot map '" + path + "' (" + std::to_string(size) +
                     " bytes): " + std::strerror(errno));
      close(descriptor);
      return status;
    }
    file.bytes = {static_cast<const std::byte *>(base), size};
  }
  close(descriptor);
  file.path = std::move(path);
  return file;
}

// O_NONBLOCK: opening a FIFO must not wait for a writer.
static constexpr int openFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

Result<MappedFile> MappedFile::open(const std::string &path) {
  const int descriptor = ::open(path.c_str(), openFlags);
  if (descriptor < 0)
    return getOpenError(path);
  return mapDescriptor(descriptor, path);
}

Result<MappedFile> MappedFile::openBeneath(const std::string &folder,
                                           const std::string &relative) {
  if (Status status = checkRelativePath(relative); !status)
    return status;
  const std::string path = folder + "/" + relative;
  int descriptor = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return getOpenError(folder);
  for (size_t begin = 0; begin < relative.size();) {
    const size_t end = std::min(relative.find('/', begin), relative.size());
    const std::string part = relative.substr(begin, end - begin);
    const bool isLast = end == relative.size();
    const int next = openat(
        descriptor, part.c_str(),
        O_NOFOLLOW | (isLast ? openFlags : O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int error = errno;
    struct stat info;
    const bool isLink =
        next < 0 &&
        !fstatat(descriptor, part.c_str(), &info, AT_SYMLINK_NOFOLLOW) &&
        S_ISLNK(info.st_mode);
    close(descriptor);
    if (isLink)
      return Status::invalid(
          "'" + path + "' goes through the symbolic link '" + part +
          "', which is refused because it may leave the folder; put the file "
          "itself there");
    if (next < 0) {
      errno = error;
      return getOpenError(path);
    }
    descriptor = next;
    begin = end + 1;
  }
  return mapDescriptor(descriptor, path);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : bytes(std::exchange(other.bytes, {})), path(std::move(other.path)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(path, other.path);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes.empty())
    munmap(const_cast<std::byte *>(bytes.data()), bytes.size());
}

Status weft::rt::checkRelativePath(std::string_view path) {
  auto refuse = [&](const char *why) {
    return Status::invalid("the path '" + std::string(path) + "' " + why +
                           "; expected a path below the folder");
  };
  if (path.empty())
    return refuse("is empty");
  if (path.find_first_of(std::string_view("\\\0", 2)) != path.npos)
    return refuse("has a backslash or a NUL");
  if (path.front() == '/')
    return refuse("is absolute");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      return refuse("has a component that is empty, '.' or '..'");
    begin = end + 1;
  }
  return Status::ok();
}

std::string weft::rt::getFolder(const std::string &path) {
  const size_t slash = path.find_last_of('/');
  if (slash == path.npos)
    return ".";
  return slash ? path.substr(0, slash) : "/";
}

Result<std::string> weft::rt::followLinks(const std::string &path) {
  constexpr int maxLinks = 40; // As Linux itself.
  std::string result = path;
  for (int i = 0; i < maxLinks; ++i) {
    std::string target(PATH_MAX, '\0');
    const ssize_t length =
        readlink(result.c_str(), target.data(), target.size());
    // Whatever else is wrong with the path is found when it is used.
    if (length <= 0)
      return result;
    target.resize(length);
    result =
        target.starts_with('/') ? target : getFolder(result) + "/" + target;
  }
  return Status::io("cannot open '" + path +
                    "': too many levels of symbolic links");
}
