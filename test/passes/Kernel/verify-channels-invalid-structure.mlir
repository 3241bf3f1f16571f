// Kernels whose roles cannot be followed, and blocks of a cluster that disagree.
// RUN: weft-opt %s --weft-verify-channels --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Outside of a role.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        tile.consume %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
        // expected-error @below {{stands outside of the roles}}
        tile.consume %ring[%c0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
    tile.return
  }
}

// -----

// A channel in a role.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        tile.consume %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
      // expected-error @below {{stands inside of another operation; expected the top level of the kernel}}
      %mine = tile.channel slots 1 : !tile.channel<memref<8x128xbf16>>
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A loop that nobody can follow.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %n0 = "test.value"() : () -> index
      // expected-error @below {{runs operations on channels an unknown number of times; expected bounds that follow from sizes, work item and rank, and a positive step}}
      scf.for %n = %c0 to %n0 step %c1 {
        tile.consume %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A branch that nobody can follow.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %is = "test.value"() : () -> i1
      // expected-error @below {{runs operations on channels on an unknown condition; expected one that follows from sizes, work item and rank}}
      scf.if %is {
        tile.consume %ring[%c0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A piece that nobody knows.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %n0 = "test.value"() : () -> index
        // expected-error @below {{has an unknown number; expected one that follows from sizes, work item and rank, not below 0}}
        tile.consume %ring[%n0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Another loop.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      // expected-error @below {{cannot stand around operations on channels; expected scf.for or scf.if}}
      scf.execute_region {
        tile.consume %ring[%c0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
        scf.yield
      }
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A loop without an end.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %much = arith.constant 1000000000000 : index
      // expected-error @below {{takes a role over more than 262144 iterations; expected fewer}}
      scf.for %n = %c0 to %much step %c1 {
        tile.consume %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
    }
    tile.role "load" warps 1 {
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c2 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Rows behind the end of an input of as many rows as the launch has.
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<?x128xbf16>) symbols (%rows) item (%i) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>>
    %row = arith.muli %i, %c8 : index
    tile.role "math" warps 8 {
      tile.wait_dependency
      tile.consume %ring[%c0] (%a : memref<8x128xbf16>) init () {
        tile.yield
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
      tile.produce all %ring[%c0] (%a : memref<8x128xbf16>) {
        // expected-error @below {{copies 8 from index 0 on of the 1 of dimension 0 for piece 0 (role "load" of block 0, item 0, rows = 1)}}
        tile.copy %x[%row, %c0] to %a rows %c8 : memref<?x128xbf16>, memref<8x128xbf16>
      }
    }
    tile.return
  }
}

// -----

// One block shares more often than the other.
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 1, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %zero = arith.constant dense<0.0> : tensor<8x128xf32>
      %rank = tile.cluster_rank
      %rounds = arith.addi %rank, %c1 : index
      scf.for %r = %c0 to %rounds step %c1 {
        // expected-error @below {{waits for ever for phase 3 of the barrier of the cluster, for which role "math" of block 0 does not arrive (role "math" of block 1, item 0, rows = 1)}}
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    tile.return
  }
}

// -----

// Rounds that do not count from 0.
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 1, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %zero = arith.constant dense<0.0> : tensor<8x128xf32>
      %rank = tile.cluster_rank
      scf.for %r = %c1 to %c5 step %c1 {
        // expected-error @below {{passes phase 2 of the barrier of the cluster where phase 0 is next (role "math" of block 0, item 0, rows = 1)}}
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    tile.return
  }
}

// -----

// A right one: the role that copies passes all phases behind its last piece.
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 1, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %zero = arith.constant dense<0.0> : tensor<8x128xf32>
      scf.for %r = %c0 to %c2 step %c1 {
        tile.consume %ring[%r] (%a : memref<8x128xbf16>) init () {
          tile.yield
        }
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
        }
      }
      scf.for %n = %c0 to %c4 step %c1 {
        tile.cluster_barrier phase %n
      }
    }
    tile.return
  }
}

// -----

// The role that copies does not take part in the barrier of the cluster.
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 1, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %zero = arith.constant dense<0.0> : tensor<8x128xf32>
      scf.for %r = %c0 to %c2 step %c1 {
        tile.consume %ring[%r] (%a : memref<8x128xbf16>) init () {
          tile.yield
        }
        // expected-error @below {{waits for ever for phase 1 of the barrier of the cluster, for which role "load" of block 0 does not arrive (role "math" of block 0, item 0, rows = 1)}}
        // expected-note @below {{role "math" of block 1 waits for ever for phase 1 of the barrier of the cluster, for which role "load" of block 0 does not arrive}}
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
        }
      }
      // It ends.
    }
    tile.return
  }
}

// -----

// It ends a phase before the others.
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 1, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %zero = arith.constant dense<0.0> : tensor<8x128xf32>
      scf.for %r = %c0 to %c2 step %c1 {
        tile.consume %ring[%r] (%a : memref<8x128xbf16>) init () {
          tile.yield
        }
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    // expected-error @below {{ends in phase 3 of the barrier of the cluster, of which others pass phase 3 (role "load" of block 0, item 0, rows = 1)}}
    tile.role "load" warps 1 {
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
        }
      }
      %c3 = arith.constant 3 : index
      scf.for %n = %c0 to %c3 step %c1 {
        tile.cluster_barrier phase %n
      }
    }
    tile.return
  }
}

// -----

// It waits for the sums of the second tile before it copies what they need.
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 1, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 8>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %zero = arith.constant dense<0.0> : tensor<8x128xf32>
      scf.for %r = %c0 to %c2 step %c1 {
        // expected-error @below {{waits for ever for piece 1 in slot 1, which is not produced (role "math" of block 0, item 0, rows = 1)}}
        // expected-note @below {{role "math" of block 1 waits for ever for piece 1 in slot 1, which is not produced}}
        tile.consume %ring[%r] (%a : memref<8x128xbf16>) init () {
          tile.yield
        }
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
        }
        %first = arith.muli %n, %c4 : index
        scf.for %p = %first to %c4 step %c1 {
          // expected-note @below {{role "load" of block 0 waits for ever for phase 3 of the barrier of the cluster, for which role "math" of block 0 does not arrive}}
          // expected-note @below {{role "load" of block 1 waits for ever for phase 3 of the barrier of the cluster, for which role "math" of block 0 does not arrive}}
          tile.cluster_barrier phase %p
        }
      }
    }
    tile.return
  }
}
