// Base classes of nn ops.
#ifndef NPAR_NN_OP_BASE_TD
#define NPAR_NN_OP_BASE_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "compiler/dialects/nn/NnBase.td"

def Nn_AxesAgree : NativeOpTrait<"AxesAgree"> { let cppNamespace = "::npar::nn"; }

def Nn_Differentiable : DeclareOpInterfaceMethods<Nn_DifferentiableOpInterface>;
// An op that says its loop axes itself; others have them from their types.
def Nn_OwnLoopAxes : DeclareOpInterfaceMethods<Nn_ShardableOpInterface, ["getLoopAxes"]>;
// An op that knows axes of operands or results under an alias, too.
def Nn_OwnLoopNames : DeclareOpInterfaceMethods<Nn_ShardableOpInterface, ["getLoopAxes", "loopOfOperand", "loopOfResult"]>;
// An op that keeps a mask for its gradient. Others keep what their gradient uses.
def Nn_KeepsMask : DeclareOpInterfaceMethods<Nn_SavingOpInterface, ["keepsMask"]>;
// An op that looks entries of an axis up; that axis is its attribute `axis`.
def Nn_Indexing : DeclareOpInterfaceMethods<Nn_IndexingOpInterface>;
def Nn_OwnCost : DeclareOpInterfaceMethods<Nn_CostOpInterface, ["getFlops"]>;

class Nn_Op<string mnemonic, list<Trait> traits = []> : Op<Nn_Dialect, mnemonic, traits>;

// A pure op on tensors whose axes agree by name.
class Nn_PureOp<string mnemonic, list<Trait> traits = []>
    : Nn_Op<mnemonic, !listconcat([Pure, Nn_AxesAgree], traits,
                                  !if(!empty(!filter(t, traits, !or(!eq(t, Nn_OwnLoopAxes), !eq(t, Nn_OwnLoopNames)))),
                                      [Nn_ShardableOpInterface], []<Trait>),
                                  !if(!empty(!filter(t, traits, !eq(t, Nn_OwnCost))), [Nn_CostOpInterface], []<Trait>))> {
  bit linear = 0;
  code extra = "";
  let extraClassDeclaration = !if(linear, "bool isLinear() { return true; }\n", "") # extra;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
