//===- ProtoReader.h - Fields of protobuf messages --------------*- C++ -*-===//
//
// Reads the wire format of protocol buffers from memory without copying:
// a message is a sequence of fields, each a key (number and wire type) and a
// value. Source: https://protobuf.dev/programming-guides/encoding/.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_PROTOREADER_H
#define WEFT_COMPILER_IMPORT_ONNX_PROTOREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace weft {

/// Where and why reading stopped. The first error counts.
struct ProtoError {
  std::string message; ///< Empty: none.
  const uint8_t *place = nullptr;

  explicit operator bool() const { return !message.empty(); }
};

/// One field of a message, as it stands in the file.
struct ProtoField {
  enum class Type : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  uint32_t number = 0;
  Type type = Type::Varint;
  uint64_t value = 0;            ///< Of all types but Bytes.
  llvm::ArrayRef<uint8_t> bytes; ///< Of Bytes; otherwise empty.

  llvm::StringRef getText() const { return llvm::toStringRef(bytes); }
};

/// The fields of one message. The bytes must outlive everything read.
class ProtoReader {
public:
  /// Errors go to `error`, which several readers of one file share: none reads
  /// on after the first.
  ProtoReader(llvm::ArrayRef<uint8_t> bytes, ProtoError &error)
      : position(bytes.begin()), end(bytes.end()), error(error) {}

  /// Reads the next field; false at the end and on errors. Groups, which no
  /// message since 2010 uses, are errors.
  bool next(ProtoField &field);

  /// Whether the field has the type that the schema says; otherwise an error.
  bool expect(const ProtoField &field, ProtoField::Type type);

  /// Calls `take` with the numbers of a repeated field of varints, Fixed32 or
  /// Fixed64, packed or not.
  void forEach(const ProtoField &field, ProtoField::Type type,
               llvm::function_ref<void(uint64_t)> take);

private:
  bool fail(const char *message);
  bool readVarint(uint64_t &value);
  bool readFixed(size_t bytes, uint64_t &value);

  const uint8_t *position, *end;
  ProtoError &error;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_PROTOREADER_H
