// RUN: weft-opt %s --weft-choose-schedules=levels=sm_90a --weft-choose-flash-schedules --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=levels=sm_80,sm_90a --weft-choose-flash-schedules --split-input-file | FileCheck %s --check-prefix=BOTH
// RUN: weft-opt %s --weft-choose-schedules=levels=sm_86 --weft-choose-flash-schedules --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: weft-opt %s --weft-choose-schedules=levels=sm_90a --weft-choose-flash-schedules=early=false --split-input-file | FileCheck %s --check-prefix=LATE
// RUN: weft-opt %s --weft-choose-schedules=levels=sm_90a --weft-choose-flash-schedules=batch-invariant --split-input-file | FileCheck %s --check-prefix=BATCH
// RUN: weft-opt %s --weft-choose-schedules=levels=x86-64-v3 --weft-choose-flash-schedules --split-input-file | FileCheck %s --check-prefix=CPU

// A cluster divides the keys where there are few tokens: with 8 key heads 8
// blocks of 2 tokens, 4 of 4 and 2 of 8 are 128, for 132 multiprocessors. All
// architectures of a program have the same numbers of rows.

// DOC
// CHECK-LABEL: func @attention
//       CHECK: schedules = [#tile.flash_schedule<level = "sm_90a", most_rows = 2, rows = 4, keys = 64, key_warps = 4, stages = 4, splits = 8, cluster = 8, early = true>,
//  CHECK-SAME:              #tile.flash_schedule<level = "sm_90a", most_rows = 4, rows = 4, keys = 64, key_warps = 4, stages = 4, splits = 8, cluster = 4, early = true>,
//  CHECK-SAME:              #tile.flash_schedule<level = "sm_90a", most_rows = 8, rows = 4, keys = 64, key_warps = 4, stages = 4, splits = 8, cluster = 2, early = true>,
//  CHECK-SAME:              #tile.flash_schedule<level = "sm_90a", most_rows = 256, rows = 8, keys = 64, key_warps = 4, stages = 3, splits = 8, cluster = 1, early = true>,
//  CHECK-SAME:              #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 64, keys = 64, key_warps = 1, stages = 3, splits = 1, cluster = 1, row_warps = 4, early = true>,
//  CHECK-SAME:              #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 3, splits = 8, cluster = 1, early = true>]

// With one order for any number of rows no warps divide them.

// BATCH-LABEL: func @attention
//       BATCH: most_rows = 8, rows = 4, keys = 64, key_warps = 4, stages = 4, splits = 8, cluster = 2, early = true>,
//  BATCH-SAME: most_rows = 128, rows = 8, keys = 64, key_warps = 4, stages = 3, splits = 8, cluster = 1, early = true>,
//  BATCH-SAME: most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 3, splits = 8, cluster = 1, early = true>]

// BOTH-LABEL: func @attention
//       BOTH: level = "sm_80", most_rows = 2, rows = 4, {{.*}} cluster = 1>, #tile.flash_schedule<level = "sm_90a", most_rows = 2, {{.*}} cluster = 8, early = true>,
//  BOTH-SAME: level = "sm_80", most_rows = 0, {{.*}} row_warps = 4>, #tile.flash_schedule<level = "sm_90a", most_rows = 0, {{.*}} row_warps = 4, early = true>,

//  LATE-LABEL: func @attention
//    LATE-NOT: early

// SMALL-LABEL: func @attention
//       SMALL: schedules = [#tile.flash_schedule<level = "sm_86", most_rows = 256, rows = 8, {{.*}} stages = 2, splits = 8, cluster = 1>,
//  SMALL-SAME:              #tile.flash_schedule<level = "sm_86", most_rows = 0, rows = 64, {{.*}} stages = 2, splits = 1, cluster = 1, row_warps = 4>,
//  SMALL-SAME:              #tile.flash_schedule<level = "sm_86", most_rows = 0, rows = 16, {{.*}} stages = 2, splits = 8, cluster = 1>]

// CPU-LABEL: func @attention
//       CPU: schedules = [#tile.cpu_schedule<
func.func @attention(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128x64xbf16>, %v: tensor<?x8x64x128xbf16>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x32x128xbf16> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x32x128xbf16>, %b = %k : tensor<?x8x128x64xbf16>, %c = %v : tensor<?x8x64x128xbf16>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      -> (tensor<?x32x128xbf16>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.088388346 : f32, causal}
        : (tensor<?x32x128xbf16>, tensor<?x8x128x64xbf16>, tensor<?x8x64x128xbf16>) -> tensor<?x32x128xbf16>
    weft.yield %1 : tensor<?x32x128xbf16>
  }
  return %0 : tensor<?x32x128xbf16>
}

// -----

// Two blocks of heads of 256 do not fit into the shared memory of sm_86. In that
// of sm_80 there is no place beside them to merge splits in, so there is one.

// CHECK-LABEL: func @wide
//       CHECK: schedules = [#tile.flash_schedule<level = "sm_90a", most_rows = 16, rows = 4, keys = 64, key_warps = 4, stages = 3, splits = 8, cluster = 8, early = true>,
//  CHECK-SAME:              most_rows = 33, rows = 4, {{.*}} splits = 8, cluster = 4, early = true>,
//  CHECK-SAME:              most_rows = 66, rows = 4, {{.*}} splits = 8, cluster = 2, early = true>,
//  CHECK-SAME:              most_rows = 128, rows = 8, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1, early = true>,
//  CHECK-SAME:              most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1, early = true>,
//  CHECK-SAME:              most_rows = 0, rows = 8, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1, early = true>]
// BOTH-LABEL: func @wide
//       BOTH: level = "sm_80", most_rows = 16, rows = 4, {{.*}} splits = 1, cluster = 1>, #tile.flash_schedule<level = "sm_90a", most_rows = 16, {{.*}} splits = 8, cluster = 8, early = true>,
// SMALL-LABEL: func @wide
//       SMALL: schedules = [#tile.cuda_schedule<
func.func @wide(%q: tensor<?x4x256xf16>, %k: tensor<?x1x256x64xf16>, %v: tensor<?x1x64x256xf16>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x4x256xf16> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x4x256xf16>, %b = %k : tensor<?x1x256x64xf16>, %c = %v : tensor<?x1x64x256xf16>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      -> (tensor<?x4x256xf16>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.0625 : f32, causal}
        : (tensor<?x4x256xf16>, tensor<?x1x256x64xf16>, tensor<?x1x64x256xf16>) -> tensor<?x4x256xf16>
    weft.yield %1 : tensor<?x4x256xf16>
  }
  return %0 : tensor<?x4x256xf16>
}

// -----

// f32 has no tensor cores that would keep its precision.

// CHECK-LABEL: func @f32
//       CHECK: schedules = [#tile.cuda_schedule<
func.func @f32(%q: tensor<?x4x64xf32>, %k: tensor<?x4x64x64xf32>, %v: tensor<?x4x64x64xf32>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x4x64xf32> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x4x64xf32>, %b = %k : tensor<?x4x64x64xf32>, %c = %v : tensor<?x4x64x64xf32>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      -> (tensor<?x4x64xf32>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.125 : f32, causal}
        : (tensor<?x4x64xf32>, tensor<?x4x64x64xf32>, tensor<?x4x64x64xf32>) -> tensor<?x4x64xf32>
    weft.yield %1 : tensor<?x4x64xf32>
  }
  return %0 : tensor<?x4x64xf32>
}
