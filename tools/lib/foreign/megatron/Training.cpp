// Reads and writes Megatron-LM's optimizer, learning rate, clipping and seed. Defaults come from
// megatron/core/optimizer/optimizer_config.py and megatron/training/config/training_config.py.
#include "tools/lib/foreign/megatron/Megatron.h"

#include <cmath>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// A duration, in one of three units, of which Megatron-DeepSpeed has the last one.
struct Duration {
  const ForeignEntry *steps, *samples, *tokens;
  explicit operator bool() const { return steps || samples || tokens; }
};

/// A number of steps. Its origin is npar's if the file does not state it.
Setting<int64_t> megatronSteps(Reading &in, const Duration &duration) {
  const auto &[steps, samples, tokens] = duration;
  if (tokens && in.run.batch > 0 && in.run.length > 0) {
    double count = in.number(tokens, 0) / static_cast<double>(in.run.length) / static_cast<double>(in.run.batch);
    if (count < 0 || count > static_cast<double>(Reading::mostSize))
      in.error(*tokens, fmt::format("'{}' is no number of tokens", tokens->value.substr(0, 60)));
    else
      in.run.assumed.push_back(fmt::format("{} are {} steps of a full batch", in.shown(*tokens), std::llround(count)));
    return {in.diagnostics.hasErrors() ? 0 : std::llround(count), Origin::File};
  }
  in.leave(tokens, "without a batch size it gives no number of steps");
  if (steps)
    return in.wholeSetting(steps, 0);
  int64_t count = in.whole(samples, 0, 0, Reading::mostSize);
  if (!samples || in.run.batch == 0) {
    in.leave(samples, "without a batch size it gives no number of steps");
    return {};
  }
  if (count % in.run.batch != 0)
    in.run.assumed.push_back(fmt::format("{} are {} whole steps", in.shown(*samples), count / in.run.batch));
  return {count / in.run.batch, Origin::File};
}

void readMegatronRate(Reading &in) {
  Training &training = in.run.training;
  const ForeignEntry *rate = in.find("lr"), *style = in.find("lr_decay_style"), *least = in.find("min_lr"),
                     *first = in.find("lr_warmup_init"), *fraction = in.findAny({"lr_warmup_fraction", "warmup"}); // of old versions
  const ForeignEntry *decaySteps = in.find("lr_decay_iters"), *decaySamples = in.find("lr_decay_samples"),
                     *trainSteps = in.find("train_iters"), *trainSamples = in.find("train_samples"),
                     *warmupSteps = in.find("lr_warmup_iters"), *warmupSamples = in.find("lr_warmup_samples");
  const ForeignEntry *decayTokens = in.find("lr_decay_tokens"), *trainTokens = in.find("train_tokens"),
                     *warmupTokens = in.find("lr_warmup_tokens");
  for (const ForeignEntry *one :
       {decaySteps, decaySamples, decayTokens, trainSteps, trainSamples, trainTokens, warmupSteps, warmupSamples, warmupTokens, fraction})
    in.keep(one); // durations may be samples or parts of others
  if (rate)
    training.rate = in.numberSetting(rate, 0);
  std::string word = in.word(style, "linear");
  Origin origin = style ? Origin::File : Origin::Program;
  if (word == "constant")
    training.schedule = {dsl::ScheduleKind::Constant, origin};
  else if (word == "linear" || word == "cosine")
    training.schedule = {word == "linear" ? dsl::ScheduleKind::Linear : dsl::ScheduleKind::Cosine, origin};
  else
    in.keep(least), in.leave(style, "npar has no such schedule: the learning rate stays at its peak"),
        training.schedule.origin = Origin::Instead;
  training.final = in.numberSetting(least, 0);
  const Duration decay = {decaySteps, decaySamples, decayTokens}, all = {trainSteps, trainSamples, trainTokens},
                 rise = {warmupSteps, warmupSamples, warmupTokens};
  if (all && decay)
    in.run.request.maxSteps = megatronSteps(in, all).value;
  training.steps = megatronSteps(in, decay ? decay : all);
  if (all && !decay)
    in.run.request.maxSteps = training.steps.value;
  if (in.run.request.maxSteps.value_or(0) == 0) // unknown, or none are left
    in.run.request.maxSteps.reset();
  if (training.schedule.value != dsl::ScheduleKind::Constant && training.steps.origin == Origin::Npar) {
    training.schedule = {};
    if (!in.diagnostics.hasErrors())
      in.run.assumed.push_back("the learning rate stays at its peak: the file does not state the number of steps (train_iters)");
  }
  if (fraction) {
    double steps = in.number(fraction, 0, 1) * static_cast<double>(training.steps.value);
    training.warmup = {std::llround(steps), Origin::File};
    if (static_cast<double>(training.warmup.value) != steps)
      in.run.assumed.push_back(fmt::format("a warm-up of {} steps is {}", steps, training.warmup.value));
  } else {
    training.warmup = rise ? megatronSteps(in, rise) : in.wholeSetting(nullptr, 0);
  }
  if (first && in.number(first, 0) != 0)
    in.leave(first, "the warm-up begins at 0");
  const ForeignEntry *longest = fraction ? fraction : warmupTokens ? warmupTokens : warmupSteps ? warmupSteps : warmupSamples;
  if (longest && !in.diagnostics.hasErrors() && training.schedule.value != dsl::ScheduleKind::Constant &&
      training.warmup.value >= training.steps.value)
    in.error(*longest, fmt::format("a warm-up of {} steps is not shorter than the {} steps of the schedule", training.warmup.value,
                                   training.steps.value));
}

} // namespace

