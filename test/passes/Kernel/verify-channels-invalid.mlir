// Roles that would hang or overwrite a slot. Messages about copies and structure
// are in the files beside this one.
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
