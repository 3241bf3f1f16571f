//===- Reader.h - Opens .weft artifacts -----------------------------------===//
//
// Opening maps the file and validates everything that the runtime relies on
// before anything is used; it does not read the parameters. Nothing in the file
// is trusted: each size is checked against what is there before memory is
// allocated for it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_READER_H
#define WEFT_RUNTIME_FORMAT_READER_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::rt {

/// One row of the section table, for tools.
struct SectionInfo {
  std::string tag; ///< Four characters: "META".
  bool required = false;
  uint64_t offset = 0, size = 0, alignment = 1, hash = 0;
};

/// An open artifact. Immutable, so all methods may be called from any thread.
class Artifact {
public:
  /// Opens a file. Errors: NotFound and Io from the operating system; Corrupt
  /// for a file that is no artifact or contradicts itself; Unsupported for a
  /// newer format version or an unknown required section.
  static Result<std::unique_ptr<Artifact>> open(const std::string &path);

  /// Opens an artifact in memory that the caller keeps alive and that starts
  /// at a multiple of 64 bytes. It may not have external files.
  static Result<std::unique_ptr<Artifact>>
  openMemory(std::span<const std::byte> bytes);

  virtual ~Artifact() = default;

  virtual const Plan &getPlan() const = 0;

  /// The stored bytes of a parameter, 64-byte aligned (4096 for parameters of
  /// 64 KiB and more when opened from a file). Valid while the artifact lives.
  /// Empty for a parameter of generated values.
  virtual std::span<const std::byte> getParamData(size_t index) const = 0;

  /// Reads all parameters and compares them with their checksums.
  virtual Status verifyData() const = 0;

  virtual std::span<const SectionInfo> getSections() const = 0;
  virtual uint64_t getFileSize() const = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_READER_H
