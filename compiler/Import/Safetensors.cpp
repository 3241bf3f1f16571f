//===- Safetensors.cpp - Reading the safetensors format -------------------===//

#include "compiler/Import/Safetensors.h"

#include "compiler/Import/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace weft {

/// The limit of the reference implementation.
static constexpr uint64_t maxHeaderBytes = 100'000'000;
static constexpr size_t maxRank = 16;
static constexpr uint64_t prefixBytes = 8;

static constexpr char damaged[] =
    "the file is damaged or incomplete: fetch or write it again";

std::optional<ElementType> parseSafetensorsType(StringRef name) {
  return StringSwitch<std::optional<ElementType>>(name)
      .Case("BOOL", ElementType::Bool)
      .Case("U8", ElementType::U8)
      .Case("I8", ElementType::I8)
      .Case("F8_E4M3", ElementType::F8E4M3)
      .Case("F8_E5M2", ElementType::F8E5M2)
      .Case("U16", ElementType::U16)
      .Case("I16", ElementType::I16)
      .Case("F16", ElementType::F16)
      .Case("BF16", ElementType::BF16)
      .Case("U32", ElementType::U32)
      .Case("I32", ElementType::I32)
      .Case("F32", ElementType::F32)
      .Case("U64", ElementType::U64)
      .Case("I64", ElementType::I64)
      .Case("F64", ElementType::F64)
      .Default(std::nullopt);
}

