// RUN: weft-opt %s -split-input-file -weft-lower-tile-to-vector | FileCheck %s

// The function of the kernel ABI loops over its range of work items; the row is
// one piece of eight, one of four and one of one column.

// CHECK-LABEL: tile.program @copy
// CHECK: module @"copy.x86-64-v3" attributes {tile.function = "copy", tile.level = "x86-64-v3", tile.program = "copy"}
// CHECK: func.func @copy(%[[BUFFERS:.+]]: !llvm.ptr, %{{.+}}: !llvm.ptr, %[[BEGIN:.+]]: i64, %[[END:.+]]: i64, %{{.+}}: !llvm.ptr)
// CHECK: %[[X:.+]] = llvm.load %[[BUFFERS]]
// CHECK: %[[SLOT:.+]] = llvm.getelementptr inbounds %[[BUFFERS]][1]
// CHECK: %[[Y:.+]] = llvm.load %[[SLOT]]
// CHECK: scf.for %{{.+}} = %[[BEGIN]] to %[[END]] step
// CHECK: llvm.getelementptr inbounds %[[X]]
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: llvm.load {{.*}} -> vector<1xf32>
// CHECK: llvm.getelementptr inbounds %[[Y]]
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK: llvm.store {{.*}} : vector<1xf32>
tile.program @copy symbols ["tokens"] grid [#tile.extent<"tokens", 1>] {
  tile.kernel @k level "x86-64-v3" (%x: memref<?x13xf32>, %y: memref<?x13xf32>)
      symbols (%tokens) item (%i) {
    %zero = arith.constant 0 : index
    %t = tile.load %x[%i, %zero] : memref<?x13xf32> -> tensor<1x13xf32>
    tile.store %t, %y[%i, %zero] : tensor<1x13xf32>, memref<?x13xf32>
    tile.return
  }
}

// -----

// The baseline has no fused operation, and registers of four numbers.
// CHECK-LABEL: module @"mma.x86-64-v2"
// CHECK-NOT: math.fma
// CHECK: arith.mulf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>

// A multiplication keeps its register tile in the loop's arguments; the left
// element is loaded and broadcast, two steps of k per iteration, k ascending.
// CHECK-LABEL: module @"mma.x86-64-v4"
// CHECK: %[[SUMS:.+]]:4 = scf.for {{.*}} iter_args(%[[S0:.+]] = %{{.+}}, %[[S1:.+]] = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: %[[B0:.+]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[B1:.+]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[A:.+]] = llvm.load {{.*}} -> f32
// CHECK: %[[V:.+]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK: %[[N0:.+]] = math.fma %[[V]], %[[B0]], %[[S0]]
// CHECK: math.fma %[[V]], %[[B1]], %[[S1]]
// CHECK: math.fma
// CHECK: math.fma
// CHECK: math.fma %{{.+}}, %{{.+}}, %[[N0]]
// CHECK-COUNT-3: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
tile.program @mma symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @base level "x86-64-v2" (%x: memref<2x64xf32>, %w: memref<64x32xf32>, %y: memref<2x32xf32>)
      symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x32xf32>
    %a = tile.load %x[%zero, %zero] : memref<2x64xf32> -> tensor<2x64xf32>
    %b = tile.load %w[%zero, %zero] : memref<64x32xf32> -> tensor<64x32xf32>
    %r = tile.mma fma %a, %b, %c : tensor<2x64xf32>, tensor<64x32xf32>, tensor<2x32xf32>
    tile.store %r, %y[%zero, %zero] : tensor<2x32xf32>, memref<2x32xf32>
    tile.return
  }
  tile.kernel @wide level "x86-64-v4" (%x: memref<2x64xf32>, %w: memref<64x32xf32>, %y: memref<2x32xf32>)
      symbols () item (%i) attributes {schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 2, columns = 32, unroll = 2, row_columns = 32, row_panels = 1, row_unroll = 2, row_block = 2, column_block = 32, mma = fma>} {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x32xf32>
    %a = tile.load %x[%zero, %zero] : memref<2x64xf32> -> tensor<2x64xf32>
    %b = tile.load %w[%zero, %zero] : memref<64x32xf32> -> tensor<64x32xf32>
    %r = tile.mma fma %a, %b, %c : tensor<2x64xf32>, tensor<64x32xf32>, tensor<2x32xf32>
    tile.store %r, %y[%zero, %zero] : tensor<2x32xf32>, memref<2x32xf32>
    tile.return
  }
}

// -----

// A tile wider than the schedule's register tile has a loop per column chunk;
// for a single row, `row_columns` is the width.

