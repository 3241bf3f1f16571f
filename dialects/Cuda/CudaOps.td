//===- CudaOps.td - Operations of CUDA kernels -------------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_CUDA_OPS_TD
#define WEFT_DIALECTS_CUDA_OPS_TD

include "dialects/Cuda/CudaTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Cuda_Op<string mnemonic, list<Trait> traits = []>
    : Op<Cuda_Dialect, mnemonic, traits>;

/// What architectures before sm_N do not have.
class Cuda_NeedsArch<int arch> : ParamNativeOpTrait<"NeedsArch", "" # arch> {
  let cppNamespace = "::weft::cuda";
}
defvar Cuda_Hopper = Cuda_NeedsArch<90>;

def Cuda_Int : AnyTypeOf<[I32, Index]>;
def Cuda_Data : AnyTypeOf<[F32, F16, BF16, F64, I8, I32, I64,
                           VectorOfRankAndType<[1], [F32, F16, BF16, F64, I8, I32, I64]>]>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Cuda_KernelOp : Cuda_Op<"kernel", [Symbol, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::weft::cuda::ReturnOp">]> {
  let summary = "a CUDA kernel of one architecture";
  let description = [{
    Arguments follow the kernel ABI (docs/architecture.md): a global pointer per
    buffer, an `index` per symbol, and the number of work items, of type
    `index`. `threads` is the size of a block, `shared` the bytes of dynamic
    shared memory. With `blocks_per_multiprocessor` 0 the grid has one cluster per
    work item; otherwise it is at most that many blocks on each multiprocessor
    and the kernel loops over items. `dependent_launch` says that every path
    executes `cuda.wait_dependency`, so that the kernel may start before its
    predecessor has ended. `arch` is `sm_80` or later; an operation that it does
    not have is an error.

    ```mlir
    cuda.kernel @scale arch "sm_80" threads 128 shared 0
        (%x: !cuda.ptr<f32, global>, %rows: index, %items: index) {
      %item = cuda.block_index : index
      %thread = cuda.thread_index : index
      %c128 = arith.constant 128 : index
      %first = arith.muli %item, %c128 : index
      %i = arith.addi %first, %thread : index
      %v = cuda.load %x[%i] : !cuda.ptr<f32, global>, index -> f32
      %twice = arith.addf %v, %v : f32
      cuda.store %twice, %x[%i] : f32, !cuda.ptr<f32, global>, index
      cuda.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$arch, I64Attr:$threads,
                       I64Attr:$shared,
                       DefaultValuedAttr<I64Attr, "1">:$cluster,
                       DefaultValuedAttr<I64Attr, "0">:$blocks_per_multiprocessor,
                       UnitAttr:$dependent_launch);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
  }];
}

def Cuda_ReturnOp : Cuda_Op<"return", [Pure, Terminator, ReturnLike,
                                       HasParent<"::weft::cuda::KernelOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Where a thread stands
//===----------------------------------------------------------------------===//

class Cuda_IndexOp<string mnemonic, string what, list<Trait> traits = []>
    : Cuda_Op<mnemonic, traits # [Pure]> {
  let summary = what;
  let results = (outs Cuda_Int:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Cuda_ThreadIndexOp : Cuda_IndexOp<"thread_index", "number of the thread in its block">;
def Cuda_BlockIndexOp : Cuda_IndexOp<"block_index", "number of the block in the grid">;
def Cuda_BlockCountOp : Cuda_IndexOp<"block_count", "number of blocks of the grid">;
def Cuda_ClusterRankOp : Cuda_IndexOp<"cluster_rank", "number of the block in its cluster",
                                       [Cuda_Hopper]>;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Cuda_SharedMemoryOp : Cuda_Op<"shared_memory", [Pure]> {
  let summary = "a place in the block's dynamic shared memory";
  let description = [{
    Byte offset `at`, which is a multiple of the element's size.

    ```mlir
    %sums = cuda.shared_memory at 1024 : !cuda.ptr<f32, shared>
    ```
  }];
  let arguments = (ins I64Attr:$at);
  let results = (outs Cuda_SharedPtr:$result);
  let assemblyFormat = "`at` $at attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Cuda_MapClusterOp : Cuda_Op<"map_cluster", [Cuda_Hopper, Pure]> {
  let summary = "the same place in the shared memory of a block of the cluster";
  let description = [{
    `mapa`. A block must not end while others may still access its memory:
    behind their last accesses all threads arrive at the barrier of the cluster,
    and none ends before a `cuda.cluster_wait`.
  }];
  let arguments = (ins Cuda_SharedPtr:$pointer, I32:$rank);
  let results = (outs Cuda_ClusterPtr:$result);
  let assemblyFormat = [{
    $pointer `rank` $rank attr-dict `:` type($pointer) `,` type($rank) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Cuda_OffsetOp : Cuda_Op<"offset", [Pure, AllTypesMatch<["pointer", "result"]>]> {
  let summary = "pointer to an element some elements further";
  let arguments = (ins Cuda_AnyPtr:$pointer, Cuda_Int:$index);
  let results = (outs Cuda_AnyPtr:$result);
  let assemblyFormat = "$pointer `[` $index `]` attr-dict `:` type($pointer) `,` type($index)";
}

def Cuda_LoadOp : Cuda_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "reads an element, or consecutive elements as a vector";
  let description = [{
    Vectors take 4, 8 or 16 bytes and are aligned to their size. `hint`:
    `read_only` for memory that nothing writes while the kernel runs, `stream`
    for read-only memory that is read once (kept out of L1), `keep` for memory
    that other blocks read too, `l2` past the L1 cache, which may have old
    content of memory that a kernel wrote while this one had already begun.
  }];
  let arguments = (ins Arg<Cuda_AnyPtr, "", [MemRead]>:$pointer, Cuda_Int:$index,
                       DefaultValuedAttr<Cuda_CacheHintAttr, "CacheHint::Default">:$hint);
  let results = (outs Cuda_Data:$result);
  let assemblyFormat = [{
    $pointer `[` $index `]` (`hint` $hint^)? attr-dict `:` type($pointer) `,` type($index) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Cuda_StoreOp : Cuda_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes an element, or a vector to consecutive elements";
  let arguments = (ins Cuda_Data:$value, Arg<Cuda_AnyPtr, "", [MemWrite]>:$pointer,
                       Cuda_Int:$index);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` attr-dict `:` type($value) `,` type($pointer) `,` type($index)
  }];
  let hasVerifier = 1;
}

