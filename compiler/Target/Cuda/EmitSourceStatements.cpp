//===- EmitSourceStatements.cpp - Operations as C++ statements ------------===//

#include "compiler/Target/Cuda/EmitSourcePrinter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::cuda;

static int64_t byteSize(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

std::string SourcePrinter::address(Value pointer, Value index) {
  auto type = cast<PtrType>(pointer.getType());
  std::string base = value(pointer).as(Level::Additive);
  APInt number;
  bool isNumber = matchPattern(index, m_ConstantInt(&number));
  int64_t size =
      type.getSpace() == Space::Global ? 1 : byteSize(type.getElement());
  if (isNumber) {
    int64_t offset = number.getSExtValue() * size;
    if (offset == 0)
      return base;
    return base + (offset < 0 ? " - " : " + ") +
           std::to_string(std::abs(offset));
  }
  Expr position = value(index);
  if (type.getSpace() == Space::Global)
    return base + " + " + position.as(Level::Multiplicative);
  // Shared addresses have 32 bits: one register and half of the instructions.
  std::string narrow = index.getType().isIndex()
                           ? "u32(" + position.text + ")"
                           : position.as(Level::Multiplicative);
  return base + " + " + narrow +
         (size == 1 ? "" : " * " + std::to_string(size));
}

void SourcePrinter::printResult(Operation *op, const Twine &content) {
  Value result = op->getResult(0);
  if (result.use_empty())
    return line(content + ";");
  line("const " + printType(result.getType()) + " " +
       nameValue(result, getHint(op)) + " = " + content + ";");
}

bool SourcePrinter::printStatement(Operation *op) {
  auto helper = [&](StringRef name) {
    prelude.use(name);
    return name.str();
  };
  auto simple = [&](StringRef name) { line(helper(name) + "();"); };
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](LoadOp load) {
        auto type = load.getPointer().getType();
        std::string at = address(load.getPointer(), load.getIndex());
        std::string name = "load";
        if (type.getSpace() == Space::Shared)
          name = "load_shared";
        else if (type.getSpace() == Space::Cluster)
          name = "load_cluster";
        else if (load.getHint() == CacheHint::ReadOnly)
          name = "load_read_only";
        else if (load.getHint() == CacheHint::Stream)
          name = "load_stream";
        else if (load.getHint() == CacheHint::Keep)
          name = "load_keep";
        else if (load.getHint() == CacheHint::L2)
          name = "load_l2";
        if (name == "load" && !isa<VectorType>(load.getType()))
          printResult(op, value(load.getPointer()).as(Level::Primary) + "[" +
                              value(load.getIndex()).text + "]");
        else
          printResult(op, helper(name) + "<" + printType(load.getType()) +
                              ">(" + at + ")");
        return true;
      })
      .Case([&](StoreOp store) {
        Space space = store.getPointer().getType().getSpace();
        if (space == Space::Global &&
            !isa<VectorType>(store.getValue().getType())) {
          line(value(store.getPointer()).as(Level::Primary) + "[" +
               value(store.getIndex()).text +
               "] = " + value(store.getValue()).text + ";");
          return true;
        }
        // The type of a literal is not always that of the value.
        line(helper(space == Space::Global   ? "store"
                    : space == Space::Shared ? "store_shared"
                                             : "store_cluster") +
             "<" + printType(store.getValue().getType()) + ">(" +
             address(store.getPointer(), store.getIndex()) + ", " +
             argument(store.getValue()) + ");");
        return true;
      })
      .Case([&](AtomicAddOp atomic) {
        std::string arguments =
            "(" + address(atomic.getPointer(), atomic.getIndex()) + ", " +
            argument(atomic.getValue()) + ")";
        if (atomic.getAcquireRelease())
          prelude.use(atomic.getType().isF32() ? "atomic_add_acq_rel(float)"
                                               : "atomic_add_acq_rel(int)");
        printResult(op, (atomic.getAcquireRelease() ? "atomic_add_acq_rel"
                                                    : "atomicAdd") +
                            arguments);
        return true;
      })
      .Case([&](LoadAcquireOp load) {
        printResult(op, helper("load_acquire") + "(" +
                            address(load.getPointer(), load.getIndex()) + ")");
        return true;
      })
      .Case([&](StoreReleaseOp store) {
        line(helper("store_release") + "(" +
             address(store.getPointer(), store.getIndex()) + ", " +
             argument(store.getValue()) + ");");
        return true;
      })
      .Case([&](BarrierOp barrier) {
        if (barrier.getId())
          line(helper("named_barrier") + "<" + Twine(*barrier.getId()) + ", " +
               Twine(*barrier.getThreads()) + ">();");
        else
          line("__syncthreads();");
        return true;
      })
      .Case([&](WarpBarrierOp) { return line("__syncwarp();"), true; })
      .Case([&](ClusterArriveOp arrive) {
        simple(arrive.getRelaxed() ? "cluster_arrive_relaxed"
                                   : "cluster_arrive");
        return true;
      })
      .Case([&](ClusterWaitOp) { return simple("cluster_wait"), true; })
      .Case([&](ShuffleXorOp shuffle) {
        printResult(op, "__shfl_xor_sync(0xffffffff, " +
                            argument(shuffle.getValue()) + ", " +
                            Twine(shuffle.getMask()) + ")");
        return true;
      })
      .Case([&](ShuffleIndexOp shuffle) {
        printResult(op, "__shfl_sync(0xffffffff, " +
                            argument(shuffle.getValue()) + ", " +
                            value(shuffle.getLane()).text + ")");
        return true;
      })
      .Case([&](ElectOp) {
        // elect.sync came with sm_90; any one lane will do.
        bool hasElect = *getArchNumber(kernel.getArch()) >= 90;
        printResult(op, hasElect ? helper("elect") + "()"
                                 : "threadIdx.x % 32 == 0");
        return true;
      })
      .Case([&](FenceOp fence) {
        switch (fence.getScope()) {
        case FenceScope::Block:
          line("__threadfence_block();");
          break;
        case FenceScope::Cluster:
          simple("fence_cluster");
          break;
        case FenceScope::Device:
          line("__threadfence();");
          break;
        case FenceScope::System:
          line("__threadfence_system();");
          break;
        }
        return true;
      })
      .Case([&](FenceAsyncOp) { return simple("fence_async"), true; })
      .Case<CopyAsyncOp, CommitCopiesOp, WaitCopiesOp, MBarrierInitOp,
            FenceMBarrierInitOp, MBarrierExpectOp, MBarrierArriveOp,
            MBarrierWaitOp, StoreAsyncOp, CopyBulkOp>(
          [&](auto) { return printCopy(op), true; })
      .Case<WaitDependencyOp, LaunchDependentsOp>([&](auto) {
        // Before sm_90 kernels do not overlap.
        if (*getArchNumber(kernel.getArch()) >= 90)
          simple(isa<WaitDependencyOp>(op) ? "wait_dependency"
                                           : "launch_dependents");
        return true;
      })
      .Case([&](LoadMatrixOp load) {
        int64_t count = cast<VectorType>(load.getType()).getNumElements();
        printResult(op, helper(load.getTransposed() ? "load_matrix_transposed"
                                                    : "load_matrix") +
                            "<" + Twine(count) + ">(" +
                            address(load.getPointer(), load.getIndex()) + ")");
        return true;
      })
      .Case([&](StoreMatrixOp store) {
        line(helper(store.getTransposed() ? "store_matrix_transposed"
                                          : "store_matrix") +
             "(" + address(store.getPointer(), store.getIndex()) + ", " +
             value(store.getValue()).text + ");");
        return true;
      })
      .Case([&](SetRegistersOp set) {
        line(helper("set_registers") + "<" + Twine(set.getCount()) + ", " +
             (set.getIncrease() ? "true" : "false") + ">();");
        return true;
      })
      .Default([&](Operation *) { return printWarpgroupStatement(op); });
}

