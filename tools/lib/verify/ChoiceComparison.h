// Compares what a plan chooses in its own type with float64: experts and other entries with the largest scores (top_k).
#pragma once

#include "tools/lib/models/Compilation.h"
#include "tools/lib/verify/FlippedChoices.h"

#include "engine/job/Processes.h"
#include "engine/runtime/Session.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace npar::verify {

/// Evaluations of the same batches with the same parameters: by the plan, and on one rank in float64, which takes the plan's choices, so
/// that a choice does not differ because an earlier one did.
class ChoiceComparison {
public:
  using SessionPointer = std::unique_ptr<engine::Session>;
  using CreateSession = std::function<engine::Result<SessionPointer>(const models::ProgramPointer &, job::Processes::Ranks)>;

  using CheckMemory = std::function<engine::Status(const std::vector<models::ProgramPointer> &)>;

  /// `model`: the flags of a training's text. `createSession`: makes sessions of a plan's program (Shared) or of a one-rank program.
  /// `checkMemory`: tells whether programs that run at the same time fit.
  ChoiceComparison(models::ModelOptions model, job::Processes &processes, engine::Observer &observer, CreateSession createSession,
                   CheckMemory checkMemory);

  /// True if a loss of the model depends on choices among scores.
  static bool hasChoices(const dsl::Model &model);
  /// Compares `batches` batches; `seed` decides parameters and data. Nothing if no evaluation writes the model's choices.
  engine::Result<std::optional<ChoiceReport>> compare(int64_t batches, uint64_t seed);
  /// The same for one rank in the plan's type.
  engine::Result<std::optional<ChoiceReport>> compareOneRank(int64_t batches, uint64_t seed);

private:
  engine::Result<std::optional<ChoiceReport>> compareRanks(job::Processes::Ranks ranks, int64_t batches, uint64_t seed);

  models::ModelOptions model;
  job::Processes &processes;
  engine::Observer &observer;
  CreateSession createSession;
  CheckMemory checkMemory;
};

} // namespace npar::verify