def Cuda_AtomicAddOp : Cuda_Op<"atomic_add", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds to memory of the device and gives the value before";
  let description = [{
    Relaxed; with `acquire_release` it also orders memory for the device (what
    the last of several blocks needs to read the results of the others).
  }];
  let arguments = (ins AnyTypeOf<[I32, F32]>:$value, Cuda_GlobalPtr:$pointer,
                       Cuda_Int:$index, UnitAttr:$acquire_release);
  let results = (outs AnyTypeOf<[I32, F32]>:$result);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` attr-dict `:` type($value) `,` type($pointer) `,` type($index) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Cuda_LoadAcquireOp : Cuda_Op<"load_acquire", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "reads a flag; what its writer wrote before is visible then";
  let description = [{
    `ld.acquire.gpu`: with `cuda.store_release` or `cuda.atomic_add` in another
    block.

    ```mlir
    %flag = cuda.load_acquire %flags[%i] : !cuda.ptr<i32, global>, index
    ```
  }];
  let arguments = (ins Cuda_Flag:$pointer, Cuda_Int:$index);
  let results = (outs I32:$result);
  let assemblyFormat = "$pointer `[` $index `]` attr-dict `:` type($pointer) `,` type($index)";
}

def Cuda_StoreReleaseOp : Cuda_Op<"store_release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes a flag, behind everything that the thread wrote before";
  let arguments = (ins I32:$value, Cuda_Flag:$pointer, Cuda_Int:$index);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` attr-dict `:` type($pointer) `,` type($index)
  }];
}

//===----------------------------------------------------------------------===//
// Threads of a block
//===----------------------------------------------------------------------===//

def Cuda_BarrierOp : Cuda_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the block, or for `threads` of them";
  let description = [{
    With `id` and `threads` a named barrier of that many threads; the id is 1 to
    15 and a constant (a number in a register would reserve all sixteen).
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$threads);
  let assemblyFormat = "(`id` $id^ `threads` $threads)? attr-dict";
  let hasVerifier = 1;
}

def Cuda_WarpBarrierOp : Cuda_Op<"warp_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the warp";
  let assemblyFormat = "attr-dict";
}

