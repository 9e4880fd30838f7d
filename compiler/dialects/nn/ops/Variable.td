// State of a program (parameters, optimizer state, accumulators, outputs) and ops without operands.
#ifndef NPAR_NN_VARIABLE_TD
#define NPAR_NN_VARIABLE_TD

include "compiler/dialects/nn/base/OpBase.td"

// Its symbol has a mark in memory, which is neither written nor read (VariableName.h).
def Nn_VariableOp : Nn_Op<"variable", [Symbol]> {
  let summary = "a tensor that lives across steps";
  let description = [{
    ```mlir
    nn.variable @"h.0.attn.c_attn.weight" : tensor<64x3x2x32xf32, #nn.axes<embed, part, head, feature>>
        {kind = #nn.kind<parameter>, stored = [64, 192], init = #nn.init<normal, 2.0e-02>, index = 0 : i64}
    nn.variable @"wte.weight.grad.1" : ... {kind = #nn.kind<accumulator>, of = @wte.weight, use = 1 : i64}
    nn.variable @"wte.weight.exp_avg" : ... {kind = #nn.kind<state>, of = @wte.weight, slot = "exp_avg"}
    nn.variable @"#loss_scale" : tensor<f64, #nn.axes<>> {kind = #nn.kind<state>, slot = "loss_scale", init = #nn.init<constant, 65536.0>}
    nn.variable @"#out.loss" : tensor<f64, #nn.axes<>> {kind = #nn.kind<output>, output = "loss"}
    ```
    `stored` is the shape in checkpoints; `index` numbers parameters in order of declaration. `reduced` is the type of what an accumulator
    holds, in the first bytes of its memory, once @update has reduced it to another piece than it accumulated.
    `untrained`, a parameter that is a state of the model: it has no gradient, and `@update` gives it the value of its own formula.
    What rules of the train block say of a parameter: `frozen`, it keeps its values and has no gradient; `rate`, times the learning rate;
    `optimizer`, the number of its own in `nn.optimizers`; `group`, the number of that in `npar.groups` whose gradients' norm it is part of.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Nn_Tensor>:$type, Nn_VariableKindAttr:$kind,
                       OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<I64Attr>:$use, OptionalAttr<StrAttr>:$slot,
                       OptionalAttr<StrAttr>:$output, OptionalAttr<I64ArrayAttr>:$stored, OptionalAttr<Nn_InitAttr>:$init,
                       OptionalAttr<I64Attr>:$index, OptionalAttr<TypeAttrOf<Nn_Tensor>>:$reduced,
                       UnitAttr:$untrained, UnitAttr:$frozen, OptionalAttr<F64Attr>:$rate, OptionalAttr<I64Attr>:$optimizer,
                       OptionalAttr<I64Attr>:$group);
  let assemblyFormat = "custom<VariableName>($sym_name) `:` $type attr-dict";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Type":$type, "VariableKind":$kind)>];
  let extraClassDeclaration = [{
    mlir::RankedTensorType getTensorType() { return llvm::cast<mlir::RankedTensorType>(getType()); }
    bool isKind(VariableKind kind) { return getKind() == kind; }
    /// Tells whether it is a parameter that the optimizer moves.
    bool isTrained() { return isKind(VariableKind::Parameter) && !getFrozen() && !getUntrained(); }
  }];
}

class Nn_VariableUse<string mnemonic, list<Trait> traits>
    : Nn_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                   Nn_ShardableOpInterface, Nn_PaddingOpInterface, Nn_OriginOpInterface], traits)>;

def Nn_ReadOp : Nn_VariableUse<"read", []> {
  let summary = "the value of a variable";
  let description = "`%w = nn.read @w : T`. One per textual use of a parameter: each has its own gradient accumulator (RULES.md#N2).";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Nn_Tensor:$result);
  let zeroPadding = "Always";
  let origin = "Memory";
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Nn_WriteOp : Nn_VariableUse<"write", []> {
  let summary = "sets a variable";
  let arguments = (ins FlatSymbolRefAttr:$variable, Nn_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Nn_AccumulateOp : Nn_VariableUse<"accumulate", []> {
  let summary = "adds to an accumulator, which is zero before the first micro-batch";
  let arguments = (ins FlatSymbolRefAttr:$variable, Nn_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
  let linear = 1;
}

def Nn_ResultOp : Nn_Op<"result", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, Nn_OwnLoopAxes, Nn_PaddingOpInterface,
                                   Nn_OriginOpInterface]> {
  let summary = "what a forward-only program leaves of this micro-batch: `nn.result \"losses\", %loss : T`";
  let arguments = (ins StrAttr:$name, Nn_Tensor:$value);
  let masksPadding = 1; // no op reads the result
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}

def Nn_InputOp : Nn_PureOp<"input", [Nn_Language]> {
  let summary = "a data buffer of this micro-batch: `nn.input \"tokens\" : T`";
  let description = [{
    `of` says what type the values of a batch have where the engine converts them: `nn.input "segments" of i8 : tensor<..xi32, ..>` is of the
    language's u8, an input of f32 is of f64 here where the plan computes so.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<TypeAttr>:$values);
  let results = (outs Nn_Tensor:$result);
  let origin = "Memory";
  let assemblyFormat = "$name (`of` $values^)? attr-dict `:` type($result)";
  let hasVerifier = 0;
}

def Nn_IndexOp : Nn_PureOp<"index", [Nn_Lowerable, Nn_Language]> {
  let summary = "0, 1, 2, ... along the result's only axis, in global coordinates";
  let results = (outs Nn_Integer:$result);
  let origin = "Nothing";
  let effort = "None";
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Nn_SinusoidOp : Nn_PureOp<"sinusoid", [Nn_Lowerable, Nn_Language]> {
  let summary = "cos or sin (`wave`) of position * base^(-i / n), or frequencies[i], i = 0 .. n-1 along `axis` of size n, in global coordinates";
  let description = [{
    The table of rotary positions: `%c = nn.sinusoid %index along "half" base 10000.0 wave "cos" : (tensor<8xi32, #nn.axes<seq>>)
    -> tensor<8x16xf32, #nn.axes<seq, half>>`. The exponent, the power and its reciprocal are rounded to float32, as the published
    implementations do whatever they compute in. `frequencies [0.5, 0.25]` in place of the base lists them. Product and wave are exact to float64, rounded once to the result's type.
  }];
  let arguments = (ins Nn_Integer:$positions, StrAttr:$axis, OptionalAttr<F64Attr>:$base, OptionalAttr<DenseF64ArrayAttr>:$frequencies, StrAttr:$wave);
  let results = (outs Nn_Float:$result);
  let madeAgain = 1;
  let effort = "Much";
  let assemblyFormat = "$positions `along` $axis (`base` $base^)? (`frequencies` $frequencies^)? `wave` $wave attr-dict `:` functional-type(operands, results)";
}

def Nn_FillOp : Nn_PureOp<"fill", [Nn_Lowerable, Nn_Language]> {
  let summary = "a constant: `nn.fill 0.5 : T`";
  let arguments = (ins F64Attr:$value);
  let results = (outs Nn_Tensor:$result);
  let origin = "Nothing";
  let effort = "None";
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 0;
}

#endif
