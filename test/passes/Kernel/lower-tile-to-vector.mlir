// RUN: weft-opt %s --weft-lower-tile-to-vector --canonicalize --cse --split-input-file | FileCheck %s

// A row of 16 numbers is two registers of the level.

// CHECK-LABEL: tile.program @scale
//       CHECK: module @"scale.x86-64-v3" attributes {tile.function = "scale", tile.level = "x86-64-v3", tile.program = "scale"}
//       CHECK:   func.func @scale(%[[BUFFERS:.*]]: !llvm.ptr, %[[SYMBOLS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
//       CHECK:     llvm.load %[[BUFFERS]] : !llvm.ptr -> !llvm.ptr
//       CHECK:     scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-COUNT-2:     llvm.load {{.*}} -> vector<8xf32>
// CHECK-COUNT-2:     arith.mulf {{.*}} : vector<8xf32>
// CHECK-COUNT-2:     llvm.store {{.*}} : vector<8xf32>
//   CHECK-NOT:       llvm.store
tile.program @scale symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @v3 level "x86-64-v3" (%x: memref<?x16xf32>, %y: memref<?x16xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %half = arith.constant dense<0.5> : tensor<1x16xf32>
    %a = tile.load %x[%i, %zero] : memref<?x16xf32> -> tensor<1x16xf32>
    %b = arith.mulf %a, %half : tensor<1x16xf32>
    tile.store %b, %y[%i, %zero] : tensor<1x16xf32>, memref<?x16xf32>
    tile.return
  }
}

// -----

// A kernel of a range of items makes its own loop.

// CHECK-LABEL: module @"range.x86-64-v3"
//       CHECK:   func.func @range({{.*}}, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %{{.*}}: !llvm.ptr)
//   CHECK-DAG:     %[[FIRST:.*]] = arith.index_cast %[[BEGIN]]
//   CHECK-DAG:     %[[LAST:.*]] = arith.index_cast %[[END]]
//       CHECK:     scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
//   CHECK-NOT:     scf.for
tile.program @range symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @v3 level "x86-64-v3" (%x: memref<?x16xf32>, %y: memref<?x16xf32>) symbols (%rows) items (%begin, %end) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %begin to %end step %one {
      %a = tile.load %x[%i, %zero] : memref<?x16xf32> -> tensor<1x16xf32>
      tile.store %a, %y[%i, %zero] : tensor<1x16xf32>, memref<?x16xf32>
    }
    tile.return
  }
}

// -----

// Every level has a module of its own, with registers of its width.

// CHECK-LABEL: module @"copy.x86-64-v2"
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK-LABEL: module @"copy.x86-64-v4"
//       CHECK:   llvm.load {{.*}} -> vector<16xf32>
tile.program @copy symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<?x16xf32>, %y: memref<?x16xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%i, %zero] : memref<?x16xf32> -> tensor<1x16xf32>
    tile.store %a, %y[%i, %zero] : tensor<1x16xf32>, memref<?x16xf32>
    tile.return
  }
  tile.kernel @v4 level "x86-64-v4" (%x: memref<?x16xf32>, %y: memref<?x16xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%i, %zero] : memref<?x16xf32> -> tensor<1x16xf32>
    tile.store %a, %y[%i, %zero] : tensor<1x16xf32>, memref<?x16xf32>
    tile.return
  }
}

// -----

// A multiplication keeps its accumulators in registers around a loop over k:
// 2 rows of 2 registers, of which each element on the left is broadcast to both.