def Cuda_ClusterArriveOp : Cuda_Op<"cluster_arrive", [Cuda_Hopper, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrives at the barrier of the cluster";
  let description = [{
    `barrier.cluster.arrive.release`: what the thread did before is known to all
    threads of the cluster behind their `cuda.cluster_wait`. With `relaxed` it is
    not, and the thread does not wait for its own stores. A phase of the barrier
    is complete when every thread of the cluster has arrived or ended; a thread
    waits between two arrivals. All threads of a warp execute it together.

    ```mlir
    cuda.cluster_arrive relaxed
    cuda.cluster_wait
    ```
  }];
  let arguments = (ins UnitAttr:$relaxed);
  let assemblyFormat = "(`relaxed` $relaxed^)? attr-dict";
}

def Cuda_ClusterWaitOp : Cuda_Op<"cluster_wait", [Cuda_Hopper, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the cluster to arrive";
  let description = [{
    `barrier.cluster.wait.acquire`: for the phase that the thread's last
    `cuda.cluster_arrive` was for. All threads of a warp execute it together.
  }];
  let assemblyFormat = "attr-dict";
}

def Cuda_ShuffleXorOp : Cuda_Op<"shuffle_xor", [SameOperandsAndResultType]> {
  let summary = "the value of the lane whose number differs in the bits of `mask`";
  let description = [{
    All lanes of the warp take part.

    ```mlir
    %other = cuda.shuffle_xor %sum mask 16 : f32
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, I32]>:$value, I64Attr:$mask);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$value `mask` $mask attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Cuda_ShuffleIndexOp : Cuda_Op<"shuffle_index", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of a lane";
  let description = [{
    All lanes of the warp take part; `lane` is taken modulo 32.

    ```mlir
    %first = cuda.shuffle_index %sum lane %zero : f32
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, I32]>:$value, I32:$lane);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$value `lane` $lane attr-dict `:` type($result)";
}

def Cuda_ElectOp : Cuda_Op<"elect"> {
  let summary = "true in one lane of the warp";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Cuda_FenceOp : Cuda_Op<"fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders the thread's memory accesses";
  let arguments = (ins Cuda_FenceScopeAttr:$scope);
  let assemblyFormat = "`` $scope attr-dict";
  let hasVerifier = 1;
}

def Cuda_FenceAsyncOp : Cuda_Op<"fence_async", [Cuda_Hopper, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders ordinary accesses before those of bulk copies";
  let description = [{
    Ordinary stores that a bulk copy or wgmma reads next need it in every thread
    that wrote (`fence.proxy.async`). From sm_90.
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

def Cuda_CopyAsyncOp : Cuda_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts a copy of 4, 8 or 16 bytes from global to shared memory";
  let description = [{
    `cp.async`, of the thread's current group. With `valid` false it writes
    zeros and reads nothing. From sm_80.

    ```mlir
    cuda.copy_async %tile[%to], %x[%from] bytes 16 valid %inside
        : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, index
    cuda.commit_copies
    cuda.wait_copies 0
    ```
  }];
  let arguments = (ins Cuda_SharedPtr:$target, Cuda_Int:$target_index,
                       Cuda_GlobalPtr:$source, Cuda_Int:$source_index,
                       I64Attr:$bytes, Optional<I1>:$valid);
  let assemblyFormat = [{
    $target `[` $target_index `]` `,` $source `[` $source_index `]` `bytes` $bytes
    (`valid` $valid^)? attr-dict `:` type($target) `,` type($target_index) `,`
    type($source) `,` type($source_index)
  }];
  let hasVerifier = 1;
}

def Cuda_CommitCopiesOp : Cuda_Op<"commit_copies", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes the thread's group of asynchronous copies";
  let assemblyFormat = "attr-dict";
}

def Cuda_WaitCopiesOp : Cuda_Op<"wait_copies", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` groups of copies are under way";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def Cuda_MBarrierInitOp : Cuda_Op<"mbarrier_init", [Cuda_Hopper, MemoryEffects<[MemWrite]>]> {
  let summary = "makes an mbarrier that `count` arrivals complete";
  let description = [{
    One thread does it; `cuda.fence_mbarrier_init` and a barrier make it known
    to the block. A new mbarrier is in phase 0.
  }];
  let arguments = (ins Cuda_MBarrier:$barrier, Cuda_Int:$index, I64Attr:$count);
  let assemblyFormat = "$barrier `[` $index `]` `count` $count attr-dict `:` type($index)";
  let hasVerifier = 1;
}

def Cuda_FenceMBarrierInitOp : Cuda_Op<"fence_mbarrier_init", [Cuda_Hopper, MemoryEffects<[MemWrite]>]> {
  let summary = "makes new mbarriers visible to bulk copies and the cluster";
  let assemblyFormat = "attr-dict";
}

def Cuda_MBarrierExpectOp : Cuda_Op<"mbarrier_expect", [Cuda_Hopper, MemoryEffects<[MemWrite]>]> {
  let summary = "arrives and adds bytes that the current phase waits for";
  let arguments = (ins Cuda_MBarrier:$barrier, Cuda_Int:$index, I32:$bytes);
  let assemblyFormat = "$barrier `[` $index `]` `bytes` $bytes attr-dict `:` type($index)";
}

def Cuda_MBarrierArriveOp : Cuda_Op<"mbarrier_arrive", [Cuda_Hopper, MemoryEffects<[MemWrite]>]> {
  let summary = "arrives at an mbarrier";
  let arguments = (ins Cuda_MBarrier:$barrier, Cuda_Int:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` type($index)";
}

