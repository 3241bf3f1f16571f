// RUN: weft-print-cuda --cuda-kernel %s | FileCheck %s

// What a kernel says about itself; loops over items; names from locations.
// CHECK:      // step.scale: printed by Weft for sm_90a
// CHECK-NEXT: // tile.program: scale
// CHECK-NEXT: // tile.schedule: threads 128
// CHECK-NEXT: // 128 threads, 2048 bytes of shared memory, at most 2 blocks on a multiprocessor that loop over the items
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(128, 2)
// CHECK-NEXT: weft_step_scale(const float *x, bf16 *y, i64 rows, i64 items) {
// CHECK-NEXT:   extern __shared__ __align__(1024) char shared_memory[];
// CHECK-NEXT:   const u32 smem = shared_address(shared_memory);
// CHECK-NEXT:   const i64 block = i64(blockIdx.x);
// CHECK-NEXT:   const i64 blocks = i64(gridDim.x);
// CHECK-NEXT:   const i64 thread = i64(threadIdx.x);
// CHECK-NEXT:   const u32 partial = smem + 1024;
// CHECK-NEXT:   wait_dependency();
// CHECK-NEXT:   for (i64 i = block; i < items; i += blocks) {
// CHECK-NEXT:     const i64 sum = i * 128 + thread;
// CHECK-NEXT:     float chosen;
// CHECK-NEXT:     if (sum < rows) {
// CHECK-NEXT:       const float x1 = load_stream<float>(x + sum);
// CHECK-NEXT:       chosen = x1;
// CHECK-NEXT:     } else {
// CHECK-NEXT:       chosen = 0.0f;
// CHECK-NEXT:     }
// CHECK-NEXT:     store_shared<float>(partial + u32(thread) * 4, chosen);
// CHECK-NEXT:     __syncthreads();
// CHECK-NEXT:     float state = 0.0f;
// CHECK-NEXT: #pragma unroll 4
// CHECK-NEXT:     for (i64 j = 1; j < 128; ++j) {
// CHECK-NEXT:       const float x1 = load_shared<float>(partial + u32(j) * 4);
// CHECK-NEXT:       state = state + x1;
// CHECK-NEXT:     }
// CHECK-NEXT:     y[sum] = to_bf16(state);
// CHECK-NEXT:   }
// CHECK-NEXT:   launch_dependents();
// CHECK-NEXT: }
module attributes {tile.program = "scale", tile.schedule = "threads 128"} {
  cuda.kernel @"step.scale" arch "sm_90a" threads 128 shared 2048
      (%x: !cuda.ptr<f32, global> loc("x"), %y: !cuda.ptr<bf16, global> loc("y"),
       %rows: index loc("rows"), %items: index loc("items"))
      attributes {blocks_per_multiprocessor = 2 : i64, dependent_launch} {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %block = cuda.block_index : index
    %blocks = cuda.block_count : index
    %thread = cuda.thread_index : index
    %partial = cuda.shared_memory at 1024 : !cuda.ptr<f32, shared> loc("partial")
    cuda.wait_dependency
    scf.for %item = %block to %items step %blocks {
      %first = arith.muli %item, %c128 : index
      %i = arith.addi %first, %thread : index
      %inside = arith.cmpi slt, %i, %rows : index
      %value = scf.if %inside -> f32 {
        %v = cuda.load %x[%i] hint stream : !cuda.ptr<f32, global>, index -> f32
        scf.yield %v : f32
      } else {
        scf.yield %zero : f32
      }
      cuda.store %value, %partial[%thread] : f32, !cuda.ptr<f32, shared>, index
      cuda.barrier
      %sum = scf.for %k = %c1 to %c128 step %c1 iter_args(%s = %zero) -> f32 {
        %p = cuda.load %partial[%k] : !cuda.ptr<f32, shared>, index -> f32
        %next = arith.addf %s, %p : f32
        scf.yield %next : f32
      } {cuda.unroll = 4 : i64}
      %small = arith.truncf %sum : f32 to bf16
      cuda.store %small, %y[%i] : bf16, !cuda.ptr<bf16, global>, index
    }
    cuda.launch_dependents
    cuda.return
  }
}

