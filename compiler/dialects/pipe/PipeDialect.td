// The pipe dialect: when each part of the program runs.
#ifndef NPAR_PIPE_DIALECT
#define NPAR_PIPE_DIALECT

include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::npar::pipe";
  let summary = "Fragments per stage and phase, their transfers, and the order of tasks";
  let useDefaultAttributePrinterParser = 1;
}

def Pipe_Phase : I32EnumAttr<"Phase", "the part of a training step that a fragment is", [
  I32EnumAttrCase<"F", 0>, // forward of a micro-batch
  I32EnumAttrCase<"B", 1>, // backward of a micro-batch; where there is a W, what other parts of the model wait for
  I32EnumAttrCase<"W", 2>, // the rest of a split backward of a micro-batch: the gradients of the parameters
  I32EnumAttrCase<"U", 3>, // update, once per training step
  I32EnumAttrCase<"C", 4>, // prologue: counts in the data of a micro-batch
  I32EnumAttrCase<"S", 5>  // prologue, once per training step: from the counts of all micro-batches to what F and B read
]> {
  let cppNamespace = "::npar::pipe";
  let genSpecializedAttr = 0;
}

/// A stage, event or count: signed in C++, never negative.
def Pipe_Number : ConfinedAttr<I64Attr, [IntNonNegative]> {
  let returnType = "int64_t";
  let convertFromStorage = "$_self.getInt()";
}

def Pipe_PhaseAttr : EnumAttr<Pipe_Dialect, Pipe_Phase, "phase"> {
  let assemblyFormat = "`` $value";
}

#endif
