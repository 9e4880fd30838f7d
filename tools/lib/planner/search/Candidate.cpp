// Names a candidate and writes it as text.
#include "tools/lib/planner/search/Candidate.h"

#include "compiler/schedules/Schedule.h"
#include "dsl/machine/Hosts.h"

#include "tools/lib/verify/PlanDraft.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::planner {

using verify::PlanDraft;

namespace {

/// A copy of a feature of the table with the sizes of the candidate.
verify::PlanFeature sized(const char *name, const char *axis, int64_t size) {
  verify::PlanFeature feature = *verify::findFeature(name);
  feature.mesh = {{axis, {size}}};
  feature.microShares = 1; // its micro-batch goes into its own shares
  return feature;
}

std::string number(double value) { return fmt::format("{}", value); }

std::string trainText(const PlanTask &task) {
  const dsl::Train &train = task.train;
  const dsl::LearningRate &rate = train.optimizer().rate;
  std::string lr =
      rate.kind == dsl::ScheduleKind::Constant
          ? fmt::format("constant(peak = {}, warmup = {})", number(rate.peak), rate.warmup)
          : fmt::format("{}(peak = {}, warmup = {}, steps = {}, final = {})", rate.kind == dsl::ScheduleKind::Linear ? "linear" : "cosine",
                        number(rate.peak), rate.warmup, rate.steps, number(rate.final));
  std::string optimizer = fmt::format("{}(lr = {}", train.optimizer().name, lr);
  for (const dsl::OptimizerArgument &argument : train.optimizer().arguments)
    optimizer += fmt::format(", {} = {}", argument.name, argument.text);
  optimizer += ")";
  std::string rules;
  for (const std::string &rule : task.rules)
    rules += "    " + rule + "\n";
  return fmt::format("train planned for {} {{\n    batch {}\n    optimizer {}\n    clip {}\n    seed {}\n{}}}\n", task.names.name,
                     task.batch, optimizer, train.clip ? number(*train.clip) : "none", train.seed, rules);
}

} // namespace

/// Tells whether the schedule's name is enough: a plan writes no number of chunks after it.
static bool hasOwnChunks(const std::string &schedule) {
  const schedules::ScheduleKind *kind = schedules::findSchedule(schedule);
  return !kind || !kind->anyChunks || kind->keepsCap;
}

const char *splitFeature(const std::string &split) {
  return split == "blocks"        ? "tp_blocks"
         : split == "vocabulary"  ? "tp_vocabulary"
         : split == "feedforward" ? "tp_feedforward"
         : split == "attention"   ? "tp_attention"
                                  : "tp";
}

bool splitsBackward(const Candidate &c) {
  const schedules::ScheduleKind *kind = schedules::findSchedule(c.schedule);
  return kind && kind->splitsBackward;
}

Choices choicesOf(const Candidate &c) {
  return {{"mesh.dp", std::to_string(c.dp)},
          {"mesh.pp", std::to_string(c.pp)},
          {"mesh.cp", std::to_string(c.cp)},
          {"mesh.tp", std::to_string(c.tp)},
          {"micro", std::to_string(c.micro)},
          {"schedule", c.schedule},
          {"chunks", std::to_string(c.chunks)},
          {"live", c.live ? std::to_string(c.live) : "none"},
          {"context", c.context},
          {"recompute", c.recompute},
          {"zero", std::to_string(c.zero)},
          {"sequence", c.sequence ? "true" : "false"},
          {"split", c.split},
          {"place", c.place},
          {"bucket", c.bucket}};
}

bool isSameValue(const std::string &a, const std::string &b) {
  auto withoutSpaces = [](std::string text) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    return text;
  };
  return withoutSpaces(a) == withoutSpaces(b);
}

