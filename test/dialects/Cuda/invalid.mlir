// Every message of the verifiers.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{needs an architecture from sm_80 on, like "sm_90a", found "sm_75"}}
cuda.kernel @k arch "sm_75" threads 32 shared 0 (%items: index) {
}

// -----

// expected-error @below {{needs an architecture from sm_80 on, like "sm_90a", found "hopper"}}
cuda.kernel @k arch "hopper" threads 32 shared 0 (%items: index) {
}

// -----

// expected-error @below {{needs 32 to 1024 threads in whole warps, found 48}}
cuda.kernel @k arch "sm_80" threads 48 shared 0 (%items: index) {
}

// -----

// expected-error @below {{needs a cluster of 1 to 16 blocks, found 17}}
cuda.kernel @k arch "sm_90" threads 32 shared 0 (%items: index)
    attributes {cluster = 17 : i64} {
}

// -----

// expected-error @below {{has a cluster, which needs sm_90; it is for sm_80}}
cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index)
    attributes {cluster = 2 : i64} {
}

// -----

// expected-error @below {{has a dependent launch, which needs sm_90; it is for sm_80}}
cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index)
    attributes {dependent_launch} {
}

// -----

// expected-error @below {{needs 0 or more bytes of shared memory, found -4}}
cuda.kernel @k arch "sm_80" threads 32 shared -4 (%items: index) {
}

// -----

// expected-error @below {{needs 0 to 32 blocks per multiprocessor, found 33}}
cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index)
    attributes {blocks_per_multiprocessor = 33 : i64} {
}

// -----

// expected-error @below {{needs the number of work items as its last argument, of type index}}
cuda.kernel @k arch "sm_80" threads 32 shared 0 (%x: !cuda.ptr<f32, global>) {
}

// -----

// expected-error @below {{argument 0 is '!cuda.ptr<f32, shared>'; expected a global pointer or an index}}
cuda.kernel @k arch "sm_80" threads 32 shared 0 (%x: !cuda.ptr<f32, shared>, %items: index) {
}

// -----

// expected-error @below {{argument 1 is a buffer behind a symbol; buffers come first}}
cuda.kernel @k arch "sm_80" threads 32 shared 0
    (%n: index, %x: !cuda.ptr<f32, global>, %items: index) {
}

// -----

// expected-error @below {{has a dependent launch, but not every path executes cuda.wait_dependency}}
cuda.kernel @k arch "sm_90" threads 32 shared 0 (%items: index)
    attributes {dependent_launch} {
  %first = cuda.elect
  scf.if %first {
    cuda.wait_dependency
  }
}

// -----

