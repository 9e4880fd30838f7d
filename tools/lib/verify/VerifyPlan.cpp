// Makes the programs that are compared, and reads as the list of checks.
#include "tools/lib/verify/VerifyPlan.h"

#include "dsl/ParameterCounts.h"
#include "engine/program/Words.h"
#include "engine/show/Summary.h"
#include "engine/status/OptionNames.h"
#include "tools/lib/verify/Equivalence.h"
#include "tools/lib/verify/ModelOutline.h"
#include "tools/lib/verify/OneRank.h"
#include "tools/lib/verify/OneRankComparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace npar::verify {

using engine::Result;
using engine::Status;

namespace {

constexpr int64_t largestUnasked = 5000000; ///< parameters; larger models need VerifyRequest::anySize

/// Counts the sums that `reduce library` can add in another order, and which therefore agree within rounding only.
void addLibrary(const program::Program &program, std::vector<Check> &checks) {
  show::Reductions reductions = show::reductionsOf(program);
  if (reductions.library > 0)
    checks.push_back({"reduce library", true, std::nullopt,
                      fmt::format("{} of {} reductions can be summed by a library, in its own order: with NCCL the values compared here "
                                  "are equal within rounding, otherwise sums are in ascending order",
                                  reductions.library, reductions.all)});
}

/// Names the flags that make the model smaller, by the names of its own constants.
std::string howToShrink(const std::vector<std::string> &constants) {
  if (std::string flags = shrinkingFlags(constants); !flags.empty())
    return "shrink the model, such as" + flags;
  return constants.empty() ? "write the model's sizes smaller"
                           : fmt::format("shrink the model by its constants {}", fmt::join(constants, ", "));
}

/// A text in its own type, and in float64.
struct BothTypes {
  models::ElaboratedModel written, exact;
};

Result<BothTypes> elaborateBoth(const VerifyRequest &request, engine::Observer &observer) {
  bool given = !request.program.empty();
  if (given && request.model.plan)
    return Status::usage("--plan and --program cannot be used together: the program already has a plan");
  models::ModelOptions model = request.model;
  if (given)
    model.plan = "none";
  else
    model.damped = true; // Some gradients are zero in theory and rounding in practice, which Adam would turn into full updates.
  TRY(models::ElaboratedModel written, models::elaborateModel(model, observer));
  TRY(models::ElaboratedModel exact, models::elaborateModel(model, observer, {{"compute", "f64"}}, /*withWarnings=*/false));
  for (models::ElaboratedModel *one : {&written, &exact}) { // the limits are for the trained type and not for float64
    one->program.plan.memoryLimit.reset();
    one->program.plan.bubbleLimit.reset();
  }
  if (int64_t count = dsl::countParameters(exact.program.model).all; count > largestUnasked && !request.anySize)
    return Status::badInput(fmt::format("{} parameters are too many for a check in float64 on this machine\n"
                                        "npar: help: {}, or give {} to check this size",
                                        count, howToShrink(exact.program.model.constants), nameOf(engine::Option::Full)));
  return BothTypes{std::move(written), std::move(exact)};
}

} // namespace

std::vector<Check> checkStructure(const program::LoadedProgram &program) {
  std::vector<Check> checks;
  for (const program::CheckResult &result : program.checks())
    checks.push_back({result.name, result.ok, std::nullopt, result.detail});
  return checks;
}

Result<VerifyReport> verifyPlan(const VerifyRequest &request, job::Processes &processes, engine::Observer &observer) {
  Result<BothTypes> text = elaborateBoth(request, observer);
  TRY_STATUS(processes.agree(text.status()));
  const models::ElaboratedModel &written = text->written, &exact = text->exact;
  bool given = !request.program.empty();
  auto loadOrCompile = [&]() -> Result<models::ProgramPointer> {
    return given ? program::LoadedProgram::examineFile(request.program)
                 : exact.compilation->compile(exact.program, /*withoutKernels=*/false, request.model.targets);
  };
  TRY(models::ProgramPointer program, processes.share(loadOrCompile, job::Processes::Ranks::Shared));
  VerifyReport report = reportOf(program->root(), checkStructure(*program));
  if (!report.good()) // it must not run then
    return report;
  report.texts = written.compilation->texts();
  addLibrary(program->root(), report.checks);
  TRY(models::ProgramPointer reference,
      processes.share([&] { return exact.compilation->compile(onOneRank(exact.program)); }, job::Processes::Ranks::AllInEach));
  if (std::string reason = whyNotComparable(program->root(), reference->root()); !reason.empty()) {
    Status status = Status::badInput("'" + request.program + "' cannot be compared with '" + request.model.model + "': " + reason);
    TRY_STATUS(processes.agree(status));
    return status;
  }
  Result<int> threads = processes.threads(request.threads);
  TRY_STATUS(processes.agree(threads.ok() ? processes.checkMemory({program, reference, reference}, *threads) : threads.status()));
  engine::SessionOptions options = request.session;
  options.threads = *threads;
  options.seed = request.seed;
  options.run = engine::RunLength{3, 3, 0}; // as if the compared steps were an epoch and all of a run

  OneRankComparison comparison(request, options, reference, processes, observer);
  TRY_STATUS(comparison.inFloat64(program, exact, report.checks));
  program::ElementType type = written.program.plan.compute;
  if (!given && !isWide(type))
    TRY_STATUS(comparison.inOwnType(written, report.checks));
  report.products = comparison.productOrder(), report.choices = comparison.choices();
  if (!given && request.explainsRounding && isNarrow(type) && processes.isFirst()) {
    TRY(report.rounding, findRounding(written, reference, comparison.optionsOfOneRank(), comparison.comparedSeed(), observer));
  }
  return report;
}

} // namespace npar::verify
