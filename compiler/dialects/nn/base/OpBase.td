// Base classes of nn ops, and the fields by which an op's entry answers the interfaces.
#ifndef NPAR_NN_OP_BASE_TD
#define NPAR_NN_OP_BASE_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "compiler/dialects/nn/base/NnBase.td"

def Nn_AxesAgree : NativeOpTrait<"AxesAgree"> { let cppNamespace = "::npar::nn"; }
// Axes of equal names are split equally, although their sizes may differ.
def Nn_SplitsAgree : NativeOpTrait<"SplitsAgree"> { let cppNamespace = "::npar::nn"; }
// An op that stays whole through autodiff and placing and is expanded into local ops afterwards (RULES.md#P5): passes/place/expand. With
// the attribute `blocked` it is local itself.
def Nn_Composite : NativeOpTrait<"Composite"> { let cppNamespace = "::npar::nn"; }

// An op whose results are kept rather than computed again (ops/Decision.h).
def Nn_Decision : NativeOpTrait<"Decision"> { let cppNamespace = "::npar::nn"; }

// An op whose meaning its family's .cpp writes as a formula over scalars.
def Nn_Lowerable : DeclareOpInterfaceMethods<Nn_LowerableOpInterface>;
// An op that a model's text can ask for; with further results it says their types.
def Nn_Language : DeclareOpInterfaceMethods<Nn_LanguageOpInterface>;
def Nn_LanguageOfMany : DeclareOpInterfaceMethods<Nn_LanguageOpInterface, ["getFurtherTypes"]>;
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
// An op with matrix products in it.
def Nn_OwnProducts : DeclareOpInterfaceMethods<Nn_CostOpInterface, ["getFlops", "getProductFlops"]>;

// Each field answers one question of NnInterfaces.td in the same way for all ops of the kind; left empty it leaves the default. Where the
// answer depends on the op's operands or attributes, `extra` declares the method and the family's .cpp defines it.
class Nn_Op<string mnemonic, list<Trait> traits = []> : Op<Nn_Dialect, mnemonic, traits> {
  bit linear = 0;
  string reduction = "";   // Sum or Max
  string zeroPadding = ""; // WhereOperandsAre or Always
  bit masksPadding = 0;    // needs zeros nowhere: its lowering leaves padding out
  string origin = "";      // Nothing, Memory or Operand
  bit madeAgain = 0;
  bit wide = 0;
  string keepWord = "";
  string effort = "";      // None, Little or Much
  string nest = "";        // Alone or Own
  bit readsElsewhere = 0;  // all its operands
  code extra = "";
  let extraClassDeclaration =
      !if(linear, "bool isLinear() { return true; }\n", "")
      # !if(!empty(reduction), "",
            "static ::std::optional<::npar::program::ReduceOp> getReduction() { return ::npar::program::ReduceOp::" # reduction # "; }\n")
      # !if(!empty(zeroPadding), "",
            "::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr) { return ::npar::nn::ZeroPadding::" # zeroPadding # "; }\n")
      # !if(masksPadding, "bool needsZeroPadding(unsigned, ::mlir::StringAttr) { return false; }\n", "")
      # !if(!empty(origin), "", "::npar::nn::Origin getOrigin() { return ::npar::nn::Origin::" # origin # "; }\n")
      # !if(madeAgain, "bool isMadeAgain() { return true; }\n", "")
      # !if(wide, "static bool isWide() { return true; }\n", "")
      # !if(!empty(keepWord), "", "static ::llvm::StringRef getKeepWord() { return \"" # keepWord # "\"; }\n")
      # !if(!empty(effort), "", "static ::npar::nn::Effort getEffort() { return ::npar::nn::Effort::" # effort # "; }\n")
      # !if(!empty(nest), "", "static ::npar::nn::Nest getNest() { return ::npar::nn::Nest::" # nest # "; }\n")
      # !if(readsElsewhere, "bool readsElsewhere(unsigned) { return true; }\n", "")
      # extra;
}

// A pure op on tensors whose axes agree by name.
class Nn_PureOp<string mnemonic, list<Trait> traits = []>
    : Nn_Op<mnemonic, !listconcat([Pure, Nn_AxesAgree, Nn_PaddingOpInterface, Nn_OriginOpInterface, Nn_PrecisionOpInterface], traits,
                                  !if(!empty(!filter(t, traits, !or(!eq(t, Nn_OwnLoopAxes), !eq(t, Nn_OwnLoopNames)))),
                                      [Nn_ShardableOpInterface], []<Trait>),
                                  !if(!empty(!filter(t, traits, !or(!eq(t, Nn_OwnCost), !eq(t, Nn_OwnProducts)))),
                                      [Nn_CostOpInterface], []<Trait>),
                                  !if(!empty(!filter(t, traits, !eq(t, Nn_Composite))), [Nn_KernelOpInterface], []<Trait>))> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
