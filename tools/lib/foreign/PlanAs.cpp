// Elaborates a plan and writes it in the format of another program.
#include "tools/lib/foreign/AsRun.h"

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/models/Compilation.h"

#include <sstream>

namespace npar::foreign {

engine::Result<std::string> planAs(const models::ModelOptions &options, const ForeignProgram &target, const ForeignRun *origin,
                                   engine::Observer &observer, std::string *refusal) {
  if (options.isCompiled())
    return engine::Status::usage("--as needs the plan itself: give the model file (.npar) instead of '" + options.model + "'");
  if (!target.writes())
    return engine::Status::internal(std::string("no writer for '") + target.key() + "'");
  TRY(models::ElaboratedModel elaborated, models::elaborateModel(options, observer));
  TRY(dsl::FrontendOptions frontend, options.frontend());
  dsl::Diagnostics diagnostics(elaborated.compilation->texts());
  const dsl::Program &program = elaborated.program;
  std::string text;
  if (std::optional<ForeignRun> run = runOfPlan(program, frontend.schedules, target, origin, diagnostics))
    text = target.write(*run, program, diagnostics);
  std::ostringstream report;
  diagnostics.print(report);
  for (const dsl::Diagnostic &one : diagnostics.all())
    if (refusal && refusal->empty() && one.severity == dsl::Severity::Error)
      *refusal = one.message;
  if (diagnostics.hasErrors())
    return engine::Status::located(engine::Code::BadInput, report.str());
  if (!diagnostics.all().empty())
    observer.warn(report.str());
  return text;
}

} // namespace npar::foreign