/// Multiplications that run beside the warps of a group.
bool SourcePrinter::printWarpgroupStatement(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](WarpgroupMmaOp mma) {
        std::string name = mma.getElement().isBF16() ? "warpgroup_mma_bf16"
                                                     : "warpgroup_mma_f16";
        int64_t sums = mma.getAccumulator().getType().getNumElements();
        prelude.use((name + "_" + Twine(2 * sums)).str());
        printResult(op, name + "(" + value(mma.getLhs()).text + ", " +
                            address(mma.getPointer(), mma.getIndex()) + ", " +
                            Twine(2 * mma.getKStride()) + ", " +
                            Twine(2 * mma.getColumnStride()) + ", " +
                            value(mma.getAccumulator()).text + ")");
        return true;
      })
      .Case<WarpgroupArriveOp, WarpgroupWaitOp>([&](auto) {
        StringRef name =
            isa<WarpgroupArriveOp>(op) ? "warpgroup_arrive" : "warpgroup_wait";
        prelude.use(name);
        std::string list;
        for (auto [input, result] :
             llvm::zip_equal(op->getOperands(), op->getResults())) {
          std::string start = value(input).text;
          std::string held = nameValue(result, "held");
          line(printType(result.getType()) + " " + held + " = " + start + ";");
          list += (list.empty() ? "" : ", ") + held;
        }
        line(name.str() + "(" + list + ");");
        return true;
      })
      .Default([](Operation *) { return false; });
}

