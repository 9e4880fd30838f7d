// Errors of passes with the code of the page that explains them: `emitError(place) << dsl::Code::P8 << "axis ..."`.
#pragma once

#include "dsl/Codes.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir { // where `<<` of an InFlightDiagnostic is looked up

/// Gives an error its code, which is no part of its text. Errors without one mean that npar itself is wrong (I1).
inline InFlightDiagnostic &&operator<<(InFlightDiagnostic &&error, npar::dsl::Code code) {
  if (Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().emplace_back(static_cast<unsigned>(code));
  return std::move(error);
}

} // namespace mlir

namespace npar::compiler {

/// The code of an error.
inline dsl::Code codeOf(mlir::Diagnostic &error) {
  return error.getMetadata().empty() ? dsl::Code::I1 : static_cast<dsl::Code>(error.getMetadata().front().getAsUnsigned());
}

} // namespace npar::compiler
