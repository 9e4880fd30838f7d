// The names of variables, which a model's text gives: in a module's table of symbols they have a mark that no other symbol begins with, so
// that a parameter may be called as a function, a fragment or a kernel of npar's own is.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

namespace npar::nn {

constexpr char variableMark = '$';

/// The symbol of the variable with that name.
inline std::string variableSymbol(llvm::StringRef path) { return variableMark + path.str(); }
/// The name that reads, writes and files with weights use.
inline llvm::StringRef pathOf(VariableOp variable) { return variable.getSymName().drop_front(); }
/// Finds the variable with that name; returns null when the module has none.
inline VariableOp findVariable(mlir::ModuleOp module, llvm::StringRef path) {
  return module.lookupSymbol<VariableOp>(variableSymbol(path));
}
inline VariableOp findVariable(const mlir::SymbolTable &symbols, llvm::StringRef path) {
  return symbols.lookup<VariableOp>(variableSymbol(path));
}

} // namespace npar::nn
