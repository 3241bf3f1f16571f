//===- QuantizedRows.cpp - Numbers that elements of few bits mean ---------===//

#include "compiler/Artifact/QuantizedRows.h"

#include "compiler/Artifact/StoredElements.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace weft;

llvm::Expected<StoredBytes> StoredBytes::read(const WeightSource &source,
                                              const TensorInfo &tensor) {
  StoredBytes stored;
  if (auto mapped = source.getMapped(tensor)) {
    stored.mapped = *mapped;
    return stored;
  }
  stored.copy.resize(tensor.byteSize);
  if (llvm::Error error = source.read(tensor, 0, stored.copy))
    return std::move(error);
  return stored;
}

llvm::Expected<QuantizedRows> QuantizedRows::read(const WeightSource &source,
                                                  SourceAttr attr,
                                                  const TensorInfo &tensor) {
  QuantizationAttr given = attr.getQuantization();
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError("tensor '" + attr.getName() + "' " + what);
  };
  const TensorInfo *scales = source.find(given.getScales());
  mlir::StringAttr zeroName = given.getZeroPoints();
  const TensorInfo *zeros = zeroName ? source.find(zeroName) : nullptr;
  if (!scales || (zeroName && !zeros))
    return fail("has scales or zero points that are not in the checkpoint");
  QuantizedRows rows;
  rows.bits = given.getBits();
  rows.block = given.getBlock();
  rows.columns = given.getColumns();
  rows.rowBlocks = llvm::divideCeil(rows.columns, rows.block);
  rows.scaleType = scales->type;
  if (zeros)
    rows.zeroType = zeros->type;
  int64_t count = tensor.shape.empty() ? 0 : tensor.shape[0];
  rows.rowBytes = count ? int64_t(tensor.byteSize) / count : 0;
  auto hasRows = [&](const TensorInfo &info, int64_t rowBytes) {
    return int64_t(info.byteSize) == count * rowBytes;
  };
  auto isPacked = [](const TensorInfo &info) {
    return dropSign(info.type) == ElementType::I8;
  };
  int64_t elementBytes = llvm::divideCeil(rows.columns * rows.bits, 8);
  bool fits = isPacked(tensor) && rows.rowBytes >= elementBytes &&
              isConvertible(scales->type) &&
              hasRows(*scales, rows.rowBlocks * getByteSize(scales->type));
  if (zeros && isConvertible(zeros->type))
    fits &= hasRows(*zeros, rows.rowBlocks * getByteSize(zeros->type));
  else if (zeros)
    fits &= isPacked(*zeros) &&
            hasRows(*zeros, llvm::divideCeil(rows.rowBlocks * rows.bits, 8));
  if (!fits)
    return fail("has other sizes or types than " + llvm::Twine(rows.columns) +
                " columns of " + llvm::Twine(rows.bits) +
                " bits with their scales and zero points");
  for (auto [info, bytes] :
       {std::pair(&tensor, &rows.bytes), std::pair(scales, &rows.scales),
        std::pair(zeros, &rows.zeroPoints)}) {
    if (!info)
      continue;
    auto stored = StoredBytes::read(source, *info);
    if (!stored)
      return stored.takeError();
    *bytes = std::move(*stored);
  }
  return rows;
}

/// Element `column` of a row of packed elements.
static uint8_t unpack(const uint8_t *row, int64_t column, int64_t bits) {
  int64_t bit = column * bits;
  return row[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
}

float QuantizedRows::get(int64_t row, int64_t column) const {
  int64_t inRow = column / block, at = row * rowBlocks + inRow;
  float zero = 1 << (bits - 1);
  if (zeroType && isConvertible(*zeroType))
    zero =
        readFloat(zeroPoints.data() + at * getByteSize(*zeroType), *zeroType);
  else if (zeroType)
    zero =
        unpack(zeroPoints.data() + row * llvm::divideCeil(rowBlocks * bits, 8),
               inRow, bits);
  float element = unpack(bytes.data() + row * rowBytes, column, bits);
  return (element - zero) *
         readFloat(scales.data() + at * getByteSize(scaleType), scaleType);
}
