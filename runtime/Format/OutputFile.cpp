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

namespace {

Status getError(const std::string &what, const std::string &path, int error) {
  return Status::io("cannot " + what + " '" + path +
                    "': " + std::strerror(error));
}

/// Reserves the space now, so that a full disk is found before the work and
/// not after it.
Status reserve(int descriptor, const std::string &path, uint64_t size) {
  // Writing beyond the limit would raise SIGXFSZ, which ends the process and
  // leaves the temporary file.
  struct rlimit limit;
  if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
      size > limit.rlim_cur)
    return Status::io("cannot write '" + path + "': it needs " +
                      std::to_string(size) +
                      " bytes, the file size limit of this process is " +
                      std::to_string(limit.rlim_cur));
  if (!size || !fallocate(descriptor, 0, 0, size))
    return Status::ok();
  if (errno == ENOSPC || errno == EDQUOT) {
    const int error = errno;
    struct statvfs info;
    std::string available;
    if (!fstatvfs(descriptor, &info))
      available = ", " +
                  std::to_string(uint64_t{info.f_bavail} * info.f_frsize) +
                  " are free";
    return Status::io("cannot write '" + path + "': it needs " +
                      std::to_string(size) + " bytes" + available + " (" +
                      std::strerror(error) + ")");
  }
  // Not every file system can reserve.
  if (!ftruncate(descriptor, size))
    return Status::ok();
  return getError("reserve space for", path, errno);
}

} // namespace

Result<OutputFile> OutputFile::create(const std::string &path, uint64_t size) {
  // A rename would replace a device or pipe of that name.
  struct stat info;
  if (!stat(path.c_str(), &info) && !S_ISREG(info.st_mode))
    return Status::io("cannot write '" + path + "': it is " +
                      (S_ISDIR(info.st_mode) ? "a folder" : "no regular file"));
  OutputFile file;
  file.path = path;
  constexpr int maxTries = 100;
  for (int i = 0; i < maxTries && file.descriptor < 0; ++i) {
    file.temporary =
        path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(i);
    file.descriptor = open(file.temporary.c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor < 0 && errno != EEXIST)
      break;
  }
  if (file.descriptor < 0)
    return getError("write", path, errno);
  if (Status status = reserve(file.descriptor, path, size); !status)
    return status;
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
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
      return getError("write", path, errno);
    }
    offset += written;
    bytes = bytes.subspan(written);
  }
  return Status::ok();
}

Status OutputFile::sync() const {
  return fsync(descriptor) ? getError("sync", path, errno) : Status::ok();
}

Status OutputFile::commit() {
  // Network file systems report a failed write as late as here.
  if (close(std::exchange(descriptor, -1))) {
    const int error = errno;
    unlink(temporary.c_str());
    return getError("write", path, error);
  }
  if (rename(temporary.c_str(), path.c_str())) {
    const int error = errno;
    unlink(temporary.c_str());
    return getError("write", path, error);
  }
  return Status::ok();
}
