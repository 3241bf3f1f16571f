//===- JsonReader.cpp - Strict reading of JSON objects --------------------===//

#include "runtime/Llm/Tokenizer/JsonReader.h"

#include "runtime/Format/Json.h"
#include "runtime/Llm/Tokenizer/Unicode.h"

namespace weft::rt {

Result<Json> parseTokenizerJson(std::string_view text) {
  return parseJson(text, {.maxDepth = 256, .maxValues = 16'000'000});
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
