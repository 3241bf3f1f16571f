// RUN: weft-print-cuda --cuda-kernel %s --split-input-file --verify-diagnostics

cuda.kernel @k arch "sm_80" threads 32 shared 0
    (%x: !cuda.ptr<bf16, global>, %items: index) {
  %v = cuda.load %x[%items] : !cuda.ptr<bf16, global>, index -> bf16
  // expected-error @below {{'arith.addf' op can't be printed as CUDA C++: arithmetic is on f32 and f64 only}}
  %sum = arith.addf %v, %v : bf16
  cuda.store %sum, %x[%items] : bf16, !cuda.ptr<bf16, global>, index
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0
    (%x: !cuda.ptr<f32, global>, %items: index) {
  %v = cuda.load %x[%items] : !cuda.ptr<f32, global>, index -> f32
  // expected-error @below {{'vector.broadcast' op can't be printed as CUDA C++: its vector type is not one-dimensional}}
  %m = vector.broadcast %v : f32 to vector<2x2xf32>
  %e = vector.extract %m[0, 1] : f32 from vector<2x2xf32>
  cuda.store %e, %x[%items] : f32, !cuda.ptr<f32, global>, index
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0
    (%x: !cuda.ptr<i32, global>, %items: index) {
  %v = cuda.load %x[%items] : !cuda.ptr<i32, global>, index -> i32
  // expected-error @below {{'arith.sitofp' op can't be printed as CUDA C++: this conversion}}
  %f = arith.sitofp %v : i32 to f80
  %i = arith.fptosi %f : f80 to i32
  cuda.store %i, %x[%items] : i32, !cuda.ptr<i32, global>, index
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0
    (%x: !cuda.ptr<i32, global>, %items: index) {
  // expected-error @below {{'memref.alloc' op can't be printed as CUDA C++}}
  %m = memref.alloc() : memref<4xi32>
  %v = memref.load %m[%items] : memref<4xi32>
  cuda.store %v, %x[%items] : i32, !cuda.ptr<i32, global>, index
}

// -----

cuda.kernel @k arch "sm_80" threads 32 shared 0
    (%x: !cuda.ptr<i32, global>, %items: index) {
  %c1 = arith.constant 1 : index
  // expected-error @below {{'scf.for' op can't be printed as CUDA C++: it compares unsigned}}
  scf.for unsigned %i = %c1 to %items step %c1 {
    cuda.barrier
  }
}
