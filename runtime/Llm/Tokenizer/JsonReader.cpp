//===- JsonReader.cpp - Strict reading of JSON objects --------------------===//

#include "runtime/Llm/Tokenizer/JsonReader.h"

#include "runtime/Llm/Tokenizer/Unicode.h"

#include <vector>

namespace weft::rt {

namespace {

/// Builds the value from the parser's events, as Json::parse does, which keeps
/// one of several equal keys of an object. A handler that returns false stops
/// the parser; `error` then says why.
class Builder : public Json::json_sax_t {
public:
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
    if (!isNew)
      error = "key '" + member->first + "' stands twice in one object";
    return isNew;
  }

  bool parse_error(std::size_t, const std::string &,
                   const Json::exception &exception) override {
    error = exception.what();
    return false;
  }

  Json result;
  std::string error;

private:
  /// Where the value goes: into the array, else to the place of the last key or
  /// of the whole text.
  Json *put(Json value) {
    if (!containers.empty() && containers.back()->is_array()) {
      auto &array = containers.back()->get_ref<Json::array_t &>();
      array.push_back(std::move(value));
      return &array.back();
    }
    *place = std::move(value);
    return place;
  }

  bool add(Json value) {
    put(std::move(value));
    return true;
  }

  bool open(Json value) {
    containers.push_back(put(std::move(value)));
    return true;
  }

  bool close() {
    containers.pop_back();
    return true;
  }

  Json *place = &result;
  /// Those that are open. One does not move while it is: the array around it
  /// grows only after it is closed.
  std::vector<Json *> containers;
};

} // namespace

Result<Json> parseJson(std::string_view text) {
  // The parser takes a NUL byte for the end, whatever follows.
  if (size_t place = text.find('\0'); place != text.npos)
    return Status::corrupt("not valid JSON: a NUL byte at offset " +
                           std::to_string(place));
  Builder builder;
  if (!Json::sax_parse(text, &builder))
    return Status::corrupt("not valid JSON: " + builder.error);
  return std::move(builder.result);
}

std::string describeJson(const Json &value) {
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return "an array";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t longest = 80;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

JsonReader::JsonReader(const Json &value, std::string path, Status &error)
    : value(value), path(std::move(path)), error(error) {
  if (!value.is_object())
    fail(Status::corrupt((this->path.empty() ? "the file" : this->path) +
                         " is " + describeJson(value) +
                         "; an object is expected"));
}

void JsonReader::fail(Status status) {
  if (error.isOk())
    error = std::move(status);
}

const Json *JsonReader::get(const char *key) {
  used.insert(key);
  if (!value.is_object())
    return nullptr;
  auto member = value.find(key);
  return member == value.end() || member->is_null() ? nullptr : &*member;
}

void JsonReader::reject(const char *key, const std::string &expected) {
  const Json *member = get(key);
  fail(Status::unsupported(pathOf(key) + " is " +
                           (member ? describeJson(*member) : "absent or null") +
                           "; " + expected));
}

std::optional<std::string> JsonReader::optString(const char *key) {
  const Json *member = get(key);
  if (!member)
    return std::nullopt;
  if (!member->is_string()) {
    reject(key, "a string is expected");
    return std::nullopt;
  }
  return member->get<std::string>();
}

std::string JsonReader::string(const char *key) {
  auto result = optString(key);
  if (!result)
    reject(key, "a string is expected");
  return result.value_or("");
}

std::optional<bool> JsonReader::optBool(const char *key) {
  const Json *member = get(key);
  if (!member)
    return std::nullopt;
  if (!member->is_boolean()) {
    reject(key, "true or false is expected");
    return std::nullopt;
  }
  return member->get<bool>();
}

bool JsonReader::boolean(const char *key) {
  auto result = optBool(key);
  if (!result)
    reject(key, "true or false is expected");
  return result.value_or(false);
}

std::optional<int64_t> JsonReader::optInteger(const char *key, int64_t min,
                                              int64_t max) {
  const Json *member = get(key);
  if (!member)
    return std::nullopt;
  bool fits = member->is_number_integer() &&
              !(member->is_number_unsigned() &&
                member->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  int64_t result = fits ? member->get<int64_t>() : 0;
  if (!fits || result < min || result > max) {
    reject(key, "an integer from " + std::to_string(min) + " to " +
                    std::to_string(max) + " is expected");
    return std::nullopt;
  }
  return result;
}

int64_t JsonReader::integer(const char *key, int64_t min, int64_t max) {
  auto result = optInteger(key, min, max);
  if (!result)
    reject(key, "an integer is expected");
  return result.value_or(min);
}

char32_t JsonReader::character(const char *key) {
  std::string text = string(key);
  if (text.empty() || utf8Length(text[0]) != text.size()) {
    reject(key, "one character is expected");
    return U' ';
  }
  size_t at = 0;
  return nextChar(text, at);
}

const Json &JsonReader::array(const char *key) {
  static const Json none = Json::array();
  const Json *member = get(key);
  if (!member)
    return none;
  if (!member->is_array()) {
    reject(key, "an array is expected");
    return none;
  }
  return *member;
}

void JsonReader::finish() {
  if (!value.is_object())
    return;
  for (const auto &[key, member] : value.items())
    if (!used.contains(key)) {
      fail(Status::unsupported("unknown key " + pathOf(key) + " with value " +
                               describeJson(member)));
      return;
    }
}

} // namespace weft::rt
