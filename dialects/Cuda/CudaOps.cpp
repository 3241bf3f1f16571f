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
// Architectures
//===----------------------------------------------------------------------===//

std::optional<int64_t> weft::cuda::getArchNumber(StringRef arch) {
  int64_t number;
  if (!arch.consume_front("sm_") || arch.consumeInteger(10, number) ||
      !(arch.empty() || arch == "a" || arch == "f"))
    return std::nullopt;
  return number;
}

LogicalResult weft::cuda::verifyArch(Operation *op, int64_t least) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel || getArchNumber(kernel.getArch()).value_or(0) >= least)
    return success();
  return op->emitOpError("needs sm_")
         << least << "; the kernel is for " << kernel.getArch();
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
  std::optional<int64_t> arch = getArchNumber(getArch());
  if (!arch || *arch < 80)
    return emitOpError("needs an architecture from sm_80 on, like \"sm_90a\", "
                       "found ")
           << getArchAttr();
  if (getThreads() < 32 || getThreads() > 1024 || getThreads() % 32 != 0)
    return emitOpError("needs 32 to 1024 threads in whole warps, found ")
           << getThreads();
  if (getCluster() < 1 || getCluster() > 16)
    return emitOpError("needs a cluster of 1 to 16 blocks, found ")
           << getCluster();
  if (getCluster() > 1 && *arch < 90)
    return emitOpError("has a cluster, which needs sm_90; it is for ")
           << getArch();
  if (getDependentLaunch() && *arch < 90)
    return emitOpError("has a dependent launch, which needs sm_90; it is for ")
           << getArch();
  // The getters of integer attributes are unsigned.
  if (getSharedAttr().getInt() < 0)
    return emitOpError("needs 0 or more bytes of shared memory, found ")
           << getSharedAttr().getInt();
  if (getBlocksPerMultiprocessor() > 32)
    return emitOpError("needs 0 to 32 blocks per multiprocessor, found ")
           << getBlocksPerMultiprocessor();
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

/// Whether every way through the block executes a cuda.wait_dependency.
static bool alwaysWaits(Block &block) {
  return llvm::any_of(block, [](Operation &op) {
    if (isa<WaitDependencyOp>(op))
      return true;
    auto branch = dyn_cast<scf::IfOp>(op);
    return branch && branch.elseBlock() && alwaysWaits(*branch.thenBlock()) &&
           alwaysWaits(*branch.elseBlock());
  });
}

LogicalResult KernelOp::verifyRegions() {
  if (getDependentLaunch() && !alwaysWaits(getBlock()))
    return emitOpError("has a dependent launch, but not every path executes "
                       "cuda.wait_dependency");
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult SharedMemoryOp::verify() {
  int64_t size = getByteSize(getType().getElement());
  if (getAtAttr().getInt() < 0 || getAt() % size != 0)
    return emitOpError("needs an offset that is a multiple of ")
           << size << " bytes, found " << getAtAttr().getInt();
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
  if (getHint() != CacheHint::Default &&
      getPointer().getType().getSpace() != Space::Global)
    return emitOpError("has a cache hint, but reads shared memory");
  return verifyAccess(*this, getPointer().getType(), getType());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getPointer().getType(), getValue().getType());
}

LogicalResult MapClusterOp::verify() {
  if (getPointer().getType().getElement() == getType().getElement())
    return success();
  return emitOpError("maps a pointer to ")
         << getPointer().getType().getElement() << " to one to "
         << getType().getElement();
}

LogicalResult StoreAsyncOp::verify() {
  Type type = getValue().getType();
  int64_t bytes = getByteSize(type);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return emitOpError("stores ") << bytes << " bytes; expected 4, 8 or 16";
  return verifyAccess(*this, getPointer().getType(), type);
}

LogicalResult AtomicAddOp::verify() {
  Type type = getValue().getType();
  if (type != getType() || type != getPointer().getType().getElement())
    return emitOpError("adds ")
           << type << " to " << getPointer().getType().getElement()
           << " and gives " << getType() << "; expected one type";
  return success();
}

//===----------------------------------------------------------------------===//
// Threads and copies
//===----------------------------------------------------------------------===//

LogicalResult BarrierOp::verify() {
  if (getId().has_value() != getThreads().has_value())
    return emitOpError("needs both an id and threads, or neither");
  if (getId() && (*getId() < 1 || *getId() > 15))
    return emitOpError("needs an id from 1 to 15, found ") << *getId();
  if (getThreads() && (*getThreads() < 32 || *getThreads() % 32 != 0))
    return emitOpError("needs whole warps, found ")
           << *getThreads() << " threads";
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && getThreads().value_or(0) > kernel.getThreads())
    return emitOpError("waits for ")
           << *getThreads() << " threads of a block that has "
           << kernel.getThreads();
  return success();
}

LogicalResult ShuffleXorOp::verify() {
  if (getMask() < 1 || getMask() > 31)
    return emitOpError("needs a mask from 1 to 31, found ") << getMask();
  return success();
}

LogicalResult FenceOp::verify() {
  return getScope() == FenceScope::Cluster ? verifyArch(*this, 90) : success();
}

LogicalResult WaitCopiesOp::verify() {
  if (getPendingAttr().getInt() < 0)
    return emitOpError("needs 0 or more pending groups, found ")
           << getPendingAttr().getInt();
  return success();
}

LogicalResult MBarrierInitOp::verify() {
  if (getCount() < 1 || getCount() >= 1 << 20)
    return emitOpError("needs 1 to 1048575 arrivals, found ") << getCount();
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  if (getBytes() != 4 && getBytes() != 8 && getBytes() != 16)
    return emitOpError("copies 4, 8 or 16 bytes, found ") << getBytes();
  return success();
}

/// What only architectures have whose name says that they have no successors.
static LogicalResult verifySpecificArch(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (kernel && (*getArchNumber(kernel.getArch()) < 90 ||
                 !kernel.getArch().ends_with("a")))
    return op->emitOpError("needs an architecture such as sm_90a; the kernel "
                           "is for ")
           << kernel.getArch();
  return success();
}

LogicalResult SetRegistersOp::verify() {
  if (getCount() < 24 || getCount() > 256 || getCount() % 8 != 0)
    return emitOpError("needs a multiple of 8 from 24 to 256, found ")
           << getCount();
  return verifySpecificArch(*this);
}

LogicalResult
WarpgroupArriveOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult WarpgroupWaitOp::inferReturnTypes(MLIRContext *,
                                                std::optional<Location>,
                                                Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult WarpgroupMmaOp::verify() {
  // Counted in 16 bytes, in 14 bits of a descriptor.
  for (uint64_t stride : {getKStride(), getColumnStride()})
    if (stride % 8 != 0 || stride == 0 || stride >= 8 << 14)
      return emitOpError("needs strides of 8 to 131064 elements, a multiple of "
                         "8, found ")
             << stride;
  return verifySpecificArch(*this);
}

#define GET_OP_CLASSES
#include "dialects/Cuda/CudaOps.cpp.inc"
