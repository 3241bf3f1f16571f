// RUN: weft-print-cuda --cuda-kernel %s | FileCheck %s

// Every operation of the dialect, and the helper that it prints.

// CHECK:      // memory: printed by Weft for sm_80
// CHECK-NEXT: // 64 threads, 4096 bytes of shared memory, one block for each item
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(64, 1)
// CHECK-NEXT: weft_memory(bf16 *x, int *n, float *f, double *d, i8 *q, i64 items) {
// CHECK-NEXT:   extern __shared__ __align__(1024) char shared_memory[];
// CHECK-NEXT:   const u32 smem = shared_address(shared_memory);
// CHECK-NEXT:   const i64 i = i64(threadIdx.x);
// CHECK-NEXT:   const int lane = int(threadIdx.x);
// CHECK-NEXT:   const u32 tile = smem + 512;
// CHECK-NEXT:   const i64 at = i * 8;
// CHECK-NEXT:   const Vec<bf16, 8> x1 = load_stream<Vec<bf16, 8>>(x + at);
// CHECK-NEXT:   store_shared<Vec<bf16, 8>>(tile + u32(at) * 2, x1);
// CHECK-NEXT:   const bf16 x2 = load_shared<bf16>(tile + lane * 2);
// CHECK-NEXT:   const Vec<bf16, 2> x3 = load_shared<Vec<bf16, 2>>(tile + 4);
// CHECK-NEXT:   store<Vec<bf16, 2>>(x + at, x3);
// CHECK-NEXT:   x[i] = x2;
// CHECK-NEXT:   const float x4 = load_read_only<float>(f + i);
// CHECK-NEXT:   const Vec<float, 4> x5 = load_keep<Vec<float, 4>>(f + at);
// CHECK-NEXT:   float *rest = f + 8;
// CHECK-NEXT:   store<Vec<float, 4>>(rest + at, x5);
// CHECK-NEXT:   rest[i] = x4;
// CHECK-NEXT:   const double x6 = load_stream<double>(d + i);
// CHECK-NEXT:   d[2] = x6;
// CHECK-NEXT:   const i8 x7 = load_read_only<i8>(q + i);
// CHECK-NEXT:   q[at] = x7;
// CHECK-NEXT:   store<Vec<i8, 4>>(q + at, splat<4>(i8(1)));
// CHECK-NEXT:   copy_async<16>(tile + u32(at) * 2, x + at);
// CHECK-NEXT:   copy_async_if<4>(i < items, tile + lane * 2, x + at);
// CHECK-NEXT:   commit_copies();
// CHECK-NEXT:   wait_copies<1>();
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   named_barrier<3, 32>();
// CHECK-NEXT:   __syncwarp();
// CHECK-NEXT:   __threadfence_block();
// CHECK-NEXT:   __threadfence();
// CHECK-NEXT:   __threadfence_system();
// CHECK-NEXT:   const bool elected = threadIdx.x % 32 == 0;
// CHECK-NEXT:   if (elected) {
// CHECK-NEXT:     const int before = atomic_add_acq_rel(n, 1);
// CHECK-NEXT:     const int flag = load_acquire(n + 1);
// CHECK-NEXT:     store_release(n + 1, int(u32(before) + flag));
// CHECK-NEXT:     atomicAdd(f, 1.0f);
// CHECK-NEXT:     atomic_add_acq_rel(f + 1, 1.0f);
// CHECK-NEXT:     atomicAdd(n, 1);
// CHECK-NEXT:   }
// CHECK-NEXT:   const float other = __shfl_xor_sync(0xffffffff, x4, 16);
// CHECK-NEXT:   const float other1 = __shfl_sync(0xffffffff, other, lane);
// CHECK-NEXT:   f[i] = other1;
// CHECK-NEXT: }
cuda.kernel @memory arch "sm_80" threads 64 shared 4096
    (%x: !cuda.ptr<bf16, global> loc("x"), %n: !cuda.ptr<i32, global> loc("n"),
     %f: !cuda.ptr<f32, global> loc("f"), %d: !cuda.ptr<f64, global> loc("d"),
     %q: !cuda.ptr<i8, global> loc("q"), %items: index loc("items")) {
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %real = arith.constant 1.0 : f32
  %bytes = arith.constant dense<1> : vector<4xi8>
  %i = cuda.thread_index : index loc("i")
  %lane = cuda.thread_index : i32 loc("lane")
  %tile = cuda.shared_memory at 512 : !cuda.ptr<bf16, shared> loc("tile")
  %at = arith.muli %i, %c8 : index loc("at")
  %v = cuda.load %x[%at] hint stream : !cuda.ptr<bf16, global>, index -> vector<8xbf16>
  cuda.store %v, %tile[%at] : vector<8xbf16>, !cuda.ptr<bf16, shared>, index
  %s0 = cuda.load %tile[%lane] : !cuda.ptr<bf16, shared>, i32 -> bf16
  %s1 = cuda.load %tile[%c2] : !cuda.ptr<bf16, shared>, index -> vector<2xbf16>
  cuda.store %s1, %x[%at] : vector<2xbf16>, !cuda.ptr<bf16, global>, index
  cuda.store %s0, %x[%i] : bf16, !cuda.ptr<bf16, global>, index
  %r0 = cuda.load %f[%i] hint read_only : !cuda.ptr<f32, global>, index -> f32
  %k0 = cuda.load %f[%at] hint keep : !cuda.ptr<f32, global>, index -> vector<4xf32>
  %rest = cuda.offset %f[%c8] : !cuda.ptr<f32, global>, index loc("rest")
  cuda.store %k0, %rest[%at] : vector<4xf32>, !cuda.ptr<f32, global>, index
  cuda.store %r0, %rest[%i] : f32, !cuda.ptr<f32, global>, index
  %d0 = cuda.load %d[%i] hint stream : !cuda.ptr<f64, global>, index -> f64
  cuda.store %d0, %d[%c2] : f64, !cuda.ptr<f64, global>, index
  %q0 = cuda.load %q[%i] hint read_only : !cuda.ptr<i8, global>, index -> i8
  cuda.store %q0, %q[%at] : i8, !cuda.ptr<i8, global>, index
  cuda.store %bytes, %q[%at] : vector<4xi8>, !cuda.ptr<i8, global>, index
  cuda.copy_async %tile[%at], %x[%at] bytes 16 : !cuda.ptr<bf16, shared>, index, !cuda.ptr<bf16, global>, index
  %inside = arith.cmpi slt, %i, %items : index
  cuda.copy_async %tile[%lane], %x[%at] bytes 4 valid %inside
      : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, index
  cuda.commit_copies
  cuda.wait_copies 1
  cuda.barrier
  cuda.barrier id 3 threads 32
  cuda.warp_barrier
  cuda.fence block
  cuda.fence device
  cuda.fence system
  cuda.wait_dependency
  cuda.launch_dependents
  %first = cuda.elect
  scf.if %first {
    %before = cuda.atomic_add %one, %n[%zero] {acquire_release} : i32, !cuda.ptr<i32, global>, i32 -> i32
    %flag = cuda.load_acquire %n[%one] : !cuda.ptr<i32, global>, i32
    %sum = arith.addi %before, %flag : i32
    cuda.store_release %sum, %n[%one] : !cuda.ptr<i32, global>, i32
    %b1 = cuda.atomic_add %real, %f[%zero] : f32, !cuda.ptr<f32, global>, i32 -> f32
    %b2 = cuda.atomic_add %real, %f[%one] {acquire_release} : f32, !cuda.ptr<f32, global>, i32 -> f32
    %b3 = cuda.atomic_add %one, %n[%zero] : i32, !cuda.ptr<i32, global>, i32 -> i32
  }
  %other = cuda.shuffle_xor %r0 mask 16 : f32
  %front = cuda.shuffle_index %other lane %lane : f32
  cuda.store %front, %f[%i] : f32, !cuda.ptr<f32, global>, index
  cuda.return
}

