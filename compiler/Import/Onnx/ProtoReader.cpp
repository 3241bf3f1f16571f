//===- ProtoReader.cpp - Fields of protobuf messages ----------------------===//

#include "compiler/Import/Onnx/ProtoReader.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace weft {

bool ProtoReader::fail(const char *message) {
  if (!error)
    error = {message, position};
  return false;
}

bool ProtoReader::readVarint(uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (position == end)
      return fail("a number that ends outside of its message");
    uint8_t byte = *position++;
    // Of the tenth byte only one bit is left.
    if (shift == 63 && byte > 1)
      return fail("a number of more than 64 bits");
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return fail("a number of more than 64 bits");
}

bool ProtoReader::readFixed(size_t bytes, uint64_t &value) {
  if (size_t(end - position) < bytes)
    return fail("a number that ends outside of its message");
  value = bytes == 8 ? support::endian::read64le(position)
                     : support::endian::read32le(position);
  position += bytes;
  return true;
}

bool ProtoReader::next(ProtoField &field) {
  if (error || position == end)
    return false;
  uint64_t key = 0;
  if (!readVarint(key))
    return false;
  field = {};
  field.number = static_cast<uint32_t>(key >> 3);
  if (key >> 3 == 0 || key >> 32 != 0)
    return fail("an impossible field number");
  switch (key & 7) {
  case 0:
    field.type = ProtoField::Type::Varint;
    return readVarint(field.value);
  case 1:
    field.type = ProtoField::Type::Fixed64;
    return readFixed(8, field.value);
  case 5:
    field.type = ProtoField::Type::Fixed32;
    return readFixed(4, field.value);
  case 2: {
    field.type = ProtoField::Type::Bytes;
    uint64_t size = 0;
    if (!readVarint(size))
      return false;
    if (size > uint64_t(end - position))
      return fail("a field that is longer than its message");
    field.bytes = ArrayRef<uint8_t>(position, size);
    position += size;
    return true;
  }
  default:
    return fail("a field of an unknown wire type");
  }
}

bool ProtoReader::expect(const ProtoField &field, ProtoField::Type type) {
  return field.type == type ||
         fail("a field of another wire type than its number has in ONNX");
}

void ProtoReader::forEach(const ProtoField &field, ProtoField::Type type,
                          function_ref<void(uint64_t)> take) {
  if (field.type == type)
    return take(field.value);
  if (!expect(field, ProtoField::Type::Bytes))
    return;
  ProtoReader packed(field.bytes, error);
  uint64_t value = 0;
  while (packed.position != packed.end) {
    bool isRead = type == ProtoField::Type::Varint
                      ? packed.readVarint(value)
                      : packed.readFixed(
                            type == ProtoField::Type::Fixed64 ? 8 : 4, value);
    if (!isRead)
      return;
    take(value);
  }
}

} // namespace weft
