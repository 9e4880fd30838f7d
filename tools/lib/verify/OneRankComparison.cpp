// Runs both programs, and tells errors of a plan from numbers that prove nothing.
#include "tools/lib/verify/OneRankComparison.h"

#include "tools/lib/verify/OneRank.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace npar::verify {

using engine::Result;
using engine::Status;

namespace {

constexpr int64_t verifySteps = 3;
constexpr double nearRoundings = 64; ///< between scores that rounding may order either way
constexpr double allowedTimes = 4;   ///< the error of one rank in the same type
constexpr uint64_t mostSeeds = 5;    ///< attempt if one rank leaps with the numbers of those before

/// A model can amplify rounding, and deep models do: one rank in the same type is then as far from float64. A plan may be a few times as
/// far because it rounds in other places.
void allowOneRanksError(std::vector<Check> &checks, const std::vector<Check> &oneRank) {
  for (size_t i = 0; i < checks.size() && i < oneRank.size(); ++i) {
    std::optional<double> error = checks[i].maxRelativeError, own = oneRank[i].maxRelativeError;
    if (checks[i].ok || !error || !own)
      continue;
    if (!std::isfinite(*own)) {
      checks[i].isOfOneRank = true;
      checks[i].detail += "; on one rank it is not finite in this type either: the model's values are too large for it under any plan";
      continue;
    }
    checks[i].ok = *error <= allowedTimes * *own;
    checks[i].detail += fmt::format("; one rank in this type has the error {:.2e}, and {} times that is allowed", *own, allowedTimes);
  }
}

/// The two scores of a margin may each have a few times the error of one rank's scores in the same type.
void allowOneRanksScores(Check &check, double error) {
  if (!std::isfinite(error)) {
    check.isOfOneRank = true;
    check.detail += "; on one rank scores are not finite in this type either: they are too large for it under any plan";
    return;
  }
  const double allowed = 2 * allowedTimes * error;
  check.ok = *check.maxRelativeError <= allowed;
  check.detail +=
      fmt::format("; scores of the largest margin are {:.1e} apart, {:.0e} is near; scores of one rank in this type have the error "
                  "{:.1e}, which allows {:.1e}",
                  *check.maxRelativeError, check.bound, error, allowed);
}

void allowAKink(std::vector<Check> &checks, const std::vector<Check> &otherNumbers, uint64_t seed) {
  for (size_t i = 0; i < checks.size() && i < otherNumbers.size(); ++i)
    if (std::optional<double> error = otherNumbers[i].maxRelativeError; !checks[i].ok && error) {
      checks[i].ok = otherNumbers[i].ok;
      checks[i].detail += fmt::format("; with seed {} {:.2e}", seed, *error);
    }
}

/// The first operations that compute integers from floats (comparisons, largest entries, orders): "the choice at moe.npar:12:17". Two
/// programs can choose differently when the floats are nearly equal. Empty if the model has no such operation.
std::string choicesOf(const dsl::Model &model, const dsl::Sources &sources) {
  constexpr size_t most = 3;
  std::vector<std::string> places;
  for (const dsl::Node &node : model.nodes) {
    bool ofFloats = std::any_of(node.operands.begin(), node.operands.end(),
                                [&](int operand) { return !isInteger(model.nodes[static_cast<size_t>(operand)].type.element); });
    if (!isInteger(node.type.element) || !ofFloats || node.location.line == 0 || node.location.file >= sources.size())
      continue;
    std::string file = std::filesystem::path(sources.name(node.location.file)).filename().string();
    std::string place = fmt::format("{}:{}:{}", file, node.location.line, node.location.column);
    if (std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(place);
  }
  if (places.empty())
    return "";
  bool more = places.size() > most;
  places.resize(std::min(places.size(), most));
  return fmt::format("the choice at {}{}", fmt::join(places, ", "), more ? " and others" : "");
}

/// Explains why the numbers of a seed prove nothing.
std::string leapText(uint64_t seed, double leap, double change, const std::string &choices) {
  std::string why =
      choices.empty() ? "a kink (relu, max) is within rounding" : choices + " is between values that are equal within rounding";
  return fmt::format("seed {} left out: the loss or gradient norm of one rank leaps by {:.1e} when its parameters move by {:.0e}: {}", seed,
                     leap, change, why);
}

/// True if the model stops a gradient on a path to the loss.
bool stopsGradients(const dsl::Model &model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(),
                     [](const dsl::Node &node) { return node.op == "stop_gradient" && node.attributes.count("neutral") == 0; });
}

} // namespace

