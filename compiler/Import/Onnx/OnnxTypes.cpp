//===- OnnxTypes.cpp - Types and constants of ONNX in the IR --------------===//

#include "compiler/Import/Onnx/OnnxTypes.h"

using namespace mlir;
using namespace weft;

Type weft::toMlirType(OnnxType type, MLIRContext *context) {
  auto integer = [&](unsigned bits) { return IntegerType::get(context, bits); };
  auto natural = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (type) {
  case OnnxType::Float:
    return Float32Type::get(context);
  case OnnxType::Double:
    return Float64Type::get(context);
  case OnnxType::Float16:
    return Float16Type::get(context);
  case OnnxType::BFloat16:
    return BFloat16Type::get(context);
  case OnnxType::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case OnnxType::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case OnnxType::Float8E5M2:
    return Float8E5M2Type::get(context);
  case OnnxType::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case OnnxType::Float8E8M0:
    return Float8E8M0FNUType::get(context);
  case OnnxType::Float4E2M1:
    return Float4E2M1FNType::get(context);
  case OnnxType::Bool:
    return integer(1);
  case OnnxType::Int2:
    return integer(2);
  case OnnxType::Int4:
    return integer(4);
  case OnnxType::Int8:
    return integer(8);
  case OnnxType::Int16:
    return integer(16);
  case OnnxType::Int32:
    return integer(32);
  case OnnxType::Int64:
    return integer(64);
  case OnnxType::UInt2:
    return natural(2);
  case OnnxType::UInt4:
    return natural(4);
  case OnnxType::UInt8:
    return natural(8);
  case OnnxType::UInt16:
    return natural(16);
  case OnnxType::UInt32:
    return natural(32);
  case OnnxType::UInt64:
    return natural(64);
  case OnnxType::Undefined:
  case OnnxType::String:
  case OnnxType::Complex64:
  case OnnxType::Complex128:
    return {};
  }
  return {};
}

std::optional<ElementType> weft::toElementType(OnnxType type) {
  switch (type) {
  case OnnxType::Float:
    return ElementType::F32;
  case OnnxType::Double:
    return ElementType::F64;
  case OnnxType::Float16:
    return ElementType::F16;
  case OnnxType::BFloat16:
    return ElementType::BF16;
  case OnnxType::Float8E4M3FN:
    return ElementType::F8E4M3;
  case OnnxType::Float8E5M2:
    return ElementType::F8E5M2;
  case OnnxType::Bool:
    return ElementType::Bool;
  case OnnxType::Int8:
    return ElementType::I8;
  case OnnxType::UInt8:
    return ElementType::U8;
  case OnnxType::Int16:
    return ElementType::I16;
  case OnnxType::UInt16:
    return ElementType::U16;
  case OnnxType::Int32:
    return ElementType::I32;
  case OnnxType::UInt32:
    return ElementType::U32;
  case OnnxType::Int64:
    return ElementType::I64;
  case OnnxType::UInt64:
    return ElementType::U64;
  case OnnxType::Float8E4M3FNUZ:
  case OnnxType::Float8E5M2FNUZ:
  case OnnxType::Float8E8M0:
  case OnnxType::Int4:
  case OnnxType::UInt4:
  case OnnxType::Float4E2M1:
  case OnnxType::Int2:
  case OnnxType::UInt2:
    return ElementType::U8;
  default:
    return std::nullopt;
  }
}

DenseElementsAttr weft::makeConstant(MLIRContext *context, OnnxType type,
                                     ArrayRef<int64_t> shape,
                                     ArrayRef<uint8_t> bytes) {
  Type element = toMlirType(type, context);
  auto tensor = RankedTensorType::get(shape, element);
  int64_t count = tensor.getNumElements();
  unsigned bits = getBitWidth(type);
  if (type == OnnxType::Bool) {
    SmallVector<bool> values;
    for (uint8_t byte : bytes)
      values.push_back(byte != 0);
    return DenseElementsAttr::get(tensor, values);
  }
  std::vector<char> values;
  if (bits >= 8)
    values.assign(bytes.begin(), bytes.end());
  else
    for (int64_t i = 0; i < count; ++i) {
      int64_t first = i * bits;
      values.push_back(static_cast<char>(bytes[first / 8] >> (first % 8) &
                                         ((1 << bits) - 1)));
    }
  if (count == 0)
    return DenseElementsAttr::get(tensor, ArrayRef<Attribute>());
  // A buffer of one element would be taken for a splat, which it then is.
  return DenseElementsAttr::getFromRawBuffer(tensor, values);
}
