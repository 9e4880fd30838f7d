// Loads a forward-only program and weights given by flags into a session, for `npar eval` and `npar generate`.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/use/UseFlags.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::driver {

struct TrainedModel {
  ProgramPointer program;
  std::unique_ptr<engine::Session> session;
};

/// The model text that a command line selects, and the location of its weights.
struct NamedModel {
  ModelOptions options;
  std::string weights;
  std::string folder;                                           ///< folder of the weights, if it was given instead of a model; else empty
  program::ProgramKind kind = program::ProgramKind::Evaluation; ///< kind of program that the command needs
};

/// Replaces a folder of checkpoints given as model or weights by the newest checkpoint that process 0 finds in it; the other processes
/// check that they find the same one.
ExitCode settleFolders(Job &job, UseFlags &flags);
/// Returns `code`, after a remark if a checkpoint that was found has been removed since, which may be why the command failed.
ExitCode explained(ExitCode code, const UseFlags &flags);

/// Finds model and weights. A folder with weights states its model; a model text or a compiled program needs --weights. Without --plan the
/// model runs on one rank. Claims the files in `files`.
Outcome<NamedModel> nameModel(const UseFlags &flags, program::ProgramKind kind, FileClaims &files);

/// Gives all processes the names that process 0 has found, because the newest checkpoint of a folder can change at any time.
ExitCode shareNames(Job &job, NamedModel &named);

/// Chooses further settings, such as batch=4, for a model whose own sizes are known.
using ChooseSettings = std::function<Outcome<SettingsList>(const dsl::Program &model)>;

/// Loads a compiled program, which must have the kind that the command needs.
Outcome<ProgramPointer> loadOf(const NamedModel &named, FileClaims &files);

/// Generation programs of one model and plan: either `whole` alone, or `step` and possibly `prompt`.
struct GeneratingPrograms {
  ProgramPointer whole;  ///< computes the whole sequence for each token
  ProgramPointer step;   ///< computes one position, and keeps keys and values of earlier ones
  ProgramPointer prompt; ///< the same for many positions, in the same memory; null if the prompt is short
  int64_t length = 0;    ///< longest sequence
  const ProgramPointer &largest() const { return whole ? whole : prompt ? prompt : step; }
};

/// Compiles the text with the settings that `choose` adds, or loads a compiled program, which computes the whole sequence. `choose` gets
/// the model under `probe`, and sets `promptTokens`; the settings of both win over the command line's.
Outcome<GeneratingPrograms> compileToGenerate(const NamedModel &named, FileClaims &files, const SettingsList &probe,
                                              const ChooseSettings &choose, const int64_t &promptTokens, bool quiet);

/// Allocates memory, starts a session, shared by all processes of a job, and loads the weights. The memory is large enough for `guests`
/// too.
Outcome<TrainedModel> startWith(Job &job, ProgramPointer program, const NamedModel &named, const UseFlags &flags,
                                const std::vector<ProgramPointer> &guests = {});
/// Starts a session of another program of the model, in the memory of `host` and with its weights.
Outcome<TrainedModel> startIn(Job &job, const TrainedModel &host, ProgramPointer program, const UseFlags &flags);

} // namespace npar::driver
