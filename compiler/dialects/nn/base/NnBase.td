// The nn dialect's attributes and type constraints: tensors with named axes, an op's place in the model, kinds of variables.
#ifndef NPAR_NN_BASE_TD
#define NPAR_NN_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "compiler/dialects/Words.td"
include "compiler/dialects/nn/base/NnInterfaces.td"

def Nn_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::npar::nn";
  let summary = "what is computed: tensors with named axes, no devices";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void addAllAttributes();";
}

//===- Attributes -------------------------------------------------------------------------------------------------------===//

class Nn_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Nn_Dialect, name, traits> { let mnemonic = mnem; }

def Nn_AxesAttr : Nn_Attr<"Axes", "axes", [
    DeclareAttrInterfaceMethods<Nn_NamedAxesAttrInterface>, DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the names of a tensor's dimensions, major to minor, none twice";
  let description = "`tensor<8x128xf32, #nn.axes<batch, seq>>`; a scalar has `#nn.axes<>`.";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Nn_AtAttr : Nn_Attr<"At", "at"> {
  let summary = "an op's place: phase, layer path, place in the chain of repeated blocks";
  let description = [{
    `at = #nn.at<F, "h.3.attn", 3>`. Block -1 is before the first repeat, 0..n-1 are blocks, n is after. Phases are forward (F) and
    backward (B) of @micro, @update (U), and the two of the prologue: @count (C) and @start (P). C1: no op is of phase W: which part of the
    backward can wait is decided by the schedule.
  }];
  let parameters = (ins Npar_Word<"Phase">:$phase, StringRefParameter<>:$path, "int64_t":$block);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $phase `,` $path `,` $block `>`";
}

def Nn_VariableKindAttr : Npar_WordAttr<Nn_Dialect, "VariableKind", "VariableKind", "kind"> {
  let summary = "what a variable holds";
  let assemblyFormat = "`<` $value `>`";
}

def Nn_InitAttr : Nn_Attr<"Init", "init"> {
  let summary = "initial values: `#nn.init<zeros>`, `#nn.init<ones>`, `#nn.init<normal, 0.02>` (mean 0, standard deviation), "
                "`#nn.init<uniform, 0.1>` (from -0.1 to 0.1), `#nn.init<constant, 65536.0>`";
  let parameters = (ins Npar_Word<"InitKind">:$initial, "::mlir::FloatAttr":$deviation);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "::npar::program::InitKind":$initial, "double":$deviation)>];
}

//===- Types ------------------------------------------------------------------------------------------------------------===//

class Nn_TensorOf<string predicate, string summary>
    : Type<CPred<"::npar::nn::isNamedTensor($_self) && " # predicate>, summary, "::mlir::RankedTensorType">;

def Nn_Tensor : Nn_TensorOf<"true", "tensor with named axes">;
def Nn_Float : Nn_TensorOf<"::llvm::isa<::mlir::FloatType>(::mlir::getElementTypeOrSelf($_self))", "floating-point tensor with named axes">;
def Nn_Integer : Nn_TensorOf<"::mlir::getElementTypeOrSelf($_self).isInteger(32)", "i32 tensor with named axes">;
def Nn_Scalar : Nn_TensorOf<"::npar::nn::axesOf($_self).empty() && ::mlir::getElementTypeOrSelf($_self).isF64()",
                            "f64 scalar tensor with named axes">;

#endif
