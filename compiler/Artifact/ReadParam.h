//===- ReadParam.h - Bytes of a plan's constants ----------------*- C++ -*-===//
//
// Reads the rows that a plan.param names from a checkpoint, converts them to
// the param's element type and stores them in its layout, in chunks.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_ARTIFACT_READPARAM_H
#define WEFT_COMPILER_ARTIFACT_READPARAM_H

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "models/common/WeightSource.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace weft {

/// Receives the bytes of a param in order; returns whether to go on.
using ByteSink = llvm::function_ref<llvm::Error(llvm::ArrayRef<uint8_t>)>;

/// Sends all bytes of `param` to `sink`, one panel (or a few hundred kilobytes)
/// at a time. Errors name the tensor: one that is missing, whose type cannot
/// be converted, or that has fewer rows than the param reads.
llvm::Error readParam(plan::ParamOp param, const WeightSource &source,
                      ByteSink sink);

/// The same for a weight that is not yet a param: the bytes that its param
/// would have.
llvm::Error readWeight(WeightOp weight, const WeightSource &source,
                       ByteSink sink);

/// The same for a literal: integers and floats as the bytes of their type.
llvm::Error readLiteral(mlir::ElementsAttr value, ByteSink sink);

} // namespace weft

#endif // WEFT_COMPILER_ARTIFACT_READPARAM_H