// CHECK-LABEL: module @"linear.x86-64-v3"
//       CHECK:   scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
//       CHECK:     llvm.load {{.*}} -> f32
//       CHECK:     math.fma {{.*}} : vector<8xf32>
tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 2>] {
  tile.kernel @v3 level "x86-64-v3" (%x: memref<?x32xf32>, %w: memref<32x16xf32>, %y: memref<?x16xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %row = arith.muli %i, %two : index
    %init = arith.constant dense<0.0> : tensor<2x16xf32>
    %a = tile.load %x[%row, %zero] : memref<?x32xf32> -> tensor<2x32xf32>
    %b = tile.load %w[%zero, %zero] : memref<32x16xf32> -> tensor<32x16xf32>
    %c = tile.mma fma %a, %b, %init : tensor<2x32xf32>, tensor<32x16xf32>, tensor<2x16xf32>
    tile.store %c, %y[%row, %zero] : tensor<2x16xf32>, memref<?x16xf32>
    tile.return
  }
}

// -----

// Rows that are not there are neither read nor written.

// CHECK-LABEL: module @"tail.x86-64-v3"
//       CHECK:   arith.minsi
//       CHECK:   arith.cmpi sgt
//       CHECK:   scf.if
//       CHECK:     llvm.store {{.*}} : vector<8xf32>
tile.program @tail symbols ["rows"] grid [#tile.extent<"1", 1>] {
  tile.kernel @v3 level "x86-64-v3" (%x: memref<?x8xf32>, %y: memref<?x8xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] rows %rows : memref<?x8xf32> -> tensor<2x8xf32>
    tile.store %a, %y[%zero, %zero] rows %rows : tensor<2x8xf32>, memref<?x8xf32>
    tile.return
  }
}

// -----

// A number of a tile decides about control flow.

// CHECK-LABEL: module @"extract.x86-64-v3"
//       CHECK:   %[[SUM:.*]] = vector.extract %{{.*}}[0] : f32 from vector<1xf32>
//       CHECK:   arith.cmpf olt, %[[SUM]], %{{.*}} : f32
//       CHECK:   scf.if
tile.program @extract symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @v3 level "x86-64-v3" (%x: memref<?x16xf32>, %y: memref<?x16xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %limit = arith.constant 1.0 : f32
    %a = tile.load %x[%i, %zero] : memref<?x16xf32> -> tensor<1x16xf32>
    %s = tile.reduce add %a : tensor<1x16xf32> -> tensor<1x1xf32>
    %n = tile.extract %s : tensor<1x1xf32> -> f32
    %c = arith.cmpf olt, %n, %limit : f32
    scf.if %c {
      tile.store %a, %y[%i, %zero] : tensor<1x16xf32>, memref<?x16xf32>
    }
    tile.return
  }
}

// -----

// An integer becomes f32, which is rounded.

// CHECK-LABEL: module @"convert.x86-64-v2"
//       CHECK:   arith.sitofp %{{.*}} : vector<4xi32> to vector<4xf32>
//       CHECK:   llvm.store {{.*}} : vector<4xi16>
tile.program @convert symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<?x4xi32>, %y: memref<?x4xf16>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%i, %zero] : memref<?x4xi32> -> tensor<1x4xi32>
    %h = arith.sitofp %a : tensor<1x4xi32> to tensor<1x4xf16>
    tile.store %h, %y[%i, %zero] : tensor<1x4xf16>, memref<?x4xf16>
    tile.return
  }
}

// -----

// An approximate quotient would not be the same in vectors and what is left over.

// CHECK-LABEL: module @"quotient.x86-64-v3"
//       CHECK:   arith.divf %{{.*}}, %{{.*}} : vector<8xf32>
//   CHECK-NOT:   fastmath
tile.program @quotient symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @v3 level "x86-64-v3" (%x: memref<?x8xf32>, %y: memref<?x8xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%i, %zero] : memref<?x8xf32> -> tensor<1x8xf32>
    %b = tile.load %y[%i, %zero] : memref<?x8xf32> -> tensor<1x8xf32>
    %q = arith.divf %a, %b fastmath<arcp> : tensor<1x8xf32>
    tile.store %q, %y[%i, %zero] : tensor<1x8xf32>, memref<?x8xf32>
    tile.return
  }
}
