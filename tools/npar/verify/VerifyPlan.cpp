// Compares a plan's program with one rank: its structure, its memory, its mathematics in float64 and in its own type.
#include "tools/npar/verify/VerifyPlan.h"

#include "engine/program/Verify.h"
#include "engine/program/Words.h"
#include "engine/show/Summary.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/MemoryCheck.h"
#include "tools/npar/trials/PlanCheck.h"
#include "tools/npar/verify/ChoiceText.h"
#include "tools/npar/verify/Equivalence.h"
#include "tools/npar/verify/Reference.h"
#include "tools/npar/verify/RoundingWarning.h"
#include "tools/npar/verify/VerifyReport.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <thread>

namespace npar::driver {
namespace {

constexpr uint64_t largestUnasked = 5000000; ///< parameters; above, --full must be given
constexpr int64_t verifySteps = 3;
constexpr uint64_t mostSeeds = 5; ///< whose numbers are tried where those before make one rank leap

engine::SessionOptions sessionOptions(const VerifyFlags &flags, int threads) {
  engine::SessionOptions options;
  options.threads = threads;
  options.seed = flags.seed;
  options.timeoutSeconds = flags.timeout;
  flags.device.applyTo(options);
  return options;
}

/// Options for the one-rank reference, which always runs on the processor.
engine::SessionOptions onProcessor(engine::SessionOptions options) {
  options.backend = "cpu";
  return options;
}

/// Checks that the machine has memory for all these programs at the same time.
ExitCode checkRoom(const Job &job, int threads, const std::vector<ProgramPointer> &programs) {
  return checkMemory(programs, job.crew(threads), /*saved=*/false, /*quiet=*/true, "shrink the model, or use fewer ranks");
}

/// Sets up a program's session. The processes of `job` share its ranks; if `job` is null, this process runs all of them.
engine::Result<std::unique_ptr<engine::Session>> createSession(Job *job, const ProgramPointer &program, engine::SessionOptions options) {
  Waiting waiting("setting up");
  options.onPhase = [&](const std::string &name) { waiting.phase(name); };
  if (!job)
    options.gpus = 1; // it has one rank
  return job ? job->createSession(program, options) : engine::Session::create(program, options);
}

/// Compares a program in its own type with the one-rank program in float64, from fresh sessions of both.
engine::Status checkOwnType(Job *job, const engine::SessionOptions &options, ProgramPointer own, ProgramPointer reference, uint64_t seed,
                            std::vector<Check> &checks) {
  engine::Result<std::unique_ptr<engine::Session>> session = createSession(job, own, options);
  if (!session.ok())
    return session.status();
  engine::Result<std::unique_ptr<engine::Session>> one = createSession(nullptr, reference, onProcessor(options));
  if (!one.ok())
    return one.status();
  Waiting waiting("comparing a training in the plan's own type with one rank");
  return compareOwnType(**session, **one, own->root(), verifySteps, seed, checks);
}

bool allHold(const std::vector<Check> &checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check &check) { return check.ok; });
}

/// A model may magnify rounding, deep ones do: then one rank in the same type is as far from float64, and a plan may be a few times as
/// far as that, for it rounds in other places.
void allowWhatOneRankLoses(std::vector<Check> &checks, const std::vector<Check> &oneRank) {
  constexpr double times = 4;
  for (size_t i = 0; i < checks.size() && i < oneRank.size(); ++i) {
    std::optional<double> error = checks[i].maxRelativeError, own = oneRank[i].maxRelativeError;
    if (checks[i].ok || !error || !own)
      continue;
    if (!std::isfinite(*own)) {
      checks[i].isOfOneRank = true;
      checks[i].detail += "; on one rank it is not finite in this type either: the model's values are too large for it under any plan";
      continue;
    }
    checks[i].ok = *error <= times * *own;
    checks[i].detail += fmt::format("; one rank in this type has the error {:.2e}, and {} times that is allowed", *own, times);
  }
}

/// A gradient leaps when a value is rounded to the other side of a kink (relu, max), and so does a choice between nearly equal values
/// (top_k, a comparison), under any plan. That is luck of the numbers: an error of a plan shows with other numbers too.
void allowAKink(std::vector<Check> &checks, const std::vector<Check> &otherNumbers, uint64_t seed) {
  for (size_t i = 0; i < checks.size() && i < otherNumbers.size(); ++i)
    if (std::optional<double> error = otherNumbers[i].maxRelativeError; !checks[i].ok && error) {
      checks[i].ok = otherNumbers[i].ok;
      checks[i].detail += fmt::format("; with seed {} {:.2e}", seed, *error);
    }
}

