// Reads the Trainer's optimizer, learning rate, clipping and seed: transformers/training_args.py, trainer.py (get_optimizer_cls_and_kwargs,
// get_decay_parameter_names) and optimization.py (get_scheduler).
#include "tools/lib/foreign/huggingface/HuggingFace.h"

#include <cmath>
#include <fmt/format.h>
#include <set>

namespace npar::foreign {
namespace {

void readOptimizer(Reading &in) {
  static const std::set<std::string> adamW = {"adamw_hf",        "adamw_torch",           "adamw_torch_fused",
                                              "adamw_torch_xla", "adamw_torch_npu_fused", "adamw_apex_fused"};
  Training &training = in.run.training;
  const ForeignEntry *optimizer = in.find("optim"), *adafactor = in.find("adafactor");
  std::string word = in.word(optimizer, "adamw_torch");
  if (in.isTrue(adafactor))
    in.leave(adafactor, "npar trains with AdamW"), training.optimizer.origin = Origin::Instead;
  else if (adamW.count(word) || word == "sgd")
    training.optimizer = {word == "sgd" ? "Sgd" : "AdamW", optimizer ? Origin::File : Origin::Program};
  else
    in.leave(optimizer, "npar trains with AdamW"), training.optimizer.origin = Origin::Instead;
  training.rate = in.numberSetting(in.find("learning_rate"), 5e-5);
  training.beta1 = in.numberSetting(in.find("adam_beta1"), 0.9), training.beta2 = in.numberSetting(in.find("adam_beta2"), 0.999);
  training.epsilon = in.numberSetting(in.find("adam_epsilon"), 1e-8);
  training.momentum = {0, Origin::Program};
  training.decay = in.numberSetting(in.find("weight_decay"), 0);
  training.decaysVectors = false;
  training.clip = in.numberSetting(in.find("max_grad_norm"), 1);
  Setting<int64_t> seed = in.wholeSetting(in.find("seed"), 42);
  training.seed = {static_cast<uint64_t>(seed.value), seed.origin};
}

/// The schedule of npar's that is the one of a word; the learning rate it ends at. Nothing, with a remark, if npar has none.
std::optional<dsl::ScheduleKind> readKind(Reading &in, const ForeignEntry *kind, const std::string &word) {
  Training &training = in.run.training;
  auto inside = [&](const char *key) { return in.find(std::string("lr_scheduler_kwargs.") + key); };
  training.final = {0, Origin::Program};
  if (word == "constant" || word == "constant_with_warmup")
    return dsl::ScheduleKind::Constant;
  if (word == "linear")
    return dsl::ScheduleKind::Linear;
  if (word == "cosine" || word == "cosine_with_restarts") {
    const ForeignEntry *cycles = inside("num_cycles");
    const double whole = word == "cosine" ? 0.5 : 1;
    if (cycles && in.number(cycles, whole) != whole)
      in.leave(cycles, "the learning rate falls once, to 0");
    return dsl::ScheduleKind::Cosine;
  }
  if (word == "polynomial") {
    const ForeignEntry *power = inside("power");
    training.final = in.numberSetting(inside("lr_end"), 1e-7);
    if (power && in.number(power, 1) != 1)
      in.leave(power, "the learning rate falls in a straight line");
    return dsl::ScheduleKind::Linear;
  }
  if (word == "cosine_with_min_lr") {
    const ForeignEntry *least = inside("min_lr"), *share = inside("min_lr_rate");
    training.final = least ? in.numberSetting(least, 0) : in.numberSetting(share, 0);
    if (!least)
      training.final.value *= training.rate.value;
    return dsl::ScheduleKind::Cosine;
  }
  in.leave(kind, "npar has no such schedule: the learning rate stays at its peak");
  training.schedule.origin = Origin::Instead;
  return std::nullopt;
}

/// Reads the warm-up, as a number of steps or as a share of all `steps` (0: they depend on the data).
void readWarmup(Reading &in, int64_t steps) {
  RunRequest &request = in.run.request;
  Training &training = in.run.training;
  const ForeignEntry *count = in.find("warmup_steps"), *ratio = in.find("warmup_ratio");
  const double given = in.number(count, 0, 1e9), share = in.number(ratio, 0, 1);
  if (given < 0 || share < 0)
    in.error(given < 0 ? *count : *ratio, "a warm-up has no negative number of steps");
  training.warmup = {0, count || ratio ? Origin::File : Origin::Program};
  if (given >= 1) {
    request.warmupSteps = static_cast<int64_t>(given);
    training.warmup.value = *request.warmupSteps;
  } else if (given > 0 || share > 0) { // since release 5 a number below 1 is a share
    request.warmupRatio = given > 0 ? given : share;
    if (steps > 0)
      training.warmup.value = static_cast<int64_t>(std::ceil(*request.warmupRatio * static_cast<double>(steps)));
    else
      training.warmupShare = request.warmupRatio;
  }
}

void readRate(Reading &in) {
  Training &training = in.run.training;
  RunRequest &request = in.run.request;
  const ForeignEntry *kind = in.find("lr_scheduler_type"), *most = in.find("max_steps");
  const std::string word = lowerCase(in.word(kind, "linear"));
  const int64_t steps = in.whole(most, -1, -1, Reading::mostSize);
  request.schedule = word;
  if (steps > 0)
    request.maxSteps = steps;
  readWarmup(in, std::max<int64_t>(steps, 0));
  std::optional<dsl::ScheduleKind> found = readKind(in, kind, word);
  if (found)
    training.schedule = {*found, kind ? Origin::File : Origin::Program};
  if (word == "constant" && (training.warmup.value > 0 || training.warmupShare)) // get_constant_schedule
    in.leave(in.findAny({"warmup_steps", "warmup_ratio"}), "lr_scheduler_type constant has no warm-up"),
        training.warmup = {0, Origin::Program}, training.warmupShare.reset();
  training.endsWithRun = steps <= 0;
  training.steps = {std::max<int64_t>(steps, 0), most || in.peek("num_train_epochs") ? Origin::File : Origin::Program};
  if (training.schedule.value == dsl::ScheduleKind::Constant)
    return;
  if (steps > 0 && training.warmup.value >= steps)
    in.error(*most, fmt::format("a warm-up of {} steps is not shorter than the {} steps of the run", training.warmup.value, steps));
  else if (training.warmupShare && *training.warmupShare >= 1)
    in.error(*in.findAny({"warmup_steps", "warmup_ratio"}), "a warm-up is shorter than the run");
}

} // namespace

void readTrainersTraining(Reading &in) {
  readOptimizer(in);
  readRate(in);
}

} // namespace npar::foreign
