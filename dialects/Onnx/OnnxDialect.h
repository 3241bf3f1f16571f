//===- OnnxDialect.h - What came in from ONNX files -------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_ONNX_ONNXDIALECT_H
#define WEFT_DIALECTS_ONNX_ONNXDIALECT_H

#include "dialects/Onnx/TypeInference.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Onnx/OnnxDialect.h.inc"
#include "dialects/Onnx/OnnxInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.h.inc"

#endif // WEFT_DIALECTS_ONNX_ONNXDIALECT_H