// CHECK-LABEL: module @"chunks.x86-64-v4"
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>)
// CHECK-NOT: scf.for
tile.program @chunks symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v4" (%x: memref<1x64xf32>, %w: memref<64x64xf32>, %y: memref<1x64xf32>)
      symbols () item (%i) attributes {schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 1, columns = 64, unroll = 8, row_columns = 32, row_panels = 1, row_unroll = 4, row_block = 2, column_block = 32, mma = fma>} {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<1x64xf32>
    %a = tile.load %x[%zero, %zero] : memref<1x64xf32> -> tensor<1x64xf32>
    %b = tile.load %w[%zero, %zero] : memref<64x64xf32> -> tensor<64x64xf32>
    %r = tile.mma fma %a, %b, %c : tensor<1x64xf32>, tensor<64x64xf32>, tensor<1x64xf32>
    tile.store %r, %y[%zero, %zero] : tensor<1x64xf32>, memref<1x64xf32>
    tile.return
  }
}

// -----

// Pairs of bf16 go to the dot product as they are; the left pair is one i32.

// CHECK-LABEL: module @"dot.x86-64-v4-bf16"
// CHECK: %[[W:.+]] = llvm.load {{.*}} -> vector<32xi16>
// CHECK: %[[P:.+]] = llvm.load {{.*}} -> i32
// CHECK: vector.broadcast %[[P]] : i32 to vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: arith.extui
tile.program @dot symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v4-bf16" (%x: memref<1x2xbf16>, %w: memref<1x16x2xbf16>, %y: memref<1x16xf32>)
      symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<1x16xf32>
    %a = tile.load %x[%zero, %zero] : memref<1x2xbf16> -> tensor<1x2xbf16>
    %b = tile.load %w[%zero, %zero, %zero] : memref<1x16x2xbf16> -> tensor<1x16x2xbf16>
    %r = tile.mma dot_bf16 %a, %b, %c : tensor<1x2xbf16>, tensor<1x16x2xbf16>, tensor<1x16xf32>
    tile.store %r, %y[%zero, %zero] : tensor<1x16xf32>, memref<1x16xf32>
    tile.return
  }
}

// -----

// Rows are guarded one by one; a column tail is a masked store beside the plain
// one.

// CHECK-LABEL: module @"tails.x86-64-v4"
// CHECK: %[[FULL:.+]] = arith.cmpi sge
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: scf.if %[[FULL]]
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: else
// CHECK: llvm.intr.masked.store
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: scf.if %[[FULL]]
tile.program @tails symbols ["rows", "columns"] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v4" (%x: memref<2x16xf32>)
      symbols (%n, %m) item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<1.0> : tensor<2x16xf32>
    tile.store %c, %x[%zero, %zero] rows %n columns %m : tensor<2x16xf32>, memref<2x16xf32>
    tile.return
  }
}

// -----

// State of a fold is carried as the pieces of its tiles; halves are held as
// bits, and rounding to bf16 is integer arithmetic at every level.

// CHECK-LABEL: module @"fold.x86-64-v4-bf16"
// CHECK: %[[F:.+]]:3 = scf.for {{.*}} -> (vector<16xf32>, vector<4xf32>, vector<1xf32>)
// CHECK: scf.yield {{.*}} : vector<16xf32>, vector<4xf32>, vector<1xf32>
// CHECK: arith.bitcast %[[F]]#0 : vector<16xf32> to vector<16xi32>
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// CHECK: llvm.store {{.*}} : vector<16xi16>
tile.program @fold symbols ["n"] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "x86-64-v4-bf16" (%x: memref<?x20xf32>, %y: memref<1x20xbf16>, %s: memref<1x1xf32>)
      symbols (%n) item (%i) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %init = arith.constant dense<0.0> : tensor<1x20xf32>
    %number = arith.constant dense<0.0> : tensor<1x1xf32>
    %sum:2 = tile.fold %k = %zero to %n step %one merge add init (%a = %init : tensor<1x20xf32>, %b = %number : tensor<1x1xf32>) {
      %t = tile.load %x[%k, %zero] : memref<?x20xf32> -> tensor<1x20xf32>
      %next = arith.addf %a, %t : tensor<1x20xf32>
      %u = tile.reduce add %next : tensor<1x20xf32> -> tensor<1x1xf32>
      tile.yield %next, %u : tensor<1x20xf32>, tensor<1x1xf32>
    }
    %half = arith.truncf %sum#0 : tensor<1x20xf32> to tensor<1x20xbf16>
    tile.store %half, %y[%zero, %zero] : tensor<1x20xbf16>, memref<1x20xbf16>
    tile.store %sum#1, %s[%zero, %zero] : tensor<1x1xf32>, memref<1x1xf32>
    tile.return
  }
}
