// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerations and attributes of the neoflow dialect.

#ifndef NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWATTRS_TD
#define NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "neoflow/Dialect/NeoFlow/IR/NeoFlowDialect.td"

def NeoFlow_ReductionKind : I32EnumAttr<"ReductionKind", "how the points of a reduction are combined", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"sum", 1>,
    I32EnumAttrCase<"prod", 2>, I32EnumAttrCase<"max", 3>,
    I32EnumAttrCase<"min", 4>, I32EnumAttrCase<"umax", 5>,
    I32EnumAttrCase<"umin", 6>, I32EnumAttrCase<"and_", 7, "and">,
    I32EnumAttrCase<"or_", 8, "or">, I32EnumAttrCase<"combine", 9>]> {
  let cppNamespace = "::neoflow";
  let genSpecializedAttr = 0;
}
def NeoFlow_ReductionKindAttr : EnumAttr<NeoFlow_Dialect, NeoFlow_ReductionKind, "kind">;
def NeoFlow_ReductionKindArrayAttr
    : TypedArrayAttrBase<NeoFlow_ReductionKindAttr, "one reduction kind for each result">;

def NeoFlow_Ties : I32EnumAttr<"Ties", "where the cotangent of a max or min goes when several points attain it", [
    I32EnumAttrCase<"share", 0>, I32EnumAttrCase<"first", 1>]> {
  let cppNamespace = "::neoflow";
  let genSpecializedAttr = 0;
}
def NeoFlow_TiesAttr : EnumAttr<NeoFlow_Dialect, NeoFlow_Ties, "ties">;

def NeoFlow_Distribution : I32EnumAttr<"Distribution", "a random distribution", [
    I32EnumAttrCase<"uniform", 0>, I32EnumAttrCase<"normal", 1>]> {
  let cppNamespace = "::neoflow";
  let genSpecializedAttr = 0;
}
def NeoFlow_DistributionAttr : EnumAttr<NeoFlow_Dialect, NeoFlow_Distribution, "distribution"> {
  let assemblyFormat = "$value";
}

class NeoFlow_Attr<string name, string attrMnemonic> : AttrDef<NeoFlow_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def NeoFlow_ScheduleAttr : NeoFlow_Attr<"Schedule", "schedule"> {
  let summary = "how a kernel is executed";
  let description = [{
    The family of the kernel, its parameters by name (tile extents in points,
    the number of vector lanes, and so on; `include/neoflow/Schedule/Schedule.h`
    documents the parameters of each family), and the reduction order class:
    schedules of one class give bit-identical results.

    ```mlir
    #neoflow.schedule<contraction, {k_tile = 256, lanes = 8, m_tile = 96, mr = 6, n_tile = 512, nr = 16}, order = "ascending">
    ```
  }];
  let parameters = (ins StringRefParameter<"family">:$family,
                        "::mlir::DictionaryAttr":$parameters,
                        StringRefParameter<"reduction order class">:$order);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def NeoFlow_TargetAttr : NeoFlow_Attr<"Target", "target"> {
  let summary = "the device a kernel is compiled for";
  let description = [{
    A device by name, the LLVM processor and features, and the figures that
    schedules depend on (`include/neoflow/TargetInfo/TargetInfo.h` documents
    them: `cores`, `vector_bytes`, `vector_registers`, `l1_bytes`, `l2_bytes`,
    `l3_bytes`).

    ```mlir
    #neoflow.target<"host", cpu = "znver3", features = "+avx2,+fma", {cores = 2, vector_bytes = 32}>
    ```
  }];
  let parameters = (ins StringRefParameter<"name">:$name,
                        StringRefParameter<"LLVM processor">:$cpu,
                        StringRefParameter<"LLVM features">:$features,
                        "::mlir::DictionaryAttr":$parameters);
  let assemblyFormat = [{
    `<` $name `,` `cpu` `=` $cpu `,` `features` `=` $features `,` $parameters `>`
  }];
  let genVerifyDecl = 1;
}

#endif // NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWATTRS_TD
