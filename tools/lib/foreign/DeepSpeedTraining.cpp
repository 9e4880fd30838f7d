// Reads and writes DeepSpeed's optimizer, learning rate and clipping. Defaults come from deepspeed/ops/adam/fused_adam.py,
// deepspeed/runtime/engine.py (_configure_basic_optimizer) and deepspeed/runtime/lr_schedules.py.
#include "tools/lib/foreign/DeepSpeed.h"

#include "engine/json/Json.h"

#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// Sets two numbers from a list, whose words are "0.9 0.95".
void readBetas(Reading &in, const ForeignEntry *entry) {
  if (!entry)
    return;
  size_t space = entry->value.find(' ');
  if (space == std::string::npos || entry->value.find(' ', space + 1) != std::string::npos)
    return in.error(*entry, fmt::format("'{}' must be a list of two numbers, not '{}'", entry->key, entry->value.substr(0, 60)));
  ForeignEntry first = *entry, second = *entry;
  first.value = entry->value.substr(0, space), second.value = entry->value.substr(space + 1);
  in.run.training.beta1 = in.numberSetting(&first, 0), in.run.training.beta2 = in.numberSetting(&second, 0);
}

/// Sets the optimizer of npar's that is, or is nearest to, one of the file. False if DeepSpeed's defaults for it are not known here.
bool chooseOptimizer(Reading &in, const ForeignEntry &type, const ForeignEntry *mode, const std::string &prefix) {
  Training &training = in.run.training;
  const std::string name = lowerCase(type.value);
  training.beta1 = {0.9, Origin::Program}, training.beta2 = {0.999, Origin::Program};
  training.epsilon = {1e-8, name == "lion" ? Origin::Npar : Origin::Program}; // Lion has none
  if (name == "adamw" || name == "fusedadam")
    training.optimizer = {"AdamW", Origin::File};
  else if (name == "adam") // it decays as AdamW does, unless the file says otherwise
    training.optimizer = {!mode || in.isTrue(mode) ? "AdamW" : "Adam", Origin::File};
  else if (name == "sgd")
    training.optimizer = {"Sgd", Origin::File};
  else
    training.optimizer.origin = Origin::Instead;
  if (training.optimizer.origin == Origin::File)
    return true;
  in.keepSection(prefix + "optimizer."), in.leave(&type, "npar trains with AdamW, with the numbers that the file gives");
  for (const char *near : {"lamb", "lion", "onebitadam", "onebitlamb", "zerooneadam"})
    if (name == near)
      return true;
  training.beta1 = training.beta2 = training.epsilon = {};
  training.beta1.value = 0.9, training.beta2.value = 0.999, training.epsilon.value = 1e-8;
  return false;
}

void readDeepSpeedOptimizer(Reading &in, const std::string &prefix) {
  Training &training = in.run.training;
  auto given = [&](const char *key, const std::string &otherwise = "") {
    return givenToDeepSpeed(in, prefix + "optimizer." + key, otherwise);
  };
  const ForeignEntry *type = given("type"), *mode = given("params.adam_w_mode", "true"), *torch = given("params.torch_adam", "false");
  if (!type) // the training script passes an optimizer of its own
    return;
  bool isKnown = chooseOptimizer(in, *type, mode, prefix), isTorch = in.isTrue(torch) && training.optimizer.value == "AdamW";
  auto number = [&](Setting<double> &setting, const char *key, double otherwise) {
    const ForeignEntry *entry = given(key, isKnown ? fmt::format("{}", otherwise) : "");
    if (entry || isKnown)
      setting = in.numberSetting(entry, otherwise);
  };
  number(training.rate, "params.lr", 1e-3);
  readBetas(in, given("params.betas", isKnown ? "0.9 0.999" : ""));
  if (training.epsilon.origin == Origin::Program)
    number(training.epsilon, "params.eps", 1e-8);
  number(training.momentum, "params.momentum", 0);
  number(training.decay, "params.weight_decay", isTorch ? 0.01 : 0);
}