// Values that change places; a loop with a condition.
// CHECK:      // fibonacci: printed by Weft for sm_80
// CHECK-NEXT: // 32 threads, 0 bytes of shared memory, one block for each item
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32, 1)
// CHECK-NEXT: weft_fibonacci(int *n, i64 items) {
// CHECK-NEXT:   const int thread = int(threadIdx.x);
// CHECK-NEXT:   const int x = n[thread];
// CHECK-NEXT:   int state = 0;
// CHECK-NEXT:   int state1 = 1;
// CHECK-NEXT:   while (state < x) {
// CHECK-NEXT:     const int next = int(u32(state) + state1);
// CHECK-NEXT:     state = state1;
// CHECK-NEXT:     state1 = next;
// CHECK-NEXT:   }
// CHECK-NEXT:   int state2 = state;
// CHECK-NEXT:   int passed;
// CHECK-NEXT:   while (true) {
// CHECK-NEXT:     const int v = int(u32(state2) >> 1);
// CHECK-NEXT:     passed = v;
// CHECK-NEXT:     if (!(v != 0))
// CHECK-NEXT:       break;
// CHECK-NEXT:     state2 = passed;
// CHECK-NEXT:   }
// CHECK-NEXT:   n[thread] = passed;
// CHECK-NEXT: }
cuda.kernel @fibonacci arch "sm_80" threads 32 shared 0
    (%n: !cuda.ptr<i32, global> loc("n"), %items: index) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = cuda.thread_index : i32
  %limit = cuda.load %n[%i] : !cuda.ptr<i32, global>, i32 -> i32
  %r:2 = scf.while (%a = %zero, %b = %one) : (i32, i32) -> (i32, i32) {
    %go = arith.cmpi slt, %a, %limit : i32
    scf.condition(%go) %a, %b : i32, i32
  } do {
  ^bb0(%a: i32, %b: i32):
    %sum = arith.addi %a, %b : i32
    scf.yield %b, %sum : i32, i32
  }
  %count = scf.while (%k = %r#0) : (i32) -> i32 {
    %half = arith.shrui %k, %one : i32
    %go = arith.cmpi ne, %half, %zero : i32
    scf.condition(%go) %half : i32
  } do {
  ^bb0(%k: i32):
    scf.yield %k : i32
  }
  cuda.store %count, %n[%i] : i32, !cuda.ptr<i32, global>, i32
  cuda.return
}

// Vectors: one loop for consecutive elementwise operations.
// CHECK:      // softmax: printed by Weft for sm_80
// CHECK-NEXT: // 32 threads, 0 bytes of shared memory, one block for each item
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32, 1)
// CHECK-NEXT: weft_softmax(float *x, i64 items) {
// CHECK-NEXT:   const i64 thread = i64(threadIdx.x);
// CHECK-NEXT:   const i64 product = thread * 4;
// CHECK-NEXT:   const Vec<float, 4> x1 = load<Vec<float, 4>>(x + product);
// CHECK-NEXT:   Vec<float, 4> product1;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int e = 0; e < 4; ++e)
// CHECK-NEXT:     product1[e] = x1[e] * 0.125f;
// CHECK-NEXT:   float all = product1[0];
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int e = 1; e < 4; ++e)
// CHECK-NEXT:     all = maximum(all, product1[e]);
// CHECK-NEXT:   Vec<float, 4> power;
// CHECK-NEXT:   Vec<float, 4> sum;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:     power[e] = exp2_approx(product1[e] - all);
// CHECK-NEXT:     sum[e] = power[e] + maximum(power[e], 0.0f);
// CHECK-NEXT:   }
// CHECK-NEXT:   Vec<float, 2> v;
// CHECK-NEXT:   Vec<float, 2> product2;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int e = 0; e < 2; ++e) {
// CHECK-NEXT:     v[e] = sum[e + 2];
// CHECK-NEXT:     product2[e] = v[e] * v[e];
// CHECK-NEXT:   }
// CHECK-NEXT:   Vec<float, 4> v1 = sum;
// CHECK-NEXT:   v1[3] = power[1];
// CHECK-NEXT:   Vec<float, 4> v2 = v1;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:   for (int e = 0; e < 2; ++e)
// CHECK-NEXT:     v2[e + 1] = product2[e];
// CHECK-NEXT:   store<Vec<float, 4>>(x + product, v2);
// CHECK-NEXT: }
cuda.kernel @softmax arch "sm_80" threads 32 shared 0
    (%x: !cuda.ptr<f32, global> loc("x"), %items: index) {
  %c4 = arith.constant 4 : index
  %scale = arith.constant dense<0.125> : vector<4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %thread = cuda.thread_index : index
  %at = arith.muli %thread, %c4 : index
  %v = cuda.load %x[%at] : !cuda.ptr<f32, global>, index -> vector<4xf32>
  %scaled = arith.mulf %v, %scale : vector<4xf32>
  %most = vector.reduction <maximumf>, %scaled : vector<4xf32> into f32
  %most_all = vector.broadcast %most : f32 to vector<4xf32>
  %d = arith.subf %scaled, %most_all : vector<4xf32>
  %p = cuda.exp2 %d : vector<4xf32>
  %q = arith.maximumf %p, %zero : vector<4xf32>
  %both = arith.addf %p, %q : vector<4xf32>
  %low = vector.extract_strided_slice %both {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  %w = arith.mulf %low, %low : vector<2xf32>
  %first = vector.extract %p[1] : f32 from vector<4xf32>
  %new = vector.insert %first, %both [3] : f32 into vector<4xf32>
  %put = vector.insert_strided_slice %w, %new {offsets = [1], strides = [1]} : vector<2xf32> into vector<4xf32>
  cuda.store %put, %x[%at] : vector<4xf32>, !cuda.ptr<f32, global>, index
  cuda.return
}
