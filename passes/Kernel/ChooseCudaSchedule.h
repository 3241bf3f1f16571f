//===- ChooseCudaSchedule.h - How a dispatch becomes a GPU kernel -*- C++ -*-=//

#ifndef WEFT_PASSES_KERNEL_CHOOSECUDASCHEDULE_H
#define WEFT_PASSES_KERNEL_CHOOSECUDASCHEDULE_H

#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "passes/Kernel/CudaArch.h"

namespace weft::kernel {

/// A schedule that works for every shape on the architecture. `row_block` and
/// `column_block` are equal for all architectures.
tile::CudaScheduleAttr chooseCudaSchedule(DispatchOp dispatch,
                                          const CudaArch &arch);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_CHOOSECUDASCHEDULE_H
