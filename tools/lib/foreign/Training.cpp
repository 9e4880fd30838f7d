// Converts between a run's training and npar's train block.
#include "tools/lib/foreign/Training.h"

#include "dsl/elaborate/NamePattern.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// Calls `visit` for every setting, with the same one of all `trainings`.
template <class Visit, class... Trainings> void visitSettings(const Visit &visit, Trainings &...trainings) {
  visit("optimizer", trainings.optimizer...);
  visit("lr", trainings.rate...);
  visit("schedule", trainings.schedule...);
  visit("warmup", trainings.warmup...);
  visit("steps", trainings.steps...);
  visit("final", trainings.final...);
  visit("beta1", trainings.beta1...);
  visit("beta2", trainings.beta2...);
  visit("epsilon", trainings.epsilon...);
  visit("momentum", trainings.momentum...);
  visit("decay", trainings.decay...);
  visit("clip", trainings.clip...);
  visit("seed", trainings.seed...);
}

/// Tells whether the setting has an effect together with the others.
bool matters(const Training &training, const std::string &name) {
  if (name == "steps" || name == "final")
    return training.schedule.value != dsl::ScheduleKind::Constant;
  if (name == "momentum")
    return !training.hasBetas();
  if (name == "beta1" || name == "beta2" || name == "epsilon")
    return training.hasBetas();
  return true;
}

std::string rateText(const Training &training) {
  std::string peak = fmt::format("{}", training.rate.value);
  const std::string warmup = training.warmupShare ? fmt::format("{} run", *training.warmupShare) : std::to_string(training.warmup.value);
  if (training.schedule.value == dsl::ScheduleKind::Constant)
    return warmup == "0" ? peak : fmt::format("constant(peak = {}, warmup = {})", peak, warmup);
  const std::string steps = training.endsWithRun ? "1 run" : std::to_string(training.steps.value);
  return fmt::format("{}(peak = {}, warmup = {}, steps = {}, final = {})",
                     training.schedule.value == dsl::ScheduleKind::Linear ? "linear" : "cosine", peak, warmup, steps, training.final.value);
}

bool isVector(const dsl::Parameter &parameter) { return parameter.storedRank.size() < 2; }

/// Replaces the parts that are numbers by `*`, so that the pattern covers the same parameter of all blocks.
std::string inAnyBlock(const std::string &path) {
  std::string pattern;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    bool isNumber = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    pattern += (begin > 0 ? "." : "") + (isNumber ? "*" : part);
    begin = end + 1;
  }
  return pattern;
}

/// The last part of a path, after any prefix: "*.bias".
std::string byLastPart(const std::string &path) {
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : "*" + path.substr(dot);
}

} // namespace

std::vector<std::string> Training::settingsFrom(Origin origin) const {
  std::vector<std::string> names;
  visitSettings(
      [&](const char *name, const auto &setting) {
        if (setting.origin == origin && matters(*this, name))
          names.emplace_back(name);
      },
      *this);
  return names;
}

Training trainingOf(const dsl::Program &program, const Training *read) {
  const dsl::Train &train = program.train;
  const dsl::Optimizer &optimizer = train.optimizer();
  const dsl::LearningRate &rate = optimizer.rate;
  Training training;
  training.optimizer.value = optimizer.name;
  training.rate.value = rate.peak, training.schedule.value = rate.kind, training.final.value = rate.final;
  // `--as` refuses lengths in epochs.
  training.warmup.value = static_cast<int64_t>(rate.warmup.count), training.steps.value = static_cast<int64_t>(rate.steps.count);
  training.beta1.value = optimizer.number("betas", 0), training.beta2.value = optimizer.number("betas", 1);
  training.epsilon.value = optimizer.number("epsilon"), training.momentum.value = optimizer.number("momentum");
  training.decay.value = optimizer.number("decay");
  training.clip.value = train.clip.value_or(0), training.seed.value = train.seed;
  for (size_t i = 0; i < train.parameters.size(); ++i)
    if (isVector(program.model.parameters[i]) && train.parameters[i].decay == 0)
      training.decaysVectors = false;
  visitSettings([](const char *, auto &setting) { setting.origin = Origin::File; }, training);
  if (read)
    visitSettings(
        [](const char *, auto &setting, const auto &before) {
          if (setting.value == before.value)
            setting.origin = before.origin;
        },
        training, *read);
  return training;
}

bool decaysUnevenly(const dsl::Program &program) {
  const dsl::Train &train = program.train;
  bool leavesVectors = !trainingOf(program).decaysVectors;
  for (size_t i = 0; i < train.parameters.size(); ++i)
    if (train.parameters[i].decay && !(leavesVectors && isVector(program.model.parameters[i]) && train.parameters[i].decay == 0))
      return true;
  return leavesVectors && std::any_of(train.parameters.begin(), train.parameters.end(), [&](const dsl::ParameterTraining &one) {
           return !one.decay && isVector(program.model.parameters[static_cast<size_t>(&one - train.parameters.data())]);
         });
}

std::vector<std::string> vectorPatterns(const dsl::Model &model) {
  std::vector<std::string> patterns;
  for (const dsl::Parameter &vector : model.parameters) {
    if (!isVector(vector) ||
        std::any_of(patterns.begin(), patterns.end(), [&](const std::string &pattern) { return dsl::matchesName(pattern, vector.path); }))
      continue;
    for (const std::string &pattern : {byLastPart(vector.path), inAnyBlock(vector.path), vector.path})
      if (std::none_of(model.parameters.begin(), model.parameters.end(),
                       [&](const dsl::Parameter &other) { return !isVector(other) && dsl::matchesName(pattern, other.path); })) {
        patterns.push_back(pattern);
        break;
      }
  }
  return patterns;
}

std::string trainingLines(const Training &training, const ForeignProgram &program, const std::vector<std::string> &vectors) {
  std::string text = fmt::format("    optimizer {}(lr = {}", training.optimizer.value, rateText(training));
  text += training.hasBetas()
              ? fmt::format(", betas = ({}, {}), epsilon = {}", training.beta1.value, training.beta2.value, training.epsilon.value)
              : fmt::format(", momentum = {}", training.momentum.value);
  text += fmt::format(", decay = {})\n", training.decay.value);
  if (!training.decaysVectors && training.decay.value != 0 && !vectors.empty())
    text += fmt::format("    for \"{}\" {{ decay 0 }}\n", fmt::join(vectors, "\", \""));
  if (training.clip.value > 0)
    text += fmt::format("    clip {}\n", training.clip.value);
  text += fmt::format("    seed {}\n", training.seed.value);
  if (std::vector<std::string> names = training.settingsFrom(Origin::Program); !names.empty())
    text += fmt::format("    # defaults of {}: {}\n", program.name(), fmt::join(names, ", "));
  if (std::vector<std::string> names = training.settingsFrom(Origin::Npar); !names.empty())
    text += fmt::format("    # chosen by npar, because the file does not state them: {}\n", fmt::join(names, ", "));
  if (std::vector<std::string> names = training.settingsFrom(Origin::Instead); !names.empty())
    text += fmt::format("    # npar's, in place of what the file states: {}\n", fmt::join(names, ", "));
  return text;
}

} // namespace npar::foreign
