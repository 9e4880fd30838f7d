// Writes a plan of npar as a run of another program, in that program's flags or file.
#pragma once

#include "dsl/Program.h"
#include "dsl/Schedules.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/foreign/ForeignRun.h"
#include "tools/lib/models/ModelOptions.h"

namespace npar::foreign {

/// The plan in terms that all programs share. A clause that the program cannot follow is an error at its line; one that it follows
/// differently, or outside its flags, is a warning. Nothing when `diagnostics` got errors. `origin`: the run that the program comes from,
/// whose defaults and unknown values are not written as if the user had chosen them; null: a text of npar.
std::optional<ForeignRun> runOfPlan(const dsl::Program &program, const dsl::KnownSchedules &schedules, const ForeignProgram &target,
                                    const ForeignRun *origin, dsl::Diagnostics &diagnostics);

/// The plan of `options` in the program's format. BadInput lists every clause that the program cannot follow; `refusal` (may be null) gets
/// the message of the first one. `observer` gets warnings.
engine::Result<std::string> planAs(const models::ModelOptions &options, const ForeignProgram &target, const ForeignRun *origin,
                                   engine::Observer &observer, std::string *refusal = nullptr);

} // namespace npar::foreign
