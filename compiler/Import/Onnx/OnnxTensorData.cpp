//===- OnnxTensorData.cpp - The values of tensors of ONNX files -----------===//

#include "compiler/Import/Onnx/OnnxTensorData.h"

#include "compiler/Import/Onnx/ProtoReader.h"
#include "models/common/WeightSource.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace weft {

static constexpr char damaged[] =
    "the model is damaged or incomplete: fetch or export it again";

Expected<ArrayRef<uint8_t>> OnnxDataFiles::map(StringRef location) {
  std::unique_ptr<MappedFile> &file = files[location];
  if (!file) {
    auto mapped = folder.map(location, /*singleLink=*/true);
    if (!mapped)
      return mapped.takeError();
    file = std::move(*mapped);
  }
  return file->getBytes();
}

std::optional<uint64_t> countElements(ArrayRef<int64_t> shape) {
  constexpr uint64_t most = uint64_t(1) << 60;
  uint64_t count = 1;
  bool isEmpty = is_contained(shape, 0);
  for (int64_t size : shape) {
    if (size < 0 || uint64_t(size) >= most)
      return std::nullopt;
    if (isEmpty)
      continue;
    if (count > most / uint64_t(size))
      return std::nullopt;
    count *= uint64_t(size);
  }
  return isEmpty ? 0 : count;
}

uint64_t getByteSize(OnnxType type, uint64_t elements) {
  unsigned bits = getBitWidth(type);
  if (bits >= 8)
    return elements * (bits / 8);
  return bits == 0 ? 0 : divideCeil(elements, 8 / bits);
}

namespace {
/// The typed field that holds values of a type, and what one entry of it is.
struct TypedField {
  uint32_t number;
  ProtoField::Type wire;
  uint64_t bytes; ///< Of the value that an entry holds.
};
} // namespace

static std::optional<TypedField> getTypedField(OnnxType type) {
  using Wire = ProtoField::Type;
  switch (type) {
  case OnnxType::Float:
    return TypedField{4, Wire::Fixed32, 4};
  case OnnxType::Double:
    return TypedField{10, Wire::Fixed64, 8};
  case OnnxType::Int64:
    return TypedField{7, Wire::Varint, 8};
  case OnnxType::UInt64:
    return TypedField{11, Wire::Varint, 8};
  case OnnxType::UInt32:
    return TypedField{11, Wire::Varint, 4};
  case OnnxType::Undefined:
  case OnnxType::String:
  case OnnxType::Complex64:
  case OnnxType::Complex128:
    return std::nullopt;
  default:
    // Everything of up to 32 bits; an entry is a byte of packed elements. Some
    // writers extend its sign, so that only the low bits count.
    return TypedField{5, Wire::Varint,
                      std::max<uint64_t>(getBitWidth(type) / 8, 1)};
  }
}

/// Calls `take` with each entry of the typed field.
static void forEachEntry(const OnnxTensor &tensor, const TypedField &typed,
                         function_ref<void(uint64_t)> take) {
  // The message has been read before, so that there are no errors but of wire
  // types inside of packed fields, which end the list early.
  ProtoError error;
  ProtoReader reader(tensor.message, error);
  for (ProtoField field; reader.next(field);)
    if (field.number == typed.number)
      reader.forEach(field, typed.wire, take);
}

static std::optional<OnnxTensorData> readTyped(const OnnxTensor &tensor,
                                               uint64_t byteSize,
                                               const Twine &where,
                                               ImportReport &report) {
  std::optional<TypedField> typed = getTypedField(tensor.type);
  uint64_t entries = 0, wanted = typed ? byteSize / typed->bytes : 0;
  if (typed)
    forEachEntry(tensor, *typed, [&](uint64_t) { ++entries; });
  if (!typed || entries != wanted) {
    report.error(where, Twine(entries) + " values",
                 Twine(wanted) + " for shape " + printShape(tensor.shape) +
                     " of " + getName(tensor.type),
                 damaged);
    return std::nullopt;
  }
  OnnxTensorData data;
  data.owned.reserve(byteSize);
  forEachEntry(tensor, *typed, [&](uint64_t value) {
    for (uint64_t i = 0; i < typed->bytes; ++i)
      data.owned.push_back(static_cast<uint8_t>(value >> (8 * i)));
  });
  data.bytes = data.owned;
  return data;
}

