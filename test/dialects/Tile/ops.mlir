// Every operation of the dialect, in each of its forms, printed and parsed back.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

#schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>

// CHECK: tile.program @memory symbols ["tokens", "blocks"] grid [#tile.extent<"tokens", 6>, #tile.extent<"2*blocks", 1>] attributes {description = "loads and stores"} {
tile.program @memory symbols ["tokens", "blocks"] grid [#tile.extent<"tokens", 6>, #tile.extent<"2*blocks", 1>] attributes {description = "loads and stores"} {
  // CHECK: tile.kernel @v2 level "x86-64-v2" (%{{.*}}: memref<?x8x64xf32>, %{{.*}}: memref<?x64xf32>) symbols (%{{.*}}, %{{.*}}) item (%{{.*}}) {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<?x8x64xf32>, %y: memref<?x64xf32>) symbols (%tokens, %blocks) item (%i) {
    %zero = arith.constant 0 : index
    // CHECK: tile.scratch : memref<6x64xf32>
    %s = tile.scratch : memref<6x64xf32>
    // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x8x64xf32> -> tensor<8x64xf32>
    %a = tile.load %x[%i, %zero, %zero] : memref<?x8x64xf32> -> tensor<8x64xf32>
    // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] rows %{{.*}} dims [0, 2] : memref<?x8x64xf32> -> tensor<6x64xf32>
    %b = tile.load %x[%i, %zero, %zero] rows %tokens dims [0, 2] : memref<?x8x64xf32> -> tensor<6x64xf32>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<6x64xf32>, memref<6x64xf32>
    tile.store %b, %s[%zero, %zero] : tensor<6x64xf32>, memref<6x64xf32>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] rows %{{.*}} columns %{{.*}} : tensor<6x64xf32>, memref<?x64xf32>
    tile.store %b, %y[%i, %zero] rows %tokens columns %blocks : tensor<6x64xf32>, memref<?x64xf32>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dims [0, 1] : tensor<6x8xf32>, memref<?x8x64xf32>
    %c = tile.load %x[%i, %zero, %zero] dims [0, 1] : memref<?x8x64xf32> -> tensor<6x8xf32>
    tile.store %c, %x[%i, %zero, %zero] dims [0, 1] : tensor<6x8xf32>, memref<?x8x64xf32>
    tile.return
  }
  // CHECK: tile.kernel @v4 level "x86-64-v4" ({{.*}}) symbols ({{.*}}) item (%{{.*}}) attributes {schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>} {
  tile.kernel @v4 level "x86-64-v4" (%x: memref<?x8x64xf32>, %y: memref<?x64xf32>) symbols (%tokens, %blocks) item (%i) attributes {schedule = #schedule} {
  }
}

// CHECK: tile.kernel @hopper level "sm_90a" {{.*}} attributes {schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>} {
tile.program @gpu symbols ["tokens"] grid [#tile.extent<"tokens", 1>] {
  tile.kernel @hopper level "sm_90a" (%x: memref<?x64xf32>) symbols (%tokens) item (%i) attributes {schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>} {
  }
}

// CHECK: tile.kernel @layouts level "sm_90a" (%{{.*}}: memref<?x256xbf16, #tile.panels<columns = 128>>, %{{.*}}: memref<64x256xbf16, #tile.core_matrices>) symbols
tile.program @packed symbols ["tokens"] grid [#tile.extent<"tokens", 1>] {
  tile.kernel @layouts level "sm_90a" (%x: memref<?x256xbf16, #tile.panels<columns = 128>>, %w: memref<64x256xbf16, #tile.core_matrices>) symbols (%tokens) item (%i) {
    %zero = arith.constant 0 : index
    // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x256xbf16, #tile.panels<columns = 128>> -> tensor<1x256xbf16>
    %a = tile.load %x[%i, %zero] : memref<?x256xbf16, #tile.panels<columns = 128>> -> tensor<1x256xbf16>
    // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] dims [1, 0] : memref<64x256xbf16, #tile.core_matrices> -> tensor<256x64xbf16>
    %b = tile.load %w[%zero, %zero] dims [1, 0] : memref<64x256xbf16, #tile.core_matrices> -> tensor<256x64xbf16>
  }
}

