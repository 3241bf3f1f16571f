//===- CudaDialect.td - The dialect of CUDA kernels --------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_CUDA_DIALECT_TD
#define WEFT_DIALECTS_CUDA_DIALECT_TD

include "mlir/IR/OpBase.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::weft::cuda";
  let summary = "what one thread of a CUDA kernel does";
  let description = [{
    One operation per emitted statement or PTX instruction. A `cuda.kernel` is
    printed as one CUDA C++ function that needs no header but Weft's own prelude
    of inline PTX.

    Numbers of a thread are scalars and one-dimensional vectors (small arrays in
    registers), computed by `arith`, `math` and `vector`; control flow is `scf`.
    `index` is a 64-bit signed integer, `i32` a 32-bit one. bf16 and f16 numbers
    are stored, loaded and converted; arithmetic is on f32.

    Memory is `!cuda.ptr<element, space>`; a pointer counts in elements.

    An `scf.for` with the attribute `cuda.unroll` is unrolled: fully as a unit
    attribute, by a factor as an integer.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif // WEFT_DIALECTS_CUDA_DIALECT_TD