def Cuda_MBarrierWaitOp : Cuda_Op<"mbarrier_wait", [Cuda_Hopper, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the phase of the given parity is complete";
  let arguments = (ins Cuda_MBarrier:$barrier, Cuda_Int:$index, I32:$parity);
  let assemblyFormat = "$barrier `[` $index `]` `parity` $parity attr-dict `:` type($index)";
}

def Cuda_StoreAsyncOp : Cuda_Op<"store_async", [Cuda_Hopper, MemoryEffects<[MemWrite]>]> {
  let summary = "starts a store of 4, 8 or 16 bytes to another block of the cluster";
  let description = [{
    `st.async`: the bytes count towards the phase of an mbarrier of the block
    that is written to.

    ```mlir
    %there = cuda.map_cluster %sums rank %next : !cuda.ptr<f32, shared>, i32 -> !cuda.ptr<f32, cluster>
    %full = cuda.map_cluster %barriers rank %next : !cuda.ptr<i64, shared>, i32 -> !cuda.ptr<i64, cluster>
    cuda.store_async %sum, %there[%i] complete %full[%zero] : f32, !cuda.ptr<f32, cluster>, i32, i32
    ```
  }];
  let arguments = (ins Cuda_Data:$value, Cuda_ClusterPtr:$pointer, Cuda_Int:$index,
                       Cuda_ClusterMBarrier:$barrier, Cuda_Int:$barrier_index);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` `complete` $barrier `[` $barrier_index `]`
    attr-dict `:` type($value) `,` type($pointer) `,` type($index) `,` type($barrier_index)
  }];
  let hasVerifier = 1;
}

def Cuda_CopyBulkOp : Cuda_Op<"copy_bulk", [Cuda_Hopper, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts a copy of consecutive bytes from global to shared memory";
  let description = [{
    `cp.async.bulk`: one thread starts it, the bytes count towards an mbarrier's
    phase. Addresses and size are multiples of 16 bytes. `hint` `stream` marks
    data that is read once. From sm_90.

    ```mlir
    cuda.copy_bulk %stage[%to], %w[%from] bytes %n complete %full[%slot] hint stream
        : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, index, i32
    ```
  }];
  let arguments = (ins Cuda_SharedPtr:$target, Cuda_Int:$target_index,
                       Cuda_GlobalPtr:$source, Cuda_Int:$source_index, I32:$bytes,
                       Cuda_MBarrier:$barrier, Cuda_Int:$barrier_index,
                       DefaultValuedAttr<Cuda_CacheHintAttr, "CacheHint::Default">:$hint);
  let assemblyFormat = [{
    $target `[` $target_index `]` `,` $source `[` $source_index `]` `bytes` $bytes
    `complete` $barrier `[` $barrier_index `]` (`hint` $hint^)? attr-dict `:`
    type($target) `,` type($target_index) `,` type($source) `,` type($source_index) `,`
    type($barrier_index)
  }];
}

//===----------------------------------------------------------------------===//
// Dependent launch
//===----------------------------------------------------------------------===//

def Cuda_WaitDependencyOp : Cuda_Op<"wait_dependency", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the kernels before are complete and visible";
  let description = [{
    `griddepcontrol.wait`. Before it a kernel may only touch constants (weights)
    and its own shared memory. Every path of a kernel executes it, else the one
    behind could run ahead of the one before. Before sm_90 kernels do not overlap
    and there is nothing to wait for.
  }];
  let assemblyFormat = "attr-dict";
}

def Cuda_LaunchDependentsOp : Cuda_Op<"launch_dependents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets the next kernel start once all blocks have said so";
  let description = "`griddepcontrol.launch_dependents`; before sm_90 nothing.";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Matrix multiplication
//===----------------------------------------------------------------------===//

def Cuda_LoadMatrixOp : Cuda_Op<"load_matrix", [MemoryEffects<[MemRead]>]> {
  let summary = "reads one, two or four 8x8 matrices of 16-bit elements from shared memory";
  let description = [{
    `ldmatrix`: lane l gives the address of row l % 8 of matrix l / 8; it gets
    the elements (lane / 4, 2 * (lane % 4) + {0, 1}) of each matrix, transposed
    first with `transposed`.

    ```mlir
    %a = cuda.load_matrix %tile[%row] : !cuda.ptr<bf16, shared>, i32 -> vector<4xi32>
    ```
  }];
  let arguments = (ins Cuda_SharedPtr:$pointer, Cuda_Int:$index, UnitAttr:$transposed);
  let results = (outs VectorOfLengthAndType<[1, 2, 4], [I32]>:$result);
  let assemblyFormat = [{
    $pointer `[` $index `]` attr-dict `:` type($pointer) `,` type($index) `->` type($result)
  }];
}

def Cuda_StoreMatrixOp : Cuda_Op<"store_matrix", [Cuda_Hopper, MemoryEffects<[MemWrite]>]> {
  let summary = "writes one, two or four 8x8 matrices of 16-bit elements to shared memory";
  let description = [{
    `stmatrix`: the lanes hold elements and give addresses as for
    `cuda.load_matrix`.
  }];
  let arguments = (ins VectorOfLengthAndType<[1, 2, 4], [I32]>:$value,
                       Cuda_SharedPtr:$pointer, Cuda_Int:$index, UnitAttr:$transposed);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` attr-dict `:` type($value) `,` type($pointer) `,` type($index)
  }];
}

