//===- CudaOps.cpp - Verifiers, parsers and printers ----------------------===//

#include "dialects/Cuda/CudaDialect.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft::cuda;

/// Bytes of a scalar, or of all elements of a vector.
static int64_t getByteSize(Type type) {
  auto scalarBytes = [](Type scalar) -> int64_t {
    return scalar.isIndex() ? 8 : scalar.getIntOrFloatBitWidth() / 8;
  };
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * scalarBytes(vector.getElementType());
  return scalarBytes(type);
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  std::string arch;
  int64_t threads, shared;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseKeyword("arch") || parser.parseString(&arch) ||
      parser.parseKeyword("threads") || parser.parseInteger(threads) ||
      parser.parseKeyword("shared") || parser.parseInteger(shared) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Builder &builder = parser.getBuilder();
  result.addAttribute("arch", builder.getStringAttr(arch));
  result.addAttribute("threads", builder.getI64IntegerAttr(threads));
  result.addAttribute("shared", builder.getI64IntegerAttr(shared));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " arch " << getArchAttr() << " threads " << getThreads()
          << " shared " << getShared() << " (";
  llvm::interleaveComma(
      getBlock().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ")";
  SmallVector<StringRef> elided = {SymbolTable::getSymbolAttrName(),
                                   getArchAttrName(), getThreadsAttrName(),
                                   getSharedAttrName()};
  if (getCluster() == 1)
    elided.push_back(getClusterAttrName());
  if (getBlocksPerMultiprocessor() == 0)
    elided.push_back(getBlocksPerMultiprocessorAttrName());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  if (getThreads() < 32 || getThreads() > 1024 || getThreads() % 32 != 0)
    return emitOpError("needs 32 to 1024 threads in whole warps, found ")
           << getThreads();
  if (getCluster() < 1 || getCluster() > 16)
    return emitOpError("needs a cluster of 1 to 16 blocks, found ")
           << getCluster();
  auto arguments = getBlock().getArguments();
  if (arguments.empty() || !arguments.back().getType().isIndex())
    return emitOpError("needs the number of work items as its last argument, "
                       "of type index");
  bool symbols = false;
  for (BlockArgument argument : arguments) {
    auto pointer = dyn_cast<PtrType>(argument.getType());
    bool isBuffer = pointer && pointer.getSpace() == Space::Global;
    if (!isBuffer && !argument.getType().isIndex())
      return emitOpError("argument ")
             << argument.getArgNumber() << " is " << argument.getType()
             << "; expected a global pointer or an index";
    if (isBuffer && symbols)
      return emitOpError("argument ")
             << argument.getArgNumber()
             << " is a buffer behind a symbol; buffers come first";
    symbols |= !isBuffer;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult SharedMemoryOp::verify() {
  int64_t size = getByteSize(getType().getElement());
  if (getAt() < 0 || getAt() % size != 0)
    return emitOpError("needs an offset that is a multiple of ")
           << size << " bytes, found " << getAt();
  if (auto kernel = (*this)->getParentOfType<KernelOp>();
      kernel && getAt() >= kernel.getShared())
    return emitOpError("lies behind the kernel's ")
           << kernel.getShared() << " bytes of shared memory";
  return success();
}

/// An access of a value of `type` through `pointer`.
static LogicalResult verifyAccess(Operation *op, PtrType pointer, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (getElementTypeOrSelf(type) != pointer.getElement())
    return op->emitOpError("accesses ")
           << type << " through a pointer to " << pointer.getElement();
  int64_t bytes = getByteSize(type);
  if (vector && bytes != 4 && bytes != 8 && bytes != 16)
    return op->emitOpError("accesses a vector of ")
           << bytes << " bytes; expected 4, 8 or 16";
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getPointer().getType(), getType());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getPointer().getType(), getValue().getType());
}

LogicalResult BarrierOp::verify() {
  if (getId() && (*getId() < 1 || *getId() > 15))
    return emitOpError("needs an id from 1 to 15, found ") << *getId();
  if (getThreads() && (*getThreads() < 32 || *getThreads() % 32 != 0))
    return emitOpError("needs whole warps, found ")
           << *getThreads() << " threads";
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  if (getBytes() != 4 && getBytes() != 8 && getBytes() != 16)
    return emitOpError("copies 4, 8 or 16 bytes, found ") << getBytes();
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Cuda/CudaOps.cpp.inc"