std::vector<std::string> keysOf(Setting setting) {
  switch (setting) {
  case Setting::Mesh:
    return {"mesh.dp", "mesh.pp", "mesh.cp", "mesh.tp"};
  case Setting::Micro:
    return {"micro"};
  case Setting::Schedule:
    return {"schedule", "chunks", "live"};
  case Setting::Context:
    return {"context"};
  case Setting::Recompute:
    return {"recompute"};
  case Setting::Zero:
    return {"zero"};
  case Setting::Sequence:
    return {"sequence"};
  case Setting::Split:
    return {"split"};
  case Setting::Place:
    return {"place"};
  case Setting::Bucket:
    return {"bucket"};
  }
  return {};
}

std::string wordsOf(const Candidate &c, Setting setting) {
  switch (setting) {
  case Setting::Mesh:
    return fmt::format("dp = {}, pp = {}, {}tp = {}", c.dp, c.pp, c.cp > 1 ? fmt::format("cp = {}, ", c.cp) : "", c.tp);
  case Setting::Micro:
    return fmt::format("micro {}", c.micro);
  case Setting::Schedule:
    return c.schedule + (hasOwnChunks(c.schedule) ? "" : fmt::format("({})", c.chunks)) + (c.live ? fmt::format(" live {}", c.live) : "");
  case Setting::Context:
    return c.context == "zigzag" ? "ring(zigzag)" : c.context;
  case Setting::Recompute:
    return c.recomputes() ? "recompute " + c.recompute : "no recomputation";
  case Setting::Zero:
    return c.zero ? fmt::format("zero {}", c.zero) : "no ZeRO";
  case Setting::Sequence:
    return c.sequence ? "sequence parallelism" : "no sequence parallelism";
  case Setting::Split:
    return c.split == "all"          ? "all split by tensor parallelism"
           : c.split == "blocks"     ? "the vocabulary whole"
           : c.split == "vocabulary" ? "the vocabulary alone split, the blocks' batch"
                                     : fmt::format("of the blocks {} alone split, else the batch", c.split);
  case Setting::Place:
    return c.place == "dp,pp"      ? "the order of the mesh"
           : c.place == "tp,dp,pp" ? "tensor parallelism across hosts"
                                   : "data parallelism inside a host";
  case Setting::Bucket:
    return c.bucket == "none" ? "no bucket" : "bucket " + c.bucket;
  }
  return "";
}

bool same(const Candidate &a, const Candidate &b, Setting setting) {
  switch (setting) {
  case Setting::Mesh:
    return a.dp == b.dp && a.pp == b.pp && a.cp == b.cp && a.tp == b.tp;
  case Setting::Micro:
    return a.micro == b.micro;
  case Setting::Schedule: // if only one of them has a single stage, the mesh differs; the same holds below
    return (a.schedule == b.schedule && a.chunks == b.chunks && a.live == b.live) || (a.pp == 1) != (b.pp == 1);
  case Setting::Context:
    return a.context == b.context || (a.cp == 1) != (b.cp == 1);
  case Setting::Recompute:
    return a.recompute == b.recompute;
  case Setting::Zero:
    return a.zero == b.zero || (a.dp == 1) != (b.dp == 1);
  case Setting::Sequence:
    return a.sequence == b.sequence || (a.tp == 1) != (b.tp == 1);
  case Setting::Split:
    return a.split == b.split || (a.tp == 1) != (b.tp == 1);
  case Setting::Place:
    return a.place == b.place || !same(a, b, Setting::Mesh);
  case Setting::Bucket:
    return a.bucket == b.bucket || (a.dp * a.cp == 1) != (b.dp * b.cp == 1);
  }
  return false;
}

int distance(const Candidate &a, const Candidate &b) {
  int differing = 0;
  for (int setting = 0; setting < settingCount; ++setting)
    differing += !same(a, b, static_cast<Setting>(setting));
  return differing;
}

double meshSteps(const Candidate &a, const Candidate &b) {
  double steps = 0;
  for (int64_t Candidate::*size : {&Candidate::dp, &Candidate::pp, &Candidate::cp, &Candidate::tp})
    steps += std::abs(std::log2(static_cast<double>(a.*size) / static_cast<double>(b.*size)));
  return steps;
}

