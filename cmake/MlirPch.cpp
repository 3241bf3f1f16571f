// Owns the precompiled header that all MLIR code reuses.
