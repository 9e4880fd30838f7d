// The interface of composite ops: how each is expanded into local ones.
#ifndef NPAR_PLACE_EXPANDABLE_TD
#define NPAR_PLACE_EXPANDABLE_TD

include "mlir/IR/OpBase.td"

def Place_ExpandableOpInterface : OpInterface<"ExpandableOpInterface"> {
  let cppNamespace = "::npar::place";
  let description =
      "A composite op (trait nn::Composite) and its expansion. Attached as external models by Expand*.cpp, one file per family.";
  let methods = [InterfaceMethod<"Replaces the op's results by what local ops make of its operands, and erases it.", "void", "expand">];
}

#endif
