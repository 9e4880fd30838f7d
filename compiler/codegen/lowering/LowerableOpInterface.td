// The interface of prims: ops whose meaning is written as linalg.generic with a scalar body.
#ifndef NPAR_CODEGEN_LOWERABLE_TD
#define NPAR_CODEGEN_LOWERABLE_TD

include "mlir/IR/OpBase.td"

def Codegen_LowerableOpInterface : OpInterface<"LowerableOpInterface"> {
  let cppNamespace = "::npar::codegen";
  let description = "A prim: an op that kernels are made of. Attached as external models by lowering/*.cpp, one file per op family.";
  let methods = [InterfaceMethod<"Writes the op's meaning through `lowering` and sets its results there.", "::llvm::LogicalResult", "lower",
                                 (ins "::npar::codegen::Lowering &":$lowering)>];
}

#endif
