// The pipe dialect: when each part of the program runs.
#ifndef NPAR_PIPE_DIALECT
#define NPAR_PIPE_DIALECT

include "compiler/dialects/Words.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::npar::pipe";
  let summary = "Fragments per stage and phase, their transfers, and the order of tasks";
  let useDefaultAttributePrinterParser = 1;
}

/// A stage, event or count: signed in C++, never negative.
def Pipe_Number : ConfinedAttr<I64Attr, [IntNonNegative]> {
  let returnType = "int64_t";
  let convertFromStorage = "$_self.getInt()";
}

// F: forward of a micro-batch. B: its backward; if there is a W, only the part that other stages wait for. W: the rest of a split backward,
// the gradients of the parameters. U: the update, once per training step. C: counts in the data of a micro-batch. P: the prologue, once per
// training step, which computes values for F and B from the counts of all micro-batches.
def Pipe_PhaseAttr : Npar_WordAttr<Pipe_Dialect, "Phase", "Phase", "phase"> {
  let summary = "the part of a training step that a fragment is";
  let assemblyFormat = "`` $value";
}

#endif
