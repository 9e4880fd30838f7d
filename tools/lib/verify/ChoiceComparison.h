// Compares what a plan chooses in its own type with float64: experts and other entries with the largest scores (top_k).
#pragma once

#include "tools/lib/models/Compilation.h"
#include "tools/lib/verify/FlippedChoices.h"

#include "engine/job/Processes.h"
#include "engine/runtime/Session.h"

#include <functional>
#include <memory>
#include <string>

namespace npar::verify {

/// Two evaluations of the batch of each training step with the parameters that the plan has in this step: by the plan, and on one rank in
/// float64. The latter takes the plan's choices, so that a choice does not differ because an earlier one did. The training in float64 that
/// the plan is compared with takes them, too: a choice that rounding flips, and all that follows from it, is then not an error of the plan.
class ChoiceComparison {
public:
  using SessionPointer = std::unique_ptr<engine::Session>;
  using CreateSession = std::function<engine::Result<SessionPointer>(const models::ProgramPointer &, job::Processes::Ranks)>;

  struct Request {
    models::ModelOptions model;  ///< the flags of the training's text
    job::Processes::Ranks ranks; ///< Shared: the plan is compared; AllInEach: one rank in the plan's type
    CreateSession createSession; ///< of the program that is compared (with `ranks`) and of one rank in float64 (AllInEach)
  };

  /// True if a loss of the model depends on choices among scores.
  static bool hasChoices(const dsl::Model &model);
  /// Compiles the programs. Null if no evaluation makes choices.
  static engine::Result<std::unique_ptr<ChoiceComparison>> create(const Request &request, job::Processes &processes,
                                                                  engine::Observer &observer);
  virtual ~ChoiceComparison() = default;

  /// Programs that run at the same time as the two trainings.
  virtual std::vector<models::ProgramPointer> evaluations() const = 0;
  /// The training on one rank in float64 that takes the choices. Null if a training can choose otherwise than an evaluation, because of
  /// dropout for example: then the reference makes its own choices, and those of evaluations are compared.
  virtual const models::ProgramPointer &reference() const = 0;
  /// Forgets what was compared, and creates the sessions.
  virtual engine::Status begin() = 0;
  /// Compares the choices in the next step of `training`, whose program is `program`. Returns the batch for the reference.
  virtual engine::Result<engine::Batch> compare(const engine::Session &training, const program::Program &program,
                                                const engine::Batch &batch, int64_t step) = 0;
  /// Returns the comparisons since `begin`.
  virtual const ChoiceReport &report() const = 0;
};

} // namespace npar::verify
