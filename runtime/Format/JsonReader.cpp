//===- JsonReader.cpp - Typed members of JSON objects ---------------------===//

#include "runtime/Format/JsonReader.h"

namespace weft::rt {

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

static std::optional<int64_t> toInteger(const Json &value, int64_t min,
                                        int64_t max) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
    return std::nullopt;
  auto result = value.get<int64_t>();
  if (result < min || result > max)
    return std::nullopt;
  return result;
}

static std::string expectInteger(int64_t min, int64_t max) {
  return "an integer from " + std::to_string(min) + " to " +
         std::to_string(max) + " is expected";
}

std::optional<int64_t> JsonReader::optInteger(const char *key, int64_t min,
                                              int64_t max) {
  const Json *member = get(key);
  if (!member)
    return std::nullopt;
  std::optional<int64_t> result = toInteger(*member, min, max);
  if (!result)
    reject(key, expectInteger(min, max));
  return result;
}

int64_t JsonReader::integer(const char *key, int64_t min, int64_t max) {
  auto result = optInteger(key, min, max);
  if (!result)
    reject(key, "an integer is expected");
  return result.value_or(min);
}

std::vector<int64_t> JsonReader::integers(const char *key, int64_t min,
                                          int64_t max) {
  std::vector<int64_t> result;
  for (const Json &element : array(key)) {
    std::optional<int64_t> value = toInteger(element, min, max);
    if (!value) {
      fail(Status::unsupported(
          pathOf(key) + "[" + std::to_string(result.size()) + "] is " +
          describeJson(element) + "; " + expectInteger(min, max)));
      break;
    }
    result.push_back(*value);
  }
  return result;
}

std::optional<double> JsonReader::optNumber(const char *key) {
  const Json *member = get(key);
  if (!member)
    return std::nullopt;
  if (!member->is_number()) {
    reject(key, "a number is expected");
    return std::nullopt;
  }
  return member->get<double>();
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
