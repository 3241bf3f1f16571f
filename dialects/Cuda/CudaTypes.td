//===- CudaTypes.td - Types and attributes of CUDA kernels -*- tablegen -*-===//

#ifndef WEFT_DIALECTS_CUDA_TYPES_TD
#define WEFT_DIALECTS_CUDA_TYPES_TD

include "dialects/Cuda/CudaDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Cuda_Enum<string name, string description, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, description, cases> {
  let cppNamespace = "::weft::cuda";
  let genSpecializedAttr = 0;
}

def Cuda_Space : Cuda_Enum<"Space", "memory space", [
  I32EnumAttrCase<"Global", 0, "global">,
  I32EnumAttrCase<"Shared", 1, "shared">,
  I32EnumAttrCase<"Cluster", 2, "cluster">
]>;

def Cuda_CacheHint : Cuda_Enum<"CacheHint", "what a load leaves in the caches", [
  I32EnumAttrCase<"Default", 0, "default">,
  I32EnumAttrCase<"ReadOnly", 1, "read_only">,
  I32EnumAttrCase<"Stream", 2, "stream">,
  I32EnumAttrCase<"Keep", 3, "keep">,
  I32EnumAttrCase<"L2", 4, "l2">
]>;
def Cuda_CacheHintAttr : EnumAttr<Cuda_Dialect, Cuda_CacheHint, "cache_hint">;

def Cuda_FenceScope : Cuda_Enum<"FenceScope", "whom a fence orders memory for", [
  I32EnumAttrCase<"Block", 0, "block">,
  I32EnumAttrCase<"Cluster", 1, "cluster">,
  I32EnumAttrCase<"Device", 2, "device">,
  I32EnumAttrCase<"System", 3, "system">
]>;
def Cuda_FenceScopeAttr : EnumAttr<Cuda_Dialect, Cuda_FenceScope, "fence_scope">;

def Cuda_PtrType : TypeDef<Cuda_Dialect, "Ptr"> {
  let mnemonic = "ptr";
  let summary = "address of elements in a memory space";
  let description = [{
    `!cuda.ptr<bf16, global>`. The element type is f32, f16, bf16, f64, i8, i32
    or i64; an mbarrier is an i64 in shared memory. The space `cluster` is the
    shared memory of any block of the cluster, see `cuda.map_cluster`.
  }];
  let parameters = (ins "::mlir::Type":$element, EnumParameter<Cuda_Space>:$space);
  let assemblyFormat = "`<` $element `,` $space `>`";
  let genVerifyDecl = 1;
}

class Cuda_PtrOf<string name, code condition>
    : Type<And<[CPred<"::llvm::isa<::weft::cuda::PtrType>($_self)">, CPred<condition>]>,
           name, "::weft::cuda::PtrType">;
def Cuda_AnyPtr : Cuda_PtrOf<"a pointer", "true">;
def Cuda_SharedPtr : Cuda_PtrOf<"a pointer to shared memory",
  "::llvm::cast<::weft::cuda::PtrType>($_self).getSpace() == ::weft::cuda::Space::Shared">;
def Cuda_GlobalPtr : Cuda_PtrOf<"a pointer to global memory",
  "::llvm::cast<::weft::cuda::PtrType>($_self).getSpace() == ::weft::cuda::Space::Global">;
def Cuda_ClusterPtr : Cuda_PtrOf<"a pointer to shared memory of the cluster",
  "::llvm::cast<::weft::cuda::PtrType>($_self).getSpace() == ::weft::cuda::Space::Cluster">;
def Cuda_ClusterMBarrier : Cuda_PtrOf<"an mbarrier of the cluster: a pointer to i64",
  "::llvm::cast<::weft::cuda::PtrType>($_self).getSpace() == ::weft::cuda::Space::Cluster && "
  "::llvm::cast<::weft::cuda::PtrType>($_self).getElement().isInteger(64)">,
  BuildableType<"::weft::cuda::PtrType::get($_builder.getContext(), "
                "$_builder.getI64Type(), ::weft::cuda::Space::Cluster)">;
def Cuda_Flag : Cuda_PtrOf<"a pointer to i32 in global memory",
  "::llvm::cast<::weft::cuda::PtrType>($_self).getSpace() == ::weft::cuda::Space::Global && "
  "::llvm::cast<::weft::cuda::PtrType>($_self).getElement().isInteger(32)">;
def Cuda_MBarrier : Cuda_PtrOf<"an mbarrier: a pointer to i64 in shared memory",
  "::llvm::cast<::weft::cuda::PtrType>($_self).getSpace() == ::weft::cuda::Space::Shared && "
  "::llvm::cast<::weft::cuda::PtrType>($_self).getElement().isInteger(64)">,
  BuildableType<"::weft::cuda::PtrType::get($_builder.getContext(), "
                "$_builder.getI64Type(), ::weft::cuda::Space::Shared)">;

#endif // WEFT_DIALECTS_CUDA_TYPES_TD