class Cuda_Vector<int length, Type element, string builder>
    : VectorOfLengthAndType<[length], [element]>,
      BuildableType<"::mlir::VectorType::get({" # length # "}, " # builder # ")">;
def Cuda_LhsFragment : Cuda_Vector<4, I32, "$_builder.getI32Type()">;
def Cuda_RhsFragment : Cuda_Vector<2, I32, "$_builder.getI32Type()">;
def Cuda_AccumulatorFragment : Cuda_Vector<4, F32, "$_builder.getF32Type()">;

def Cuda_MmaOp : Cuda_Op<"mma", [Pure]> {
  let summary = "multiplies 16x16 by 16x8 in a warp and adds to 16x8";
  let description = [{
    `mma.sync.aligned.m16n8k16.row.col.f32`: with g = lane / 4 and t = lane % 4,
    lhs holds the pairs (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8), rhs
    the pairs k = 2t and k = 2t + 8 of column g, and the accumulator the elements
    (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). `element` is bf16 or f16.

    ```mlir
    %d = cuda.mma bf16 %a, %b, %c
    ```
  }];
  let arguments = (ins TypeAttrOf<AnyTypeOf<[BF16, F16]>>:$element,
                       Cuda_LhsFragment:$lhs,
                       Cuda_RhsFragment:$rhs,
                       Cuda_AccumulatorFragment:$accumulator);
  let results = (outs Cuda_AccumulatorFragment:$result);
  let assemblyFormat = "$element $lhs `,` $rhs `,` $accumulator attr-dict";
}

def Cuda_WarpgroupSum : VectorOfLengthAndType<
    [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64], [F32]>;

