// RUN: weft-opt %s --weft-choose-schedules=levels=sm_90a --weft-choose-flash-schedules --weft-build-tile-programs --canonicalize --cse --weft-lower-tile-to-cuda | FileCheck %s

// Few rows: a cluster of 8 blocks, block r takes steps r, r + 8, ... . The first
// ones are looked up, and copied if all of them are settled, before the wait for
// earlier kernels, and the query is read behind it. The copies
// of a step are started three steps ahead, and its place in the cache is looked
// up four ahead. In the end each block merges the states of all warps of all
// blocks, splits in their order, then warps.

// CHECK-LABEL: cuda.kernel @attention_1 arch "sm_90a" threads 128 shared
//  CHECK-SAME:   cluster = 8
//       CHECK:   cuda.cluster_arrive relaxed
//       CHECK:   cuda.launch_dependents
//   CHECK-NOT:   cuda.wait_dependency
//       CHECK:   %[[RANK:.*]] = cuda.cluster_rank : i32
//       CHECK:   cuda.load %{{.*}} hint l2 : <i32, global>
//       CHECK:   %[[LATE:.*]] = arith.cmpi slt
//  CHECK-NEXT:   scf.if %[[LATE]] {
//  CHECK-NEXT:     cuda.wait_dependency
//       CHECK:   cuda.copy_async
//       CHECK:   cuda.commit_copies
//       CHECK:   cuda.wait_dependency
//       CHECK:   cuda.load %{{.*}} hint l2 : <bf16, global>, index -> vector<2xbf16>
//       CHECK:   scf.for
//       CHECK:     cuda.wait_copies 2
//  CHECK-NEXT:     cuda.barrier
//       CHECK:     scf.if
//       CHECK:       cuda.copy_async
//       CHECK:     cuda.commit_copies
//       CHECK:     cuda.load %{{.*}} hint l2 : <i32, global>
//       CHECK:     cuda.load_matrix %{{.*}} {transposed} : <bf16, shared>, i32 -> vector<4xi32>
//       CHECK:     cuda.mma bf16
//       CHECK:     cuda.shuffle_xor %{{.*}} mask 1
//       CHECK:     cuda.shuffle_xor %{{.*}} mask 2
//       CHECK:     cuda.exp2 %{{.*}} : vector<4xf32>
//       CHECK:     cuda.pack bf16
//       CHECK:     %[[PART:.*]] = cuda.mma bf16
//       CHECK:     math.fma
//   CHECK-NOT:     cuda.barrier
//       CHECK:     scf.yield
//       CHECK:   cuda.barrier
//       CHECK:   cuda.store %{{.*}} : vector<2xf32>, <f32, shared>
//       CHECK:   cuda.cluster_wait
//  CHECK-NEXT:   cuda.cluster_arrive{{$}}
//  CHECK-NEXT:   cuda.cluster_wait
//       CHECK:   cuda.map_cluster
//       CHECK:   math.fma
//       CHECK:   arith.divf
//       CHECK:   cuda.cluster_arrive{{$}}
//       CHECK:   cuda.store %{{.*}} : bf16, <bf16, global>
//       CHECK:   cuda.cluster_wait
//  CHECK-NEXT:   cuda.return

// A cluster of 2: a block has four splits and stores the state of each when it
// ends. Splits without steps, in short contexts, are empty from the start.

// CHECK-LABEL: cuda.kernel @attention_3 arch "sm_90a" threads 128 shared
//  CHECK-SAME:   cluster = 2
//       CHECK:   scf.if
//       CHECK:     cuda.store %{{.*}} : vector<4xf32>, <f32, shared>
//       CHECK:   scf.for
//       CHECK:     cuda.mma bf16
//       CHECK:     scf.if %{{.*}} -> (vector<1xf32>, vector<1xf32>, vector<4xf32>) {
//       CHECK:       cuda.store %{{.*}} : vector<2xf32>, <f32, shared>
//       CHECK:       scf.yield

// More rows: one block takes the 8 splits one after the other and merges them in
// registers.

// CHECK-LABEL: cuda.kernel @attention_4 arch "sm_90a" threads 128 shared
//   CHECK-NOT:   cluster
//       CHECK:   scf.for
//       CHECK:     scf.if %{{.*}} -> (vector<1xf32>, vector<1xf32>, vector<4xf32>, vector<1xf32>, vector<1xf32>, vector<4xf32>) {
//       CHECK:       cuda.exp2
//       CHECK:       math.fma
//       CHECK:       scf.yield

// Any number of rows: a warp has 16 of 64 rows and all keys of a step. There is
// nothing to merge.

// CHECK-LABEL: cuda.kernel @attention_5 arch "sm_90a" threads 128 shared
//   CHECK-NOT:   cluster
//       CHECK:   scf.for {{.*}} -> (vector<2xf32>, vector<2xf32>, vector<8xf32>,
//   CHECK-NOT:     scf.if %{{.*}} -> (
//       CHECK:     cuda.exp2 %{{.*}} : vector<32xf32>
//       CHECK:     scf.yield
func.func @attention(%q: tensor<?x6x16xbf16> {weft.name = "q", weft.symbols = ["tokens"]}, %k: tensor<?x2x16x64xbf16>, %v: tensor<?x2x64x16xbf16>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x6x16xbf16> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x6x16xbf16>, %b = %k : tensor<?x2x16x64xbf16>, %c = %v : tensor<?x2x64x16xbf16>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      -> (tensor<?x6x16xbf16>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.25 : f32, causal}
        : (tensor<?x6x16xbf16>, tensor<?x2x16x64xbf16>, tensor<?x2x64x16xbf16>) -> tensor<?x6x16xbf16>
    weft.yield %1 : tensor<?x6x16xbf16>
  }
  return %0 : tensor<?x6x16xbf16>
}
