// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: cuda.kernel @scale arch "sm_80" threads 128 shared 2048
cuda.kernel @scale arch "sm_80" threads 128 shared 2048
    (%x: !cuda.ptr<f32, global>, %rows: index, %items: index) {
  %item = cuda.block_index : index
  %thread = cuda.thread_index : index
  %c128 = arith.constant 128 : index
  %first = arith.muli %item, %c128 : index
  %i = arith.addi %first, %thread : index
  // CHECK: cuda.load %{{.*}}[%{{.*}}] hint stream : <f32, global>, index -> f32
  %v = cuda.load %x[%i] hint stream : !cuda.ptr<f32, global>, index -> f32
  %tile = cuda.shared_memory at 1024 : !cuda.ptr<f32, shared>
  cuda.store %v, %tile[%thread] : f32, !cuda.ptr<f32, shared>, index
  cuda.barrier
  // CHECK: cuda.barrier id 1 threads 64
  cuda.barrier id 1 threads 64
  %other = cuda.shuffle_xor %v mask 16 : f32
  %p = cuda.exp2 %other : f32
  cuda.store %p, %x[%i] : f32, !cuda.ptr<f32, global>, index
  cuda.return
}

// CHECK-LABEL: cuda.kernel @copies arch "sm_90a"
// CHECK-SAME: attributes {blocks_per_multiprocessor = 1 : i64, dependent_launch}
cuda.kernel @copies arch "sm_90a" threads 64 shared 4096
    (%w: !cuda.ptr<bf16, global>, %items: index)
    attributes {blocks_per_multiprocessor = 1 : i64, dependent_launch} {
  %zero = arith.constant 0 : i32
  %c512 = arith.constant 512 : i32
  %stage = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared>
  %full = cuda.shared_memory at 2048 : !cuda.ptr<i64, shared>
  cuda.mbarrier_init %full[%zero] count 1 : i32
  cuda.fence_mbarrier_init
  cuda.barrier
  cuda.wait_dependency
  %first = cuda.elect
  scf.if %first {
    cuda.mbarrier_expect %full[%zero] bytes %c512 : i32
    cuda.copy_bulk %stage[%zero], %w[%zero] bytes %c512 complete %full[%zero] hint stream
        : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, i32, i32
  }
  cuda.mbarrier_wait %full[%zero] parity %zero : i32
  %a = cuda.load_matrix %stage[%zero] : !cuda.ptr<bf16, shared>, i32 -> vector<4xi32>
  %b = cuda.load_matrix %stage[%zero] {transposed} : !cuda.ptr<bf16, shared>, i32 -> vector<2xi32>
  %c = arith.constant dense<0.0> : vector<4xf32>
  %d = cuda.mma bf16 %a, %b, %c
  %x = vector.extract %d[0] : f32 from vector<4xf32>
  %y = vector.extract %d[1] : f32 from vector<4xf32>
  %pair = cuda.pack bf16 %x, %y
  // CHECK: cuda.multiply_pairs bf16
  %product = cuda.multiply_pairs bf16 %pair, %pair
  // CHECK: %[[HELD:.*]]:2 = cuda.warpgroup_arrive %{{.*}}, %{{.*}} : vector<4xf32>, vector<4xi32>
  %held:2 = cuda.warpgroup_arrive %c, %a : vector<4xf32>, vector<4xi32>
  // CHECK: %[[SUM:.*]] = cuda.warpgroup_mma bf16 %[[HELD]]#1, %{{.*}}[%{{.*}}] strides 64, 1024, %[[HELD]]#0 : <bf16, shared>, i32, vector<4xf32>
  %sum = cuda.warpgroup_mma bf16 %held#1, %stage[%zero] strides 64, 1024, %held#0
      : !cuda.ptr<bf16, shared>, i32, vector<4xf32>
  // CHECK: cuda.warpgroup_wait %[[SUM]] : vector<4xf32>
  %all = cuda.warpgroup_wait %sum : vector<4xf32>
  cuda.launch_dependents
  cuda.return
}

// CHECK-LABEL: cuda.kernel @groups
cuda.kernel @groups arch "sm_80" threads 32 shared 1024
    (%x: !cuda.ptr<bf16, global>, %n: !cuda.ptr<i32, global>, %items: index) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %inside = arith.cmpi sgt, %one, %zero : i32
  %tile = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared>
  cuda.copy_async %tile[%zero], %x[%zero] bytes 16 valid %inside
      : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, i32
  cuda.commit_copies
  cuda.wait_copies 0
  cuda.warp_barrier
  cuda.fence device
  %flag = cuda.load_acquire %n[%zero] : !cuda.ptr<i32, global>, i32
  cuda.store_release %flag, %n[%one] : !cuda.ptr<i32, global>, i32
  // CHECK: cuda.shuffle_index %{{.*}} lane %{{.*}} : i32
  %first = cuda.shuffle_index %flag lane %zero : i32
  // CHECK: cuda.atomic_add %{{.*}}, %{{.*}}[%{{.*}}] {acquire_release}
  %before = cuda.atomic_add %one, %n[%zero] {acquire_release} : i32, !cuda.ptr<i32, global>, i32 -> i32
  cuda.return
}

// CHECK-LABEL: cuda.kernel @cluster
cuda.kernel @cluster arch "sm_90a" threads 128 shared 1024 (%items: index)
    attributes {cluster = 2 : i64} {
  %zero = arith.constant 0 : i32
  %x = arith.constant 1.0 : f32
  %pairs = arith.constant dense<0> : vector<4xi32>
  // CHECK: cuda.set_registers increase 240
  cuda.set_registers increase 240
  // CHECK: cuda.set_registers decrease 40
  cuda.set_registers decrease 40
  %sums = cuda.shared_memory at 0 : !cuda.ptr<f32, shared>
  %tile = cuda.shared_memory at 512 : !cuda.ptr<bf16, shared>
  %barriers = cuda.shared_memory at 256 : !cuda.ptr<i64, shared>
  // CHECK: cuda.map_cluster %{{.*}} rank %{{.*}} : <f32, shared>, i32 -> <f32, cluster>
  %there = cuda.map_cluster %sums rank %zero : !cuda.ptr<f32, shared>, i32 -> !cuda.ptr<f32, cluster>
  %full = cuda.map_cluster %barriers rank %zero : !cuda.ptr<i64, shared>, i32 -> !cuda.ptr<i64, cluster>
  cuda.store_async %x, %there[%zero] complete %full[%zero] : f32, !cuda.ptr<f32, cluster>, i32, i32
  // CHECK: cuda.cluster_arrive relaxed
  cuda.cluster_arrive relaxed
  // CHECK: cuda.cluster_wait
  cuda.cluster_wait
  // CHECK: cuda.cluster_arrive{{$}}
  cuda.cluster_arrive
  cuda.store_matrix %pairs, %tile[%zero] {transposed} : vector<4xi32>, !cuda.ptr<bf16, shared>, i32
  cuda.cluster_wait
  cuda.return
}
