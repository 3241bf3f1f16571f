//===- CudaDialect.td - The dialect of CUDA kernels --------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_CUDA_DIALECT_TD
#define WEFT_DIALECTS_CUDA_DIALECT_TD

include "mlir/IR/OpBase.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::weft::cuda";
  let summary = "what one thread of a CUDA kernel does";
  let description = [{
    One operation per emitted statement or PTX instruction. A `cuda.kernel` is
    printed as one CUDA C++ function that needs no header but Weft's own prelude
    of inline PTX.

    Numbers of a thread are scalars and one-dimensional vectors (small arrays in
    registers), computed by `arith`, `math` and `vector`; control flow is `scf`.
    `index` is a 64-bit signed integer, `i32` a 32-bit one. bf16 and f16 numbers
    are stored, loaded and converted; arithmetic is on f32.

    Memory is `!cuda.ptr<element, space>`; a pointer counts in elements.

    An `scf.for` with the attribute `cuda.unroll` is unrolled: fully as a unit
    attribute, by a factor as an integer.

    Two blocks of a cluster, each with a ring of one slot, add up what they read:

    ```mlir
    cuda.kernel @ring arch "sm_90a" threads 64 shared 4096
        (%w: !cuda.ptr<bf16, global>, %flags: !cuda.ptr<i32, global>, %items: index)
        attributes {cluster = 2 : i64, dependent_launch} {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %bytes = arith.constant 512 : i32
      %slot = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared>
      %sums = cuda.shared_memory at 1024 : !cuda.ptr<f32, shared>
      %full = cuda.shared_memory at 2048 : !cuda.ptr<i64, shared>
      %thread = cuda.thread_index : i32
      %isFirst = arith.cmpi eq, %thread, %zero : i32
      scf.if %isFirst {
        cuda.mbarrier_init %full[%zero] count 1 : i32
        cuda.mbarrier_init %full[%one] count 64 : i32
        cuda.fence_mbarrier_init
      }
      cuda.barrier
      cuda.launch_dependents
      cuda.wait_dependency
      %elected = cuda.elect
      scf.if %elected {
        cuda.mbarrier_expect %full[%zero] bytes %bytes : i32
        cuda.copy_bulk %slot[%zero], %w[%zero] bytes %bytes complete %full[%zero] hint stream
            : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, i32, i32
      }
      cuda.warp_barrier
      cuda.mbarrier_wait %full[%zero] parity %zero : i32
      %half = cuda.load %slot[%thread] : !cuda.ptr<bf16, shared>, i32 -> bf16
      cuda.mbarrier_arrive %full[%one] : i32
      %x = arith.extf %half : bf16 to f32
      %power = cuda.exp2 %x : f32
      %pair = cuda.pack bf16 %power, %power
      %row = vector.from_elements %pair : vector<1xi32>
      cuda.store_matrix %row, %slot[%zero] : vector<1xi32>, !cuda.ptr<bf16, shared>, i32
      cuda.fence_async
      cuda.store %power, %sums[%thread] : f32, !cuda.ptr<f32, shared>, i32
      cuda.cluster_arrive
      %rank = cuda.cluster_rank : i32
      %other = arith.xori %rank, %one : i32
      %there = cuda.map_cluster %sums rank %other : !cuda.ptr<f32, shared>, i32 -> !cuda.ptr<f32, cluster>
      cuda.cluster_wait
      %part = cuda.load %there[%thread] : !cuda.ptr<f32, cluster>, i32 -> f32
      cuda.cluster_arrive
      %sum = arith.addf %power, %part : f32
      cuda.fence device
      %blocks = cuda.block_count : i32
      %counts = cuda.offset %flags[%blocks] : !cuda.ptr<i32, global>, i32
      %before = cuda.atomic_add %one, %counts[%zero] {acquire_release} : i32, !cuda.ptr<i32, global>, i32 -> i32
      cuda.store_release %before, %counts[%one] : !cuda.ptr<i32, global>, i32
      cuda.cluster_wait
      cuda.return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif // WEFT_DIALECTS_CUDA_DIALECT_TD
