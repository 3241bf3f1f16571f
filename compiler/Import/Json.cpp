//===- Json.cpp - Strict reading of JSON from foreign files ---------------===//

#include "compiler/Import/Json.h"

#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <vector>

using namespace llvm;

namespace weft {

namespace {

/// Builds the value from the parser's events. An event handler that returns
/// false stops the parser; `error` then says why.
class Builder : public nlohmann::json_sax<nlohmann::json> {
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
  bool binary(binary_t &) override { return fail("binary value"); }

  bool start_object(std::size_t) override { return open(/*isObject=*/true); }
  bool start_array(std::size_t) override { return open(/*isObject=*/false); }
  bool key(string_t &key) override {
    Frame &frame = stack.back();
    frame.key = std::move(key);
    if (frame.object.find(frame.key) != frame.object.end())
      return fail("key '" + frame.key + "' stands twice in one object");
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::detail::exception &exception) override {
    // The part before "] " is the library's own error number.
    StringRef what = exception.what();
    return fail(what.substr(what.find("] ") + 2).str());
  }

  std::string error;
  json::Value result = nullptr;

private:
  struct Frame {
    bool isObject;
    json::Object object;
    json::Array array;
    std::string key;
  };

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  bool add(json::Value value) {
    if (++valueCount > limits.maxValues)
      return fail("more than " + std::to_string(limits.maxValues) + " values");
    if (stack.empty())
      result = std::move(value);
    else if (stack.back().isObject)
      stack.back().object[std::move(stack.back().key)] = std::move(value);
    else
      stack.back().array.push_back(std::move(value));
    return true;
  }

  bool open(bool isObject) {
    if (stack.size() >= limits.maxDepth)
      return fail("nested deeper than " + std::to_string(limits.maxDepth));
    stack.push_back({isObject, {}, {}, {}});
    return true;
  }

  bool close() {
    Frame frame = std::move(stack.back());
    stack.pop_back();
    return frame.isObject ? add(std::move(frame.object))
                          : add(std::move(frame.array));
  }

  const JsonLimits &limits;
  std::vector<Frame> stack;
  size_t valueCount = 0;
};

} // namespace

Expected<json::Value> parseJson(StringRef text, const JsonLimits &limits) {
  // The parser takes a NUL byte for the end, whatever follows.
  if (size_t place = text.find('\0'); place != StringRef::npos)
    return createStringError("a NUL byte at offset %zu", place);
  Builder builder(limits);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return createStringError(inconvertibleErrorCode(), builder.error);
  return std::move(builder.result);
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
