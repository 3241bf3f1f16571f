#include "test/reference/Checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

using namespace weft::reference;
using nlohmann::json;
namespace fs = std::filesystem;

// A header is a few hundred bytes per tensor; more than this is an attack or
// a broken file (the format's own library has the same limit).
static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

int64_t weft::reference::sizeInBytes(ElementType type) {
  return type == ElementType::F32 ? 4 : 2;
}

std::string_view weft::reference::spelling(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "F32";
  case ElementType::F16:
    return "F16";
  case ElementType::BF16:
    return "BF16";
  }
  return "";
}

float weft::reference::bfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

float weft::reference::halfToFloat(uint16_t bits) {
  float sign = bits & 0x8000 ? -1.0f : 1.0f;
  int exponent = (bits >> 10) & 31;
  int mantissa = bits & 1023;
  if (exponent == 31)
    return mantissa ? std::numeric_limits<float>::quiet_NaN()
                    : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(float(mantissa), -24);
  return sign * std::ldexp(float(mantissa + 1024), exponent - 25);
}

uint16_t weft::reference::floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t weft::reference::floatToHalf(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520.0f) // Halfway between the largest half and 2^16.
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) // Subnormal: a multiple of 2^-24.
    return sign | uint16_t(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent = std::ilogb(magnitude);
  auto scaled = uint32_t(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // Rounding up to 2048 carries into the exponent by the addition.
  return sign | uint16_t(((exponent + 14) << 10) + scaled);
}

//===----------------------------------------------------------------------===//
// The safetensors header
//===----------------------------------------------------------------------===//

// nlohmann::json keeps the last of two equal keys; a checkpoint that names a
// tensor twice must be refused, so the keys are collected while parsing.
static json parseJson(std::string_view text, const std::string &what) {
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  auto watch = [&](int, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key &&
             !keys.back().insert(value.get<std::string>()).second)
      duplicate = value.get<std::string>();
    return true;
  };
  json result;
  try {
    result = json::parse(text, watch);
  } catch (const json::exception &error) {
    throw Error(what + " is not valid JSON: " + error.what());
  }
  if (!duplicate.empty())
    throw Error(what + " has the key '" + duplicate +
                "' twice; expected every name once");
  if (!result.is_object())
    throw Error(what + " is a JSON " + result.type_name() +
                ", expected an object");
  return result;
}

