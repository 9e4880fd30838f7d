// The interfaces through which passes see ops: axis names of types, gradients, what these keep, loop axes, cost.
#ifndef NPAR_NN_INTERFACES_TD
#define NPAR_NN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Nn_NamedAxesAttrInterface : AttrInterface<"NamedAxesAttrInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "A tensor encoding that names each dimension: `#nn.axes` before placing, `#dist.layout` after.";
  let methods = [InterfaceMethod<"Names of the dimensions, major to minor.", "::llvm::ArrayRef<::mlir::StringAttr>", "getAxisNames">];
}

def Nn_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "An op that can build the gradients of its operands.";
  let methods = [InterfaceMethod<
    [{Builds the gradients of the operands from those of the results (null where none flows; at least one is not null).
      Returns one value per operand, of the operand's type; null where the operand has none (index data).}],
    "::llvm::SmallVector<::mlir::Value>", "buildGradients", (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients)>];
}

def Nn_SavingOpInterface : OpInterface<"SavingOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = [{
    What an op keeps for its gradient that the uses of its values do not show, in the conventions of Korthikanti et al., Reducing
    Activation Recomputation in Large Transformer Models, section 4.1. Only the accounting of saved activations asks.
  }];
  let methods = [
    InterfaceMethod<
      "Whether the gradient would keep a mask of one byte per element of the result; here it draws the mask again.",
      "bool", "keepsMask", (ins), "", [{ return false; }]>];
}

def Nn_ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "What placing needs to know of an op (rules P1 to P4).";
  let methods = [
    InterfaceMethod<
      [{The op's loop axes in a fixed order. By default from the types: axes of a result are parallel, those of operands only reduce.}],
      "::llvm::SmallVector<::npar::nn::LoopAxis>", "getLoopAxes", (ins), "", [{ return ::npar::nn::defaultLoopAxes($_op); }]>,
    InterfaceMethod<
      "Whether f(sum of x) = sum of f(x) over all operands at once, so that operands may all be partial sums.",
      "bool", "isLinear", (ins), "", [{ return false; }]>,
    InterfaceMethod<
      "The loop that walks an axis of an operand: the axis itself but for ops that know it under an alias (keys are the sequence).",
      "::mlir::StringAttr", "loopOfOperand", (ins "unsigned":$operand, "::mlir::StringAttr":$axis), "", [{ return axis; }]>,
    InterfaceMethod<
      "The loop that walks an axis of a result.",
      "::mlir::StringAttr", "loopOfResult", (ins "unsigned":$result, "::mlir::StringAttr":$axis), "", [{ return axis; }]>];
}

def Nn_IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = [{
    An op with an integer operand whose values are entries of an axis of another operand: of values below 0 or beyond the axis it computes
    nothing that makes sense. What the engine may feed to an input follows from it.
  }];
  let methods = [
    InterfaceMethod<"The operand with the values.", "::mlir::Value", "getIndices">,
    InterfaceMethod<"The operand that has the axis.", "::mlir::Value", "getIndexed">,
    InterfaceMethod<"The axis.", "::mlir::StringAttr", "getIndexedAxis", (ins), "", [{ return $_op.getAxisAttr(); }]>];
}

def Nn_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::npar::nn";
  let methods = [InterfaceMethod<
    "Floating-point operations on the op's own (global or local) shapes. By default one per element of the largest tensor.",
    "double", "getFlops", (ins), "", [{ return ::npar::nn::defaultFlops($_op); }]>];
}

#endif
