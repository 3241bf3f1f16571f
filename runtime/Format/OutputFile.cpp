//===- OutputFile.cpp - A file that appears whole or not at all -----------===//

#include "runtime/Format/OutputFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace weft::rt;

static constexpr mode_t fileMode = 0666;

Status OutputFile::getError(const std::string &what) const {
  return Status::io("cannot " + what + " '" + path +
                    "': " + std::strerror(errno));
}

/// Reserves the space now, so that a full disk is found before the work and
/// not after it.
Status OutputFile::reserve(uint64_t size) const {
  const std::string needs = "cannot write '" + path + "': it needs " +
                            std::to_string(size) + " bytes, ";
  // Writing beyond the limit would raise SIGXFSZ, which ends the process.
  struct rlimit limit;
  if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
      size > limit.rlim_cur)
    return Status::io(needs + "the file size limit of this process is " +
                      std::to_string(limit.rlim_cur));
  if (!size || !fallocate(descriptor, 0, 0, size))
    return Status::ok();
  if (errno == ENOSPC || errno == EDQUOT) {
    const std::string reason = std::strerror(errno);
    struct statvfs info;
    if (fstatvfs(descriptor, &info))
      return Status::io(needs + "there are fewer: " + reason);
    return Status::io(needs +
                      std::to_string(uint64_t{info.f_bavail} * info.f_frsize) +
                      " are free: " + reason);
  }
  // Not every file system can reserve.
  return ftruncate(descriptor, size) ? getError("reserve space for")
                                     : Status::ok();
}

bool OutputFile::openWithoutName() {
  descriptor =
      open(getFolder(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, fileMode);
  if (descriptor < 0)
    return false;
  // commit() needs /proc, which may be missing in a container.
  if (!access(getDescriptorPath().c_str(), R_OK))
    return true;
  close(std::exchange(descriptor, -1));
  return false;
}

template <typename Use> bool OutputFile::takeTemporaryName(Use use) {
  constexpr int maxTries = 100;
  for (int i = 0; i < maxTries; ++i) {
    const std::string name =
        path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(i);
    if (use(name.c_str())) {
      temporary = name;
      return true;
    }
    if (errno != EEXIST)
      return false;
  }
  return false;
}

Result<OutputFile> OutputFile::create(const std::string &name, uint64_t size,
                                      Naming naming) {
  // A rename would replace a link instead of what it points to.
  Result<std::string> followed = followLinks(name);
  if (!followed)
    return followed.getStatus();
  const std::string &path = *followed;
  // A rename would replace a device or pipe of that name.
  struct stat info;
  if (!stat(path.c_str(), &info) && !S_ISREG(info.st_mode))
    return Status::io("cannot write '" + path + "': it is " +
                      (S_ISDIR(info.st_mode) ? "a folder" : "no regular file"));
  OutputFile file;
  file.path = path;
  if (naming == Naming::Temporary || !file.openWithoutName()) {
    const bool isOpen = file.takeTemporaryName([&](const char *name) {
      file.descriptor =
          open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, fileMode);
      return file.descriptor >= 0;
    });
    if (!isOpen)
      return file.getError("write");
  }
  if (Status status = file.reserve(size); !status)
    return status;
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)),
      temporary(std::exchange(other.temporary, {})),
      descriptor(std::exchange(other.descriptor, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status OutputFile::write(uint64_t offset,
                         std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return getError("write");
    }
    offset += written;
    bytes = bytes.subspan(written);
  }
  return Status::ok();
}

std::string OutputFile::getDescriptorPath() const {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

Result<MappedFile> OutputFile::map() const {
  return MappedFile::open(temporary.empty() ? getDescriptorPath() : temporary);
}

Status OutputFile::sync() const {
  return fsync(descriptor) ? getError("sync") : Status::ok();
}

Status OutputFile::commit() {
  // linkat cannot replace a file, so the way leads over a temporary name.
  if (temporary.empty()) {
    const std::string source = getDescriptorPath();
    const bool isLinked = takeTemporaryName([&](const char *name) {
      return !linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name,
                     AT_SYMLINK_FOLLOW);
    });
    if (!isLinked)
      return getError("name");
  }
  // Network file systems report a failed write as late as here.
  if (close(std::exchange(descriptor, -1)))
    return getError("write");
  if (rename(temporary.c_str(), path.c_str()))
    return getError("write");
  temporary.clear();
  return Status::ok();
}
