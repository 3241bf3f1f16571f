//===- Json.cpp - Strict reading of JSON from foreign files ---------------===//

#include "runtime/Format/Json.h"

#include <string>
#include <vector>

namespace weft::rt {

using Json = nlohmann::json;

namespace {

/// Builds the value from the parser's events. A handler that returns false
/// stops the parser; `error` then says why.
class Builder : public Json::json_sax_t {
public:
  explicit Builder(const JsonLimits &limits) : limits(limits) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override {
    return add(value);
  }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; } // Not of text.

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &key) override {
    auto [member, isNew] =
        containers.back()->get_ref<Json::object_t &>().emplace(std::move(key),
                                                               nullptr);
    place = &member->second;
    return isNew ||
           fail(Status::corrupt("not valid JSON: key '" + member->first +
                                "' stands twice in one object"));
  }

  bool parse_error(std::size_t, const std::string &,
                   const Json::exception &exception) override {
    // The part before "] " is the library's own error number.
    std::string_view what = exception.what();
    if (size_t end = what.find("] "); end != what.npos)
      what.remove_prefix(end + 2);
    return fail(Status::corrupt("not valid JSON: " + std::string(what)));
  }

  Json result;
  Status error;

private:
  bool fail(Status status) {
    error = std::move(status);
    return false;
  }

  /// Puts the value into the array, else to the place of the last key or of the
  /// whole text, and returns where it is. Null: too many.
  Json *put(Json value) {
    if (++valueCount > limits.maxValues) {
      fail(Status::unsupported("JSON of more than " +
                               std::to_string(limits.maxValues) + " values"));
      return nullptr;
    }
    if (!containers.empty() && containers.back()->is_array()) {
      auto &array = containers.back()->get_ref<Json::array_t &>();
      array.push_back(std::move(value));
      return &array.back();
    }
    *place = std::move(value);
    return place;
  }

  bool add(Json value) { return put(std::move(value)) != nullptr; }

  bool open(Json value) {
    if (containers.size() >= limits.maxDepth)
      return fail(Status::unsupported("JSON nested deeper than " +
                                      std::to_string(limits.maxDepth)));
    Json *container = put(std::move(value));
    if (container)
      containers.push_back(container);
    return container != nullptr;
  }

  bool close() {
    containers.pop_back();
    return true;
  }

  const JsonLimits &limits;
  Json *place = &result;
  /// Those that are open. One does not move while it is: the array around it
  /// grows only after it is closed.
  std::vector<Json *> containers;
  size_t valueCount = 0;
};

} // namespace

Result<Json> parseJson(std::string_view text, const JsonLimits &limits) {
  // The parser takes a NUL byte for the end, whatever follows.
  if (size_t place = text.find('\0'); place != text.npos)
    return Status::corrupt("not valid JSON: a NUL byte at offset " +
                           std::to_string(place));
  Builder builder(limits);
  if (!Json::sax_parse(text, &builder))
    return std::move(builder.error);
  return std::move(builder.result);
}

} // namespace weft::rt