engine::SessionOptions OneRankComparison::optionsOfOneRank() const {
  engine::SessionOptions onProcessor = options;
  onProcessor.backend = "cpu";
  return onProcessor;
}

/// Sets up a program's session, with the ranks of this process or with all ranks.
Result<OneRankComparison::SessionPointer> OneRankComparison::createSession(const models::ProgramPointer &program,
                                                                           job::Processes::Ranks ranks, engine::SessionOptions own) {
  engine::Activity activity(observer, "setting up");
  TRY_STATUS(engine::stopIfAsked(observer, "the verification"));
  own.onPhase = [&](const std::string &name) { activity.phase(name); };
  if (ranks == job::Processes::Ranks::Shared)
    return processes.createSession(program, own);
  own.gpus = 1; // it has one rank
  own.fastestOrder = processes.fastestOrder();
  return engine::Session::create(program, own);
}

Result<OneRankComparison::SessionPointer> OneRankComparison::createReference() {
  return createSession(reference, job::Processes::Ranks::AllInEach, optionsOfOneRank());
}

/// Measures the sensitivity of one rank in float64.
Result<double> OneRankComparison::sensitivity(uint64_t ofSeed, double change) {
  engine::Activity activity(observer, "measuring how far one rank's own numbers change");
  return sensitivityOf([&] { return createReference(); }, reference->root(), verifySteps, ofSeed, change);
}

/// Compares the plan's program with one rank, both in float64, and returns the session. Uses the next seed as long as one rank itself
/// leaps.
Result<OneRankComparison::SessionPointer> OneRankComparison::compareNumbers(const models::ProgramPointer &program,
                                                                            const std::string &choices, std::vector<Check> &checks) {
  constexpr double rounding = 1e-13; // of sums in another order, with room
  std::vector<Check> leaps;
  for (;; ++seed) {
    TRY(SessionPointer session, createSession(program, job::Processes::Ranks::Shared, options));
    TRY(SessionPointer one, createReference());
    std::vector<Check> found;
    {
      engine::Activity activity(observer, "comparing a training in float64 with one rank");
      TRY_STATUS(compareSessions(*session, *one, program->root(), verifySteps, seed, observer, found));
    }
    bool isLast = allHold(found) || seed + 1 == request.seed + mostSeeds;
    if (!isLast) {
      TRY(double leap, sensitivity(seed, rounding));
      if (isLast = leap < found.front().bound; !isLast)
        leaps.push_back({"near tie", true, std::nullopt, leapText(seed, leap, rounding, choices)});
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
      return Result<SessionPointer>(std::move(session));
    }
  }
}

Status OneRankComparison::compareGradients(std::vector<Check> &checks) {
  engine::Activity activity(observer, "comparing gradients with finite differences");
  for (uint64_t attempt = 0; attempt < mostSeeds; ++attempt) {
    TRY(SessionPointer fresh, createReference());
    TRY_STATUS(disturbParameters(*fresh, reference->root(), seed + attempt));
    if (attempt > 0)
      checks.pop_back();
    TRY_STATUS(checkFiniteDifferences(*fresh, reference->root(), seed + attempt, observer, checks));
    if (attempt > 0)
      checks.back().detail += fmt::format("; with the numbers of seed {}", seed + attempt);
    if (!checks.back().isUndecided)
      break;
  }
  return {};
}

Status OneRankComparison::inFloat64(const models::ProgramPointer &program, const models::ElaboratedModel &exact,
                                    std::vector<Check> &checks) {
  const dsl::Model &model = exact.program.model;
  TRY(SessionPointer session, compareNumbers(program, choicesOf(model, exact.compilation->texts()), checks));
  TRY(std::vector<engine::ArenaUse> uses, processes.arenaUse(*session));
  checks.push_back(checkMemoryUse(uses));
  if (!processes.isFirst())
    return {};
  if (stopsGradients(model)) {
    checks.push_back({"finite differences", true, std::nullopt, "left out: with 'stop_gradient' the gradient is not that of the loss"});
    return {};
  }
  return compareGradients(checks);
}

