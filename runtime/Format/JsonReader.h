//===- JsonReader.h - Typed members of JSON objects -----------------------===//
//
// The first error is kept and stops nothing, so that users need no checks in
// between. Files that must be understood whole end with `finish`: every key of
// an object is asked for, and one that nobody asked for is an error that names
// it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_JSONREADER_H
#define WEFT_RUNTIME_FORMAT_JSONREADER_H

#include "runtime/Format/Json.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

using Json = nlohmann::json;

/// The value as text for messages, shortened.
std::string describeJson(const Json &value);

/// Reads one object. The value and the status must outlive it.
class JsonReader {
public:
  /// `path` names the object in messages ("model.vocab").
  JsonReader(const Json &value, std::string path, Status &error);

  /// The member; null when it is absent or JSON null.
  const Json *get(const char *key);
  std::string pathOf(std::string_view key) const {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }
  /// Marks a member as known.
  void skip(const char *key) { used.insert(key); }

  std::optional<std::string> optString(const char *key);
  std::string string(const char *key);
  std::optional<bool> optBool(const char *key);
  bool boolean(const char *key);
  bool boolean(const char *key, bool absent) {
    return optBool(key).value_or(absent);
  }
  std::optional<int64_t> optInteger(const char *key, int64_t min, int64_t max);
  int64_t integer(const char *key, int64_t min, int64_t max);
  /// The elements of an array of integers; none when it is absent.
  std::vector<int64_t> integers(const char *key, int64_t min, int64_t max);
  std::optional<double> optNumber(const char *key);
  /// An array; empty when it is absent or something else (which is an error).
  const Json &array(const char *key);

  /// Reports a wrong value of `key`: "KEY is VALUE; EXPECTED".
  void reject(const char *key, const std::string &expected);
  void fail(Status status);
  bool ok() const { return error.isOk(); }
  /// Reports the first member that was not asked for.
  void finish();

private:
  const Json &value;
  std::string path;
  Status &error;
  std::set<std::string, std::less<>> used;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_JSONREADER_H