static int64_t bytesOfElementType(const std::string &type) {
  static const std::map<std::string, int64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

static int64_t readCount(const json &value, const std::string &what) {
  if (!value.is_number_unsigned() ||
      value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
    throw Error(what + " is " +
                value.dump(-1, ' ', true, json::error_handler_t::replace) +
                ", expected an integer from 0 to 2^63-1");
  return int64_t(value.get<uint64_t>());
}

static TensorEntry readEntry(const std::string &name, const json &value,
                             int64_t dataBytes) {
  std::string what = "tensor '" + name + "'";
  if (!value.is_object() || !value.contains("dtype") ||
      !value["dtype"].is_string() || !value.contains("shape") ||
      !value["shape"].is_array() || !value.contains("data_offsets") ||
      !value["data_offsets"].is_array() || value["data_offsets"].size() != 2)
    throw Error(what + " needs a string 'dtype', a list 'shape' and a list "
                       "'data_offsets' of two offsets");
  TensorEntry entry;
  entry.name = name;
  entry.elementType = value["dtype"].get<std::string>();
  int64_t expected = bytesOfElementType(entry.elementType);
  if (!expected)
    throw Error(what + " has the unknown dtype '" + entry.elementType + "'");
  for (const json &dim : value["shape"]) {
    entry.shape.push_back(readCount(dim, "a dimension of " + what));
    if (__builtin_mul_overflow(expected, entry.shape.back(), &expected))
      throw Error(what + " has a shape whose size overflows 64 bits");
  }
  entry.begin = readCount(value["data_offsets"][0], "the begin of " + what);
  entry.end = readCount(value["data_offsets"][1], "the end of " + what);
  if (entry.begin > entry.end || entry.end > dataBytes)
    throw Error(what + " has the offsets [" + std::to_string(entry.begin) +
                ", " + std::to_string(entry.end) + "], but the file has " +
                std::to_string(dataBytes) + " bytes of data");
  if (entry.end - entry.begin != expected)
    throw Error(what + " has " + std::to_string(entry.end - entry.begin) +
                " bytes, but its dtype and shape need " +
                std::to_string(expected));
  return entry;
}

std::vector<TensorEntry>
weft::reference::parseSafetensorsHeader(std::span<const char> bytes,
                                        uint64_t fileSize) {
  if (bytes.size() < 8 || fileSize < 8)
    throw Error("the file has " + std::to_string(fileSize) +
                " bytes, too few for the 8-byte header length");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | uint8_t(bytes[i]);
  if (length > fileSize - 8 || length > kMaxHeaderBytes)
    throw Error("the header length is " + std::to_string(length) +
                ", but the file has " + std::to_string(fileSize) +
                " bytes (limit " + std::to_string(kMaxHeaderBytes) + ")");
  if (length > bytes.size() - 8)
    throw Error("the header is cut off");
  json header = parseJson({bytes.data() + 8, size_t(length)}, "the header");

  std::vector<TensorEntry> entries;
  for (const auto &[name, value] : header.items())
    if (name != "__metadata__")
      entries.push_back(readEntry(name, value, int64_t(fileSize - 8 - length)));

  std::vector<const TensorEntry *> byOffset;
  for (const TensorEntry &entry : entries)
    if (entry.begin != entry.end)
      byOffset.push_back(&entry);
  std::sort(byOffset.begin(), byOffset.end(),
            [](auto *a, auto *b) { return a->begin < b->begin; });
  for (size_t i = 1; i < byOffset.size(); ++i)
    if (byOffset[i]->begin < byOffset[i - 1]->end)
      throw Error("tensors '" + byOffset[i - 1]->name + "' and '" +
                  byOffset[i]->name + "' overlap in the file");
  return entries;
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

static std::string readText(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw Error("cannot open '" + file.string() + "'");
  return {std::istreambuf_iterator<char>(stream), {}};
}

void Checkpoint::addFile(const fs::path &file, const json *weightMap) {
  std::string shard = file.filename().string();
  std::ifstream stream(file, std::ios::binary);
  std::error_code error;
  uint64_t size = fs::file_size(file, error);
  if (!stream || error)
    throw Error("cannot open '" + file.string() + "'");
  // Read no more than the header: the length is checked against the size of
  // the file before it decides an allocation.
  std::vector<char> bytes(std::min<uint64_t>(size, 8));
  stream.read(bytes.data(), std::streamsize(bytes.size()));
  uint64_t length = 0;
  if (bytes.size() == 8)
    std::memcpy(&length, bytes.data(), 8);
  if (size >= 8 && length <= size - 8 && length <= kMaxHeaderBytes) {
    bytes.resize(8 + length);
    stream.read(bytes.data() + 8, std::streamsize(length));
  }
  std::vector<TensorEntry> entries;
  try {
    entries = parseSafetensorsHeader(bytes, size);
  } catch (const Error &inner) {
    throw Error(shard + ": " + inner.what());
  }
  for (TensorEntry &entry : entries) {
    if (weightMap && !weightMap->contains(entry.name))
      throw Error(shard + ": tensor '" + entry.name +
                  "' is not in model.safetensors.index.json");
    if (weightMap && weightMap->at(entry.name).get<std::string>() != shard)
      throw Error(shard + ": tensor '" + entry.name + "' belongs to '" +
                  weightMap->at(entry.name).get<std::string>() +
                  "' by model.safetensors.index.json");
    std::string name = entry.name;
    tensors[name] = {file, int64_t(8 + length), std::move(entry)};
  }
}

Checkpoint Checkpoint::open(const fs::path &folder) {
  Checkpoint result;
  result.configuration =
      parseJson(readText(folder / "config.json"), "config.json");
  fs::path index = folder / "model.safetensors.index.json";
  if (!fs::exists(index)) {
    result.addFile(folder / "model.safetensors", nullptr);
    return result;
  }
  json document = parseJson(readText(index), index.filename().string());
  if (!document.contains("weight_map") || !document["weight_map"].is_object())
    throw Error("model.safetensors.index.json has no object 'weight_map'");
  const json &weightMap = document["weight_map"];
  std::set<std::string> shards;
  for (const auto &[name, shard] : weightMap.items()) {
    if (!shard.is_string())
      throw Error("weight_map entry '" + name + "' is not a string");
    std::string file = shard.get<std::string>();
    // A plain file name: no folder, no parent, no embedded zero.
    if (file.empty() || file == "." || file == ".." ||
        file.find('/') != std::string::npos ||
        file.find('\\') != std::string::npos ||
        file.find('\0') != std::string::npos)
      throw Error("weight_map entry '" + name +
                  "' does not name a file of the checkpoint's folder");
    shards.insert(file);
  }
  // Existence first, so that the message names the shard and what needs it.
  for (const auto &[name, shard] : weightMap.items())
    if (!fs::is_regular_file(folder / shard.get<std::string>()))
      throw Error("shard '" + shard.get<std::string>() + "', which holds '" +
                  name + "', is missing");
  for (const std::string &shard : shards)
    result.addFile(folder / shard, &weightMap);
  for (const auto &[name, shard] : weightMap.items())
    if (!result.has(name))
      throw Error("tensor '" + name + "' is not in its shard '" +
                  shard.get<std::string>() + "'");
  return result;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> result;
  for (const auto &[name, location] : tensors)
    result.push_back(name);
  return result;
}

const Checkpoint::Location &Checkpoint::find(const std::string &name) const {
  auto found = tensors.find(name);
  if (found == tensors.end())
    throw Error("the checkpoint has no tensor '" + name + "'");
  return found->second;
}

const std::string &Checkpoint::elementType(const std::string &name) const {
  return find(name).entry.elementType;
}

const std::vector<int64_t> &Checkpoint::shape(const std::string &name) const {
  return find(name).entry.shape;
}

static std::string toString(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Tensor Checkpoint::read(const std::string &name,
                        const std::vector<int64_t> &shape) const {
  const Location &location = find(name);
  const TensorEntry &entry = location.entry;
  if (!shape.empty() && shape != entry.shape)
    throw Error("tensor '" + name + "' has the shape " + toString(entry.shape) +
                ", but config.json implies " + toString(shape));
  std::vector<char> bytes(size_t(entry.end - entry.begin));
  std::ifstream stream(location.file, std::ios::binary);
  stream.seekg(location.dataStart + entry.begin);
  stream.read(bytes.data(), std::streamsize(bytes.size()));
  if (!stream)
    throw Error("cannot read tensor '" + name + "'");

  Tensor result;
  result.shape = entry.shape;
  if (entry.elementType == "F32") {
    result.values.resize(bytes.size() / 4);
    std::memcpy(result.values.data(), bytes.data(), bytes.size());
    return result;
  }
  bool isHalf = entry.elementType == "F16";
  if (!isHalf && entry.elementType != "BF16")
    throw Error("tensor '" + name + "' is " + entry.elementType +
                ", expected F32, F16 or BF16");
  result.values.resize(bytes.size() / 2);
  for (size_t i = 0; i < result.values.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    result.values[i] = isHalf ? halfToFloat(bits) : bfloatToFloat(bits);
  }
  return result;
}
