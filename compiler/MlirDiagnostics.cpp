// Finds the line of the user's text that an MLIR location stands for and reports there.
#include "compiler/MlirDiagnostics.h"

#include "compiler/Coded.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <algorithm>

using namespace mlir;

namespace npar::compiler {
namespace {

/// The innermost file place of a location: through names, call sites and fusions, the first that there is.
FileLineColRange findPlace(Location location) {
  FileLineColRange found;
  location->walk([&](Location part) {
    if (auto range = dyn_cast<FileLineColRange>(part)) {
      found = range;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

} // namespace

dsl::Location toUserText(Location location, const dsl::Sources &sources) {
  dsl::Location place;
  FileLineColRange range = findPlace(location);
  if (!range)
    return place;
  for (uint32_t file = 0; file < sources.size(); ++file) {
    if (sources.name(file) != range.getFilename().getValue())
      continue;
    place.file = file;
    place.line = range.getStartLine();
    place.column = std::max(1u, range.getStartColumn());
    bool oneLine = range.getEndLine() == range.getStartLine() && range.getEndColumn() > range.getStartColumn();
    place.length = oneLine ? range.getEndColumn() - range.getStartColumn() : 1;
    break;
  }
  return place;
}

MlirDiagnostics::MlirDiagnostics(MLIRContext &context, const dsl::Sources &sources, dsl::Diagnostics &diagnostics)
    : ScopedDiagnosticHandler(&context) {
  setHandler([&sources, &diagnostics](mlir::Diagnostic &diagnostic) {
    DiagnosticSeverity severity = diagnostic.getSeverity();
    if (severity != DiagnosticSeverity::Error && severity != DiagnosticSeverity::Warning)
      return;
    dsl::Location at = toUserText(diagnostic.getLocation(), sources);
    dsl::Diagnostic &message = severity == DiagnosticSeverity::Error ? diagnostics.error(codeOf(diagnostic), at, diagnostic.str())
                                                                     : diagnostics.warning(at, diagnostic.str());
    for (mlir::Diagnostic &note : diagnostic.getNotes()) {
      std::string text = note.str();
      constexpr const char help[] = "help: ";
      if (text.rfind(help, 0) == 0)
        message.help(toUserText(note.getLocation(), sources), text.substr(sizeof(help) - 1));
      else
        message.note(toUserText(note.getLocation(), sources), text);
    }
  });
}

} // namespace npar::compiler
