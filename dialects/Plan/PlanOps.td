//===- PlanOps.td - Command-level operations ---------------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_PLAN_OPS_TD
#define WEFT_DIALECTS_PLAN_OPS_TD

include "dialects/Plan/PlanDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_BufferType : TypeDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "memory with a place";
}

def Plan_BufferKind : I32EnumAttr<"BufferKind", "where a buffer's bytes come from", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"Output", 1, "output">,
  I32EnumAttrCase<"State", 2, "state">,
  I32EnumAttrCase<"Param", 3, "param">,
  I32EnumAttrCase<"Temp", 4, "temp">
]> {
  let cppNamespace = "::weft::plan";
  let genSpecializedAttr = 0;
}
def Plan_BufferKindAttr : EnumAttr<Plan_Dialect, Plan_BufferKind, "kind">;

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ParamOp : Plan_Op<"param", [Symbol]> {
  let summary = "a constant of the artifact";
  let description = [{
    Either rows of checkpoint tensors (`sources`, packed by `layout` from
    `logical_shape`; see `weft.weight`) or a literal `value`. The shape is
    static.

    ```mlir
    plan.param @w0 : tensor<64xf32> {sources = [#weft.source<"norm.weight">]}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       OptionalAttr<ArrayAttr>:$sources,
                       OptionalAttr<AnyAttr>:$layout,
                       OptionalAttr<DenseI64ArrayAttr>:$logical_shape,
                       OptionalAttr<ElementsAttr>:$value);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Plan_StateOp : Plan_Op<"state", [Symbol]> {
  let summary = "a tensor that lives as long as a session";
  let description = [{
    `symbols` names the dynamic dimensions, in order. Zeroed when the session
    is created.

    ```mlir
    plan.state @"cache.0.key" : tensor<?x4x64x64xf32> symbols ["cache_blocks"]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrArrayAttr:$symbols);
  let assemblyFormat = "$sym_name `:` $type `symbols` $symbols attr-dict";
  let hasVerifier = 1;
}

def Plan_EntryOp : Plan_Op<"entry", [Symbol, IsolatedFromAbove, NoTerminator,
                                     SingleBlock, NoRegionArguments]> {
  let summary = "a function that a session can run";
  let description = [{
    Buffers, then commands in the order in which they run. `workspace` is the
    size in bytes of the memory that temporaries share, `lower_bound` the
    largest sums of temporaries that are alive at one command (a list, of which
    the maximum counts).

    ```mlir
    tile.program @copy symbols ["rows"] grid [#tile.extent<"rows", 1>] {
    }
    plan.entry @step symbols ["tokens"] workspace "256*tokens" lower_bound ["256*tokens"] {
      %0 = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
      %1 = plan.buffer temp "t" at "0" : tensor<?x64xf32> sizes ["tokens", "64"]
      %2 = plan.buffer output "y" : tensor<?x64xf32> sizes ["tokens", "64"]
      plan.launch @copy "first"(%0, %1) inputs 1 symbols ["tokens"]
      plan.launch @copy "second"(%1, %2) inputs 1 symbols ["tokens"]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols,
                       OptionalAttr<StrAttr>:$workspace,
                       OptionalAttr<StrArrayAttr>:$lower_bound);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `symbols` $symbols (`workspace` $workspace^)? (`lower_bound` $lower_bound^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Plan_BufferOp : Plan_Op<"buffer", [HasParent<"::weft::plan::EntryOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a buffer of an entry";
  let description = [{
    For inputs and outputs `name` is what the runtime knows them by; states and
    params refer to a `plan.state` or `plan.param` of the same type; a temporary
    lies at byte offset `at` of the workspace once memory is planned. `sizes`
    are the dimensions.

    ```mlir
    plan.state @cache : tensor<?x64xf32> symbols ["blocks"]
    plan.entry @step symbols ["tokens", "blocks"] {
      %0 = plan.buffer input "x" : tensor<?xi32> sizes ["tokens"]
      %1 = plan.buffer state "cache" of @cache : tensor<?x64xf32> sizes ["blocks", "64"]
    }
    ```
  }];
  let arguments = (ins Plan_BufferKindAttr:$kind, StrAttr:$name,
                       OptionalAttr<FlatSymbolRefAttr>:$ref, OptionalAttr<StrAttr>:$offset,
                       TypeAttr:$type, StrArrayAttr:$sizes);
  let results = (outs Plan_BufferType:$result);
  let assemblyFormat = [{
    `` $kind $name (`of` $ref^)? (`at` $offset^)? `:` $type `sizes` $sizes attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes of the buffer as a polynomial.
    ::weft::Polynomial getByteSize();
  }];
}

def Plan_LaunchOp : Plan_Op<"launch", [HasParent<"::weft::plan::EntryOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a program";
  let description = [{
    `symbols` are the values of the program's symbols. The first `inputs`
    buffers are read (or updated in place), the others written. `flops` and
    `bytes` are the model operations' cost, `variants` other programs (see
    `tile.launch`).

    ```mlir
    tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 1>] {
    }
    plan.entry @encode symbols ["tokens"] {
      %0 = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
      %1 = plan.buffer output "y" : tensor<?x64xf32> sizes ["tokens", "64"]
      plan.launch @norm "norm"(%0, %1) inputs 1 symbols ["tokens"] {flops = "256*tokens"}
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$program, StrAttr:$label,
                       Variadic<Plan_BufferType>:$buffers, I64Attr:$inputs,
                       StrArrayAttr:$symbols,
                       OptionalAttr<StrAttr>:$flops, OptionalAttr<StrAttr>:$bytes,
                       OptionalAttr<ArrayAttr>:$variants);
  let assemblyFormat = [{
    $program $label `(` $buffers `)` `inputs` $inputs `symbols` $symbols attr-dict
  }];
}

#endif // WEFT_DIALECTS_PLAN_OPS_TD