void readDeepSpeedSchedule(Reading &in, const std::string &prefix) {
  Training &training = in.run.training;
  auto given = [&](const char *key, const std::string &otherwise = "") {
    return givenToDeepSpeed(in, prefix + "scheduler." + key, otherwise);
  };
  const ForeignEntry *type = given("type");
  if (!type) { // without one the training script may change the rate
    training.warmup = {0, Origin::Npar};
    return;
  }
  std::string name = type->value;
  bool isDecay = name == "WarmupDecayLR", isCosine = name == "WarmupCosineLR";
  if (name != "WarmupLR" && !isDecay && !isCosine) {
    training.warmup = {0, Origin::Instead}, training.schedule.origin = Origin::Instead;
    return in.keepSection(prefix + "scheduler."), in.leave(type, "npar has no such schedule: the learning rate stays at its peak");
  }
  const char *peakKey = "params.warmup_max_lr";
  bool isOpen = in.peek(prefix + "scheduler." + peakKey); // "auto": the caller's, usually the optimizer's
  const ForeignEntry *most = given(peakKey, "that of the optimizer"),
                     *least = given(isCosine ? "params.warmup_min_ratio" : "params.warmup_min_lr", "0"),
                     *total = given("params.total_num_steps"), *how = given("params.warmup_type", "linear");
  training.warmup = in.wholeSetting(given("params.warmup_num_steps", "1000"), 1000, 1);
  if (least && in.number(least, 0) != 0)
    in.leave(least, "the warm-up begins at 0");
  if (in.word(how, "log") != "linear") {
    if (how)
      in.leave(how, "the warm-up is linear");
    else
      in.leave(type, "its warm-up is logarithmic by default, npar's is linear");
    training.warmup.origin = Origin::Instead;
    in.keepSection(prefix + "scheduler.");
  }
  if (most && !isCosine)
    training.rate = in.numberSetting(most, 0);
  else if (isDecay && !isOpen) {
    training.rate = {1e-3, Origin::Program};
    in.leave(in.peek(prefix + "optimizer.params.lr"), "the peak is 0.001, the default of WarmupDecayLR");
  }
  if (!isDecay && !isCosine) {
    training.schedule.origin = Origin::File;
    return;
  }
  if (!total) {
    training.schedule.origin = Origin::Instead;
    return in.keepSection(prefix + "scheduler."), in.leave(type, "without total_num_steps the learning rate stays at its peak");
  }
  training.schedule = {isCosine ? dsl::ScheduleKind::Cosine : dsl::ScheduleKind::Linear, Origin::File};
  training.steps = in.wholeSetting(total, 0, 1);
  if (isCosine) {
    Setting<double> ratio = in.numberSetting(given("params.cos_min_ratio", "0.0001"), 1e-4);
    training.final = {ratio.value * training.rate.value, ratio.origin};
  } else { // it ends where its warm-up began
    training.final = in.numberSetting(least, 0);
  }
  if (training.warmup.value >= training.steps.value)
    in.error(*total, fmt::format("a warm-up of {} steps is not shorter than the {} steps of the schedule", training.warmup.value,
                                 training.steps.value));
}

} // namespace

void readDeepSpeedTraining(Reading &in, const std::string &prefix) {
  in.run.training.clip = in.numberSetting(givenToDeepSpeed(in, prefix + "gradient_clipping", "1"), 1);
  readDeepSpeedOptimizer(in, prefix);
  readDeepSpeedSchedule(in, prefix);
}

void addDeepSpeedTraining(OrderedJson &json, const ForeignRun &run, const dsl::Location &at, dsl::Diagnostics &diagnostics) {
  const Training &training = run.training;
  if (run.writes(training.clip.origin))
    json["gradient_clipping"] = training.clip.value;
  if (run.writes(training.optimizer.origin)) {
    OrderedJson params = OrderedJson::object();
    auto add = [&](const char *key, const auto &setting) {
      if (run.writes(setting.origin))
        params[key] = setting.value;
    };
    add("lr", training.rate);
    if (training.hasBetas()) {
      if (run.writes(training.beta1.origin) || run.writes(training.beta2.origin))
        params["betas"] = {training.beta1.value, training.beta2.value};
      add("eps", training.epsilon);
      if (training.optimizer.value == "Adam")
        params["adam_w_mode"] = false;
    } else {
      add("momentum", training.momentum);
    }
    add("weight_decay", training.decay);
    json["optimizer"] = {{"type", training.hasBetas() ? training.optimizer.value == "Adam" ? "Adam" : "AdamW" : "SGD"}, {"params", params}};
  }
  if (!run.writes(training.schedule.origin) || !run.writes(training.warmup.origin))
    return;
  bool isConstant = training.schedule.value == dsl::ScheduleKind::Constant, isCosine = training.schedule.value == dsl::ScheduleKind::Cosine;
  if (isConstant && training.warmup.value == 0)
    return;
  bool isLinear = !isConstant && !isCosine;
  if (training.warmup.value < 2) {
    diagnostics.warning(at, "the schedule of the learning rate is not written: DeepSpeed's have a warm-up of at least two steps");
    return;
  }
  if (isLinear && training.final.value != 0 && run.readFrom != run.program)
    diagnostics.warning(
        at, fmt::format("the warm-up of DeepSpeed's linear schedule begins at its final learning rate {}, not at 0", training.final.value));
  OrderedJson params = {{"warmup_num_steps", training.warmup.value}, {"warmup_type", "linear"}};
  if (!isCosine && run.writes(training.rate.origin))
    params["warmup_min_lr"] = 0, params["warmup_max_lr"] = training.rate.value;
  if (isLinear && run.writes(training.final.origin))
    params["warmup_min_lr"] = training.final.value;
  if (!isConstant)
    params["total_num_steps"] = training.steps.value;
  if (isCosine && run.writes(training.final.origin))
    params["cos_min_ratio"] = training.rate.value > 0 ? training.final.value / training.rate.value : 0;
  json["scheduler"] = {{"type", isConstant ? "WarmupLR" : isCosine ? "WarmupCosineLR" : "WarmupDecayLR"}, {"params", params}};
}

} // namespace npar::foreign
