// What a kernel may not hold: every message of the pass.
// RUN: weft-opt %s --weft-lower-tile-to-vector --split-input-file --verify-diagnostics

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  // expected-error @below {{unknown CPU level 'pentium'; expected one of x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16}}
  tile.kernel @k level "pentium" () symbols () item (%i) {
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f32
    // expected-error @below {{cannot lower 'memref.dim' in a kernel; expected tile, arith and math operations, memref.load, memref.store, scf.for, scf.if or scf.while}}
    %d = memref.dim %x, %zero : memref<8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{cannot lower a tile of type 'tensor<2x2x2xf32>'; expected one or two dimensions}}
    %a = arith.constant dense<0.0> : tensor<2x2x2xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f32
    // expected-error @below {{cannot lower a tile of type 'tensor<f32>'; expected one or two dimensions}}
    %a = tile.splat %n : f32 -> tensor<f32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    // expected-error @below {{cannot lower a loop with unsigned bounds in a kernel}}
    scf.for unsigned %j = %zero to %one step %one {
    }
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{cannot lower a constant of type 'vector<4xf32>'}}
    %a = arith.constant dense<0.0> : vector<4xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{a constant tile must be dense}}
    %a = arith.constant sparse<[[0, 0]], 1.0> : tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1 : i32
    // expected-error @below {{cannot lower an operation with 2 results in a kernel}}
    %s, %c = arith.addui_extended %n, %n : i32, i1
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f64
    // expected-error @below {{cannot round 'f64' to 'bf16' at once; round to f32 first}}
    %h = arith.truncf %n : f64 to bf16
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f16
    // expected-error @below {{cannot lower a bitcast of 'f16' to 'i16'}}
    %b = arith.bitcast %n : f16 to i16
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant dense<1.0> : tensor<2x8xf16>
    // expected-error @below {{cannot reduce elements of type 'f16'; expected f32, f64 or i32}}
    %b = tile.reduce add %n : tensor<2x8xf16> -> tensor<2x1xf16>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{a tile of three dimensions can only be the right-hand side of tile.mma}}
    %a = tile.load %x[%zero, %zero, %zero] : memref<8x8x8xf32> -> tensor<2x8x8xf32>
    tile.store %a, %x[%zero, %zero, %zero] : tensor<2x8x8xf32>, memref<8x8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{'rows' needs a tile of two dimensions, found 'tensor<8xf32>'}}
    %a = tile.load %x[%zero, %zero] rows %zero : memref<8x8xf32> -> tensor<8xf32>
    tile.store %a, %y[%zero, %zero] : tensor<8xf32>, memref<8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<8xf32>
    // expected-error @below {{'rows' needs a tile of two dimensions, found 'tensor<8xf32>'}}
    tile.store %a, %y[%zero, %zero] rows %zero : tensor<8xf32>, memref<8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    // expected-note @below {{loaded here}}
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<2x8xf32>
    %b = tile.load %y[%zero, %zero] : memref<8x8xf32> -> tensor<8x8xf32>
    // expected-note @below {{overwritten here}}
    tile.store %c, %x[%zero, %zero] : tensor<2x8xf32>, memref<8x8xf32>
    // expected-error @below {{an operand's memory is overwritten between its load and the multiplication}}
    %m = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<2x8xf32>
    // expected-note @below {{loaded here}}
    %b = tile.load %y[%zero, %zero] : memref<8x8xf32> -> tensor<8x8xf32>
    // expected-note @below {{overwritten here}}
    tile.store %c, %y[%zero, %zero] : tensor<2x8xf32>, memref<8x8xf32>
    // expected-error @below {{an operand's memory is overwritten between its load and the multiplication}}
    %m = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %b = tile.load %y[%zero, %zero] : memref<8x8xf32> -> tensor<8x8xf32>
    // expected-error @below {{the left-hand side must be read by a tile.load}}
    %m = tile.mma fma %c, %b, %c : tensor<2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v4" (%x: memref<8x8xbf16>, %y: memref<4x8x2xbf16>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xbf16> -> tensor<2x8xbf16>
    %b = tile.load %y[%zero, %zero, %zero] : memref<4x8x2xbf16> -> tensor<4x8x2xbf16>
    // expected-error @below {{level 'x86-64-v4' has no instruction for dot_bf16}}
    %m = tile.mma dot_bf16 %a, %b, %c : tensor<2x8xbf16>, tensor<4x8x2xbf16>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v4-bf16" (%x: memref<2x8x3xbf16>, %y: memref<4x8x2xbf16>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero, %zero] dims [0, 1] : memref<2x8x3xbf16> -> tensor<2x8xbf16>
    %b = tile.load %y[%zero, %zero, %zero] : memref<4x8x2xbf16> -> tensor<4x8x2xbf16>
    // expected-error @below {{dot_bf16 needs a left-hand side with consecutive columns, found stride 3}}
    %m = tile.mma dot_bf16 %a, %b, %c : tensor<2x8xbf16>, tensor<4x8x2xbf16>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8x3xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<2x8xf32>
    %b = tile.load %y[%zero, %zero, %zero] dims [0, 1] : memref<8x8x3xf32> -> tensor<8x8xf32>
    // expected-error @below {{the right-hand side needs consecutive columns}}
    %m = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<8x8xf32>, %y: memref<8x8x1xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %true = arith.constant true
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<2x8xf32>
    // expected-error @below {{cannot lower a tile of type 'tensor<8x8x1xf32>'; expected one or two dimensions}}
    %b = scf.if %true -> tensor<8x8x1xf32> {
      %d = tile.load %y[%zero, %zero, %zero] : memref<8x8x1xf32> -> tensor<8x8x1xf32>
      scf.yield %d : tensor<8x8x1xf32>
    } else {
      %d = tile.load %y[%zero, %zero, %zero] : memref<8x8x1xf32> -> tensor<8x8x1xf32>
      scf.yield %d : tensor<8x8x1xf32>
    }
    %m = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x8x1xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  // expected-error @below {{has a buffer of type 'memref<16x128xbf16, #tile.core_matrices>'; kernels of a CPU read strided memory only}}
  tile.kernel @a level "x86-64-v2" (%x: memref<16x128xbf16, #tile.core_matrices>) symbols () item (%i) {
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v2" (%x: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 4 : index
    // expected-error @below {{cannot lower a load with 'columns' on a CPU}}
    %a = tile.load %x[%zero, %zero] columns %n : memref<8x8xf32> -> tensor<1x8xf32>
    tile.store %a, %x[%zero, %zero] : tensor<1x8xf32>, memref<8x8xf32>
  }
}
