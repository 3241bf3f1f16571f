//===- WeftDims.cpp - Tracing dynamic dimensions to named symbols ---------===//

#include "dialects/Weft/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace weft;

using DimSource = std::pair<Value, int64_t>;

DimSource EmbedOp::getDimSource(unsigned, unsigned) { return {getIds(), 0}; }

DimSource RmsNormOp::getDimSource(unsigned, unsigned dim) {
  return {getInput(), dim};
}

DimSource LayerNormOp::getDimSource(unsigned, unsigned dim) {
  return {getInput(), dim};
}

DimSource LinearOp::getDimSource(unsigned, unsigned dim) {
  return {getInput(), dim};
}

DimSource RopeTableOp::getDimSource(unsigned, unsigned) {
  return {getPositions(), 0};
}

DimSource RopeOp::getDimSource(unsigned, unsigned dim) {
  return {getInput(), dim};
}

DimSource CacheAppendOp::getDimSource(unsigned, unsigned dim) {
  return {getCache(), dim};
}

DimSource AttentionOp::getDimSource(unsigned, unsigned dim) {
  return {getQuery(), dim};
}

DimSource ActivationOp::getDimSource(unsigned, unsigned dim) {
  return {getInput(), dim};
}

DimSource GatedActivationOp::getDimSource(unsigned, unsigned dim) {
  return {getGate(), dim};
}

DimSource SoftcapOp::getDimSource(unsigned, unsigned dim) {
  return {getInput(), dim};
}

DimSource RouteOp::getDimSource(unsigned, unsigned dim) {
  return {getLogits(), dim};
}

DimSource GroupedLinearOp::getDimSource(unsigned, unsigned) {
  return {getInput(), 0};
}

DimSource CombineOp::getDimSource(unsigned, unsigned) {
  return {getInput(), 0};
}

DimSource AdjustLogitsOp::getDimSource(unsigned, unsigned dim) {
  return {getLogits(), dim};
}

DimSource SampleOp::getDimSource(unsigned, unsigned) {
  return {getLogits(), 0};
}

/// Symbol of a dynamic dimension of an entry argument.
static Polynomial getArgumentDim(BlockArgument argument, int64_t dim) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto names =
      function ? function.getArgAttrOfType<ArrayAttr>(
                     argument.getArgNumber(), WeftDialect::getSymbolsAttrName())
               : nullptr;
  auto type = cast<RankedTensorType>(argument.getType());
  unsigned position =
      llvm::count_if(type.getShape().take_front(dim), ShapedType::isDynamic);
  if (!names || position >= names.size())
    return Polynomial::symbol("?");
  // A name, or a sum such as "sequences + 1".
  std::optional<Polynomial> size =
      Polynomial::parse(cast<StringAttr>(names[position]).getValue());
  return size ? *size : Polynomial::symbol("?");
}

/// What an index or a number says, if it is one of those that sizes are made
/// of.
static Polynomial getSizeValue(OpFoldResult size) {
  if (auto number = getConstantIntValue(size))
    return Polynomial(*number);
  auto value = cast<Value>(size);
  if (auto dim = value.getDefiningOp<tensor::DimOp>())
    if (auto index = dim.getConstantIndex())
      return getDimSize(dim.getSource(), *index);
  if (auto symbolic = value.getDefiningOp<SizeOp>())
    return *Polynomial::parse(symbolic.getSize());
  return Polynomial::symbol("?");
}

Polynomial weft::getDimSize(Value value, int64_t dim) {
  while (true) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.isDynamicDim(dim))
      return Polynomial(type.getDimSize(dim));
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto dispatch = dyn_cast<DispatchOp>(argument.getOwner()->getParentOp());
      if (!dispatch)
        return getArgumentDim(argument, dim);
      value = dispatch.getInputs()[argument.getArgNumber()];
      continue;
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto source = dyn_cast<DimSourceInterface>(op)) {
      std::tie(value, dim) = source.getDimSource(number, dim);
    } else if (auto dispatch = dyn_cast<DispatchOp>(op)) {
      value = cast<YieldOp>(dispatch.getBlock().getTerminator())
                  .getValues()[number];
    } else if (OpTrait::hasElementwiseMappableTraits(op)) {
      value = op->getOperand(0);
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      return getSizeValue(slice.getMixedSizes()[dim]);
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      return getSizeValue(empty.getMixedSizes()[dim]);
    } else if (auto style = dyn_cast<DestinationStyleOpInterface>(op)) {
      value = style.getDpsInitOperand(number)->get();
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      unsigned sourceDim = expand.getCorrespondingSourceDim(dim);
      if (expand.getSrcType().getRank() == expand.getResultType().getRank() ||
          expand.getReassociationIndices()[sourceDim].size() == 1) {
        value = expand.getSrc();
        dim = sourceDim;
      } else {
        return getSizeValue(expand.getMixedOutputShape()[dim]);
      }
    } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      Polynomial product(1);
      // Not in the loop's head, where the indices of all dimensions would be
      // gone before the first turn.
      ReassociationIndices sourceDims = collapse.getReassociationIndices()[dim];
      for (int64_t sourceDim : sourceDims)
        product = product * getDimSize(collapse.getSrc(), sourceDim);
      return product;
    } else {
      return Polynomial::symbol("?");
    }
  }
}
