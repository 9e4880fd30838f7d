// Errors of passes with the code of the page that explains them: `emitError(place) << dsl::Code::P8 << "axis ..."`.
#pragma once

#include "dsl/Codes.h"
#include "mlir/IR/Diagnostics.h"

namespace npar::dsl {

/// Gives an error its code, which is no part of its text. Errors without one mean that npar itself is wrong (I1).
inline mlir::InFlightDiagnostic &&operator<<(mlir::InFlightDiagnostic &&error, Code code) {
  if (mlir::Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().emplace_back(static_cast<unsigned>(code));
  return std::move(error);
}

/// The code of an error.
inline Code codeOf(mlir::Diagnostic &error) {
  return error.getMetadata().empty() ? Code::I1 : static_cast<Code>(error.getMetadata().front().getAsUnsigned());
}

} // namespace npar::dsl