/// Copies that run beside the thread, and what counts them.
void SourcePrinter::printCopy(Operation *op) {
  auto helper = [&](StringRef name) {
    prelude.use(name);
    return name.str();
  };
  TypeSwitch<Operation *>(op)
      .Case([&](CopyAsyncOp copy) {
        std::string bytes = "<" + std::to_string(copy.getBytes()) + ">(";
        std::string name = copy.getValid() ? "copy_async_if" : "copy_async";
        std::string valid =
            copy.getValid() ? value(copy.getValid()).text + ", " : "";
        line(helper(name) + bytes + valid +
             address(copy.getTarget(), copy.getTargetIndex()) + ", " +
             address(copy.getSource(), copy.getSourceIndex()) + ");");
      })
      .Case([&](CommitCopiesOp) { line(helper("commit_copies") + "();"); })
      .Case([&](WaitCopiesOp wait) {
        line(helper("wait_copies") + "<" + Twine(wait.getPending()) + ">();");
      })
      .Case([&](MBarrierInitOp init) {
        line(helper("mbarrier_init") + "(" +
             address(init.getBarrier(), init.getIndex()) + ", " +
             Twine(init.getCount()) + ");");
      })
      .Case([&](FenceMBarrierInitOp) {
        line(helper("fence_mbarrier_init") + "();");
      })
      .Case([&](MBarrierExpectOp expect) {
        line(helper("mbarrier_expect") + "(" +
             address(expect.getBarrier(), expect.getIndex()) + ", " +
             value(expect.getBytes()).text + ");");
      })
      .Case([&](MBarrierArriveOp arrive) {
        line(helper("mbarrier_arrive") + "(" +
             address(arrive.getBarrier(), arrive.getIndex()) + ");");
      })
      .Case([&](StoreAsyncOp store) {
        line(helper("store_async") + "<" +
             printType(store.getValue().getType()) + ">(" +
             address(store.getPointer(), store.getIndex()) + ", " +
             address(store.getBarrier(), store.getBarrierIndex()) + ", " +
             argument(store.getValue()) + ");");
      })
      .Case([&](MBarrierWaitOp wait) {
        line(helper("mbarrier_wait") + "(" +
             address(wait.getBarrier(), wait.getIndex()) + ", " +
             value(wait.getParity()).text + ");");
      })
      .Case([&](CopyBulkOp copy) {
        std::string policy = copy.getHint() == CacheHint::Stream ? "evict_first"
                             : copy.getHint() == CacheHint::Keep ? "evict_last"
                                                                 : "";
        if (!policy.empty())
          policy = ", " + helper(policy);
        line(helper(policy.empty() ? "copy_bulk" : "copy_bulk_hint") + "(" +
             address(copy.getTarget(), copy.getTargetIndex()) + ", " +
             address(copy.getSource(), copy.getSourceIndex()) + ", " +
             value(copy.getBytes()).text + ", " +
             address(copy.getBarrier(), copy.getBarrierIndex()) + policy +
             ");");
      });
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

bool SourcePrinter::printVectorStatement(Operation *op) {
  // A copy of `source` in which elements change.
  auto change = [&](Value source, function_ref<void(StringRef)> body) {
    Value result = op->getResult(0);
    std::string start = value(source).text;
    std::string name = nameValue(result, getHint(op));
    line(printType(result.getType()) + " " + name + " = " + start + ";");
    body(name);
    return true;
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](MmaOp mma) {
        std::string name = mma.getElement().isBF16() ? "mma_bf16" : "mma_f16";
        prelude.use(name);
        printResult(op, call(name, op, "").text);
        return true;
      })
      .Case([&](arith::ConstantOp constantOp) {
        std::string list;
        auto elements = cast<DenseElementsAttr>(constantOp.getValue());
        for (Attribute single : elements.getValues<Attribute>())
          list += (list.empty() ? "" : ", ") +
                  constant(op, single, elements.getElementType(), false).text;
        printResult(op, "{" + list + "}");
        return true;
      })
      .Case([&](vector::FromElementsOp elements) {
        std::string list;
        for (Value single : elements.getElements())
          list += (list.empty() ? "" : ", ") + value(single).text;
        printResult(op, "{" + list + "}");
        return true;
      })
      .Case([&](vector::InsertOp insert) {
        if (isa<VectorType>(insert.getValueToStoreType()))
          return refuse(op, "its vector type is not one-dimensional"), true;
        return change(insert.getDest(), [&](StringRef name) {
          OpFoldResult position = insert.getMixedPosition().front();
          auto fixed = dyn_cast<Attribute>(position);
          std::string at =
              fixed ? std::to_string(cast<IntegerAttr>(fixed).getInt())
                    : value(cast<Value>(position)).text;
          line(name + "[" + at + "] = " + value(insert.getValueToStore()).text +
               ";");
        });
      })
      .Case([&](vector::InsertStridedSliceOp insert) {
        return change(insert.getDest(), [&](StringRef name) {
          int64_t offset = cast<IntegerAttr>(insert.getOffsets()[0]).getInt();
          laneCount = insert.getSourceVectorType().getNumElements();
          lanes.push_back(
              (name + "[" + Twine(laneCount == 1 ? "0" : "e") + " + " +
               Twine(offset) + "] = ")
                  .str() +
              value(insert.getValueToStore(), laneCount == 1 ? "0" : "e").text +
              ";");
          flushLanes();
        });
      })
      .Case([&](vector::BitCastOp bitcast) {
        prelude.use("bit_cast");
        printResult(op, "bit_cast<" + printType(bitcast.getType()) + ">(" +
                            value(bitcast.getSource()).text + ")");
        return true;
      })
      .Case([&](vector::ShuffleOp shuffle) {
        std::string list;
        int64_t first = shuffle.getV1VectorType().getNumElements();
        for (int64_t at : shuffle.getMask()) {
          // A poison element may have any value.
          at = std::max<int64_t>(at, 0);
          list += (list.empty() ? "" : ", ") +
                  value(at < first ? shuffle.getV1() : shuffle.getV2(),
                        std::to_string(at < first ? at : at - first))
                      .text;
        }
        printResult(op, "{" + list + "}");
        return true;
      })
      .Case([&](vector::ReductionOp reduction) {
        return printReduction(reduction), true;
      })
      .Default([](Operation *) { return false; });
}

