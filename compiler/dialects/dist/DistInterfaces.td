// The interface of all collectives, so that no pass lists them.
#ifndef NPAR_COMPILER_DIALECTS_DIST_DISTINTERFACES_TD
#define NPAR_COMPILER_DIALECTS_DIST_DISTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Dist_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = "A move that communicates: the first operand, one result, a group of ranks along mesh axes.";
  let cppNamespace = "::npar::dist";
  let methods = [
    InterfaceMethod<"The kind that the engine runs.", "::npar::program::CollectiveKind", "getCollective">,
    InterfaceMethod<"The mesh axes of the group.", "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"Why it is there; null when that is not known.", "::npar::dist::CauseAttr", "getCauseAttr">
  ];
}

#endif
