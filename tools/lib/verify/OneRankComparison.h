// Compares a plan's program with the one-rank program, first in float64, then in the plan's own type.
#pragma once

#include "tools/lib/verify/ChoiceComparison.h"
#include "tools/lib/verify/Equivalence.h"
#include "tools/lib/verify/FlippedChoices.h"
#include "tools/lib/verify/VerifyPlan.h"

namespace npar::verify {

/// A gradient leaps if rounding moves a value to the other side of a kink (relu, max), and so does a choice between nearly equal values
/// (top_k, a comparison), under any plan. Such numbers prove nothing, so the numbers of the next seed are used: an error of a plan shows
/// with any numbers.
class OneRankComparison {
public:
  /// `options` are those of the plan's sessions. `reference` is the one-rank program in float64.
  OneRankComparison(const VerifyRequest &request, const engine::SessionOptions &options, models::ProgramPointer reference,
                    job::Processes &processes, engine::Observer &observer)
      : request(request), options(options), reference(std::move(reference)), processes(processes), observer(observer), seed(request.seed) {}

  /// Compares the plan's program in float64, its memory, and the gradients of one rank with finite differences. Each process runs its ranks
  /// and the whole reference, which is small; the first one alone computes finite differences. `exact` is the text in float64.
  engine::Status inFloat64(const models::ProgramPointer &program, const models::ElaboratedModel &exact, std::vector<Check> &checks);

  /// Compares the plan in its own type. The comparison in float64 ignores the plan's `compute` and `keep` clauses.
  engine::Status inOwnType(const models::ElaboratedModel &written, std::vector<Check> &checks);

  /// Choices of the plan among scores, in its own type; nothing if they were not compared.
  const std::optional<ChoiceReport> &choices() const { return chosen; }
  /// The one-rank program's options: it always runs on the CPU.
  engine::SessionOptions optionsOfOneRank() const;
  /// The seed whose numbers were compared in float64.
  uint64_t comparedSeed() const { return seed; }
  /// The order of the products of bf16 in the plan's own type; nothing for a program without them, or if this was not compared.
  std::optional<program::ProductOrder> productOrder() const { return order; }

private:
  using SessionPointer = std::unique_ptr<engine::Session>;
  engine::Result<SessionPointer> createSession(const models::ProgramPointer &program, job::Processes::Ranks ranks,
                                               engine::SessionOptions own);
  engine::Result<SessionPointer> createReference();
  engine::Result<double> sensitivity(uint64_t ofSeed, double change);
  engine::Result<SessionPointer> compareNumbers(const models::ProgramPointer &program, const std::string &choices,
                                                std::vector<Check> &checks);
  engine::Status compareGradients(std::vector<Check> &checks);
  /// The plan, or one rank, in the plan's own type.
  struct OwnType {
    models::ProgramPointer program;
    job::Processes::Ranks ranks;
    std::unique_ptr<ChoiceComparison> choices; ///< null: the model has none, or no evaluation makes them
  };
  engine::Result<OwnType> compileInOwnType(const models::ElaboratedModel &written, job::Processes::Ranks ranks);
  /// One comparison in the plan's own type.
  engine::Status compareOnce(OwnType &own, uint64_t ofSeed, std::vector<Check> &checks);
  /// Judges the choices among scores: nothing may be chosen in place of something much better.
  Check checkChoices(const TypeBounds &bounds) const;

  const VerifyRequest &request;
  engine::SessionOptions options;
  models::ProgramPointer reference;
  job::Processes &processes;
  engine::Observer &observer;
  uint64_t seed;
  std::optional<program::ProductOrder> order;
  std::optional<ChoiceReport> chosen;
};

} // namespace npar::verify
