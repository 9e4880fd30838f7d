// Elaborates a plan and writes it in the format of another program.
#include "tools/lib/foreign/AsRun.h"

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/models/Compilation.h"

#include <fmt/format.h>
#include <sstream>

namespace npar::foreign {
namespace {

void replaceAll(std::string &text, const std::string &old, const std::string &now) {
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + now.size()))
    text.replace(at, old.size(), now);
}

} // namespace

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
  std::ostringstream printed;
  diagnostics.print(printed);
  std::string report = printed.str();
  if (origin && options.model == origin->textPath)
    replaceAll(report, options.model, fmt::format("the plan of '{}'", origin->path));
  for (const dsl::Diagnostic &one : diagnostics.all())
    if (refusal && refusal->empty() && one.severity == dsl::Severity::Error)
      *refusal = one.message;
  if (diagnostics.hasErrors())
    return engine::Status::located(engine::Code::BadInput, report);
  if (!diagnostics.all().empty())
    observer.warn(report);
  return text;
}

} // namespace npar::foreign
