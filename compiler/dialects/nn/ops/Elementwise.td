// Elementwise ops: one value in, one out; two operands broadcast by name.
#ifndef NPAR_NN_ELEMENTWISE_TD
#define NPAR_NN_ELEMENTWISE_TD

include "compiler/dialects/nn/base/OpBase.td"

class Nn_UnaryOp<string mnemonic, list<Trait> traits = [Nn_Language, Nn_Differentiable]>
    : Nn_PureOp<mnemonic, !listconcat([Nn_Lowerable], traits)> {
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Float:$result);
}

def Nn_ScaleOp : Nn_UnaryOp<"scale"> {
  let summary = "x * factor";
  let arguments = (ins Nn_Float:$x, F64Attr:$factor);
  let linear = 1;
  let assemblyFormat = "$x `by` $factor attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let zeroPadding = "WhereOperandsAre";
  let madeAgain = 1;
  let effort = "Little";
}
def Nn_ShiftOp : Nn_UnaryOp<"shift"> {
  let summary = "x + value";
  let arguments = (ins Nn_Float:$x, F64Attr:$value);
  let assemblyFormat = "$x `by` $value attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let madeAgain = 1;
  let effort = "Little";
}
def Nn_ExpOp : Nn_UnaryOp<"exp">;
def Nn_LogOp : Nn_UnaryOp<"log">;
def Nn_RsqrtOp : Nn_UnaryOp<"rsqrt", [Nn_Differentiable]>;
def Nn_TanhOp : Nn_UnaryOp<"tanh"> { let zeroPadding = "WhereOperandsAre"; }
def Nn_ReluOp : Nn_UnaryOp<"relu"> {
  let zeroPadding = "WhereOperandsAre";
  let effort = "Little";
}
def Nn_GeluOp : Nn_UnaryOp<"gelu"> {
  let summary = "x * Phi(x); `approximate` is \"none\" (erf) or \"tanh\" (GPT-2's)";
  let arguments = (ins Nn_Float:$x, DefaultValuedStrAttr<StrAttr, "none">:$approximate);
  let zeroPadding = "WhereOperandsAre";
}
def Nn_SiluOp : Nn_UnaryOp<"silu"> {
  let summary = "x / (1 + exp(-x))";
  let zeroPadding = "WhereOperandsAre";
}
def Nn_ConvertOp : Nn_UnaryOp<"convert", [Nn_Differentiable]> {
  let summary = "conversion to the result's floating-point element type, rounded to nearest even";
  let description = "Linear, except when it widens a 16-bit type: partial sums are sent and reduced in the narrower type.";
  let extra = "bool isLinear();\n::npar::nn::Origin getOrigin();";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let zeroPadding = "WhereOperandsAre";
  let madeAgain = 1;
  let effort = "Little";
}

class Nn_GradientOp<string mnemonic, string first> : Nn_PureOp<mnemonic, [Nn_Lowerable]> {
  let arguments = (ins Nn_Float:$input, Nn_Float:$dy);
  let results = (outs Nn_Float:$result);
  let zeroPadding = "WhereOperandsAre";
  let summary = "the gradient of nn." # !subst("_grad", "", mnemonic) # ", from its " # first # " and dy";
}
def Nn_ReluGradOp : Nn_GradientOp<"relu_grad", "operand"> { let effort = "Little"; }
def Nn_TanhGradOp : Nn_GradientOp<"tanh_grad", "result"> { let effort = "Little"; }
def Nn_GeluGradOp : Nn_GradientOp<"gelu_grad", "operand"> {
  let arguments = (ins Nn_Float:$input, Nn_Float:$dy, DefaultValuedStrAttr<StrAttr, "none">:$approximate);
}
def Nn_SiluGradOp : Nn_GradientOp<"silu_grad", "operand">;

class Nn_BinaryOp<string mnemonic, list<Trait> traits = [Nn_Language, Nn_Differentiable]>
    : Nn_PureOp<mnemonic, !listconcat([Nn_Lowerable], traits)> {
  let summary = "elementwise with broadcast by name: operand axes are a subset of the result's, each of which an operand has";
  let arguments = (ins Nn_Float:$a, Nn_Float:$b);
  let results = (outs Nn_Float:$result);
  let effort = "Little";
}
// Linear in (a, b) together: partial sums add, if both have the same axes.
class Nn_SumOfTwoOp<string mnemonic> : Nn_BinaryOp<mnemonic> {
  let extra = [{
    bool isLinear();
    ::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);
  }];
}
def Nn_AddOp : Nn_SumOfTwoOp<"add"> {
  let hasCanonicalizer = 1;
}
def Nn_SubOp : Nn_SumOfTwoOp<"sub">;
def Nn_MulOp : Nn_BinaryOp<"mul"> { let zeroPadding = "WhereOperandsAre"; }
def Nn_DivOp : Nn_BinaryOp<"div">;
def Nn_Max2Op : Nn_BinaryOp<"max2", [Nn_Differentiable]>;

#endif