/// Sums and extremes are taken in the order of the elements.
void SourcePrinter::printReduction(vector::ReductionOp op) {
  using Kind = vector::CombiningKind;
  std::string function;
  StringRef symbol;
  switch (op.getKind()) {
  case Kind::ADD:
    symbol = "+";
    break;
  case Kind::MUL:
    symbol = "*";
    break;
  case Kind::MAXIMUMF:
    function = "maximum";
    break;
  case Kind::MINIMUMF:
    function = "minimum";
    break;
  case Kind::MAXNUMF:
    function = "fmaxf";
    break;
  case Kind::MINNUMF:
    function = "fminf";
    break;
  case Kind::MINSI:
    function = "min";
    break;
  case Kind::MAXSI:
    function = "max";
    break;
  default:
    refuse(op, "this kind of reduction");
    return;
  }
  bool isWrapped = isa<IntegerType>(op.getType());
  if (isWrapped && !symbol.empty() && !op.getType().isInteger(32))
    return (void)refuse(op, "this kind of reduction");
  if (function == "maximum" || function == "minimum")
    prelude.use(function);
  int64_t count = op.getSourceVectorType().getNumElements();
  std::string start =
      op.getAcc() ? value(op.getAcc()).text : value(op.getVector(), "0").text;
  std::string name = nameValue(op.getResult(), getHint(op));
  line(printType(op.getType()) + " " + name + " = " + start + ";");
  int64_t first = op.getAcc() ? 0 : 1;
  if (first >= count)
    return;
  std::string element = value(op.getVector(), "e").text;
  text += "#pragma unroll\n";
  line("for (int e = " + Twine(first) + "; e < " + Twine(count) + "; ++e)");
  std::string next;
  if (!function.empty())
    next = function + "(" + name + ", " + element + ")";
  else if (isWrapped)
    next = "int(u32(" + name + ") " + symbol.str() + " u32(" + element + "))";
  else
    next = name + " " + symbol.str() + " " + element;
  ++indent;
  line(name + " = " + next + ";");
  --indent;
}
