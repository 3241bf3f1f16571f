//===- StoredTensors.h - weft-bisect: tensors as plans store them -*- C++ -*-=//
//
// A plan for GPUs may keep a matrix in panels of some columns (#tile.panels):
// what is [rows, columns] in the model is [panels, rows, stride] in memory, and
// the elements behind the columns of a panel mean nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_WEFTBISECT_STOREDTENSORS_H
#define WEFT_TOOLS_WEFTBISECT_STOREDTENSORS_H

#include "runtime/Format/Plan.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::bisect {

/// A row of `count * columns` elements is cut into panels, which take `stride`
/// elements of each row.
struct Panels {
  int64_t count, columns;
};

/// Whether a buffer of the plan holds a tensor of the type row-major.
bool isRowMajor(rt::DType dtype, const std::vector<rt::Expr> &shape,
                mlir::RankedTensorType type);

/// The panels that a buffer of the plan holds a tensor of the type in; nothing
/// if it does not.
std::optional<Panels> findPanels(rt::DType dtype,
                                 const std::vector<rt::Expr> &shape,
                                 mlir::RankedTensorType type);

/// Rows of a tensor of the type of which panels have `storedRows`.
int64_t countRows(int64_t storedRows, mlir::RankedTensorType type);

/// The rows one after another, from panels [count, storedRows, columns] of
/// elements of `elementBytes` bytes; see #tile.panels.
std::vector<uint8_t> unpackPanels(llvm::ArrayRef<uint8_t> stored,
                                  const Panels &panels, int64_t storedRows,
                                  int64_t rows, size_t elementBytes);

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_STOREDTENSORS_H
