// The files of a user's data: what they feed, and which outputs of a command must not overwrite them.
#pragma once

#include "dsl/Program.h"
#include "engine/data/GivenData.h"
#include "tools/lib/models/FileClaims.h"

#include <optional>
#include <set>
#include <string>

namespace npar::models {

/// The inputs of a text that the user and the data block feed, found from the names of tensors before anything is compiled. Nothing if that
/// is not known, as for a stream of tokens or an unreadable file.
std::optional<std::set<std::string>> fedInputs(const engine::GivenData &given, const dsl::Program &program);

/// Claims the input files.
void claim(const engine::GivenData &given, FileClaims &claims);
/// Claims the files of a plan, including those that the user does not name.
void claim(const engine::DataPlan &plan, FileClaims &claims);

} // namespace npar::models
