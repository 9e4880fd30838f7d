// Groups a model's operations by their places in the text and finds the place that causes the error.
#include "tools/lib/verify/RoundingWarning.h"

#include "tools/lib/verify/Equivalence.h"
#include "tools/lib/verify/OneRank.h"
#include "tools/lib/verify/RoundingCause.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace npar::verify {
namespace {

/// Healthy models of a few layers differ from float64 by up to this many roundings.
constexpr double commonRoundings = 16;

/// The nodes that one place in the text defines, in all blocks and all uses of a layer.
using Place = std::vector<int>;

bool isSame(const dsl::Location &a, const dsl::Location &b) {
  return a.file == b.file && a.line == b.line && a.column == b.column && a.length == b.length;
}

/// The places that compute with data or parameters, in the order of the model. Positions are rounded where they are combined with these.
std::vector<Place> placesOf(const dsl::Model &model) {
  std::vector<Place> places;
  std::vector<bool> ofData(model.nodes.size());
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const dsl::Node &node = model.nodes[i];
    bool isSource = node.op == "parameter" || node.op == "input";
    ofData[i] = isSource || std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) { return bool(ofData[operand]); });
    if (isSource || !ofData[i] || isInteger(node.type.element))
      continue;
    auto known = std::find_if(places.begin(), places.end(), [&](const Place &place) {
      return isSame(model.nodes[static_cast<size_t>(place.front())].location, node.location);
    });
    if (known == places.end())
      places.push_back({static_cast<int>(i)});
    else
      known->push_back(static_cast<int>(i));
  }
  return places;
}

std::vector<int> nodesOf(const std::vector<Place> &places, size_t first, size_t count) {
  std::vector<int> nodes;
  for (size_t i = first; i < first + count; ++i)
    nodes.insert(nodes.end(), places[i].begin(), places[i].end());
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<std::string> usersOf(const dsl::Model &model, const Place &place) {
  std::vector<std::string> users;
  for (const dsl::Node &node : model.nodes)
    for (int operand : node.operands)
      if (std::find(place.begin(), place.end(), operand) != place.end() && !isInteger(node.type.element) &&
          std::find(users.begin(), users.end(), node.op) == users.end())
        users.push_back(node.op);
  return users;
}

/// The plan's types on one rank.
dsl::Program inItsType(const dsl::Program &written) {
  dsl::Program program = onOneRank(written);
  program.plan.keeps = written.plan.keeps;
  program.plan.gradients = written.plan.gradients;
  return program;
}

engine::Result<StepValues> stepOf(models::ProgramPointer program, const engine::SessionOptions &options, uint64_t seed, double rounding,
                                  const StepValues *start) {
  TRY(std::unique_ptr<engine::Session> session, engine::Session::create(program, options));
  return firstStep(*session, program->root(), seed, rounding, start);
}

} // namespace

std::string RoundingWarning::text() const {
  if (!std::isfinite(error))
    return fmt::format("a number leaves the range of {} at this '{}'", type, operation);
  return fmt::format("rounding this '{}' to {} causes most of the difference to float64: {:.2g} of loss and gradients, {:.2g} without it",
                     operation, type, error, without);
}

std::string RoundingWarning::help() const {
  std::vector<std::string> kept = {operation};
  for (const std::string &user : users)
    if (user != operation)
      kept.push_back(user);
  return fmt::format("`keep {} in f32` in the plan computes it and what takes its result in f32", fmt::join(kept, ", "));
}

std::string RoundingWarning::located(const dsl::Sources &sources) const {
  dsl::Diagnostics diagnostics(sources);
  diagnostics.warning(location, text()).help(location, help());
  std::ostringstream lines;
  diagnostics.print(lines);
  return lines.str();
}

engine::Result<RoundingReport> findRounding(const models::ElaboratedModel &written, models::ProgramPointer reference,
                                            const engine::SessionOptions &options, uint64_t seed, engine::Observer &observer) {
  engine::Activity activity(observer, "measuring the effect of rounding");
  dsl::Program program = inItsType(written.program);
  std::string type = rowOf(program.plan.compute).planWord;
  double rounding = 0;
  std::optional<StepValues> exact;
  auto error = [&](const std::vector<int> &nodes) -> engine::Result<double> {
    TRY(models::ProgramPointer compiled, written.compilation->compileUnrounded(program, nodes));
    rounding = roundingOf(compiled->root());
    if (!exact) {
      TRY(exact, stepOf(reference, options, seed, rounding, nullptr));
    }
    TRY(StepValues values, stepOf(compiled, options, seed, rounding, &*exact));
    return distance(values, *exact);
  };
  TRY(double whole, error({}));
  if (whole < commonRoundings * rounding)
    return RoundingReport{whole};
  std::vector<Place> places = placesOf(program.model);
  auto errorWithout = [&](size_t first, size_t count) { return error(nodesOf(places, first, count)); };
  TRY(std::optional<RoundingCause> cause,
      std::isfinite(whole) ? findRoundingCause(places.size(), whole, errorWithout) : findOverflow(places.size(), errorWithout));
  if (!cause)
    return RoundingReport{whole};
  const Place &place = places[cause->place];
  const dsl::Node &node = program.model.nodes[static_cast<size_t>(place.front())];
  return RoundingReport{whole, RoundingWarning{node.location, node.op, usersOf(program.model, place), type, whole, cause->error}};
}

} // namespace npar::verify
