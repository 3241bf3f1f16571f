// Copies that do not fill their part of a slot, or read what is not there.
// RUN: weft-opt %s --weft-verify-channels --split-input-file --verify-diagnostics --allow-unregistered-dialect

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
