//===- Status.h - How the runtime and the artifact code report errors -----===//
//
// No exceptions cross any interface of the runtime. A function that can fail
// returns a Status, or a Result<T> that holds either a value or a Status.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_STATUS_H
#define WEFT_RUNTIME_FORMAT_STATUS_H

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weft::rt {

/// What kind of failure happened. The values are part of the C API
/// (weft_status in weft.h) and never change.
enum class StatusCode : int32_t {
  Ok = 0,
  InvalidArgument = 1, ///< The caller passed something that is never valid.
  NotFound = 2,        ///< A file, entry, tensor or symbol does not exist.
  Corrupt = 3,         ///< A file's content contradicts itself.
  Unsupported = 4,     ///< Valid, but this build or machine cannot do it.
  OutOfMemory = 5,     ///< An allocation failed; the message has the sizes.
  Io = 6,              ///< The operating system refused a file operation.
  Cancelled = 7,       ///< A callback asked to stop.
  LimitExceeded = 8,   ///< Valid, but larger than the plan or session allows.
  Internal = 70,       ///< A bug in Weft.
};

/// A code and a sentence: what was found, what was expected, what to do.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code(code), message(std::move(message)) {}

  static Status ok() { return {}; }
  static Status invalid(std::string m) {
    return {StatusCode::InvalidArgument, std::move(m)};
  }
  static Status notFound(std::string m) {
    return {StatusCode::NotFound, std::move(m)};
  }
  static Status corrupt(std::string m) {
    return {StatusCode::Corrupt, std::move(m)};
  }
  static Status unsupported(std::string m) {
    return {StatusCode::Unsupported, std::move(m)};
  }
  static Status outOfMemory(std::string m) {
    return {StatusCode::OutOfMemory, std::move(m)};
  }
  static Status io(std::string m) { return {StatusCode::Io, std::move(m)}; }
  static Status limit(std::string m) {
    return {StatusCode::LimitExceeded, std::move(m)};
  }
  static Status internal(std::string m) {
    return {StatusCode::Internal, std::move(m)};
  }

  bool isOk() const { return code == StatusCode::Ok; }
  explicit operator bool() const { return isOk(); }
  StatusCode getCode() const { return code; }
  const std::string &getMessage() const { return message; }

private:
  StatusCode code = StatusCode::Ok;
  std::string message;
};

/// Either a value or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Status status) : status(std::move(status)) {
    assert(!this->status.isOk() && "a Result without a value needs an error");
  }

  bool isOk() const { return value.has_value(); }
  explicit operator bool() const { return isOk(); }
  const Status &getStatus() const { return status; }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  T take() { return std::move(*value); }

private:
  std::optional<T> value;
  Status status;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_STATUS_H