/// Measures the sensitivity of one rank in float64.
engine::Result<double> sensitivity(const engine::SessionOptions &options, const ProgramPointer &reference, uint64_t seed, double change) {
  Waiting waiting("measuring how far one rank's own numbers change");
  return sensitivityOf([&] { return createSession(nullptr, reference, onProcessor(options)); }, reference->root(), verifySteps, seed,
                       change);
}

/// Explains why the numbers of a seed prove nothing.
std::string leapText(uint64_t seed, double leap, double change, const std::string &choices) {
  std::string why =
      choices.empty() ? "a kink (relu, max) is within rounding" : choices + " is between values that are equal within rounding";
  return fmt::format("seed {} left out: the loss or gradient norm of one rank leaps by {:.1e} when its parameters move by {:.0e}: {}", seed,
                     leap, change, why);
}

/// Checks the plan in its own type. The check in float64 ignores the plan's `compute` and `keep` clauses.
ExitCode checkOwnType(const VerifyFlags &flags, Job &job, const engine::SessionOptions &options, const ElaboratedModel &written,
                      ProgramPointer reference, uint64_t firstSeed, std::vector<Check> &checks) {
  double rounding = 0;
  auto check = [&](const dsl::Program &text, Job::Ranks ranks, uint64_t seed, std::vector<Check> &found) {
    Outcome<ProgramPointer> own = job.shareProgram(
        [&] { return reported(written.compilation->compile(text, /*withoutKernels=*/false, flags.model.targets)); }, ranks);
    if (!own.ok())
      return own.code();
    if (ExitCode code = job.agree(checkRoom(job, options.threads, {*own, reference})); code != ExitCode::Good)
      return code;
    rounding = roundingOf((*own)->root());
    engine::Status status = checkOwnType(ranks == Job::Ranks::Shared ? &job : nullptr, options, *own, reference, seed, found);
    return status.ok() ? ExitCode::Good : fail(status);
  };
  std::vector<Check> found, oneRank;
  if (ExitCode code = check(written.program, Job::Ranks::Shared, firstSeed, found); code != ExitCode::Good)
    return code;
  if (!allHold(found)) {
    if (ExitCode code = check(onOneRank(written.program), Job::Ranks::AllInEach, firstSeed, oneRank); code != ExitCode::Good)
      return code;
    allowWhatOneRankLoses(found, oneRank);
  }
  for (uint64_t seed = firstSeed + 1; !allHold(found) && seed < firstSeed + mostSeeds; ++seed) {
    if (seed > firstSeed + 1) { // others than the next one only where the numbers before them make one rank leap
      engine::Result<double> leap = sensitivity(options, reference, seed - 1, rounding);
      if (!leap.ok())
        return fail(leap.status());
      if (*leap < found.front().bound)
        break;
    }
    std::vector<Check> otherNumbers;
    if (ExitCode code = check(written.program, Job::Ranks::Shared, seed, otherNumbers); code != ExitCode::Good)
      return code;
    allowAKink(found, otherNumbers, seed);
  }
  checks.insert(checks.end(), found.begin(), found.end());
  return ExitCode::Good;
}

/// True if the model stops a gradient on a path to the loss.
bool stopsGradients(const dsl::Model &model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(),
                     [](const dsl::Node &node) { return node.op == "stop_gradient" && node.attributes.count("neutral") == 0; });
}

/// Compares the plan's program with one rank, both in float64, and returns the session. Numbers at which one rank itself leaps within
/// rounding prove nothing, so the next seed's are compared, and `seed` becomes that: an error of a plan shows with any numbers.
engine::Result<std::unique_ptr<engine::Session>> compareNumbers(const VerifyFlags &flags, Job &job, const engine::SessionOptions &options,
                                                                ProgramPointer program, ProgramPointer reference,
                                                                const std::string &choices, uint64_t &seed, std::vector<Check> &checks) {
  constexpr double rounding = 1e-13; // of sums in another order, with room
  std::vector<Check> leaps;
  for (;; ++seed) {
    engine::Result<std::unique_ptr<engine::Session>> session = createSession(&job, program, options);
    if (!session.ok())
      return session.status();
    engine::Result<std::unique_ptr<engine::Session>> one = createSession(nullptr, reference, onProcessor(options));
    if (!one.ok())
      return one.status();
    std::vector<Check> found;
    engine::Status compared = [&] {
      Waiting waiting("comparing a training in float64 with one rank");
      return compareSessions(**session, **one, program->root(), verifySteps, seed, found);
    }();
    if (!compared.ok())
      return compared;
    bool isLast = allHold(found) || seed + 1 == flags.seed + mostSeeds;
    if (!isLast) {
      engine::Result<double> leap = sensitivity(options, reference, seed, rounding);
      if (!leap.ok())
        return leap.status();
      if (isLast = *leap < found.front().bound; !isLast)
        leaps.push_back({"near tie", true, std::nullopt, leapText(seed, *leap, rounding, choices)});
    }
    if (isLast) {
      if (leaps.size() + 1 == mostSeeds)
        for (Check &check : found)
          if (!check.ok)
            check.detail +=
                fmt::format("; one rank itself changes abruptly with each of the {} earlier seeds: its training is unstable, and a lower "
                            "learning rate can help",
                            leaps.size());
      checks.insert(checks.end(), leaps.begin(), leaps.end());
      checks.insert(checks.end(), found.begin(), found.end());
      return session;
    }
  }
}