std::string nameOf(const Candidate &c) {
  std::string text = wordsOf(c, Setting::Mesh) + ", " + wordsOf(c, Setting::Micro);
  if (c.pp > 1)
    text += ", " + wordsOf(c, Setting::Schedule);
  if (c.cp > 1)
    text += ", " + wordsOf(c, Setting::Context);
  if (c.sequence)
    text += ", sequence";
  if (c.split != "all")
    text += ", split " + c.split;
  if (c.zero)
    text += fmt::format(", zero {}", c.zero);
  if (c.recomputes())
    text += ", recompute " + c.recompute;
  if (c.place != "dp,pp")
    text += ", place " + c.place;
  return text + (c.bucket == "none" ? "" : ", bucket " + c.bucket);
}

int64_t PlanTask::ranks() const { return dsl::placesOf(machine, hosts); }

std::string textOf(const PlanTask &task, const Candidate &c) {
  std::vector<verify::PlanFeature> own;
  own.reserve(16); // pointers into it are kept
  std::vector<const verify::PlanFeature *> chosen;
  auto take = [&](verify::PlanFeature feature) {
    own.push_back(std::move(feature));
    chosen.push_back(&own.back());
  };
  auto line = [&](const char *kind, const std::string &text) {
    verify::PlanFeature feature;
    feature.name = feature.kind = kind, feature.lines = {text};
    take(feature);
  };
  std::string inside = fmt::format("{}{}{}", c.cp > 1 ? "cp" : "", c.cp > 1 && c.tp > 1 ? ", " : "", c.tp > 1 ? "tp" : "");
  if (c.place == "tp,dp,pp")
    line("place", fmt::format("place tp{}{}{}", c.dp > 1 ? ", dp" : "", c.pp > 1 ? ", pp" : "", c.cp > 1 ? ", cp" : ""));
  else if (c.place != "dp,pp")
    line("place", "place pp, dp" + (inside.empty() ? "" : " inside " + inside));
  if (c.dp > 1)
    take(sized("dp", "dp", c.dp));
  if (c.pp > 1) {
    verify::PlanFeature schedule = sized(c.schedule.c_str(), "pp", c.pp);
    schedule.schedule = wordsOf(c, Setting::Schedule);
    take(schedule);
  }
  if (c.cp > 1) {
    verify::PlanFeature context = sized(c.context == "zigzag" ? "ring_zigzag" : c.context.c_str(), "cp", c.cp);
    for (verify::FeatureRule &rule : context.rules)
      if (size_t at = rule.text.find("-> sp"); at != std::string::npos)
        rule.text.replace(at, 5, "-> cp");
    take(context);
  }
  if (c.tp > 1)
    take(sized(splitFeature(c.split), "tp", c.tp));
  if (c.sequence)
    chosen.push_back(verify::findFeature("sequence"));
  if (c.zero)
    chosen.push_back(verify::findFeature(c.zero == 1 ? "zero1" : c.zero == 2 ? "zero2" : "zero3"));
  if (c.recomputes())
    line("recompute", "recompute " + c.recompute);
  if (c.bucket != "none")
    line("bucket", "bucket " + c.bucket);
  line("compute", "compute " + task.compute + (task.gradients.empty() ? "" : ", gradients " + task.gradients) +
                      (task.reduce.empty() ? "" : ", reduce " + task.reduce));
  verify::DraftChoice choice;
  choice.micro = c.micro;
  std::optional<verify::PlanDraft> draft = verify::draftPlan(task.names, chosen, "planned", choice);
  std::string text = fmt::format("import \"{}\"\n\n", task.importAs), constants;
  if (!task.options.config)
    for (const std::string &setting : task.options.settings)
      if (auto pair = models::settingOf(setting))
        constants += fmt::format("{}{} = {}", constants.empty() ? "" : ", ", pair->first, pair->second);
  if (!constants.empty())
    text += fmt::format("config \"planned\" for {}({})\n\n", task.names.name, constants);
  return text + (draft ? draft->text : "") + "\n" + trainText(task);
}

} // namespace npar::planner