// expected-error @below {{points to 'i16'; expected f32, f16, bf16, f64, i8, i32 or i64}}
func.func private @f(!cuda.ptr<i16, global>)

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 64 (%items: index) {
  // expected-error @below {{needs an offset that is a multiple of 4 bytes, found 6}}
  %s = cuda.shared_memory at 6 : !cuda.ptr<f32, shared>
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 64 (%items: index) {
  // expected-error @below {{lies behind the kernel's 64 bytes of shared memory}}
  %s = cuda.shared_memory at 64 : !cuda.ptr<f32, shared>
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 64 (%items: index) {
  %s = cuda.shared_memory at 0 : !cuda.ptr<f32, shared>
  // expected-error @below {{has a cache hint, but reads shared memory}}
  %x = cuda.load %s[%items] hint stream : !cuda.ptr<f32, shared>, index -> f32
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%x: !cuda.ptr<f32, global>, %items: index) {
  // expected-error @below {{accesses 'i32' through a pointer to 'f32'}}
  %v = cuda.load %x[%items] : !cuda.ptr<f32, global>, index -> i32
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%x: !cuda.ptr<f32, global>, %items: index) {
  %v = arith.constant dense<0.0> : vector<8xf32>
  // expected-error @below {{accesses a vector of 32 bytes; expected 4, 8 or 16}}
  cuda.store %v, %x[%items] : vector<8xf32>, !cuda.ptr<f32, global>, index
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%x: !cuda.ptr<f32, global>, %items: index) {
  %one = arith.constant 1 : i32
  // expected-error @below {{adds 'i32' to 'f32' and gives 'i32'; expected one type}}
  %v = cuda.atomic_add %one, %x[%items] : i32, !cuda.ptr<f32, global>, index -> i32
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs an id from 1 to 15, found 16}}
  cuda.barrier id 16 threads 32
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs whole warps, found 33 threads}}
  cuda.barrier id 1 threads 33
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs both an id and threads, or neither}}
  "cuda.barrier"() {id = 1 : i64} : () -> ()
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{waits for 64 threads of a block that has 32}}
  cuda.barrier id 1 threads 64
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  %one = arith.constant 1 : i32
  // expected-error @below {{needs a mask from 1 to 31, found 32}}
  %v = cuda.shuffle_xor %one mask 32 : i32
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs sm_90; the kernel is for sm_80}}
  cuda.fence cluster
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs sm_90; the kernel is for sm_80}}
  cuda.cluster_arrive
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs sm_90; the kernel is for sm_80}}
  cuda.cluster_wait
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 64
    (%x: !cuda.ptr<bf16, global>, %items: index) {
  %s = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared>
  // expected-error @below {{copies 4, 8 or 16 bytes, found 2}}
  cuda.copy_async %s[%items], %x[%items] bytes 2
      : !cuda.ptr<bf16, shared>, index, !cuda.ptr<bf16, global>, index
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0 (%items: index) {
  // expected-error @below {{needs 0 or more pending groups, found -1}}
  cuda.wait_copies -1
}

// -----

cuda.kernel @k arch "sm_90" threads 32 shared 64 (%items: index) {
  %full = cuda.shared_memory at 0 : !cuda.ptr<i64, shared>
  // expected-error @below {{needs 1 to 1048575 arrivals, found 0}}
  cuda.mbarrier_init %full[%items] count 0 : index
}

// -----

cuda.kernel @k arch "sm_90" threads 32 shared 0 (%items: index) {
  %one = arith.constant 1 : index
  // expected-error @below {{has a cuda.unroll that is not a unit attribute or a positive integer on scf.for}}
  scf.for %i = %one to %items step %one {
  } {cuda.unroll = 0 : i64}
}

// -----

// expected-error @below {{has the unknown attribute "cuda.threads"; the dialect has cuda.unroll only}}
module attributes {cuda.threads = 1 : i64} {
}

// -----

cuda.kernel @k arch "sm_90" threads 128 shared 64 (%items: index) {
  %zero = arith.constant 0 : i32
  %s = cuda.shared_memory at 0 : !cuda.ptr<f32, shared>
  // expected-error @below {{maps a pointer to 'f32' to one to 'i32'}}
  %p = cuda.map_cluster %s rank %zero : !cuda.ptr<f32, shared>, i32 -> !cuda.ptr<i32, cluster>
}

// -----

cuda.kernel @k arch "sm_90" threads 128 shared 64 (%items: index) {
  %zero = arith.constant 0 : i32
  %byte = arith.constant 0 : i8
  %s = cuda.shared_memory at 0 : !cuda.ptr<i8, shared>
  %b = cuda.shared_memory at 8 : !cuda.ptr<i64, shared>
  %p = cuda.map_cluster %s rank %zero : !cuda.ptr<i8, shared>, i32 -> !cuda.ptr<i8, cluster>
  %q = cuda.map_cluster %b rank %zero : !cuda.ptr<i64, shared>, i32 -> !cuda.ptr<i64, cluster>
  // expected-error @below {{stores 1 bytes; expected 4, 8 or 16}}
  cuda.store_async %byte, %p[%zero] complete %q[%zero] : i8, !cuda.ptr<i8, cluster>, i32, i32
}

// -----

cuda.kernel @k arch "sm_90a" threads 128 shared 0 (%items: index) {
  // expected-error @below {{needs a multiple of 8 from 24 to 256, found 20}}
  cuda.set_registers decrease 20
}

// -----

cuda.kernel @k arch "sm_90" threads 128 shared 0 (%items: index) {
  // expected-error @below {{needs an architecture such as sm_90a; the kernel is for sm_90}}
  cuda.set_registers increase 240
}

// -----

cuda.kernel @k arch "sm_90a" threads 128 shared 1024 (%items: index) {
  %s = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared>
  %zero = arith.constant 0 : i32
  %a = arith.constant dense<0> : vector<4xi32>
  %c = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @below {{needs strides of 8 to 131064 elements, a multiple of 8, found 12}}
  %d = cuda.warpgroup_mma bf16 %a, %s[%zero] strides 12, 1024, %c : !cuda.ptr<bf16, shared>, i32, vector<4xf32>
}

// -----

cuda.kernel @k arch "sm_90" threads 128 shared 1024 (%items: index) {
  %s = cuda.shared_memory at 0 : !cuda.ptr<bf16, shared>
  %zero = arith.constant 0 : i32
  %a = arith.constant dense<0> : vector<4xi32>
  %c = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @below {{needs an architecture such as sm_90a; the kernel is for sm_90}}
  %d = cuda.warpgroup_mma bf16 %a, %s[%zero] strides 64, 1024, %c : !cuda.ptr<bf16, shared>, i32, vector<4xf32>
}
