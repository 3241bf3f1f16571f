//===- Npy.cpp - Tensors in NumPy's file format ---------------------------===//

#include "tools/common/Npy.h"

#include "runtime/Format/MappedFile.h"
#include "runtime/Format/OutputFile.h"

#include <cstring>
#include <optional>

using namespace weft;
using rt::DType;
using rt::Result;
using rt::Status;

static constexpr std::string_view kMagic = "\x93NUMPY";

namespace {
struct TypeName {
  std::string_view descr;
  DType dtype;
};
} // namespace

// NumPy has no bfloat16: its bits are those of a U16, which such a file is read
// as only where one is expected.
static constexpr TypeName kTypeNames[] = {
    {"<f4", DType::F32},  {"<f2", DType::F16}, {"<u2", DType::U16},
    {"<u2", DType::BF16}, {"<f8", DType::F64}, {"|i1", DType::I8},
    {"|u1", DType::U8},   {"<i2", DType::I16}, {"<i4", DType::I32},
    {"<u4", DType::U32},  {"<i8", DType::I64}, {"<u8", DType::U64},
    {"|b1", DType::Bool}};

namespace {

/// Reads the header: a Python dictionary literal with three known keys.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  /// False if the text is not such a dictionary.
  bool parse() {
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::optional<std::string_view> key = string();
      if (!key || !take(':') || !member(*key))
        return false;
      if (!take(',') && !peek('}'))
        return false;
    }
    skipSpace();
    return position == text.size() && descr && fortranOrder && hasShape;
  }

  std::optional<std::string_view> descr;
  std::optional<bool> fortranOrder;
  std::vector<int64_t> shape;

private:
  bool member(std::string_view key) {
    if (key == "descr" && !descr)
      return (descr = string()).has_value();
    if (key == "fortran_order" && !fortranOrder) {
      if (word("True"))
        fortranOrder = true;
      else if (word("False"))
        fortranOrder = false;
      return fortranOrder.has_value();
    }
    if (key == "shape" && !hasShape)
      return tuple();
    return false;
  }

  bool tuple() {
    hasShape = true;
    if (!take('('))
      return false;
    while (!take(')')) {
      std::optional<int64_t> extent = number();
      if (!extent || shape.size() == 32)
        return false;
      shape.push_back(*extent);
      if (!take(',') && !peek(')'))
        return false;
    }
    return true;
  }

  std::optional<int64_t> number() {
    skipSpace();
    int64_t value = 0;
    size_t begin = position;
    while (position < text.size() && text[position] >= '0' &&
           text[position] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text[position] - '0', &value))
        return std::nullopt;
      ++position;
    }
    if (position == begin)
      return std::nullopt;
    return value;
  }

  std::optional<std::string_view> string() {
    skipSpace();
    if (position >= text.size() ||
        (text[position] != '\'' && text[position] != '"'))
      return std::nullopt;
    size_t end = text.find(text[position], position + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view result = text.substr(position + 1, end - position - 1);
    position = end + 1;
    return result;
  }

  bool word(std::string_view expected) {
    skipSpace();
    if (text.substr(position, expected.size()) != expected)
      return false;
    position += expected.size();
    return true;
  }

  void skipSpace() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\n'))
      ++position;
  }
  bool peek(char c) {
    skipSpace();
    return position < text.size() && text[position] == c;
  }
  bool take(char c) {
    bool found = peek(c);
    position += found;
    return found;
  }

  std::string_view text;
  size_t position = 0;
  bool hasShape = false;
};

} // namespace

/// Bytes that the elements take; nothing if that does not fit.
static std::optional<size_t> sizeOf(DType dtype,
                                    std::span<const int64_t> shape) {
  size_t size = rt::getByteSize(dtype);
  bool empty = false;
  for (int64_t extent : shape) {
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(size, size_t(extent), &size))
      return std::nullopt;
  }
  return empty ? 0 : size;
}

Result<NpyArray> weft::parseNpy(std::span<const std::byte> bytes,
                                std::string_view name) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  auto corrupt = [&](const std::string &what) {
    return Status::corrupt("'" + std::string(name) + "' " + what +
                           "; save the array again with numpy.save");
  };
  if (!text.starts_with(kMagic))
    return corrupt("is no .npy file: it does not start with \\x93NUMPY");
  auto byteAt = [&](size_t i) { return size_t(uint8_t(text[i])); };
  size_t major = text.size() > 6 ? byteAt(6) : 0;
  if (major < 1 || major > 3)
    return corrupt("has .npy version " + std::to_string(major) +
                   " (1 to 3 are known)");
  const size_t lengthBytes = major == 1 ? 2 : 4;
  size_t begin = 8 + lengthBytes, length = 0;
  if (text.size() < begin)
    return corrupt("ends in its header");
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= byteAt(8 + i) << (8 * i);
  if (length > text.size() - begin)
    return corrupt("ends in its header");

  HeaderParser header(text.substr(begin, length));
  if (!header.parse())
    return corrupt("has a header that is not a dictionary with 'descr', "
                   "'fortran_order' and 'shape'");
  auto unsupported = [&](const std::string &what) {
    return Status::unsupported("'" + std::string(name) + "' " + what);
  };
  NpyArray array;
  bool known = false;
  for (const TypeName &type : kTypeNames) {
    if (type.descr != *header.descr)
      continue;
    array.dtype = type.dtype;
    known = true;
  }
  if (!known) {
    std::string list;
    for (const TypeName &type : kTypeNames)
      list += (list.empty() ? "" : ", ") + std::string(type.descr);
    return unsupported("has elements of type '" +
                       std::string(header.descr->substr(0, 40)) +
                       "'; known are " + list);
  }
  array.shape = std::move(header.shape);
  if (*header.fortranOrder && array.shape.size() > 1)
    return unsupported("is in Fortran order; save numpy.ascontiguousarray(x)");
  std::optional<size_t> size = sizeOf(array.dtype, array.shape);
  size_t rest = text.size() - begin - length;
  if (!size || *size != rest)
    return corrupt("has " + std::to_string(rest) +
                   " bytes of elements where its header needs " +
                   (size ? std::to_string(*size) : "more than 2^64"));
  array.data.assign(bytes.begin() + begin + length, bytes.end());
  return array;
}

Result<NpyArray> weft::readNpy(const std::string &path) {
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.getStatus();
  return parseNpy(file->getBytes(), path);
}

std::vector<std::byte> weft::printNpy(DType dtype,
                                      std::span<const int64_t> shape,
                                      std::span<const std::byte> data) {
  std::string_view descr;
  for (const TypeName &type : kTypeNames)
    if (type.dtype == dtype)
      descr = type.descr;
  assert(!descr.empty() && "every DType has a NumPy name");
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape)
    header += std::to_string(extent) + ",";
  header += "), }";
  // The elements start at a multiple of 64 so that they can be mapped.
  size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start +=
      {'\x01', '\x00', char(header.size() & 0xff), char(header.size() >> 8)};
  start += header;
  std::vector<std::byte> bytes(start.size() + data.size());
  std::memcpy(bytes.data(), start.data(), start.size());
  if (!data.empty())
    std::memcpy(bytes.data() + start.size(), data.data(), data.size());
  return bytes;
}

Status weft::writeNpy(const std::string &path, DType dtype,
                      std::span<const int64_t> shape,
                      std::span<const std::byte> data) {
  std::vector<std::byte> bytes = printNpy(dtype, shape, data);
  Result<rt::OutputFile> file = rt::OutputFile::create(path, bytes.size());
  if (!file)
    return file.getStatus();
  if (Status s = file->write(0, bytes); !s)
    return s;
  return file->commit();
}
