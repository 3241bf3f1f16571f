// RUN: weft-opt %s --weft-expand-kernel-math --verify-diagnostics

// expected-error @below {{unknown level "pentium"}}
module @norm attributes {tile.level = "pentium"} {
}