/// An array of numbers from 0 to INT64_MAX.
static std::optional<SmallVector<int64_t, 4>>
parseSizes(const json::Value *value, size_t maxCount) {
  const json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array || array->size() > maxCount)
    return std::nullopt;
  SmallVector<int64_t, 4> sizes;
  for (const json::Value &element : *array) {
    std::optional<int64_t> size = element.getAsInteger();
    // getAsInteger takes 1.0 for an integer; so does the JSON standard.
    if (!size || *size < 0)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

static std::string printMember(const json::Object &object, StringRef key) {
  const json::Value *value = object.get(key);
  return value ? (key + " " + printJson(*value)).str() : ("no " + key).str();
}

/// One entry of the header; nothing if it is wrong. `dataBytes` is the size of
/// the file's data, `dataStart` where it begins.
static std::optional<TensorInfo>
parseTensor(StringRef fileName, StringRef name, const json::Value &value,
            uint64_t dataStart, uint64_t dataBytes, ImportReport &report) {
  std::string where = (fileName + ": tensor '" + name + "'").str();
  const json::Object *object = value.getAsObject();
  if (!object) {
    report.error(where, printJson(value),
                 "an object with dtype, shape and data_offsets", damaged);
    return std::nullopt;
  }
  for (const auto &member : *object)
    if (!is_contained({"dtype", "shape", "data_offsets"},
                      StringRef(member.first)))
      report.warning(where, "the key '" + StringRef(member.first) + "'",
                     "only dtype, shape and data_offsets",
                     "the key is ignored");

  std::optional<StringRef> typeName = object->getString("dtype");
  std::optional<ElementType> type =
      typeName ? parseSafetensorsType(*typeName) : std::nullopt;
  auto shape = parseSizes(object->get("shape"), maxRank);
  auto offsets = parseSizes(object->get("data_offsets"), 2);
  if (!type)
    report.error(where, printMember(*object, "dtype"),
                 "one of BOOL U8 I8 F8_E4M3 F8_E5M2 U16 I16 F16 BF16 U32 I32 "
                 "F32 U64 I64 F64",
                 "convert the checkpoint to one of these types");
  if (!shape)
    report.error(where, printMember(*object, "shape"),
                 "a list of at most " + Twine(maxRank) +
                     " numbers that are not negative",
                 damaged);
  if (!offsets || offsets->size() != 2)
    report.error(where, printMember(*object, "data_offsets"),
                 "[begin, end], both not negative", damaged);
  if (!type || !shape || !offsets || offsets->size() != 2)
    return std::nullopt;

  std::optional<uint64_t> size = computeByteSize(*shape, *type);
  uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (!size) {
    report.error(where, "shape " + printShape(*shape),
                 "a tensor of less than 2^63 bytes", damaged);
    return std::nullopt;
  }
  if (begin > end || end > dataBytes) {
    report.error(where, printMember(*object, "data_offsets"),
                 "begin <= end <= " + Twine(dataBytes) +
                     ", the bytes of data in the file",
                 damaged);
    return std::nullopt;
  }
  if (end - begin != *size) {
    report.error(where, Twine(end - begin) + " bytes between the data_offsets",
                 Twine(*size) + " bytes for shape " + printShape(*shape) +
                     " of " + getName(*type),
                 damaged);
    return std::nullopt;
  }
  return TensorInfo{name.str(), *type,          *shape,
                    *size,      fileName.str(), dataStart + begin};
}

static void checkMetadata(StringRef fileName, const json::Value &value,
                          ImportReport &report) {
  const json::Object *object = value.getAsObject();
  bool valid = object && all_of(*object, [](const auto &member) {
                 return member.second.kind() == json::Value::String;
               });
  if (!valid)
    report.error(fileName + ": __metadata__", printJson(value),
                 "an object whose values are strings", damaged);
}

/// Tensors, in the order of their data, must follow each other exactly.
static void checkCoverage(StringRef fileName, ArrayRef<TensorInfo> tensors,
                          uint64_t dataStart, uint64_t dataBytes,
                          ImportReport &report) {
  uint64_t position = dataStart;
  const TensorInfo *previous = nullptr;
  for (const TensorInfo &tensor : tensors) {
    if (tensor.offset != position)
      report.error(fileName + ": tensor '" + tensor.name + "'",
                   "data at byte " + Twine(tensor.offset - dataStart),
                   "data at byte " + Twine(position - dataStart) +
                       (previous
                            ? ", right after tensor '" + previous->name + "'"
                            : std::string()) +
                       "; tensors may neither overlap nor leave holes",
                   damaged);
    position = tensor.offset + tensor.byteSize;
    previous = &tensor;
  }
  if (position != dataStart + dataBytes)
    report.error(fileName, Twine(dataBytes) + " bytes of data",
                 Twine(position - dataStart) +
                     " bytes, the end of the last tensor",
                 damaged);
}

bool readSafetensors(ArrayRef<uint8_t> file, StringRef fileName,
                     std::vector<TensorInfo> &tensors, ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  if (file.size() < prefixBytes) {
    report.error(fileName, Twine(file.size()) + " bytes",
                 "a safetensors file: 8 bytes with the length of the header, "
                 "the header, the data",
                 damaged);
    return false;
  }
  uint64_t headerBytes = support::endian::read64le(file.data());
  uint64_t available = file.size() - prefixBytes;
  if (headerBytes > available || headerBytes > maxHeaderBytes) {
    report.error(fileName, "a header length of " + Twine(headerBytes),
                 "at most " + Twine(std::min(available, maxHeaderBytes)) +
                     " (the file has " + Twine(file.size()) + " bytes)",
                 damaged);
    return false;
  }

  StringRef text = toStringRef(file.slice(prefixBytes, headerBytes));
  Expected<json::Value> header = parseJson(text);
  if (!header) {
    report.unreadable(fileName + ": header", header.takeError(),
                      "a JSON object with one entry a tensor", damaged);
    return false;
  }
  const json::Object *object = header->getAsObject();
  if (!object) {
    report.error(fileName + ": header", printJson(*header),
                 "a JSON object with one entry a tensor", damaged);
    return false;
  }

  uint64_t dataStart = prefixBytes + headerBytes;
  uint64_t dataBytes = file.size() - dataStart;
  std::vector<TensorInfo> result;
  for (const auto &member : *object) {
    StringRef name = member.first;
    if (name == "__metadata__")
      checkMetadata(fileName, member.second, report);
    else if (auto tensor = parseTensor(fileName, name, member.second, dataStart,
                                       dataBytes, report))
      result.push_back(std::move(*tensor));
  }
  llvm::sort(result, [](const TensorInfo &a, const TensorInfo &b) {
    return std::tie(a.offset, a.byteSize, a.name) <
           std::tie(b.offset, b.byteSize, b.name);
  });
  if (report.getErrorCount() == errorsBefore)
    checkCoverage(fileName, result, dataStart, dataBytes, report);
  if (report.getErrorCount() != errorsBefore)
    return false;
  tensors.insert(tensors.end(), std::make_move_iterator(result.begin()),
                 std::make_move_iterator(result.end()));
  return true;
}

} // namespace weft
