// The model and the weights that a command names.
#pragma once

#include "engine/job/Processes.h"
#include "tools/lib/models/LoadModel.h"

#include <string>

namespace npar::trained {

/// The model text that a command line selects, and the location of its weights.
struct NamedModel {
  models::ModelOptions options;
  std::string weights;
  std::vector<std::string> parts = {};                          ///< weights of parameters in place of those of `weights`
  std::string folder;                                           ///< folder of the weights, if it was given instead of a model; else empty
  program::ProgramKind kind = program::ProgramKind::Evaluation; ///< kind of program that the command needs
};

/// Finds model and weights. `given.model` can be a folder with weights, which states its model; a model text or a compiled program needs
/// `weights`. `parts`: NamedModel::parts. Without a plan the model runs on one rank. Claims the files in `files`.
engine::Result<NamedModel> nameModel(const models::ModelOptions &given, const std::string &weights, const std::vector<std::string> &parts,
                                     program::ProgramKind kind, models::FileClaims &files, engine::Observer &observer);

/// Gives all processes the names that the first process has found, because the newest checkpoint of a folder can change at any time.
engine::Status shareNames(job::Processes &processes, NamedModel &named);

/// Loads a compiled program, which must have the kind that the command needs.
engine::Result<models::ProgramPointer> loadOf(const NamedModel &named, models::FileClaims &files, engine::Observer &observer);

} // namespace npar::trained