static std::optional<OnnxTensorData>
readExternal(const OnnxTensor &tensor, uint64_t byteSize, OnnxDataFiles *files,
             const Twine &where, ImportReport &report) {
  StringMap<StringRef> entries;
  for (const OnnxEntry &entry : tensor.external) {
    if (!is_contained({"location", "offset", "length", "checksum", "basepath"},
                      entry.key)) {
      report.error(where, "external data with the key '" + entry.key + "'",
                   "location, offset, length, checksum or basepath", damaged);
      return std::nullopt;
    }
    if (!entries.try_emplace(entry.key, entry.value).second) {
      report.error(where, "two times the key '" + entry.key + "'",
                   "each key of external data once", damaged);
      return std::nullopt;
    }
  }
  uint64_t offset = 0, length = byteSize;
  for (auto [key, number] :
       {std::pair("offset", &offset), std::pair("length", &length)}) {
    auto found = entries.find(key);
    if (found != entries.end() && found->second.getAsInteger(10, *number)) {
      report.error(where, Twine(key) + " '" + found->second + "'",
                   "a number of bytes that is not negative", damaged);
      return std::nullopt;
    }
  }
  if (length != byteSize) {
    report.error(where, Twine(length) + " bytes of external data",
                 Twine(byteSize) + " bytes for shape " +
                     printShape(tensor.shape) + " of " + getName(tensor.type),
                 damaged);
    return std::nullopt;
  }
  StringRef location = entries.lookup("location");
  if (!files) {
    report.error(where, "external data in '" + location + "'",
                 "values in the model itself, since it was not opened from a "
                 "folder");
    return std::nullopt;
  }
  auto mapped = files->map(location);
  if (!mapped) {
    report.unreadable(where, mapped.takeError(),
                      "external data in a file below the folder of the model");
    return std::nullopt;
  }
  if (offset > mapped->size() || length > mapped->size() - offset) {
    report.error(where,
                 Twine(length) + " bytes from byte " + Twine(offset) + " of '" +
                     location + "'",
                 "a part of the file, which has " + Twine(mapped->size()) +
                     " bytes",
                 damaged);
    return std::nullopt;
  }
  return OnnxTensorData{mapped->slice(offset, length), location.str(), {}};
}

std::optional<OnnxTensorData> readTensorData(const OnnxTensor &tensor,
                                             OnnxDataFiles *files,
                                             const Twine &where,
                                             ImportReport &report) {
  if (getBitWidth(tensor.type) == 0 || tensor.type == OnnxType::Complex64 ||
      tensor.type == OnnxType::Complex128) {
    report.error(where, "a tensor of " + getName(tensor.type),
                 "numbers or BOOL",
                 "remove the part of the model that needs it");
    return std::nullopt;
  }
  std::optional<uint64_t> elements = countElements(tensor.shape);
  if (!elements) {
    report.error(where, "shape " + printShape(tensor.shape),
                 "sizes that are not negative and less than 2^60 elements",
                 damaged);
    return std::nullopt;
  }
  uint64_t byteSize = getByteSize(tensor.type, *elements);
  if (tensor.isExternal)
    return readExternal(tensor, byteSize, files, where, report);
  if (!tensor.raw)
    return readTyped(tensor, byteSize, where, report);
  if (tensor.raw->size() != byteSize) {
    report.error(where, Twine(tensor.raw->size()) + " bytes",
                 Twine(byteSize) + " bytes for shape " +
                     printShape(tensor.shape) + " of " + getName(tensor.type),
                 damaged);
    return std::nullopt;
  }
  return OnnxTensorData{*tensor.raw, "", {}};
}

} // namespace weft
