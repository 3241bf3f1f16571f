//===- PackedLayout.cpp - Layouts of weight matrices ----------------------===//

#include "dialects/Weft/PackedLayout.h"
#include "dialects/Weft/WeftDialect.h"

using namespace mlir;
using namespace weft;

SmallVector<int64_t>
PackedLayoutInterface::getPackedShape(ArrayRef<int64_t> shape) const {
  int64_t outputs = shape[shape.size() - 2], inputs = shape.back();
  SmallVector<int64_t> packed(shape.drop_back(2));
  for (const PackedDim &dim : getDims()) {
    int64_t size = 1;
    for (const LayoutDigit &digit : dim)
      size *= digit.getSize(digit.isInner ? inputs : outputs);
    packed.push_back(size);
  }
  return packed;
}

int64_t PackedLayoutInterface::getOutputBlock() const {
  return getDims().front().front().divisor;
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

LogicalResult
PanelLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t columns, int64_t group) {
  if (columns <= 0 || group <= 0)
    return emitError() << "panels need positive columns and group, found "
                       << columns << " and " << group;
  return success();
}

SmallVector<PackedDim> PanelLayoutAttr::getDims() const {
  return {{{false, getColumns(), 0}},
          {{true, getGroup(), 0}},
          {{false, 1, getColumns()}},
          {{true, 1, getGroup()}}};
}

std::string PanelLayoutAttr::getText() const {
  return "panels(" + std::to_string(getColumns()) + ", " +
         std::to_string(getGroup()) + ")";
}

//===----------------------------------------------------------------------===//
// Core matrices
//===----------------------------------------------------------------------===//

SmallVector<PackedDim> weft::getCoreMatrixDims() {
  return {{{false, fragmentSize, 0}},
          {{true, coreMatrixInputs, 0}},
          {{false, coreMatrixSize, fragmentSize / coreMatrixSize},
           {true, coreMatrixSize, coreMatrixInputs / coreMatrixSize}},
          {{false, 1, coreMatrixSize}},
          {{true, 1, coreMatrixSize}}};
}

SmallVector<PackedDim> CoreMatrixLayoutAttr::getDims() const {
  return getCoreMatrixDims();
}

std::string CoreMatrixLayoutAttr::getText() const { return "core_matrices"; }

LogicalResult
CoreMatrixLayoutAttr::verifyMatrix(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t outputs, int64_t inputs,
                                   Type element) const {
  if (!element.isF16() && !element.isBF16())
    return emitError() << "core matrices have elements of f16 or bf16, found "
                       << element;
  if (outputs % fragmentSize || inputs % coreMatrixInputs)
    return emitError() << "core matrices need multiples of " << fragmentSize
                       << " outputs and " << coreMatrixInputs
                       << " inputs, found a matrix of " << outputs << " x "
                       << inputs;
  return success();
}
