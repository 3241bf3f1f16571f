// Verifiers of channels, roles, shares, gathers and their schedules.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @below {{needs at least one slot, found 0}}
  %0 = tile.channel slots 0 : !tile.channel<memref<8xf32>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{needs parts of static shape, found 'memref<?xf32>'}}
  %0 = tile.channel slots 2 : !tile.channel<memref<?xf32>>
  return
}

// -----

func.func @f(%c: !tile.channel<memref<8xf32>>, %n: index) {
  // expected-error @below {{needs an argument for each part of '!tile.channel<memref<8xf32>>'}}
  "tile.produce"(%c, %n) <{part = #tile<produce_part all>}> ({
  ^bb0:
  }) : (!tile.channel<memref<8xf32>>, index) -> ()
  return
}

// -----

func.func @f(%c: !tile.channel<memref<8xf32>>, %n: index) {
  // expected-error @below {{expected all, early or late}}
  tile.produce some %c[%n] (%a: memref<8xf32>) {}
  return
}

// -----

func.func @f(%c: !tile.channel<memref<8xf32>>, %n: index) {
  // expected-error @below {{the parts of a slot are memrefs}}
  tile.produce all %c[%n] (%a: f32) {}
  return
}

// -----

func.func @f(%c: !tile.channel<memref<8xf32>>, %n: index, %s: tensor<8xf32>) {
  // expected-error @below {{needs a state and a tile.yield of its results' types}}
  %0 = tile.consume %c[%n] (%a: memref<8xf32>) init (%t = %s : tensor<8xf32>) {
    tile.yield
  }
  return
}

// -----

func.func @f(%n: index, %s: tensor<8x128xf32>) {
  // expected-error @below {{needs as many results as sums, at least one; found 2 and 1}}
  %0:2 = tile.share %s round %n : tensor<8x128xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  return
}

// -----

func.func @f(%n: index, %s: tensor<8x128xf32>) {
  // expected-error @below {{gives equal parts of the columns, found 'tensor<8x128xf32>' to 'tensor<8x96xf32>'}}
  %0 = tile.share %s round %n : tensor<8x128xf32> -> tensor<8x96xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{needs at least one view}}
  "tile.all_gather"() : () -> ()
  return
}

// -----

func.func @f(%v: memref<1x8xf32>) {
  // expected-error @below {{gathers tile.scratch only, found a view of type 'memref<1x8xf32>'}}
  tile.all_gather %v : memref<1x8xf32>
  return
}

// -----

// expected-error @below {{a tile has 8, 16, ... or 64 rows, found 12}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 12, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>} {}

// -----

// expected-error @below {{a schedule for at most 16 rows has tiles of fewer, found 8}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 16, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>} {}

// -----

// expected-error @below {{expected 1 to 16 warps, found 8 x 4}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 8, step_warps = 4>} {}

// -----

// expected-error @below {{columns must be 16 for each of the 4 column warps, or 8 for each of their warpgroups, or a multiple, found 96}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 96, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>} {}

// -----

// expected-error @below {{a step must be a multiple of 128 with 32 values of k or a multiple for each of the 2 step warps, found 64}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 64, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>} {}

// -----

// expected-error @below {{expected 2 slots or more, a range and a cluster of 1 to 8 blocks, found 1, 2 and 2}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 1, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>} {}

// -----

// expected-error @below {{a block keeps no row of its input or, in a schedule for one row, that one; found 1 for 8}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2, resident_rows = 1>} {}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
}
func.func @f(%w: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{needs variants for ascending numbers of rows}}
  %y = "tile.launch"(%w) <{program = @p, label = "x", tied = array<i64: -1>, symbols = [], sizes = [["8"]], variants = [#tile.variant<@p, 8>, #tile.variant<@p, 4>]}> : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
}
func.func @f(%w: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has the variant @q, which is not a program with the launch's symbols}}
  %y = tile.launch @p "x"(%w) tied [-1] symbols [] sizes [["8"]] {variants = [#tile.variant<@q, 8>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @below {{one warp copies, or 0: all do, found 2}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 2>} {}

// -----

// expected-error @below {{blocks whose warps all copy form no clusters, found one of 2}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_80", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2, load_warps = 0>} {}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%x: memref<8xi32>, %y: memref<8xi32>) symbols () item (%i) attributes {step_inputs = array<i64: 0>} {
    %0 = memref.load %x[%i] : memref<8xi32>
    // expected-error @below {{reads before tile.wait_dependency what earlier kernels may write; expected constants and step_inputs of the kernel}}
    %1 = memref.load %y[%i] : memref<8xi32>
    tile.wait_dependency
    tile.return
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%x: memref<8xi32>) symbols () item (%i) attributes {} {
    %zero = arith.constant 0 : index
    %is = arith.cmpi eq, %i, %zero : index
    scf.if %is {
      tile.wait_dependency
      %0 = memref.load %x[%i] : memref<8xi32>
    }
    // expected-error @below {{reads before tile.wait_dependency what earlier kernels may write}}
    %1 = memref.load %x[%i] : memref<8xi32>
    tile.return
  }
}

// -----

// expected-error @below {{the warps of a warpgroup have 16 rows each, or the first one 8, found a tile of 40}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 0, rows = 40, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 8, step_warps = 1, warpgroups = true>} {}

// -----

// expected-error @below {{warpgroups have four column warps each and steps of 128, found 2 and 128}}
module attributes {tile.schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 2, step_warps = 4, warpgroups = true>} {}
