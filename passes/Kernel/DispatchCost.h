//===- DispatchCost.h - Work and traffic of a kernel ------------*- C++ -*-===//

#ifndef WEFT_PASSES_KERNEL_DISPATCHCOST_H
#define WEFT_PASSES_KERNEL_DISPATCHCOST_H

#include "dialects/Weft/WeftDialect.h"

#include <utility>

namespace weft::kernel {

/// FLOPs and bytes of a dispatch, as polynomials over the entry's symbols:
/// those of its operations, less the traffic of values that stay inside.
std::pair<Polynomial, Polynomial> getCost(DispatchOp dispatch);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_DISPATCHCOST_H
