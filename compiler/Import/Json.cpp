//===- Json.cpp - JSON of foreign files as llvm::json ---------------------===//

#include "compiler/Import/Json.h"

#include "runtime/Format/Json.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft {

/// Takes the value, so that both forms exist only of what is open. The depth is
/// bounded by the reader.
static json::Value convert(nlohmann::json value) {
  switch (value.type()) {
  case nlohmann::json::value_t::object: {
    json::Object object;
    for (auto &[key, member] : value.items())
      object[key] = convert(std::move(member));
    return object;
  }
  case nlohmann::json::value_t::array: {
    json::Array array;
    array.reserve(value.size());
    for (nlohmann::json &element : value)
      array.push_back(convert(std::move(element)));
    return array;
  }
  case nlohmann::json::value_t::string:
    return std::move(value.get_ref<std::string &>());
  case nlohmann::json::value_t::boolean:
    return value.get<bool>();
  case nlohmann::json::value_t::number_integer:
    return value.get<int64_t>();
  case nlohmann::json::value_t::number_unsigned:
    return value.get<uint64_t>();
  case nlohmann::json::value_t::number_float:
    return value.get<double>();
  case nlohmann::json::value_t::null:
  case nlohmann::json::value_t::binary:    // Not of text.
  case nlohmann::json::value_t::discarded: // Not of a whole value.
    break;
  }
  return nullptr;
}

Expected<json::Value> parseJson(StringRef text) {
  rt::Result<nlohmann::json> value = rt::parseJson(text);
  if (!value)
    return createStringError(inconvertibleErrorCode(),
                             value.getStatus().getMessage());
  return convert(value.take());
}

std::string printJson(const json::Value &value) {
  constexpr size_t maxLength = 120;
  std::string text;
  raw_string_ostream(text) << value;
  if (text.size() > maxLength) {
    text.resize(maxLength);
    text += "...";
  }
  return text;
}

} // namespace weft
