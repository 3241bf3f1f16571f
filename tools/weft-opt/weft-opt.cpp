//===- weft-opt.cpp - Runs passes on IR files -----------------------------===//

#include "compiler/Dialects.h"
#include "compiler/Phases.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  weft::registerPhasePipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Weft optimizer driver: runs passes on IR\n", registry));
}
