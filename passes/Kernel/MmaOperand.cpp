//===- MmaOperand.cpp -----------------------------------------------------===//

#include "passes/Kernel/MmaOperand.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

StoreOp tile::findOverwrite(LoadOp load, MmaOp use) {
  Operation *user = load->getBlock()->findAncestorOpInBlock(*use);
  for (Operation *between = load->getNextNode();;
       between = between->getNextNode()) {
    StoreOp found;
    between->walk([&](StoreOp store) {
      if (store.getView() != load.getView())
        return WalkResult::advance();
      found = store;
      return WalkResult::interrupt();
    });
    if (found || between == user)
      return found;
  }
}