tile.program @range symbols ["tokens"] grid [#tile.extent<"tokens", 1>] {
  // CHECK: tile.kernel @v2 level "x86-64-v2" (%{{.*}}: memref<?x64xf32>) symbols (%{{.*}}) items (%{{.*}}, %{{.*}}) {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<?x64xf32>) symbols (%tokens) items (%begin, %end) {
  }
}

// CHECK: tile.program @empty symbols [] grid [] {
tile.program @empty symbols [] grid [] {
}

tile.program @update symbols [] grid [#tile.extent<"1", 1>] {
}

// CHECK-LABEL: func.func @launches
func.func @launches(%x: tensor<?x64xf32>, %s: tensor<4xf32>) -> (tensor<?x64xf32>, tensor<4xf32>) {
  // CHECK: tile.launch @update "layers.0"(%{{.*}}, %{{.*}}) tied [-1, 1] symbols [] sizes {{\[\[}}"tokens", "64"], ["4"]] {bytes = "16", flops = "64*tokens"} : (tensor<?x64xf32>, tensor<4xf32>) -> (tensor<?x64xf32>, tensor<4xf32>)
  %0:2 = tile.launch @update "layers.0"(%x, %s) tied [-1, 1] symbols [] sizes [["tokens", "64"], ["4"]] {bytes = "16", flops = "64*tokens"} : (tensor<?x64xf32>, tensor<4xf32>) -> (tensor<?x64xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<?x64xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @compute
func.func @compute(%a: tensor<6x8xf32>, %b: tensor<8x64xf32>, %p: tensor<8x64x1xf32>, %c: tensor<6x64xf32>,
                   %l: tensor<6x7xbf16>, %m: tensor<6x8xbf16>, %r: tensor<4x64x2xbf16>, %base: i32, %f: f32) {
  // CHECK: tile.mma fma %{{.*}}, %{{.*}}, %{{.*}} : tensor<6x8xf32>, tensor<8x64xf32>, tensor<6x64xf32>
  %0 = tile.mma fma %a, %b, %c : tensor<6x8xf32>, tensor<8x64xf32>, tensor<6x64xf32>
  // CHECK: tile.mma fma %{{.*}}, %{{.*}}, %{{.*}} : tensor<6x8xf32>, tensor<8x64x1xf32>, tensor<6x64xf32>
  %1 = tile.mma fma %a, %p, %0 : tensor<6x8xf32>, tensor<8x64x1xf32>, tensor<6x64xf32>
  // An odd inner size in pairs: the last pair is half full.
  // CHECK: tile.mma fma %{{.*}}, %{{.*}}, %{{.*}} : tensor<6x7xbf16>, tensor<4x64x2xbf16>, tensor<6x64xf32>
  %2 = tile.mma fma %l, %r, %1 : tensor<6x7xbf16>, tensor<4x64x2xbf16>, tensor<6x64xf32>
  // CHECK: tile.mma dot_bf16 %{{.*}}, %{{.*}}, %{{.*}} : tensor<6x8xbf16>, tensor<4x64x2xbf16>, tensor<6x64xf32>
  %3 = tile.mma dot_bf16 %m, %r, %2 : tensor<6x8xbf16>, tensor<4x64x2xbf16>, tensor<6x64xf32>
  // CHECK: tile.reduce add %{{.*}} : tensor<6x64xf32> -> tensor<6x1xf32>
  %4 = tile.reduce add %3 : tensor<6x64xf32> -> tensor<6x1xf32>
  // CHECK: tile.reduce max %{{.*}} : tensor<6x64xf32> -> tensor<6x1xf32>
  %5 = tile.reduce max %3 : tensor<6x64xf32> -> tensor<6x1xf32>
  // CHECK: tile.extract %{{.*}} : tensor<1x1xf32> -> f32
  %one = tile.splat %f : f32 -> tensor<1x1xf32>
  %number = tile.extract %one : tensor<1x1xf32> -> f32
  // CHECK: tile.broadcast %{{.*}} : tensor<6x1xf32> -> tensor<6x64xf32>
  %6 = tile.broadcast %4 : tensor<6x1xf32> -> tensor<6x64xf32>
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<1x64xf32>
  %7 = tile.splat %f : f32 -> tensor<1x64xf32>
  // CHECK: tile.broadcast %{{.*}} : tensor<1x64xf32> -> tensor<6x64xf32>
  %8 = tile.broadcast %7 : tensor<1x64xf32> -> tensor<6x64xf32>
  // CHECK: tile.iota %{{.*}} dim 0 : tensor<6x64xi32>
  %9 = tile.iota %base dim 0 : tensor<6x64xi32>
  // CHECK: tile.iota %{{.*}} dim 1 : tensor<6x64xi32>
  %10 = tile.iota %base dim 1 : tensor<6x64xi32>
  // CHECK: tile.slice %{{.*}} at 32 : tensor<6x64xf32> -> tensor<6x32xf32>
  %11 = tile.slice %3 at 32 : tensor<6x64xf32> -> tensor<6x32xf32>
  // CHECK: tile.slice %{{.*}} at 1 {stride = 2 : i64} : tensor<6x64xf32> -> tensor<6x32xf32>
  %12 = tile.slice %3 at 1 {stride = 2 : i64} : tensor<6x64xf32> -> tensor<6x32xf32>
  // CHECK: tile.join %{{.*}}, %{{.*}} : tensor<6x32xf32>, tensor<6x64xf32> -> tensor<6x96xf32>
  %13 = tile.join %11, %3 : tensor<6x32xf32>, tensor<6x64xf32> -> tensor<6x96xf32>
  // CHECK: tile.join %{{.*}}, %{{.*}} {interleaved} : tensor<6x32xf32>, tensor<6x32xf32> -> tensor<6x64xf32>
  %14 = tile.join %11, %12 {interleaved} : tensor<6x32xf32>, tensor<6x32xf32> -> tensor<6x64xf32>
  return
}

// CHECK-LABEL: func.func @folds
func.func @folds(%n: index, %c: tensor<1x8xf32>, %m: tensor<1x1xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: tile.fold %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} merge add init (%{{.*}} = %{{.*}} : tensor<1x8xf32>) {
  // CHECK:   tile.yield %{{.*}} : tensor<1x8xf32>
  %0 = tile.fold %i = %zero to %n step %one merge add init (%s = %c : tensor<1x8xf32>) {
    tile.yield %s : tensor<1x8xf32>
  }
  // CHECK: tile.fold {{.*}} merge max init (%{{.*}} = %{{.*}} : tensor<1x8xf32>) attributes {unroll = 2 : i64} {
  %1 = tile.fold %i = %zero to %n step %one merge max init (%s = %c : tensor<1x8xf32>) attributes {unroll = 2 : i64} {
    tile.yield %s : tensor<1x8xf32>
  }
  // CHECK: tile.fold {{.*}} merge softmax init (%{{.*}} : tensor<1x1xf32>, %{{.*}} : tensor<1x1xf32>, %{{.*}} : tensor<1x8xf32>) {
  %2:3 = tile.fold %i = %zero to %n step %one merge softmax init (%a = %m : tensor<1x1xf32>, %b = %m : tensor<1x1xf32>, %o = %c : tensor<1x8xf32>) {
    tile.yield %a, %b, %o : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x8xf32>
  }
  // A fold without a state, which is a loop for its stores.
  // CHECK: tile.fold {{.*}} merge add init () {
  tile.fold %i = %zero to %n step %one merge add init () {
  }
  return
}
