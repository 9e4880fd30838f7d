// The way back: a plan of npar's as a run of another program, in its own flags or file.
#pragma once

#include "dsl/Program.h"
#include "dsl/Schedules.h"
#include "tools/npar/foreign/ForeignRun.h"
#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/terminal/Outcome.h"

#include <set>

namespace npar::driver {

/// The plan in the words that the programs share. What the program cannot do is an error at its line; what it does in another way, or what
/// stands outside of its flags, a warning. Nothing when `diagnostics` got errors.
std::optional<ForeignRun> runOfPlan(const dsl::Program &program, const dsl::KnownSchedules &schedules, ForeignFormat format,
                                    dsl::Diagnostics &diagnostics);

/// What `format` reads: flags, a line each; a TOML; a JSON. Model, optimizer and sizes that the run does not have are the program's.
std::string megatronText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics);
std::string torchtitanText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics);
std::string deepSpeedText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics);

/// The schedules of pipelines that it has.
const std::set<std::string> &schedulesOf(ForeignFormat format);

/// The plan that `options` lead to as that program takes it. What stands against it, or is done in another way, is printed; with `refusal`
/// that gets the words of the first error, and nothing is printed.
Outcome<std::string> planAs(const ModelOptions &options, ForeignFormat format, std::string *refusal = nullptr);

} // namespace npar::driver
