// Roles that would hang or overwrite a slot: every message of the pass.
// RUN: weft-opt %s --weft-verify-channels --split-input-file --verify-diagnostics --allow-unregistered-dialect

// A right one.
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
    tile.return
  }
}

// -----

// The last piece has no reader.
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
      scf.for %n = %c0 to %c2 step %c1 {
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
        // expected-error @below {{waits for ever for the release of piece 2 in slot 0, to produce piece 4 (role "load" of block 0, item 0)}}
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

// A piece that fits into the ring and has no reader.
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
      scf.for %n = %c0 to %c2 step %c1 {
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
        // expected-error @below {{produces piece 2, which is never consumed (role "load" of block 0, item 0)}}
        tile.produce all %ring[%c2] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
    }
    tile.return
  }
}

// -----

// A piece that nobody produces.
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
        // expected-error @below {{waits for ever for piece 2 in slot 0, which is not produced (role "math" of block 0, item 0)}}
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
    }
    tile.return
  }
}

// -----

// The late copies are missing; the role that loads waits behind.
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
        // expected-error @below {{waits for ever for piece 0 in slot 0, whose late copies are not made (role "math" of block 0, item 0)}}
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
      scf.for %n = %c2 to %c5 step %c1 {
        // expected-note @below {{role "load" of block 0 waits for ever for the release of piece 0 in slot 0, to produce piece 2}}
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

// Late copies twice.
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
        // expected-error @below {{makes the late copies of piece 0, which is complete (role "load" of block 0, item 0)}}
        tile.produce late %ring[%c0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
    }
    tile.return
  }
}

// -----

// Late copies of a piece that has not been started.
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
      tile.wait_dependency
        // expected-error @below {{makes the late copies of piece 0, which has not been started early (role "load" of block 0, item 0)}}
        tile.produce late %ring[%c0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
    }
    tile.return
  }
}

// -----

// More early pieces than slots: the third would overwrite the first.
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
      scf.for %n = %c0 to %c5 step %c1 {
        // expected-error @below {{does not wait for the release of piece 0, which has slot 0 before piece 2; expected early copies of the first 2 pieces only (role "load" of block 0, item 0)}}
        tile.produce early %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Pieces out of order.
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
      tile.wait_dependency
        // expected-error @below {{produces piece 1 where piece 0 of the channel is next (role "load" of block 0, item 0)}}
        tile.produce all %ring[%c1] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
    }
    tile.return
  }
}

// -----

// A reader that skips a piece.
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
      scf.for %n = %c1 to %c5 step %c1 {
        // expected-error @below {{consumes piece 1 where piece 0 of the channel is next (role "math" of block 0, item 0)}}
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

// Two producers.
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
    tile.role "more" warps 1 {
      tile.wait_dependency
        // expected-error @below {{is in the second role that produces for the channel; expected one role (role "more" of block 0, item 0)}}
        tile.produce all %ring[%c5] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
    }
    tile.return
  }
}

// -----

// Two readers.
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
      scf.for %n = %c0 to %c2 step %c1 {
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
    tile.role "more" warps 1 {
      tile.wait_dependency
      scf.for %n = %c2 to %c5 step %c1 {
        // expected-error @below {{is in the second role that consumes from the channel; expected one role (role "more" of block 0, item 0)}}
        tile.consume %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
    }
    tile.return
  }
}

// -----

// No wait for earlier kernels.
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
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          // expected-error @below {{copies what earlier kernels may write before tile.wait_dependency (role "load" of block 0, item 0)}}
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A role without the wait.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    // expected-error @below {{ends without tile.wait_dependency (role "math" of block 0, item 0)}}
    tile.role "math" warps 8 {
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
    tile.return
  }
}

// -----

// A part that is never copied.
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
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        // expected-error @below {{copies into part 1 of the slot 0 times; expected once}}
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A part that is copied twice.
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
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        // expected-error @below {{copies into part 0 of the slot 2 times; expected once}}
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %a rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// A copy to elsewhere.
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
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          // expected-error @below {{has to copy into a part of the slot}}
          tile.copy constant %w[%c0, %c0] to %x rows %c8 : memref<128x512xbf16>, memref<8x512xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// An input that is called constant.
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
        tile.produce early %ring[%c0] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          // expected-error @below {{copies as constant what is not among the constants of the kernel}}
          tile.copy constant %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
    }
    tile.return
  }
}

// -----

// Early and late do not agree: no half copies a part.
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
          // expected-error @below {{is not constant late and the opposite early, so that part 1 is copied twice (role "load" of block 0, item 0)}}
          tile.copy %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Early and late do not agree: nobody copies a part.
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
          tile.copy %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.wait_dependency
      scf.for %n = %c0 to %c2 step %c1 {
        tile.produce late %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          // expected-error @below {{is constant late and the opposite early, so that part 1 is copied not at all (role "load" of block 0, item 0)}}
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Early and late do not agree on the bytes.
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
          // expected-error @below {{copies another number of rows into part 0 of piece 0 late than its early half expects (role "load" of block 0, item 0)}}
          tile.copy %x[%c0, %c0] to %a rows %c5 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// More rows than the part has.
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
      %c9 = arith.constant 9 : index
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          // expected-error @below {{copies 9 rows of piece 0 into a part that has 8 (role "load" of block 0, item 0)}}
          tile.copy %x[%c0, %c0] to %a rows %c9 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Columns behind the end.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : index
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
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        %column = arith.muli %n, %c128 : index
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          // expected-error @below {{copies 128 from index 512 on of the 512 of dimension 1 for piece 4 (role "load" of block 0, item 0)}}
          tile.copy constant %w[%c0, %column] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
    }
    tile.return
  }
}

// -----

// Two channels in opposite orders.
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16>, %w: memref<128x512xbf16>) symbols () item (%i) attributes {constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<8x128xbf16>>
    %other = tile.channel slots 1 : !tile.channel<memref<8x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      // expected-error @below {{waits for ever for piece 0 in slot 0, which is not produced (role "math" of block 0, item 0)}}
      tile.consume %other[%c0] (%a : memref<8x128xbf16>) init () {
        tile.yield
      }
      scf.for %n = %c0 to %c5 step %c1 {
        tile.consume %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) init () {
          tile.yield
        }
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
      scf.for %n = %c0 to %c5 step %c1 {
        // expected-note @below {{role "load" of block 0 waits for ever for the release of piece 0 in slot 0, to produce piece 2}}
        tile.produce all %ring[%n] (%a : memref<8x128xbf16>, %b : memref<8x128xbf16>) {
          tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
          tile.copy constant %w[%c0, %c0] to %b rows %c8 : memref<128x512xbf16>, memref<8x128xbf16>
        }
      }
      tile.produce all %other[%c0] (%a : memref<8x128xbf16>) {
        tile.copy %x[%c0, %c0] to %a rows %c8 : memref<8x512xbf16>, memref<8x128xbf16>
      }
    }
    tile.return
  }
}

// -----

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
        // expected-error @below {{waits for ever for round 1 of the other blocks (role "math" of block 1, item 0, rows = 1)}}
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
        // expected-error @below {{is in round 1 where round 0 is next (role "math" of block 0, item 0, rows = 1)}}
        %s = tile.share %zero round %r : tensor<8x128xf32> -> tensor<8x64xf32>
      }
    }
    tile.return
  }
}