/// Every process of a job runs its ranks and the whole reference, which is small. Process 0 alone computes the finite differences.
engine::Status runChecks(const VerifyFlags &flags, Job &job, const engine::SessionOptions &options, ProgramPointer program,
                         ProgramPointer reference, bool stops, const std::string &choices, uint64_t &seed, std::vector<Check> &checks) {
  engine::Result<std::unique_ptr<engine::Session>> session = compareNumbers(flags, job, options, program, reference, choices, seed, checks);
  if (!session.ok())
    return session.status();
  engine::Result<std::vector<engine::ArenaUse>> uses = job.arenaUse(**session);
  if (!uses.ok())
    return uses.status();
  checks.push_back(checkMemoryUse(*uses));
  if (!job.isVoice())
    return {};
  if (stops) {
    checks.push_back({"finite differences", true, std::nullopt, "left out: with 'stop_gradient' the gradient is not that of the loss"});
    return {};
  }
  Waiting waiting("comparing gradients with finite differences");
  for (uint64_t tried = 0; tried < mostSeeds; ++tried) {
    engine::Result<std::unique_ptr<engine::Session>> fresh = createSession(nullptr, reference, onProcessor(options));
    if (!fresh.ok())
      return fresh.status();
    if (engine::Status status = disturbParameters(**fresh, reference->root(), seed + tried); !status.ok())
      return status;
    if (tried > 0)
      checks.pop_back();
    if (engine::Status status = checkFiniteDifferences(**fresh, reference->root(), seed + tried, checks); !status.ok())
      return status;
    if (tried > 0)
      checks.back().detail += fmt::format("; with the numbers of seed {}", seed + tried);
    if (!checks.back().isUndecided)
      break;
  }
  return {};
}

/// The checks that need nothing but the program; whether all hold.
bool checkItself(const program::LoadedProgram &program, std::vector<Check> &checks) {
  for (const program::CheckResult &result : program.checks())
    checks.push_back({result.name, result.ok, std::nullopt, result.detail});
  return allHold(checks);
}

/// Counts the sums that `reduce library` may add in another order, and which therefore agree within rounding only.
void addLibrary(const program::Program &program, std::vector<Check> &checks) {
  show::Reductions reductions = show::reductionsOf(program);
  if (reductions.library > 0)
    checks.push_back({"reduce library", true, std::nullopt,
                      fmt::format("{} of {} reductions can be summed by a library, in its own order: with NCCL the values compared here "
                                  "are equal within rounding, otherwise sums are in ascending order",
                                  reductions.library, reductions.all)});
}

/// A compiled program alone: no text says what it should compute.
} // namespace

ExitCode verifyCompiled(const VerifyFlags &flags) {
  if (ExitCode code = reported(flags.model.refuseTextFlags()); code != ExitCode::Good)
    return code;
  engine::Result<ProgramPointer> program = program::LoadedProgram::examineFile(flags.model.model);
  if (!program.ok())
    return fail(program.status());
  std::vector<Check> checks;
  checkItself(**program, checks);
  if (!flags.json && (*program)->root().kind() == program::ProgramKind::Training)
    printRemark("mathematics not checked: give the model file too, as in: npar verify MODEL.npar --program " + flags.model.model);
  return report((*program)->root(), checks, flags.json);
}

