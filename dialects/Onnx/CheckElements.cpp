//===- CheckElements.cpp - Element types that operands must have ----------===//

#include "dialects/Onnx/InferTypes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static std::string printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

LogicalResult onnx::checkSameElement(ArrayRef<Value> values,
                                     TypeInference &inference) {
  if (values.empty())
    return success();
  Type first = elementOf(values.front());
  for (Value value : values.drop_front())
    if (value && elementOf(value) != first)
      return inference.fail("found operands of " + printType(first) + " and " +
                            printType(elementOf(value)) +
                            ", expected one type");
  return success();
}

LogicalResult onnx::checkTruth(Value value, StringRef name,
                               TypeInference &inference) {
  if (elementOf(value).isInteger(1))
    return success();
  return inference.fail("found the " + name + " of " +
                        printType(elementOf(value)) +
                        ", expected truth values (i1)");
}

static LogicalResult expectIntegers(Value value, StringRef name,
                                    TypeInference &inference) {
  if (!value ||
      (isa<IntegerType>(elementOf(value)) && !elementOf(value).isInteger(1)))
    return success();
  return inference.fail("found the " + name + " of " +
                        printType(elementOf(value)) + ", expected integers");
}

/// Whether an operator is one of real numbers.
static bool takesReals(Operation *op) {
  return isa<SqrtOp, ReciprocalOp, ExpOp, LogOp, ErfOp, TanhOp, SigmoidOp,
             SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp,
             AsinhOp, AcoshOp, AtanhOp, FloorOp, CeilOp, RoundOp, SoftplusOp,
             SoftsignOp, HardSwishOp, MishOp, LeakyReluOp, EluOp, CeluOp,
             SeluOp, HardSigmoidOp, GeluOp, SwishOp, ConvOp, ConvTransposeOp,
             RotaryEmbeddingOp, BatchNormalizationOp, InstanceNormalizationOp,
             GroupNormalizationOp, LayerNormalizationOp, RMSNormalizationOp,
             DropoutOp>(op);
}

LogicalResult onnx::checkElements(Operation *op, TypeInference &inference) {
  using Result = LogicalResult;
  if (takesReals(op) && !isa<FloatType>(elementOf(op->getOperand(0))))
    return inference.fail("found an input of " +
                          printType(elementOf(op->getOperand(0))) +
                          ", expected floating-point numbers");
  auto same = [&](ArrayRef<Value> values) {
    return checkSameElement(values, inference);
  };
  auto places = [&](Value value, StringRef name) {
    return expectIntegers(value, name, inference);
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<ConcatOp, MatMulOp, GemmOp, MicrosoftFusedMatMulOp, ConvOp,
            ConvTransposeOp, ClipOp>(
          [&](auto) { return same(SmallVector<Value>(op->getOperands())); })
      .Case([&](PadOp pad) {
        return same({pad.getData(), pad.getConstantValue()});
      })
      .Case([&](RotaryEmbeddingOp rotary) -> Result {
        if (failed(places(rotary.getPositionIds(), "position_ids")))
          return failure();
        return same({rotary.getInput(), rotary.getCosine(), rotary.getSine()});
      })
      .Case<GatherOp, GatherElementsOp, GatherNDOp, OneHotOp>(
          [&](auto gather) { return places(gather.getIndices(), "indices"); })
      .Case([&](ScatterElementsOp scatter) -> Result {
        if (failed(places(scatter.getIndices(), "indices")))
          return failure();
        return same({scatter.getData(), scatter.getUpdates()});
      })
      .Case([&](ScatterNDOp scatter) -> Result {
        if (failed(places(scatter.getIndices(), "indices")))
          return failure();
        return same({scatter.getData(), scatter.getUpdates()});
      })
      .Case([&](TensorScatterOp scatter) -> Result {
        if (failed(places(scatter.getWriteIndices(), "write_indices")))
          return failure();
        return same({scatter.getPast(), scatter.getUpdate()});
      })
      .Case([&](ReverseSequenceOp reverse) {
        return places(reverse.getSequenceLens(), "sequence_lens");
      })
      .Case([&](TriluOp trilu) { return places(trilu.getK(), "k"); })
      .Default([](Operation *) { return success(); });
}
