//===- EmitSourceFloats.cpp - Float, cast and vector expressions ----------===//

#include "compiler/Target/Cuda/EmitSourcePrinter.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::cuda;

static Type elementType(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// The CUDA function of f32 that a math operation is; its double form has no
/// `f` at the end. Errors are those of the CUDA programming guide, appendix on
/// mathematical functions: 0 to 4 ulp.
static StringRef getFunction(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("math.absf", "fabsf")
      .Case("math.acos", "acosf")
      .Case("math.acosh", "acoshf")
      .Case("math.asin", "asinf")
      .Case("math.asinh", "asinhf")
      .Case("math.atan", "atanf")
      .Case("math.atan2", "atan2f")
      .Case("math.atanh", "atanhf")
      .Case("math.cbrt", "cbrtf")
      .Case("math.ceil", "ceilf")
      .Case("math.copysign", "copysignf")
      .Case("math.cos", "cosf")
      .Case("math.cosh", "coshf")
      .Case("math.erf", "erff")
      .Case("math.erfc", "erfcf")
      .Case("math.exp", "expf")
      .Case("math.exp2", "exp2f")
      .Case("math.expm1", "expm1f")
      .Case("math.floor", "floorf")
      .Case("math.fma", "fmaf")
      .Case("math.log", "logf")
      .Case("math.log10", "log10f")
      .Case("math.log1p", "log1pf")
      .Case("math.log2", "log2f")
      .Case("math.powf", "powf")
      .Case("math.round", "roundf")
      .Case("math.roundeven", "rintf")
      .Case("math.rsqrt", "rsqrtf")
      .Case("math.sin", "sinf")
      .Case("math.sinh", "sinhf")
      .Case("math.sqrt", "sqrtf")
      .Case("math.tan", "tanf")
      .Case("math.tanh", "tanhf")
      .Case("math.trunc", "truncf")
      .Case("arith.maxnumf", "fmaxf")
      .Case("arith.minnumf", "fminf")
      .Case("arith.remf", "fmodf")
      .Case("vector.fma", "fmaf")
      .Default({});
}

std::optional<Expr> SourcePrinter::floatOp(Operation *op, StringRef element) {
  Type type = elementType(op->getResult(0));
  bool isSingle =
      op->getNumOperands() == 0 || elementType(op->getOperand(0)).isF32();
  bool isNumber = op->getNumOperands() != 0 &&
                  (isSingle || elementType(op->getOperand(0)).isF64());
  auto helper = [&](StringRef name) {
    prelude.use(name);
    return call(name, op, element);
  };
  auto supported = [&](Expr expr) {
    return isNumber ? expr : refuse(op, "arithmetic is on f32 and f64 only");
  };
  StringRef function = getFunction(op->getName().getStringRef());
  if (!function.empty() && isa<FloatType>(type))
    return supported(
        call(isSingle ? function : function.drop_back(), op, element));
  return TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case([&](arith::AddFOp) {
        return supported(binary(op, "+", Level::Additive, element));
      })
      .Case([&](arith::SubFOp) {
        return supported(binary(op, "-", Level::Additive, element));
      })
      .Case([&](arith::MulFOp) {
        return supported(binary(op, "*", Level::Multiplicative, element));
      })
      .Case([&](arith::DivFOp division) {
        bool isApproximate =
            isSingle && bitEnumContainsAny(division.getFastmath(),
                                           arith::FastMathFlags::arcp);
        if (isApproximate)
          return supported(helper("divide_approx"));
        return supported(binary(op, "/", Level::Multiplicative, element));
      })
      .Case([&](arith::NegFOp neg) {
        return supported(
            {"-" + value(neg.getOperand(), element).as(Level::Primary),
             Level::Unary});
      })
      .Case([&](arith::MaximumFOp) { return supported(helper("maximum")); })
      .Case([&](arith::MinimumFOp) { return supported(helper("minimum")); })
      .Case(
          [&](math::IsNaNOp) { return supported(call("isnan", op, element)); })
      .Case(
          [&](math::IsInfOp) { return supported(call("isinf", op, element)); })
      .Case([&](math::IsFiniteOp) {
        return supported(call("isfinite", op, element));
      })
      .Case([&](arith::CmpFOp cmp) { return compare(cmp, element); })
      .Case([&](arith::SelectOp select) -> Expr {
        // Two literals would be of type int, whatever the result is.
        return {value(select.getCondition(), element).as(Level::Or) + " ? " +
                    argument(select.getTrueValue(), element) + " : " +
                    argument(select.getFalseValue(), element),
                Level::Ternary};
      })
      .Case([&](Exp2Op) { return helper("exp2_approx"); })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

std::optional<Expr> SourcePrinter::castOp(Operation *op, StringRef element) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  Value operand = op->getOperand(0);
  Type from = elementType(operand), to = elementType(op->getResult(0));
  auto name = [](Type type) -> StringRef {
    return type.isBF16()  ? "bf16"
           : type.isF16() ? "f16"
           : type.isF32() ? "float"
           : type.isF64() ? "double"
                          : "";
  };
  auto cast = [&](const Twine &type, const Twine &content) -> Expr {
    return {type.str() + "(" + content.str() + ")"};
  };
  std::string source = value(operand, element).text;
  // Signless i1 is 0 and 1 unsigned, 0 and -1 signed.
  auto asSigned = [&] {
    return from.isInteger(1) ? "-int(" + source + ")" : source;
  };
  auto asUnsigned = [&] {
    return from.isInteger(1) ? source : unsignedCast(operand, element).text;
  };
  bool isHalf = from.isBF16() || from.isF16();
  auto toFloat = [&] {
    prelude.use(("to_float(" + name(from) + ")").str());
    return "to_float(" + source + ")";
  };
  // The function of the prelude that rounds to f16 or bf16.
  auto useToHalf = [&](Type half, StringRef source) {
    std::string function = ("to_" + name(half)).str();
    prelude.use(printType(half));
    prelude.use((function + "(" + source + ")").str());
    return function;
  };
  return TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case([&](arith::ExtFOp) -> Expr {
        if (name(from).empty() || to.isF16() || to.isBF16())
          return refuse(op, "this conversion");
        std::string single = isHalf ? toFloat() : source;
        return to.isF32() ? Expr{single} : cast("double", single);
      })
      .Case([&](arith::TruncFOp truncate) -> Expr {
        if (isHalf || name(from).empty() || name(to).empty() ||
            truncate.getRoundingmode().value_or(
                arith::RoundingMode::to_nearest_even) !=
                arith::RoundingMode::to_nearest_even)
          return refuse(op, "this conversion");
        if (to.isF32())
          return cast("float", source);
        return cast(useToHalf(to, name(from)), argument(operand, element));
      })
      .Case([&](arith::ExtSIOp) { return cast(printType(to), asSigned()); })
      .Case([&](arith::ExtUIOp) { return cast(printType(to), asUnsigned()); })
      .Case([&](arith::TruncIOp) -> Expr {
        if (to.isInteger(1))
          return cast("bool",
                      value(operand, element).as(Level::Unary) + " & 1");
        return cast(printType(to), source);
      })
      .Case<arith::IndexCastOp>(
          [&](auto) { return cast(printType(to), asSigned()); })
      .Case([&](arith::IndexCastUIOp) {
        return cast(printType(to), asUnsigned());
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) -> Expr {
        std::string integer =
            isa<arith::SIToFPOp>(op) ? asSigned() : asUnsigned();
        if (to.isF32() || to.isF64())
          return cast(name(to), integer);
        if (name(to).empty())
          return refuse(op, "this conversion");
        return cast(useToHalf(to, "float"), cast("float", integer).text);
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) -> Expr {
        if ((!from.isF32() && !from.isF64()) || to.isInteger(1))
          return refuse(op, "this conversion");
        if (isa<arith::FPToSIOp>(op))
          return cast(printType(to), source);
        return cast(printType(to),
                    cast("u" + Twine(to.getIntOrFloatBitWidth()), source).text);
      })
      .Case([&](arith::BitcastOp) -> Expr {
        if (from == to)
          return value(operand, element);
        prelude.use("bit_cast");
        return {"bit_cast<" + printType(to) + ">(" +
                argument(operand, element) + ")"};
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

std::optional<Expr> SourcePrinter::vectorOp(OpResult result,
                                            StringRef element) {
  Operation *op = result.getOwner();
  return TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case([&](vector::BroadcastOp broadcast) {
        return value(broadcast.getSource(),
                     isa<VectorType>(broadcast.getSourceType()) ? "0" : "");
      })
      .Case([&](vector::ExtractOp extract) -> Expr {
        if (!isa<VectorType>(extract.getSource().getType()) ||
            extract.getSourceVectorType().getRank() != 1 ||
            isa<VectorType>(extract.getType()))
          return refuse(op, "its vector type is not one-dimensional");
        OpFoldResult position = extract.getMixedPosition().front();
        if (auto fixed = dyn_cast<Attribute>(position))
          return value(extract.getSource(),
                       std::to_string(cast<IntegerAttr>(fixed).getInt()));
        return value(extract.getSource(), value(cast<Value>(position)).text);
      })
      .Case([&](vector::ToElementsOp elements) {
        return value(elements.getSource(),
                     std::to_string(result.getResultNumber()));
      })
      .Case([&](vector::ExtractStridedSliceOp slice) {
        int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
        bool isNumber = !element.empty() && llvm::isDigit(element[0]);
        std::string position =
            isNumber      ? std::to_string(offset + std::stoll(element.str()))
            : offset == 0 ? element.str()
                          : element.str() + " + " + std::to_string(offset);
        return value(slice.getSource(), position);
      })
      .Case([&](vector::StepOp) -> Expr {
        return {"i64(" + element.str() + ")"};
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

std::optional<Expr> SourcePrinter::cudaOp(Operation *op) {
  auto where = [&](Value result, const Twine &content) -> Expr {
    return {printType(result.getType()) + "(" + content.str() + ")"};
  };
  return TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case([&](ThreadIndexOp index) { return where(index, "threadIdx.x"); })
      .Case([&](BlockIndexOp index) { return where(index, "blockIdx.x"); })
      .Case([&](BlockCountOp count) { return where(count, "gridDim.x"); })
      .Case([&](ClusterRankOp rank) {
        prelude.use("cluster_rank");
        return where(rank, "cluster_rank()");
      })
      .Case([&](SharedMemoryOp memory) -> Expr {
        if (memory.getAt() == 0)
          return {"smem"};
        return {"smem + " + std::to_string(memory.getAt()), Level::Additive};
      })
      .Case([&](OffsetOp offset) -> Expr {
        return {address(offset.getPointer(), offset.getIndex()),
                Level::Additive};
      })
      .Case([&](MapClusterOp map) {
        prelude.use("map_cluster");
        return call("map_cluster", op, "");
      })
      .Case([&](PackOp pack) {
        std::string name =
            pack.getElement().isBF16() ? "pack_bf16" : "pack_f16";
        prelude.use(name);
        return call(name, op, "");
      })
      .Case([&](MultiplyPairsOp product) {
        std::string name = product.getElement().isBF16() ? "multiply_pairs_bf16"
                                                         : "multiply_pairs_f16";
        prelude.use(name);
        return call(name, op, "");
      })
      .Default([](Operation *) { return std::nullopt; });
}

Expr SourcePrinter::define(OpResult result, StringRef element) {
  Operation *op = result.getOwner();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constant(op, constantOp.getValue(), elementType(result), false);
  if (std::optional<Expr> expr = cudaOp(op))
    return *expr;
  if (std::optional<Expr> expr = vectorOp(result, element))
    return *expr;
  if (std::optional<Expr> expr = floatOp(op, element))
    return *expr;
  if (std::optional<Expr> expr = castOp(op, element))
    return *expr;
  if (std::optional<Expr> expr = integerOp(result, element))
    return *expr;
  return refuse(op);
}