void readMegatronTraining(Reading &in) {
  Training &training = in.run.training;
  const ForeignEntry *optimizer = in.find("optimizer");
  std::string word = in.word(optimizer, "adam");
  if (word == "adam" || word == "sgd")
    training.optimizer = {word == "sgd" ? "Sgd" : "AdamW", optimizer ? Origin::File : Origin::Program};
  else
    in.leave(optimizer, "npar trains with AdamW"), training.optimizer.origin = Origin::Instead;
  const ForeignEntry *momentum = in.find("sgd_momentum"), *beta1 = in.find("adam_beta1"), *beta2 = in.find("adam_beta2"),
                     *epsilon = in.find("adam_eps");
  training.momentum = in.numberSetting(momentum, 0.9);
  training.beta1 = in.numberSetting(beta1, 0.9), training.beta2 = in.numberSetting(beta2, 0.999);
  training.epsilon = in.numberSetting(epsilon, 1e-8);
  training.decay = in.numberSetting(in.find("weight_decay"), 0.01);
  if (const ForeignEntry *how = in.find("weight_decay_incr_style"); how && how->value != "constant") // else they equal weight_decay
    in.leave(how, "the weight decay is constant: that of weight_decay");
  in.findAny({"start_weight_decay", "end_weight_decay"});
  training.decaysVectors = false; // see _get_param_groups in megatron/core/optimizer/__init__.py
  training.clip = in.numberSetting(in.find("clip_grad"), 1);
  Setting<int64_t> seed = in.wholeSetting(in.find("seed"), 1234);
  training.seed = {static_cast<uint64_t>(seed.value), seed.origin};
  readMegatronRate(in);
}

void addMegatronTraining(MegatronFlags &flags, const ForeignRun &run) {
  const Training &training = run.training;
  auto add = [&](const char *flag, const auto &setting) {
    if (run.writes(setting.origin))
      flags.add(flag, setting.value);
  };
  if (run.writes(training.optimizer.origin))
    flags.add("optimizer", training.hasBetas() ? "adam" : "sgd");
  if (training.hasBetas()) {
    add("adam-beta1", training.beta1);
    add("adam-beta2", training.beta2);
    add("adam-eps", training.epsilon);
  } else {
    add("sgd-momentum", training.momentum);
  }
  add("weight-decay", training.decay);
  add("clip-grad", training.clip);
  add("lr", training.rate);
  if (run.writes(training.schedule.origin))
    flags.add("lr-decay-style", training.schedule.value == dsl::ScheduleKind::Constant ? "constant"
                                : training.schedule.value == dsl::ScheduleKind::Linear ? "linear"
                                                                                       : "cosine");
  if (!run.keeps({"lr_warmup_", "warmup"}))
    add("lr-warmup-iters", training.warmup);
  if (training.schedule.value != dsl::ScheduleKind::Constant) {
    add("min-lr", training.final);
    if (!run.keeps({"lr_decay_iters", "lr_decay_samples", "lr_decay_tokens", "train_iters", "train_samples", "train_tokens"}))
      add("lr-decay-iters", training.steps);
  }
  add("seed", training.seed);
}

} // namespace npar::foreign