namespace {

/// Says which flags make the model smaller, in the names of its own constants.
std::string howToShrink(const std::vector<std::string> &constants) {
  if (std::string flags = shrinkingFlags(constants); !flags.empty())
    return "shrink the model, such as" + flags;
  return constants.empty() ? "write the model's sizes smaller"
                           : fmt::format("shrink the model by its constants {}", fmt::join(constants, ", "));
}

/// A text as it says, in its own type, and in float64.
struct BothTypes {
  std::optional<ElaboratedModel> written, exact;
};

ExitCode elaborateBoth(const VerifyFlags &flags, BothTypes &both) {
  bool given = !flags.program.empty();
  if (given && flags.model.plan)
    return fail(ExitCode::Usage, "--plan and --program cannot be used together: the program already has a plan");
  ModelOptions model = flags.model;
  if (given)
    model.plan = "none";
  else
    model.damped = true; // Some gradients are zero in theory and rounding in practice, which Adam would turn into full updates.
  Outcome<ElaboratedModel> written = elaborateModel(model);
  if (!written.ok())
    return written.code();
  Outcome<ElaboratedModel> exact = elaborateModel(model, {{"compute", "f64"}}, /*withWarnings=*/false);
  if (!exact.ok())
    return exact.code();
  for (ElaboratedModel *one : {&*written, &*exact}) { // the limits are for the type that is trained in, here it is checked
    one->program.plan.memoryLimit.reset();
    one->program.plan.bubbleLimit.reset();
  }
  if (uint64_t count = parametersOf(exact->program); count > largestUnasked && !flags.full)
    return fail(ExitCode::BadInput, fmt::format("{} parameters are too many for a check in float64 on this machine\n"
                                                "npar: help: {}, or give --full to check this size",
                                                count, howToShrink(exact->program.model.constants)));
  both.written = std::move(*written), both.exact = std::move(*exact);
  return ExitCode::Good;
}

} // namespace

ExitCode verifyText(const VerifyFlags &flags, Job &job) {
  BothTypes text;
  if (ExitCode code = job.agree(elaborateBoth(flags, text)); code != ExitCode::Good)
    return code;
  Outcome<ProgramPointer> program = job.shareProgram([&]() -> Outcome<ProgramPointer> {
    if (flags.program.empty())
      return reported(text.exact->compilation->compile(text.exact->program, /*withoutKernels=*/false, flags.model.targets));
    engine::Result<ProgramPointer> loaded = program::LoadedProgram::examineFile(flags.program);
    return loaded.ok() ? Outcome<ProgramPointer>(*loaded) : fail(loaded.status());
  });
  if (!program.ok())
    return program.code();
  std::vector<Check> checks;
  if (!checkItself(**program, checks)) // it must not run then
    return job.agree(report((*program)->root(), checks, flags.json));
  addLibrary((*program)->root(), checks);
  Outcome<ProgramPointer> reference =
      job.shareProgram([&] { return reported(text.exact->compilation->compile(onOneRank(text.exact->program))); }, Job::Ranks::AllInEach);
  if (!reference.ok())
    return reference.code();
  if (std::string reason = whyNotComparable((*program)->root(), (*reference)->root()); !reason.empty())
    return job.agree(fail(ExitCode::BadInput, "'" + flags.program + "' cannot be compared with '" + flags.model.model + "': " + reason));
  Outcome<int> threads = job.threads(flags.threads);
  if (ExitCode code = job.agree(threads.ok() ? checkRoom(job, *threads, {*program, *reference, *reference}) : threads.code());
      code != ExitCode::Good)
    return code;
  engine::SessionOptions options = sessionOptions(flags, *threads);
  const dsl::Model &model = text.exact->program.model;
  std::string choices = choicesOf(model, text.exact->compilation->texts());
  uint64_t seed = flags.seed;
  if (engine::Status status = runChecks(flags, job, options, *program, *reference, stopsGradients(model), choices, seed, checks);
      !status.ok())
    return fail(status);
  dsl::ElementType type = text.written->program.plan.compute;
  if (flags.program.empty() && type != dsl::ElementType::F64)
    if (ExitCode code = checkOwnType(flags, job, options, *text.written, *reference, seed, checks); code != ExitCode::Good)
      return code;
  std::optional<RoundingReport> rounding;
  if (flags.program.empty() && flags.explains && job.isVoice() && (type == dsl::ElementType::BF16 || type == dsl::ElementType::F16)) {
    Outcome<RoundingReport> found = findRounding(*text.written, *reference, onProcessor(options), seed);
    if (!found.ok())
      return found.code();
    rounding = std::move(*found);
  }
  if (rounding && rounding->warning && !flags.json)
    print(*rounding->warning, text.written->compilation->texts());
  return job.agree(report((*program)->root(), checks, flags.json, rounding, &text.written->compilation->texts()));
}

PlanCheckOptions planChecks(uint64_t seed, int threads, int jobs) {
  PlanCheckOptions options;
  options.jobs = jobs > 0 ? jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.verify = [seed, threads](const ModelOptions &model) {
    VerifyFlags one;
    one.model = model;
    one.seed = seed;
    one.threads = threads > 0 ? threads : 2; // plans run at the same time; two workers show faults that one would hide
    one.timeout = 60;
    one.json = one.full = true;
    one.explains = false;
    one.job.alone = true;
    return inJob(one.job, [&](Job &job) { return verifyText(one, job); });
  };
  return options;
}

} // namespace npar::driver
