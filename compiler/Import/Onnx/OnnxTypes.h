//===- OnnxTypes.h - Types and constants of ONNX in the IR ------*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_ONNXTYPES_H
#define WEFT_COMPILER_IMPORT_ONNX_ONNXTYPES_H

#include "compiler/Import/Onnx/OnnxModel.h"
#include "models/common/WeightSource.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace weft {

/// The element type in the dialect `onnx`; null for what has none (strings,
/// complex numbers).
mlir::Type toMlirType(OnnxType type, mlir::MLIRContext *context);

/// The type as one of stored weights: bytes for what weights do not know, with
/// elements of less than 8 bits packed. Nothing for what has no type here.
std::optional<ElementType> toElementType(OnnxType type);

/// A constant of values as they are stored: little-endian, elements of less
/// than 8 bits packed.
mlir::DenseElementsAttr makeConstant(mlir::MLIRContext *context, OnnxType type,
                                     llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<uint8_t> bytes);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_ONNXTYPES_H
