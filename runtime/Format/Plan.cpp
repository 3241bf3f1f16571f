//===- Plan.cpp - The content of a .weft artifact, in memory --------------===//

#include "runtime/Format/Plan.h"

using namespace weft::rt;

namespace {

struct DTypeInfo {
  size_t byteSize = 0;
  const char *name = "?";
};

DTypeInfo getInfo(DType type) {
  switch (type) {
  case DType::F32:
    return {4, "f32"};
  case DType::F16:
    return {2, "f16"};
  case DType::BF16:
    return {2, "bf16"};
  case DType::F64:
    return {8, "f64"};
  case DType::I8:
    return {1, "i8"};
  case DType::U8:
    return {1, "u8"};
  case DType::I16:
    return {2, "i16"};
  case DType::I32:
    return {4, "i32"};
  case DType::I64:
    return {8, "i64"};
  case DType::Bool:
    return {1, "bool"};
  case DType::U16:
    return {2, "u16"};
  case DType::U32:
    return {4, "u32"};
  case DType::U64:
    return {8, "u64"};
  }
  return {};
}

} // namespace

size_t weft::rt::getByteSize(DType type) { return getInfo(type).byteSize; }

const char *weft::rt::getName(DType type) { return getInfo(type).name; }

const char *weft::rt::getName(CommandKind kind) {
  switch (kind) {
  case CommandKind::Launch:
    return "launch";
  case CommandKind::Copy:
    return "copy";
  case CommandKind::Fill:
    return "fill";
  }
  return "?";
}

std::string weft::rt::getName(const KeyCount &count) {
  std::string name =
      count.kind == KeyCount::Kind::Seen ? "seen_keys" : "read_keys";
  if (!count.isCausal)
    name += ".both_sides";
  if (count.window)
    name += ".window_" + std::to_string(count.window);
  return name;
}