// CHECK:      // matrices: printed by Weft for sm_80
// CHECK-NEXT: // 32 threads, 4096 bytes of shared memory, one block for each item
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32, 1)
// CHECK-NEXT: weft_matrices(float *out, i64 items) {
// CHECK-NEXT:   extern __shared__ __align__(1024) char shared_memory[];
// CHECK-NEXT:   const u32 smem = shared_address(shared_memory);
// CHECK-NEXT:   const int lane = int(threadIdx.x);
// CHECK-NEXT:   const i64 i = i64(threadIdx.x);
// CHECK-NEXT:   const u32 tile = smem;
// CHECK-NEXT:   const u32 half = smem + 1024;
// CHECK-NEXT:   Vec<float, 4> state = splat<4>(0.0f);
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int j = 0; j < 10; j += 2) {
// CHECK-NEXT:     const Vec<int, 4> fragment = load_matrix<4>(tile + j * 2);
// CHECK-NEXT:     const Vec<int, 2> fragment1 = load_matrix_transposed<2>(tile + lane * 2);
// CHECK-NEXT:     const Vec<float, 4> acc = mma_bf16(fragment, fragment1, state);
// CHECK-NEXT:     const Vec<int, 1> fragment2 = load_matrix<1>(half + j * 2);
// CHECK-NEXT:     const Vec<int, 2> v = {fragment2[0], fragment2[0]};
// CHECK-NEXT:     const Vec<float, 4> acc1 = mma_f16(fragment, v, acc);
// CHECK-NEXT:     state = acc1;
// CHECK-NEXT:   }
// CHECK-NEXT:   const Vec<int, 2> v = {multiply_pairs_bf16(pack_bf16(state[0], state[1]), 10), pack_f16(state[0], state[1])};
// CHECK-NEXT:   const Vec<bf16, 4> v1 = bit_cast<Vec<bf16, 4>>(v);
// CHECK-NEXT:   Vec<float, 4> v2;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int e = 0; e < 4; ++e)
// CHECK-NEXT:     v2[e] = to_float(v1[e]);
// CHECK-NEXT:   const Vec<float, 4> v3 = {v2[0], state[1], v2[2], state[3]};
// CHECK-NEXT:   store<Vec<float, 4>>(out + i, v3);
// CHECK-NEXT: }
cuda.kernel @matrices arch "sm_80" threads 32 shared 4096
    (%out: !cuda.ptr<f32, global> loc("out"), %items: index loc("items")) {
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %ten = arith.constant 10 : i32
  %none = arith.constant dense<0.0> : vector<4xf32>
  %lane = cuda.thread_index : i32 loc("lane")
  %i = cuda.thread_index : index loc("i")
  %tile = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared> loc("tile")
  %half = cuda.shared_memory at 1024 : !cuda.ptr<f16, shared> loc("half")
  %sum = scf.for %k = %zero to %ten step %two iter_args(%acc = %none) -> vector<4xf32> : i32 {
    %a = cuda.load_matrix %tile[%k] : !cuda.ptr<bf16, shared>, i32 -> vector<4xi32>
    %b = cuda.load_matrix %tile[%lane] {transposed} : !cuda.ptr<bf16, shared>, i32 -> vector<2xi32>
    %d = cuda.mma bf16 %a, %b, %acc
    %p = cuda.load_matrix %half[%k] : !cuda.ptr<f16, shared>, i32 -> vector<1xi32>
    %p0 = vector.extract %p[0] : i32 from vector<1xi32>
    %q = vector.from_elements %p0, %p0 : vector<2xi32>
    %e = cuda.mma f16 %a, %q, %d
    scf.yield %e : vector<4xf32>
  } {cuda.unroll}
  %x = vector.extract %sum[0] : f32 from vector<4xf32>
  %y = vector.extract %sum[1] : f32 from vector<4xf32>
  %low = cuda.pack bf16 %x, %y
  %high = cuda.pack f16 %x, %y
  %product = cuda.multiply_pairs bf16 %low, %ten
  %pairs = vector.from_elements %product, %high : vector<2xi32>
  %halves = vector.bitcast %pairs : vector<2xi32> to vector<4xbf16>
  %wide = arith.extf %halves : vector<4xbf16> to vector<4xf32>
  %turned = vector.shuffle %wide, %sum [0, 5, 2, 7] : vector<4xf32>, vector<4xf32>
  cuda.store %turned, %out[%i] : vector<4xf32>, !cuda.ptr<f32, global>, index
  cuda.return
}

// CHECK:      // hopper: printed by Weft for sm_90
// CHECK-NEXT: // 64 threads, 4096 bytes of shared memory, clusters of 2, one block for each item
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(64, 1) __cluster_dims__(2, 1, 1)
// CHECK-NEXT: weft_hopper(const bf16 *w, int *out, i64 items) {
// CHECK-NEXT:   extern __shared__ __align__(1024) char shared_memory[];
// CHECK-NEXT:   const u32 smem = shared_address(shared_memory);
// CHECK-NEXT:   const int slot = int(blockIdx.x);
// CHECK-NEXT:   const u32 stage = smem;
// CHECK-NEXT:   const u32 full = smem + 2048;
// CHECK-NEXT:   mbarrier_init(full + slot * 8, 1);
// CHECK-NEXT:   fence_mbarrier_init();
// CHECK-NEXT:   cluster_arrive();
// CHECK-NEXT:   cluster_wait();
// CHECK-NEXT:   wait_dependency();
// CHECK-NEXT:   const bool elected = elect();
// CHECK-NEXT:   if (elected) {
// CHECK-NEXT:     fence_async();
// CHECK-NEXT:     mbarrier_expect(full + slot * 8, 512);
// CHECK-NEXT:     copy_bulk_hint(stage, w + slot, 512, full + slot * 8, evict_first);
// CHECK-NEXT:     copy_bulk_hint(stage + 1024, w + slot, 512, full + slot * 8, evict_last);
// CHECK-NEXT:     copy_bulk(stage + slot * 2, w + slot, 512, full + slot * 8);
// CHECK-NEXT:   }
// CHECK-NEXT:   mbarrier_arrive(full);
// CHECK-NEXT:   mbarrier_wait(full + slot * 8, 0);
// CHECK-NEXT:   fence_cluster();
// CHECK-NEXT:   const int rank = int(cluster_rank());
// CHECK-NEXT:   out[slot] = rank;
// CHECK-NEXT:   launch_dependents();
// CHECK-NEXT: }
cuda.kernel @hopper arch "sm_90" threads 64 shared 4096
    (%w: !cuda.ptr<bf16, global> loc("w"), %out: !cuda.ptr<i32, global> loc("out"),
     %items: index loc("items"))
    attributes {cluster = 2 : i64, dependent_launch} {
  %zero = arith.constant 0 : i32
  %bytes = arith.constant 512 : i32
  %slot = cuda.block_index : i32 loc("slot")
  %stage = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared> loc("stage")
  %full = cuda.shared_memory at 2048 : !cuda.ptr<i64, shared> loc("full")
  cuda.mbarrier_init %full[%slot] count 1 : i32
  cuda.fence_mbarrier_init
  cuda.cluster_arrive
  cuda.cluster_wait
  cuda.wait_dependency
  %first = cuda.elect
  scf.if %first {
    cuda.fence_async
    cuda.mbarrier_expect %full[%slot] bytes %bytes : i32
    cuda.copy_bulk %stage[%zero], %w[%slot] bytes %bytes complete %full[%slot] hint stream
        : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, i32, i32
    cuda.copy_bulk %stage[%bytes], %w[%slot] bytes %bytes complete %full[%slot] hint keep
        : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, i32, i32
    cuda.copy_bulk %stage[%slot], %w[%slot] bytes %bytes complete %full[%slot]
        : !cuda.ptr<bf16, shared>, i32, !cuda.ptr<bf16, global>, i32, i32
  }
  cuda.mbarrier_arrive %full[%zero] : i32
  cuda.mbarrier_wait %full[%slot] parity %zero : i32
  cuda.fence cluster
  %rank = cuda.cluster_rank : i32
  cuda.store %rank, %out[%slot] : i32, !cuda.ptr<i32, global>, i32
  cuda.launch_dependents
  cuda.return
}

// CHECK:      // exchange: printed by Weft for sm_90a
// CHECK-NEXT: // 128 threads, 4096 bytes of shared memory, clusters of 2, one block for each item
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(128, 1) __cluster_dims__(2, 1, 1)
// CHECK-NEXT: weft_exchange(const float *out, i64 items) {
// CHECK-NEXT:   extern __shared__ __align__(1024) char shared_memory[];
// CHECK-NEXT:   const u32 smem = shared_address(shared_memory);
// CHECK-NEXT:   const int thread = int(threadIdx.x);
// CHECK-NEXT:   const int rank = int(cluster_rank());
// CHECK-NEXT:   const int peer = rank ^ 1;
// CHECK-NEXT:   const u32 tile = smem + 512;
// CHECK-NEXT:   const u32 there = map_cluster(smem, peer);
// CHECK-NEXT:   const u32 full_there = map_cluster(smem + 256, peer);
// CHECK-NEXT:   set_registers<160, true>();
// CHECK-NEXT:   cluster_arrive_relaxed();
// CHECK-NEXT:   cluster_wait();
// CHECK-NEXT:   store_async<float>(there + thread * 4, full_there, 1.0f);
// CHECK-NEXT:   store_async<Vec<float, 4>>(there + 16, full_there + 8, splat<4>(1.0f));
// CHECK-NEXT:   store_matrix(tile + thread * 2, splat<4>(0));
// CHECK-NEXT:   store_matrix_transposed(tile + thread * 2, splat<4>(0));
// CHECK-NEXT:   const float x = load_cluster<float>(there + thread * 4);
// CHECK-NEXT:   store_cluster<float>(there, x);
// CHECK-NEXT:   cluster_arrive();
// CHECK-NEXT:   cluster_wait();
// CHECK-NEXT:   set_registers<40, false>();
// CHECK-NEXT: }
cuda.kernel @exchange arch "sm_90a" threads 128 shared 4096
    (%out: !cuda.ptr<f32, global> loc("out"), %items: index loc("items"))
    attributes {cluster = 2 : i64} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  %x = arith.constant 1.0 : f32
  %pairs = arith.constant dense<0> : vector<4xi32>
  %thread = cuda.thread_index : i32 loc("thread")
  %rank = cuda.cluster_rank : i32 loc("rank")
  %peer = arith.xori %rank, %one : i32 loc("peer")
  %sums = cuda.shared_memory at 0 : !cuda.ptr<f32, shared> loc("sums")
  %tile = cuda.shared_memory at 512 : !cuda.ptr<bf16, shared> loc("tile")
  %full = cuda.shared_memory at 256 : !cuda.ptr<i64, shared> loc("full")
  %there = cuda.map_cluster %sums rank %peer : !cuda.ptr<f32, shared>, i32 -> !cuda.ptr<f32, cluster> loc("there")
  %full_there = cuda.map_cluster %full rank %peer : !cuda.ptr<i64, shared>, i32 -> !cuda.ptr<i64, cluster> loc("full_there")
  cuda.set_registers increase 160
  cuda.cluster_arrive relaxed
  cuda.cluster_wait
  cuda.store_async %x, %there[%thread] complete %full_there[%zero] : f32, !cuda.ptr<f32, cluster>, i32, i32
  %v = vector.broadcast %x : f32 to vector<4xf32>
  cuda.store_async %v, %there[%four] complete %full_there[%one] : vector<4xf32>, !cuda.ptr<f32, cluster>, i32, i32
  cuda.store_matrix %pairs, %tile[%thread] : vector<4xi32>, !cuda.ptr<bf16, shared>, i32
  cuda.store_matrix %pairs, %tile[%thread] {transposed} : vector<4xi32>, !cuda.ptr<bf16, shared>, i32
  %y = cuda.load %there[%thread] : !cuda.ptr<f32, cluster>, i32 -> f32
  cuda.store %y, %there[%zero] : f32, !cuda.ptr<f32, cluster>, i32
  cuda.cluster_arrive
  cuda.cluster_wait
  cuda.set_registers decrease 40
  cuda.return
}
