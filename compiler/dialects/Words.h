// Reads a word of one of the seam's enumerations in a dialect's text.
#pragma once

#include "engine/program/Words.h"

#include "mlir/IR/OpImplementation.h"

namespace npar::compiler {

template <typename Enum> mlir::FailureOr<Enum> parseWord(mlir::AsmParser &parser) {
  llvm::SMLoc at = parser.getCurrentLocation();
  llvm::StringRef word;
  if (mlir::failed(parser.parseKeyword(&word)))
    return mlir::failure();
  if (std::optional<Enum> value = program::valueOf<Enum>(word))
    return *value;
  return parser.emitError(at) << "'" << word << "' is none of " << program::wordsOf<Enum>();
}

} // namespace npar::compiler