Result<OneRankComparison::OwnType> OneRankComparison::compileInOwnType(const models::ElaboratedModel &written,
                                                                       job::Processes::Ranks ranks) {
  const bool alone = ranks == job::Processes::Ranks::AllInEach;
  OwnType own;
  own.ranks = ranks;
  const dsl::Program text = alone ? onOneRank(written.program) : written.program;
  TRY(own.program,
      processes.share([&] { return written.compilation->compile(text, /*withoutKernels=*/false, request.model.targets); }, ranks));
  std::vector<models::ProgramPointer> together = {own.program, reference};
  if (ChoiceComparison::hasChoices(written.program.model)) {
    auto create = [this](const models::ProgramPointer &program, job::Processes::Ranks where) {
      return createSession(program, where, where == job::Processes::Ranks::Shared ? options : optionsOfOneRank());
    };
    TRY(own.choices, ChoiceComparison::create({request.model, ranks, create}, processes, observer));
    if (own.choices)
      for (const models::ProgramPointer &each : own.choices->evaluations())
        together.push_back(each);
  }
  TRY_STATUS(processes.agree(processes.checkMemory(together, options.threads)));
  return own;
}

Status OneRankComparison::compareOnce(OwnType &own, uint64_t ofSeed, std::vector<Check> &checks) {
  TRY(SessionPointer session, createSession(own.program, own.ranks, options));
  order = session->productOrder();
  const bool takesChoices = own.choices && own.choices->reference();
  TRY(SessionPointer one,
      createSession(takesChoices ? own.choices->reference() : reference, job::Processes::Ranks::AllInEach, optionsOfOneRank()));
  ReferenceBatch referenceBatch;
  if (own.choices) {
    TRY_STATUS(own.choices->begin());
    referenceBatch = [&](const engine::Batch &batch, int64_t step) {
      return own.choices->compare(*session, own.program->root(), batch, step);
    };
  }
  engine::Activity activity(observer, "comparing a training in the plan's own type with one rank");
  return compareOwnType(*session, *one, own.program->root(), verifySteps, ofSeed, referenceBatch, observer, checks);
}

Check OneRankComparison::checkChoices(const TypeBounds &bounds) const {
  Check check{fmt::format("in {}: choices", bounds.name), true, std::nullopt, ""};
  check.bound = nearRoundings * bounds.rounding;
  if (!chosen) {
    check.detail = "not compared: no evaluation makes them, because they or all losses depend on several samples";
    return check;
  }
  check.maxRelativeError = chosen->largestMargin();
  check.ok = chosen->largestMargin() < check.bound;
  return check;
}

Status OneRankComparison::inOwnType(const models::ElaboratedModel &written, std::vector<Check> &checks) {
  std::vector<Check> found, oneRank;
  TRY(OwnType own, compileInOwnType(written, job::Processes::Ranks::Shared));
  const TypeBounds bounds = boundsOf(own.program->root());
  TRY_STATUS(compareOnce(own, seed, found));
  if (own.choices) {
    chosen = own.choices->report();
    chosen->type = bounds.name, chosen->lossBound = bounds.loss;
  }
  Check choices = checkChoices(bounds);
  if (!allHold(found) || !choices.ok) {
    TRY(OwnType alone, compileInOwnType(written, job::Processes::Ranks::AllInEach));
    TRY_STATUS(compareOnce(alone, seed, oneRank));
    allowOneRanksError(found, oneRank);
    if (!choices.ok)
      allowOneRanksScores(choices, alone.choices->report().largestScoreError());
  }
  for (uint64_t next = seed + 1; !allHold(found) && next < seed + mostSeeds; ++next) {
    if (next > seed + 1) { // after the next seed, others only if the numbers before them make one rank leap
      TRY(double leap, sensitivity(next - 1, bounds.rounding));
      if (leap < found.front().bound)
        break;
    }
    std::vector<Check> otherNumbers;
    TRY_STATUS(compareOnce(own, next, otherNumbers));
    allowAKink(found, otherNumbers, next);
  }
  checks.insert(checks.end(), found.begin(), found.end());
  if (chosen)
    choices.detail = chosen->text(choices.ok) + choices.detail;
  if (ChoiceComparison::hasChoices(written.program.model))
    checks.push_back(choices);
  return {};
}

} // namespace npar::verify
