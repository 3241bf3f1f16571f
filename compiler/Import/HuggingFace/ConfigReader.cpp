//===- ConfigReader.cpp - Typed reading of one JSON object ----------------===//

#include "compiler/Import/HuggingFace/ConfigReader.h"

#include "compiler/Import/Json.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace llvm;

namespace weft {

/// An integer; true and false are none, 8.0 is one (Python writes it so).
static std::optional<int64_t> asInteger(const json::Value &value) {
  return value.kind() == json::Value::Number ? value.getAsInteger()
                                             : std::nullopt;
}

const json::Value *ConfigReader::get(StringRef key) {
  known.insert(key);
  read.insert(key);
  return object.get(key);
}

void ConfigReader::reject(StringRef key, const Twine &expected,
                          const Twine &advice) {
  const json::Value *value = get(key);
  report.error(where + ": " + key, value ? printJson(*value) : "no value",
               expected, advice);
}

std::optional<int64_t>
ConfigReader::getOptionalInt(StringRef key, std::optional<int64_t> absent,
                             int64_t min, int64_t max) {
  const json::Value *value = get(key);
  if (!value)
    return absent;
  if (value->kind() == json::Value::Null)
    return std::nullopt;
  std::optional<int64_t> number = asInteger(*value);
  if (number && *number >= min && *number <= max)
    return number;
  reject(key, "an integer from " + Twine(min) + " to " + Twine(max));
  return absent;
}

int64_t ConfigReader::getInt(StringRef key, int64_t absent, int64_t min,
                             int64_t max) {
  return getOptionalInt(key, absent, min, max).value_or(absent);
}

std::optional<double>
ConfigReader::getOptionalDouble(StringRef key, std::optional<double> absent) {
  const json::Value *value = get(key);
  if (!value)
    return absent;
  if (value->kind() == json::Value::Null)
    return std::nullopt;
  if (std::optional<double> number = value->getAsNumber())
    return number;
  reject(key, "a number");
  return absent;
}

bool isPositiveFloat(double value) {
  return value >= std::numeric_limits<float>::min() &&
         value <= std::numeric_limits<float>::max();
}

std::optional<double>
ConfigReader::getOptionalPositive(StringRef key, std::optional<double> absent) {
  std::optional<double> number = getOptionalDouble(key, absent);
  // A value of another type has been rejected already.
  if (number && number != absent && !isPositiveFloat(*number)) {
    reject(key, "a positive number that float32 holds");
    return absent;
  }
  return number;
}

double ConfigReader::getPositive(StringRef key, double absent) {
  return getOptionalPositive(key, absent).value_or(absent);
}

double ConfigReader::getDouble(StringRef key, double absent) {
  return getOptionalDouble(key, absent).value_or(absent);
}

bool ConfigReader::getBool(StringRef key, bool absent) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return absent;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  reject(key, "true or false");
  return absent;
}

std::string ConfigReader::getString(StringRef key, StringRef absent) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return absent.str();
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  reject(key, "a string");
  return absent.str();
}

/// The elements of a list, converted one by one; nothing if one is wrong.
template <typename T, typename Convert>
static std::optional<std::vector<T>> convertList(const json::Value &value,
                                                 Convert convert) {
  const json::Array *array = value.getAsArray();
  if (!array)
    return std::nullopt;
  std::vector<T> result;
  for (const json::Value &element : *array) {
    auto converted = convert(element);
    if (!converted)
      return std::nullopt;
    result.push_back(T(*converted));
  }
  return result;
}

std::vector<double> ConfigReader::getDoubles(StringRef key) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return {};
  auto list = convertList<double>(
      *value, [](const json::Value &element) { return element.getAsNumber(); });
  if (!list)
    reject(key, "a list of numbers");
  return list.value_or(std::vector<double>());
}

std::vector<int64_t> ConfigReader::getInts(StringRef key) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return {};
  auto list = convertList<int64_t>(*value, asInteger);
  if (!list)
    reject(key, "a list of integers");
  return list.value_or(std::vector<int64_t>());
}

std::vector<std::string> ConfigReader::getStrings(StringRef key) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return {};
  auto list = convertList<std::string>(
      *value, [](const json::Value &element) { return element.getAsString(); });
  if (!list)
    reject(key, "a list of strings");
  return list.value_or(std::vector<std::string>());
}

std::optional<std::vector<int64_t>>
ConfigReader::getIntOrInts(StringRef key, int64_t min, int64_t max) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return std::nullopt;
  auto inRange = [&](const json::Value &element) -> std::optional<int64_t> {
    std::optional<int64_t> number = asInteger(element);
    return number && *number >= min && *number <= max ? number : std::nullopt;
  };
  if (std::optional<int64_t> number = inRange(*value))
    return std::vector<int64_t>{*number};
  auto list = convertList<int64_t>(*value, inRange);
  if (!list)
    reject(key, "an integer or a list of integers from " + Twine(min) + " to " +
                    Twine(max));
  return list;
}

const json::Object *ConfigReader::getObject(StringRef key) {
  const json::Value *value = get(key);
  if (!value || value->kind() == json::Value::Null)
    return nullptr;
  const json::Object *result = value->getAsObject();
  if (!result)
    reject(key, "an object");
  return result;
}

void ConfigReader::reportUnknown(const Twine &advice) {
  // Sorted, so that the report does not depend on hashing.
  std::vector<StringRef> unknown;
  for (const auto &member : object)
    if (!known.contains(member.first))
      unknown.push_back(member.first);
  llvm::sort(unknown);
  for (StringRef key : unknown) {
    std::string value = printJson(*object.get(key));
    if (has(key))
      report.error(where + ": " + key, value, "only keys that are understood",
                   advice);
    else
      report.warning(where + ": " + key, value, "only keys that are understood",
                     "it is ignored");
  }
}

} // namespace weft
