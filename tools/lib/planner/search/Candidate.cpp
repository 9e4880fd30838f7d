// Names a candidate and writes it as text.
#include "tools/lib/planner/search/Candidate.h"

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

/// Tensor parallelism over an own axis, and over the usual ones where an operation lacks it.
verify::PlanFeature splitOf(const OwnAxis &own, int64_t size) {
  verify::PlanFeature feature;
  feature.name = feature.kind = "tensor", feature.mesh = {{"tp", {size}}};
  std::string axes = own.name;
  for (const std::string &other : own.others)
    axes += ", " + other + (other == "vocab" ? " pad" : "");
  feature.rules = {{verify::RulePlace::Tensor, axes + " -> tp"}};
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
static bool hasOwnChunks(const schedules::ScheduleKind *kind) { return !kind || !kind->anyChunks || kind->keepsCap; }

const char *wordOf(Context context) {
  switch (context) {
  case Context::None:
    return "none";
  case Context::Zigzag:
    return "zigzag";
  case Context::Ring:
    return "ring";
  case Context::Gather:
    return "gather";
  case Context::Ulysses:
    return "ulysses";
  }
  return "";
}

std::string wordOf(const Split &split) {
  switch (split.kind) {
  case SplitKind::All:
    return "all";
  case SplitKind::Blocks:
    return "blocks";
  case SplitKind::FeedForward:
    return "feedforward";
  case SplitKind::Attention:
    return "attention";
  case SplitKind::Vocabulary:
    return "vocabulary";
  case SplitKind::OwnAxis:
    return split.axis;
  }
  return "";
}

const char *wordOf(PlaceOrder order) {
  switch (order) {
  case PlaceOrder::Mesh:
    return "dp,pp";
  case PlaceOrder::StagesApart:
    return "pp,dp";
  case PlaceOrder::TensorApart:
    return "tp,dp,pp";
  }
  return "";
}

std::string wordOf(const RecomputedBlocks &recompute) {
  switch (recompute.kind) {
  case dsl::RecomputeKind::None:
    return "none";
  case dsl::RecomputeKind::Attention:
    return "attention";
  case dsl::RecomputeKind::Block:
    return "block";
  case dsl::RecomputeKind::Every:
    return fmt::format("every {}", recompute.every);
  case dsl::RecomputeKind::Layers:
    return "layers";
  }
  return "";
}

std::string bucketWord(int64_t bytes) {
  return bytes == 0 ? "none" : bytes % 1'000'000 == 0 ? fmt::format("{} MB", bytes / 1'000'000) : fmt::format("{} B", bytes);
}

std::string scheduleWord(const Candidate &c) { return c.schedule ? c.schedule->name : "none"; }

const char *splitFeature(SplitKind split) {
  switch (split) {
  case SplitKind::All:
    return "tp";
  case SplitKind::Blocks:
    return "tp_blocks";
  case SplitKind::FeedForward:
    return "tp_feedforward";
  case SplitKind::Attention:
    return "tp_attention";
  case SplitKind::Vocabulary:
    return "tp_vocabulary";
  case SplitKind::OwnAxis:
    return nullptr;
  }
  return nullptr;
}

Choices choicesOf(const Candidate &c) {
  return {{"mesh.dp", std::to_string(c.dp)},    {"mesh.pp", std::to_string(c.pp)},
          {"mesh.cp", std::to_string(c.cp)},    {"mesh.tp", std::to_string(c.tp)},
          {"micro", std::to_string(c.micro)},   {"schedule", scheduleWord(c)},
          {"chunks", std::to_string(c.chunks)}, {"live", c.live ? std::to_string(c.live) : "none"},
          {"context", wordOf(c.context)},       {"recompute", wordOf(c.recompute)},
          {"zero", std::to_string(c.zero)},     {"sequence", c.sequence ? "true" : "false"},
          {"split", wordOf(c.split)},           {"place", wordOf(c.place)},
          {"bucket", bucketWord(c.bucket)}};
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
    return scheduleWord(c) + (hasOwnChunks(c.schedule) ? "" : fmt::format("({})", c.chunks)) +
           (c.live ? fmt::format(" live {}", c.live) : "");
  case Setting::Context:
    return c.context == Context::Zigzag ? "ring(zigzag)" : wordOf(c.context);
  case Setting::Recompute:
    return c.recomputes() ? "recompute " + wordOf(c.recompute) : "no recomputation";
  case Setting::Zero:
    return c.zero ? fmt::format("zero {}", c.zero) : "no ZeRO";
  case Setting::Sequence:
    return c.sequence ? "sequence parallelism" : "no sequence parallelism";
  case Setting::Split:
    return c.split.kind == SplitKind::All          ? "all split by tensor parallelism"
           : c.split.kind == SplitKind::Blocks     ? "the vocabulary whole"
           : c.split.kind == SplitKind::Vocabulary ? "the vocabulary alone split, the blocks' batch"
           : c.split.kind == SplitKind::OwnAxis    ? fmt::format("axis {} split first", c.split.axis)
                                                   : fmt::format("of the blocks {} alone split, else the batch", wordOf(c.split));
  case Setting::Place:
    return c.place == PlaceOrder::Mesh          ? "the order of the mesh"
           : c.place == PlaceOrder::TensorApart ? "tensor parallelism across hosts"
                                                : "data parallelism inside a host";
  case Setting::Bucket:
    return c.bucket == 0 ? "no bucket" : "bucket " + bucketWord(c.bucket);
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
  if (c.split != Split())
    text += fmt::format(", split {}", wordOf(c.split));
  if (c.zero)
    text += fmt::format(", zero {}", c.zero);
  if (c.recomputes())
    text += ", recompute " + wordOf(c.recompute);
  if (c.place != PlaceOrder::Mesh)
    text += fmt::format(", place {}", wordOf(c.place));
  return text + (c.bucket == 0 ? "" : ", bucket " + bucketWord(c.bucket));
}

int64_t PlanTask::ranks() const { return dsl::placesOf(machine, hosts); }

const OwnAxis *PlanTask::ownAxis(const std::string &name) const {
  auto found = std::find_if(ownAxes.begin(), ownAxes.end(), [&](const OwnAxis &own) { return own.name == name; });
  return found == ownAxes.end() ? nullptr : &*found;
}

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
  if (c.place == PlaceOrder::TensorApart)
    line("place", fmt::format("place tp{}{}{}", c.dp > 1 ? ", dp" : "", c.pp > 1 ? ", pp" : "", c.cp > 1 ? ", cp" : ""));
  else if (c.place != PlaceOrder::Mesh)
    line("place", "place pp, dp" + (inside.empty() ? "" : " inside " + inside));
  if (c.dp > 1)
    take(sized("dp", "dp", c.dp));
  if (c.pp > 1) {
    verify::PlanFeature schedule = sized(c.schedule->name, "pp", c.pp);
    schedule.schedule = wordsOf(c, Setting::Schedule);
    take(schedule);
  }
  if (c.cp > 1) {
    verify::PlanFeature context = sized(c.context == Context::Zigzag ? "ring_zigzag" : wordOf(c.context), "cp", c.cp);
    for (verify::FeatureRule &rule : context.rules)
      if (size_t at = rule.text.find("-> sp"); at != std::string::npos)
        rule.text.replace(at, 5, "-> cp");
    take(context);
  }
  if (const OwnAxis *own = task.ownAxis(c.split.axis); own && c.tp > 1)
    take(splitOf(*own, c.tp));
  else if (c.tp > 1)
    take(sized(splitFeature(c.split.kind), "tp", c.tp));
  if (c.sequence)
    chosen.push_back(verify::findFeature("sequence"));
  if (c.zero)
    chosen.push_back(verify::findFeature(c.zero == 1 ? "zero1" : c.zero == 2 ? "zero2" : "zero3"));
  if (c.recomputes())
    line("recompute", "recompute " + wordOf(c.recompute));
  if (c.bucket != 0)
    line("bucket", "bucket " + bucketWord(c.bucket));
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
