// Reads and writes torchtitan's optimizer, learning rate, clipping and seed. Defaults come from torchtitan/config/job_config.py, the
// learning rate from torchtitan/components/lr_scheduler.py.
#include "tools/lib/foreign/Torchtitan.h"

#include <algorithm>
#include <cmath>

namespace npar::foreign {
namespace {

/// The shortest decimal number whose product with `whole` is exactly `part`, or else the nearest double.
double quotient(double part, double whole) {
  double exact = part / whole;
  for (int digits = 1; digits <= 17; ++digits)
    if (double shorter = std::stod(fmt::format("{:.{}g}", exact, digits)); shorter * whole == part)
      return shorter;
  return exact;
}

void readTorchtitanRate(Reading &in) {
  Training &training = in.run.training;
  const ForeignEntry *warmup = in.findAny({"lr_scheduler.warmup_steps", "training.warmup_steps"}),
                     *total = in.find("lr_scheduler.total_steps"), *steps = in.find("training.steps"),
                     *ratio = in.find("lr_scheduler.decay_ratio"), *type = in.find("lr_scheduler.decay_type"),
                     *least = in.findAny({"lr_scheduler.min_lr_factor", "lr_scheduler.lr_min"});
  training.rate = in.numberSetting(in.find("optimizer.lr"), 8e-4);
  training.warmup = in.wholeSetting(warmup, 200);
  training.steps = in.wholeSetting(total ? total : steps, 10000, 1);
  in.run.request.maxSteps = in.whole(steps, 10000, 1, Reading::mostSize);
  Setting<double> factor = in.numberSetting(least, 0);
  training.final = {factor.value * training.rate.value, factor.origin};
  std::string how = in.word(type, "linear");
  training.schedule = {how == "cosine" ? dsl::ScheduleKind::Cosine : dsl::ScheduleKind::Linear, type ? Origin::File : Origin::Program};
  if (training.warmup.value > training.steps.value) { // torchtitan shortens it too
    in.run.assumed.push_back(
        fmt::format("the warm-up of {} steps ends with the {} steps of the run", training.warmup.value, training.steps.value));
    training.warmup.value = training.steps.value;
    in.keep(warmup);
  }
  in.keep(total ? total : steps), in.keep(ratio);
  int64_t after = training.steps.value - training.warmup.value, decaying = after;
  if (ratio)
    decaying = std::min<int64_t>(after, std::llround(in.number(ratio, 0, 1) * static_cast<double>(training.steps.value)));
  if (decaying == 0) {
    training.schedule = {dsl::ScheduleKind::Constant, ratio ? Origin::File : Origin::Program};
    in.keep(type), in.keep(least);
  } else if (decaying < after) {
    in.leave(ratio, "the learning rate of npar falls from the end of the warm-up, not later: it stays at its peak");
    in.keep(type), in.keep(least), in.keep(steps);
    training.schedule = {dsl::ScheduleKind::Constant, Origin::Instead};
  } else if (how != "linear" && how != "cosine") {
    in.leave(type, "npar has no such schedule: the learning rate stays at its peak");
    training.schedule = {dsl::ScheduleKind::Constant, Origin::Instead};
  }
}

/// Defaults come from torchtitan/config/job_config.py. Settings that matter to `npar train` alone are only looked at.
void readTorchtitanRequest(Reading &in) {
  using Every = Repetition::Every;
  RunRequest &request = in.run.request;
  auto count = [&](const char *key, int64_t otherwise) { return in.whole(in.peek(key), otherwise, 0, Reading::mostSize); };
  request.saving = Repetition(), request.evaluation = Repetition();
  const bool saves = in.isTrue(in.peek("checkpoint.enable")) || in.isTrue(in.peek("checkpoint.enable_checkpoint"));
  const int64_t saving = count("checkpoint.interval", 500), kept = count("checkpoint.keep_latest_k", 10);
  if (saves && in.word(in.peek("checkpoint.interval_type"), "steps") == "steps") {
    request.saving->every = Every::Steps, request.saving->steps = std::max<int64_t>(1, saving);
    request.output = in.word(in.peek("job.dump_folder"), "./outputs") + "/" + in.word(in.peek("checkpoint.folder"), "checkpoint");
    if (kept > 0)
      request.mostSaved = kept;
  }
  if (const int64_t evaluating = count("validation.freq", 10); in.isTrue(in.peek("validation.enable")) && evaluating > 0)
    request.evaluation->every = Every::Steps, request.evaluation->steps = evaluating;
}

} // namespace

void readTorchtitanTraining(Reading &in) {
  Training &training = in.run.training;
  const ForeignEntry *optimizer = in.find("optimizer.name");
  std::string name = in.word(optimizer, "AdamW");
  if (name == "AdamW" || name == "Adam")
    training.optimizer = {name, optimizer ? Origin::File : Origin::Program};
  else
    in.leave(optimizer, "npar trains with AdamW"), training.optimizer.origin = Origin::Instead;
  training.beta1 = in.numberSetting(in.find("optimizer.beta1"), 0.9);
  training.beta2 = in.numberSetting(in.find("optimizer.beta2"), 0.95);
  training.epsilon = in.numberSetting(in.find("optimizer.eps"), 1e-8);
  training.decay = in.numberSetting(in.find("optimizer.weight_decay"), 0.1);
  training.clip = in.numberSetting(in.find("training.max_norm"), 1);
  if (const ForeignEntry *seed = in.findAny({"training.seed", "debug.seed"}))
    training.seed = {static_cast<uint64_t>(in.whole(seed, 0, 0, Reading::mostSize)), Origin::File};
  readTorchtitanRate(in);
  readTorchtitanRequest(in);
}

void addTorchtitanOptimizer(Toml &toml, const ForeignRun &run) {
  const Training &training = run.training;
  auto add = [&](const char *key, const auto &setting) {
    if (run.writes(setting.origin))
      toml.add(key, setting.value);
  };
  toml.section("optimizer");
  add("name", training.optimizer);
  add("lr", training.rate);
  add("beta1", training.beta1);
  add("beta2", training.beta2);
  add("eps", training.epsilon);
  add("weight_decay", training.decay);
  toml.section("lr_scheduler");
  add("warmup_steps", training.warmup);
  if (!run.writes(training.schedule.origin))
    return;
  if (training.schedule.value == dsl::ScheduleKind::Constant) {
    toml.add("decay_ratio", 0.0);
    return;
  }
  toml.add("decay_type", std::string(training.schedule.value == dsl::ScheduleKind::Cosine ? "cosine" : "linear"));
  if (run.writes(training.final.origin))
    toml.add("min_lr_factor", training.rate.value > 0 ? quotient(training.final.value, training.rate.value) : 0.0);
}

} // namespace npar::foreign
