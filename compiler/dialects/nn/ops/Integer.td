// Integers and truth values: arithmetic, comparisons, selection by a condition, and the ways from and to floats. A truth value is an i32
// that is 0 or 1.
#ifndef NPAR_NN_INTEGER_TD
#define NPAR_NN_INTEGER_TD

include "compiler/dialects/nn/base/OpBase.td"

def Nn_IntegerOp : Nn_PureOp<"integer", [Nn_Lowerable, Nn_Language]> {
  let summary = "a `kind` b of integers, broadcast by name: add, sub, mul, div, mod, and, or";
  let description = [{
    Beyond 32 bits it wraps around. A quotient is cut towards zero, a remainder has the sign of a; x / 0 is 0 and x % 0 is x, so that
    x = (x / y) * y + x % y for all y. `and` and `or` are of truth values.
  }];
  let arguments = (ins Nn_Integer:$a, Nn_Integer:$b, StrAttr:$kind);
  let results = (outs Nn_Integer:$result);
  let assemblyFormat = "$kind $a `,` $b attr-dict `:` functional-type(operands, results)";
  let effort = "Little";
  let madeAgain = 1;
}

def Nn_CompareOp : Nn_PureOp<"compare", [Nn_Lowerable, Nn_Language]> {
  let summary = "1 where a `relation` b, else 0, broadcast by name: equal, not_equal, less, less_equal";
  let description = "Of floats or of integers. With a NaN on a side everything but not_equal is 0.";
  let arguments = (ins Nn_Tensor:$a, Nn_Tensor:$b, StrAttr:$relation);
  let results = (outs Nn_Integer:$result);
  let assemblyFormat = "$relation $a `,` $b attr-dict `:` functional-type(operands, results)";
  let effort = "Little";
  let madeAgain = 1;
}

// Linear in (a, b) together, given the condition: partial sums stay partial, if both have the same axes.
def Nn_WhereOp : Nn_PureOp<"where", [Nn_Lowerable, Nn_Language, Nn_Differentiable]> {
  let summary = "a where the condition is not 0, else b; broadcast by name";
  let description = "What is not chosen has the gradient 0, also where it is not finite.";
  let arguments = (ins Nn_Integer:$condition, Nn_Tensor:$a, Nn_Tensor:$b);
  let results = (outs Nn_Tensor:$result);
  let effort = "Little";
  let madeAgain = 1;
  let extra = [{
    bool isLinear();
    ::npar::nn::ZeroPadding getZeroPadding(::mlir::StringAttr axis);
  }];
}

def Nn_ToFloatOp : Nn_PureOp<"to_float", [Nn_Lowerable, Nn_Language]> {
  let summary = "an integer as a float, rounded to nearest even";
  let description = "`below`: only integers from 0 to `below` - 1 make sense to what takes it, as a loss that compares with 0 and 1.";
  let arguments = (ins Nn_Integer:$x, OptionalAttr<I64Attr>:$below);
  let results = (outs Nn_Float:$result);
  let zeroPadding = "WhereOperandsAre";
  let effort = "Little";
  let madeAgain = 1;
}

def Nn_ToIntOp : Nn_PureOp<"to_int", [Nn_Lowerable, Nn_Language]> {
  let summary = "a float as an integer, cut towards zero; beyond 32 bits the nearest that there is, 0 for NaN";
  let arguments = (ins Nn_Float:$x);
  let results = (outs Nn_Integer:$result);
  let effort = "Little";
}

#endif
