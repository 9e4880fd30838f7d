// The interfaces through which passes see ops: axis names of types, gradients, what these keep, loop axes, padding, precision, cost,
// loops of kernels. What a phase needs to know of an op it asks here; no phase has a list of ops.
#ifndef NPAR_NN_INTERFACES_TD
#define NPAR_NN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Nn_NamedAxesAttrInterface : AttrInterface<"NamedAxesAttrInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "A tensor encoding that names each dimension: `#nn.axes` before placing, `#dist.layout` after.";
  let methods = [InterfaceMethod<"Names of the dimensions, major to minor.", "::llvm::ArrayRef<::mlir::StringAttr>", "getAxisNames">];
}

def Nn_LanguageOpInterface : OpInterface<"LanguageOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = [{
    An op that a model's text can ask for: `import` makes it from a node of that name. The language's side of it is in the tables of
    dsl/elaborate; a test compares the two both ways.
  }];
  let methods = [
    StaticInterfaceMethod<
      "The types of the results after the first, whose type the language knows.",
      "::llvm::SmallVector<::mlir::Type>", "getFurtherTypes", (ins "::mlir::RankedTensorType":$first, "::mlir::DictionaryAttr":$attributes),
      "", [{ return {}; }]>];
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

def Nn_OriginOpInterface : OpInterface<"OriginOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "The origin of a value, which decides whether it is kept for later uses and repeated by a recomputed segment.";
  let methods = [
    InterfaceMethod<"Where the value comes from.", "::npar::nn::Origin", "getOrigin", (ins), "", [{ return ::npar::nn::Origin::Computed; }]>,
    InterfaceMethod<
      "Whether it is computed again at each use if its first operand depends on no data.",
      "bool", "isMadeAgain", (ins), "", [{ return false; }]>];
}

def Nn_PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "Properties of an op for mixed precision; scalars are always f32.";
  let methods = [
    StaticInterfaceMethod<
      "Whether it computes in f32 unless the plan says otherwise: averages and exponentials lose too much in 16 bits.",
      "bool", "isWide", (ins), "", [{ return false; }]>,
    StaticInterfaceMethod<
      "The word of a plan's `keep` that stands for ops of this kind besides their own name; empty for none.",
      "::llvm::StringRef", "getKeepWord", (ins), "", [{ return {}; }]>];
}

def Nn_ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "Properties of an op for placing (RULES.md#P1 to P4).";
  let methods = [
    InterfaceMethod<
      [{The op's loop axes in a fixed order. By default from the types: axes of a result are parallel, those of operands only reduce.}],
      "::llvm::SmallVector<::npar::nn::LoopAxis>", "getLoopAxes", (ins), "", [{ return ::npar::nn::defaultLoopAxes($_op); }]>,
    InterfaceMethod<
      [{Whether f(sum of x) = sum of f(x) over all floating-point operands at once, given the integer ones, so that the former may all be
        partial sums.}],
      "bool", "isLinear", (ins), "", [{ return false; }]>,
    StaticInterfaceMethod<
      [{What joins the parts of a result over a split loop that it lacks. An op with such a loop has to say: its verifier refuses nothing.}],
      "::std::optional<::npar::program::ReduceOp>", "getReduction", (ins), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<
      "The loop that walks an axis of an operand: the axis itself, except for ops that use an alias (keys are the sequence).",
      "::mlir::StringAttr", "loopOfOperand", (ins "unsigned":$operand, "::mlir::StringAttr":$axis), "", [{ return axis; }]>,
    InterfaceMethod<
      "The loop that walks an axis of a result.",
      "::mlir::StringAttr", "loopOfResult", (ins "unsigned":$result, "::mlir::StringAttr":$axis), "", [{ return axis; }]>];
}

def Nn_PaddingOpInterface : OpInterface<"PaddingOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "Treatment of the padding of split axes (RULES.md#P8). The defaults are safe: they mask once too often.";
  let methods = [
    InterfaceMethod<
      "Whether the results are zero in the padding of an axis.",
      "::npar::nn::ZeroPadding", "getZeroPadding", (ins "::mlir::StringAttr":$axis), "", [{ return ::npar::nn::ZeroPadding::Unknown; }]>,
    InterfaceMethod<
      [{Whether an operand has to be zero in the padding of an axis. By default floating-point numbers along an axis that the first result
        lacks have to: they are added up, or leave the ranks' program.}],
      "bool", "needsZeroPadding", (ins "unsigned":$operand, "::mlir::StringAttr":$axis), "",
      [{ return ::npar::nn::isContracted($_op, operand, axis); }]>];
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
  let methods = [
    InterfaceMethod<
      "Floating-point operations on the op's own (global or local) shapes. By default one per element of the largest tensor.",
      "double", "getFlops", (ins), "", [{ return ::npar::nn::defaultFlops($_op); }]>,
    InterfaceMethod<
      "The part of getFlops that is matrix products, which libraries compute at another rate.",
      "double", "getProductFlops", (ins), "", [{ return 0; }]>];
}

def Nn_LowerableOpInterface : OpInterface<"LowerableOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = [{
    An op whose meaning is a formula over scalars (Meaning.h): what kernels are made of. It is written once, and serves every element type.
  }];
  let methods = [InterfaceMethod<"Hands the formula to `lowering`.", "::llvm::LogicalResult", "lower", (ins "::npar::nn::Lowering &":$lowering)>];
}

def Nn_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::npar::nn";
  let description = "Properties of an op for fusion into kernels.";
  let methods = [
    InterfaceMethod<
      [{The axes of its loops, outermost first; those that the first result lacks are reduced. By default the first result's: they are
        contiguous.}],
      "::llvm::SmallVector<::mlir::StringAttr>", "getLoopOrder", (ins), "", [{ return ::npar::nn::defaultLoopOrder($_op); }]>,
    InterfaceMethod<
      "Whether an operand is read elsewhere than at the loops' indices, so that it has to be in memory.",
      "bool", "readsElsewhere", (ins "unsigned":$operand), "", [{ return false; }]>,
    StaticInterfaceMethod<"The work of one element.", "::npar::nn::Effort", "getEffort", (ins), "", [{ return ::npar::nn::Effort::Some; }]>,
    StaticInterfaceMethod<"Whose loops it runs in.", "::npar::nn::Nest", "getNest", (ins), "", [{ return ::npar::nn::Nest::Shared; }]>];
}

#endif
