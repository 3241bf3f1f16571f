//===- Writer.h - Writes .weft artifacts ----------------------------------===//
//
// The bytes are described in docs/artifact.md. Parameters are streamed, so that
// a model larger than memory can be written. Everything goes to temporary files
// in the target's folder that are renamed by finish(); if anything fails, or
// the writer is destroyed before finish(), they are removed and an older
// artifact of the same name is untouched.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_WRITER_H
#define WEFT_RUNTIME_FORMAT_WRITER_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace weft::rt {

struct WriterOptions {
  /// Put the parameters into "<name>.weights" beside "<name>.weft" instead of
  /// the artifact's DATA section.
  bool externalWeights = false;
  /// Wait until the bytes are on the disk before the files get their names.
  bool sync = false;
};

/// Where externalWeights puts the parameters of the artifact at `path`.
std::string getWeightsPath(const std::string &path);

class ArtifactWriter {
public:
  /// Verifies `plan`, decides where each parameter lies and reserves the disk
  /// space. Of the parameters, dtype and shape count; size, offset and hash are
  /// set here. A parameter with `file` != 0 lies in an existing external file
  /// of the plan: it is left as it is and is not written.
  ///
  /// Errors: what verifyPlan says; Io when the folder cannot be written or the
  /// disk is too small (with both sizes).
  static Result<std::unique_ptr<ArtifactWriter>>
  create(const std::string &path, Plan plan, WriterOptions options = {});

  virtual ~ArtifactWriter() = default;

  /// The plan as it will be read back, with parameter places.
  virtual const Plan &getPlan() const = 0;

  /// Appends bytes to a parameter. Different parameters may be written by
  /// different threads at the same time; one parameter by one thread, in order.
  virtual Status appendParam(size_t index,
                             std::span<const std::byte> bytes) = 0;

  /// Writes a whole parameter. Threads as for appendParam.
  Status writeParam(size_t index, std::span<const std::byte> bytes) {
    return appendParam(index, bytes);
  }

  /// Writes a whole parameter from `next`, which returns one chunk after the
  /// other (valid until the next call) and an empty one at the end.
  Status
  writeParam(size_t index,
             const std::function<Result<std::span<const std::byte>>()> &next);

  /// Checks that every parameter is complete, writes the other sections and
  /// gives the files their names. Call once, after all threads are done.
  virtual Status finish() = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_WRITER_H
