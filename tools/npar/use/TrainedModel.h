// A forward-only program with the weights that a person names, ready to run: what `npar eval` and `npar generate` have in common.
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

/// Which model text a command line means, and where its weights are.
struct NamedModel {
  ModelOptions options;
  std::string weights;
  std::string folder;                                           ///< of the weights, where one was named instead of a model; else empty
  program::ProgramKind kind = program::ProgramKind::Evaluation; ///< that is wanted
};

/// Where model or weights are a folder of checkpoints they become the newest one in it that process 0 finds; the others compare theirs.
ExitCode settleFolders(Job &job, UseFlags &flags);
/// Returns `code`, after a remark if a checkpoint that was found has been removed since, which may be why the command failed.
ExitCode explained(ExitCode code, const UseFlags &flags);

/// A folder with weights says itself which model it is of; a model, and a compiled program, need --weights. Without --plan it is one rank.
/// Claims the files in `files`.
Outcome<NamedModel> nameModel(const UseFlags &flags, program::ProgramKind kind, FileClaims &files);

/// Gives all processes the names that process 0 has found: the newest checkpoint of a folder can change at any moment.
ExitCode shareNames(Job &job, NamedModel &named);

/// What a command wants of a model whose own sizes are known: more settings, such as batch=4.
using ChooseSettings = std::function<Outcome<SettingsList>(const dsl::Program &model)>;

/// A compiled program, which must be of the kind.
Outcome<ProgramPointer> loadOf(const NamedModel &named, FileClaims &files);

/// Programs of one model and plan that generate.
struct GeneratingPrograms {
  ProgramPointer whole;  ///< computes the whole sequence for each token; null where the others are
  ProgramPointer step;   ///< computes one position, and keeps what attention looks back at
  ProgramPointer prompt; ///< the same for many positions, in the same memory; null where the prompt is short
  int64_t length = 0;    ///< of the sequence
  const ProgramPointer &largest() const { return whole ? whole : prompt ? prompt : step; }
};

/// Compiles the text with the settings that `choose` adds, or loads a compiled program, which computes the whole sequence. `choose` gets
/// the model under `probe`, and sets `promptTokens`; the settings of both win over the command line's.
Outcome<GeneratingPrograms> compileToGenerate(const NamedModel &named, FileClaims &files, const SettingsList &probe,
                                              const ChooseSettings &choose, const int64_t &promptTokens, bool quiet);

/// Takes memory, starts a session, of the processes of a job one together, and loads the weights. There is room for `guests`.
Outcome<TrainedModel> startWith(Job &job, ProgramPointer program, const NamedModel &named, const UseFlags &flags,
                                const std::vector<ProgramPointer> &guests = {});
/// A session of another program of the model in the memory of `host`, with its weights.
Outcome<TrainedModel> startIn(Job &job, const TrainedModel &host, ProgramPointer program, const UseFlags &flags);

} // namespace npar::driver
