//===- TileInterfaces.td - Interfaces of kernel attributes -*- tablegen -*-===//

#ifndef WEFT_DIALECTS_TILE_INTERFACES_TD
#define WEFT_DIALECTS_TILE_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def Tile_ScheduleInterface : AttrInterface<"ScheduleInterface"> {
  let cppNamespace = "::weft::tile";
  let description = [{
    What the builders of tile programs read of a schedule, whatever the target:
    one program serves all of them, only its sizes differ.
  }];
  let methods = [
    InterfaceMethod<"CPU level or GPU architecture",
                    "::llvm::StringRef", "getLevel">,
    InterfaceMethod<"rows of a register tile", "int64_t", "getRows">,
    InterfaceMethod<"columns of a register tile, or of a piece of a row",
                    "int64_t", "getColumns">,
    InterfaceMethod<"steps of the innermost fold at a time", "int64_t",
                    "getUnroll">,
    InterfaceMethod<"columns of the tile of a single row", "int64_t",
                    "getRowColumns">,
    InterfaceMethod<"panels of a fold over the only row", "int64_t",
                    "getRowPanels">,
    InterfaceMethod<"steps at a time of a single row", "int64_t",
                    "getRowUnroll">,
    InterfaceMethod<"rows of a work item", "int64_t", "getRowBlock">,
    InterfaceMethod<"columns of a work item", "int64_t", "getColumnBlock">,
    InterfaceMethod<"whether a call may compute several work items: a thread "
                    "of a pool does, a block of a GPU has one",
                    "bool", "hasSeveralItems">,
    InterfaceMethod<"blocks of a GPU that compute a work item together",
                    "int64_t", "getCluster">,
    InterfaceMethod<"instruction of multiplications",
                    "::weft::tile::MmaInstruction", "getMma">
  ];
}

def Tile_MemoryLayoutInterface : AttrInterface<"MemoryLayoutInterface"> {
  let cppNamespace = "::weft::tile";
  let description = [{
    A layout of memrefs whose elements are not in order of their indices.
    Kernels index such a view by its logical shape; lowerings to a target
    compute where an element lies.
  }];
  let methods = [
    InterfaceMethod<"Digits of each index of a view of logical `shape`.",
                    "::llvm::SmallVector<::weft::tile::DimAddress>",
                    "getAddress", (ins "::llvm::ArrayRef<int64_t>":$shape)>
  ];
}

#endif // WEFT_DIALECTS_TILE_INTERFACES_TD
