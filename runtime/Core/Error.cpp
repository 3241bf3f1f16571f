//===- Error.cpp - The last error of a thread -----------------------------===//

#include "runtime/Core/Handles.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace weft::rt;

namespace {

/// A buffer of fixed size: keeping the message of a failed allocation must not
/// allocate.
struct LastError {
  char text[2048] = "";
};

/// The interface promises the error of the calling thread, so this is the one
/// place that keeps something per thread.
LastError &getLastError() {
  thread_local LastError error;
  return error;
}

} // namespace

weft_status weft::rt::report(const Status &status) noexcept {
  if (status.isOk())
    return WEFT_OK;
  LastError &error = getLastError();
  const std::string &message = status.getMessage();
  size_t length = std::min(message.size(), sizeof(error.text) - 1);
  std::memcpy(error.text, message.data(), length);
  error.text[length] = '\0';
  return static_cast<weft_status>(status.getCode());
}

weft_status weft::rt::reportException() noexcept {
  LastError &error = getLastError();
  try {
    throw;
  } catch (const std::bad_alloc &) {
    std::strcpy(error.text, "out of memory for a small allocation of the "
                            "library itself");
    return WEFT_OUT_OF_MEMORY;
  } catch (const std::exception &exception) {
    std::strncpy(error.text, exception.what(), sizeof(error.text) - 1);
  } catch (...) {
    std::strcpy(error.text, "an unknown exception; this is a bug in Weft");
  }
  return WEFT_INTERNAL;
}

const char *weft_last_error(void) { return getLastError().text; }

#define WEFT_TEXT_OF(number) #number
#define WEFT_TEXT(number) WEFT_TEXT_OF(number)

const char *weft_version(void) {
  return WEFT_TEXT(WEFT_VERSION_MAJOR) "." WEFT_TEXT(
      WEFT_VERSION_MINOR) "." WEFT_TEXT(WEFT_VERSION_PATCH);
}