def Cuda_WarpgroupArriveOp : Cuda_Op<"warpgroup_arrive", [InferTypeOpAdaptor]> {
  let summary = "gives registers to the multiplications of a warpgroup";
  let description = [{
    `wgmma.fence`: sums and left-hand fragments that the following
    `cuda.warpgroup_mma` use, as they are then; none may be computed between here
    and `cuda.warpgroup_wait`.

    ```mlir
    %held:2 = cuda.warpgroup_arrive %sum, %a : vector<4xf32>, vector<4xi32>
    ```
  }];
  let arguments = (ins Variadic<AnyTypeOf<[Cuda_WarpgroupSum,
                                           Cuda_LhsFragment]>>:$inputs);
  let results = (outs Variadic<AnyTypeOf<[Cuda_WarpgroupSum,
                                          Cuda_LhsFragment]>>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
}

def Cuda_WarpgroupMmaOp : Cuda_Op<"warpgroup_mma",
    [AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "multiplies 64x16 by 16xN in the four warps of a group";
  let description = [{
    `wgmma.mma_async.sync.aligned.m64nNk16.f32` for N = 8, 16, 24, ... or 128, which
    is twice the length of the sum. Warp w of the group has rows 16 w .. 16 w + 15 of
    the product; its left-hand fragment and, for each 8 columns, its accumulator
    are those of `cuda.mma`.

    The right-hand side lies in shared memory as 8x8 matrices of 16-bit elements:
    8 values of k of 8 columns, a column after the other, 128 bytes. Those of the
    next 8 values of k are `k_stride` elements, those of the next 8 columns
    `column_stride` elements away. No swizzle. What it reads has been written by
    bulk copies. Nothing is complete before `cuda.warpgroup_wait`.

    ```mlir
    %d = cuda.warpgroup_mma bf16 %a, %tile[%at] strides 64, 1024, %c
        : !cuda.ptr<bf16, shared>, i32, vector<4xf32>
    ```
  }];
  let arguments = (ins TypeAttrOf<AnyTypeOf<[BF16, F16]>>:$element,
                       Cuda_LhsFragment:$lhs, Cuda_SharedPtr:$pointer,
                       Cuda_Int:$index, I64Attr:$k_stride,
                       I64Attr:$column_stride, Cuda_WarpgroupSum:$accumulator);
  let results = (outs Cuda_WarpgroupSum:$result);
  let assemblyFormat = [{
    $element $lhs `,` $pointer `[` $index `]` `strides` $k_stride `,`
    $column_stride `,` $accumulator attr-dict `:` type($pointer) `,` type($index)
    `,` type($accumulator)
  }];
  let hasVerifier = 1;
}

def Cuda_WarpgroupWaitOp : Cuda_Op<"warpgroup_wait", [InferTypeOpAdaptor]> {
  let summary = "waits for the multiplications of a warpgroup";
  let description = [{
    `wgmma.commit_group` and `wgmma.wait_group 0`: the sums are complete, and what
    the multiplications read may be overwritten.

    ```mlir
    %sum = cuda.warpgroup_wait %d : vector<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Cuda_WarpgroupSum>:$inputs);
  let results = (outs Variadic<Cuda_WarpgroupSum>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
}

def Cuda_PackOp : Cuda_Op<"pack", [Pure]> {
  let summary = "rounds two f32 numbers to a pair of 16-bit ones";
  let description = [{
    The first number is the low half: `cvt.rn.bf16x2.f32`.

    ```mlir
    %pair = cuda.pack bf16 %x0, %x1
    ```
  }];
  let arguments = (ins TypeAttrOf<AnyTypeOf<[BF16, F16]>>:$element, F32:$low, F32:$high);
  let results = (outs I32:$result);
  let assemblyFormat = "$element $low `,` $high attr-dict";
}

def Cuda_MultiplyPairsOp : Cuda_Op<"multiply_pairs", [Pure, Commutative]> {
  let summary = "multiplies two pairs of 16-bit numbers";
  let description = [{
    Each product is rounded once: `fma.rn.bf16x2` with -0.

    ```mlir
    %product = cuda.multiply_pairs bf16 %a, %b
    ```
  }];
  let arguments = (ins TypeAttrOf<AnyTypeOf<[BF16, F16]>>:$element, I32:$lhs, I32:$rhs);
  let results = (outs I32:$result);
  let assemblyFormat = "$element $lhs `,` $rhs attr-dict";
}

def Cuda_SetRegistersOp : Cuda_Op<"set_registers", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "gives registers of the warpgroup back, or takes more";
  let description = [{
    `setmaxnreg`: all warps of the warpgroup execute it, with one number from 24
    to 256 that is a multiple of 8; taking more waits until there are as many.
    From sm_90a.

    ```mlir
    cuda.set_registers increase 240
    ```
  }];
  let arguments = (ins UnitAttr:$increase, I64Attr:$count);
  let assemblyFormat = "(`increase` $increase^):(`decrease`)? $count attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fast functions
//===----------------------------------------------------------------------===//

def Cuda_Exp2Op : Cuda_Op<"exp2", [Pure, SameOperandsAndResultType]> {
  let summary = "2 to the power of a number, approximate";
  let description = [{
    `ex2.approx.ftz.f32`, relative error at most 2^-22; exp2(-inf) is 0.
  }];
  let arguments = (ins AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$input);
  let results = (outs AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif // WEFT_DIALECTS_CUDA_OPS_TD
