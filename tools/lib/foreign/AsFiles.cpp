// Writes the TOML of torchtitan and the JSON of DeepSpeed, and chooses the writer of a format.
#include "tools/lib/foreign/AsRun.h"

#include "tools/lib/foreign/Reading.h"
#include "tools/lib/models/Compilation.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace npar::foreign {
namespace {

/// The name of the torchtitan llama3 flavor that has the model's sizes, such as "8B"; empty if none has.
std::string flavorOf(const dsl::Program &program) {
  if (program.model.name != "Llama")
    return "";
  auto size = [&](const std::string &name) {
    for (const dsl::Axis &axis : program.model.axes)
      if (axis.name == name)
        return axis.size;
    return int64_t{0};
  };
  for (const TorchtitanFlavor &flavor : torchtitanFlavors())
    if (size("embed") == flavor.width && program.model.blocks == flavor.depth && size("kv_head") == flavor.kvHeads &&
        size("group") * flavor.kvHeads == flavor.heads && size("hidden") == flavor.mlp && size("vocab") == 128256)
      return flavor.name;
  return "";
}

int64_t lengthOf(const dsl::Program &program) {
  for (const dsl::Axis &axis : program.model.axes)
    if (axis.name == "seq")
      return axis.size;
  return 0;
}

/// The number as a TOML float, which needs a decimal point or an exponent.
std::string real(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

class Toml {
public:
  void section(const char *name) { text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name); }
  void add(const char *key, const std::string &word) { text += fmt::format("{} = \"{}\"\n", key, word); }
  void add(const char *key, int64_t value) { text += fmt::format("{} = {}\n", key, value); }
  void add(const char *key, double value) { text += fmt::format("{} = {}\n", key, real(value)); }
  std::string text;
};

void addOptimizer(Toml &toml, const dsl::Train &train, dsl::Diagnostics &diagnostics) {
  const dsl::Optimizer &optimizer = train.optimizer();
  if (optimizer.name != "AdamW") {
    diagnostics.warning(train.location, "torchtitan has no such optimizer: [optimizer] is left out");
    return;
  }
  toml.section("optimizer");
  toml.add("name", "AdamW");
  toml.add("lr", optimizer.rate.peak);
  toml.add("beta1", optimizer.number("betas", 0));
  toml.add("beta2", optimizer.number("betas", 1));
  toml.add("eps", optimizer.number("epsilon"));
  toml.add("weight_decay", optimizer.number("decay"));
  const dsl::LearningRate &rate = optimizer.rate;
  toml.section("lr_scheduler");
  toml.add("warmup_steps", rate.warmup);
  if (rate.kind == dsl::ScheduleKind::Constant) {
    toml.add("decay_ratio", 0.0);
    return;
  }
  toml.add("total_steps", rate.steps);
  toml.add("decay_ratio", rate.steps > 0 ? static_cast<double>(rate.steps - rate.warmup) / static_cast<double>(rate.steps) : 0.0);
  toml.add("decay_type", rate.kind == dsl::ScheduleKind::Cosine ? "cosine" : "linear");
  toml.add("min_lr_factor", rate.peak > 0 ? rate.final / rate.peak : 0.0);
}

void addParallelism(Toml &toml, const ForeignRun &run) {
  // If nothing is sharded, all data-parallel ranks are replicas.
  toml.section("parallelism");
  toml.add("data_parallel_replicate_degree", run.zero > 0 ? run.replicas : run.dp);
  toml.add("data_parallel_shard_degree", run.zero > 0 ? run.dp : 1);
  if (run.zero > 0)
    toml.add("fsdp_reshard_after_forward", run.zero == 3 ? "always" : "never");
  toml.add("tensor_parallel_degree", run.tp);
  toml.add("context_parallel_degree", run.cp);
  if (run.cp > 1)
    toml.add("context_parallel_rotate_method", run.ring == "gather" ? "allgather" : "alltoall");
  if (run.cp > 1 && run.ring == "ring")
    toml.add("context_parallel_load_balancer", "None");
  toml.add("pipeline_parallel_degree", run.pp);
  if (run.pp == 1)
    return;
  static const std::map<std::string, const char *> names = {
      {"1f1b", "1F1B"},          {"gpipe", "GPipe"},         {"interleaved", "Interleaved1F1B"}, {"looped_bfs", "LoopedBFS"},
      {"zb_v", "ZBVZeroBubble"}, {"dualpipe_v", "DualPipeV"}};
  toml.add("pipeline_parallel_schedule", names.at(run.schedule));
  toml.add("pipeline_parallel_microbatch_size", run.micro);
  int64_t parts = run.pp * run.chunks;
  if (run.chunks > 2)
    toml.add("pipeline_parallel_layers_per_stage", (run.layers + 2 + parts - 1) / parts);
}

nlohmann::ordered_json optimizerJson(const dsl::Train &train) {
  const dsl::Optimizer &optimizer = train.optimizer();
  nlohmann::ordered_json params = {{"lr", optimizer.rate.peak}};
  if (optimizer.name == "Sgd") {
    params["momentum"] = optimizer.number("momentum");
  } else {
    params["betas"] = {optimizer.number("betas", 0), optimizer.number("betas", 1)};
    params["eps"] = optimizer.number("epsilon");
  }
  params["weight_decay"] = optimizer.number("decay");
  return {{"type", optimizer.name == "Sgd" ? "SGD" : "AdamW"}, {"params", params}};
}

} // namespace

std::string torchtitanText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  Toml toml;
  if (std::string flavor = flavorOf(program); flavor.empty()) {
    diagnostics.warning(program.model.location,
                        "'" + program.model.name + "' is none of the torchtitan models that npar knows: [model] is left out");
  } else {
    toml.section("model");
    toml.add("name", "llama3");
    toml.add("flavor", flavor);
  }
  addOptimizer(toml, program.train, diagnostics);
  toml.section("training");
  toml.add("local_batch_size", run.pp > 1 ? run.micro * program.plan.microCount : run.micro);
  toml.add("global_batch_size", run.batch);
  toml.add("seq_len", lengthOf(program));
  toml.add("max_norm", program.train.clip.value_or(0));
  if (program.train.optimizer().rate.steps > 0)
    toml.add("steps", program.train.optimizer().rate.steps);
  toml.add("mixed_precision_param", run.precision == "bf16" ? "bfloat16" : "float32");
  toml.add("mixed_precision_reduce", "float32");
  addParallelism(toml, run);
  toml.section("activation_checkpoint");
  toml.add("mode", run.recompute.empty() ? "none" : "full");
  return std::move(toml.text);
}

std::string deepSpeedText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  const dsl::Train &train = program.train;
  nlohmann::ordered_json json = {{"train_batch_size", run.batch},
                                 {"train_micro_batch_size_per_gpu", run.micro},
                                 {"gradient_accumulation_steps", program.plan.microCount},
                                 {"gradient_clipping", train.clip.value_or(0)},
                                 {"optimizer", optimizerJson(train)}};
  if (train.optimizer().rate.kind != dsl::ScheduleKind::Constant || train.optimizer().rate.warmup > 0)
    diagnostics.warning(train.location, "the course of the learning rate is not written: the JSON has its peak");
  if (run.precision != "f32")
    json[run.precision] = {{"enabled", true}};
  if (run.gradients == "f32")
    json["data_types"] = {{"grad_accum_dtype", "fp32"}};
  if (!run.reduce.empty())
    json["communication_data_type"] = run.reduce == "f32" ? "fp32" : run.reduce == "bf16" ? "bfp16" : "fp16";
  json["zero_optimization"] = {{"stage", run.zero}};
  if (run.bucketBytes > 0)
    json["zero_optimization"]["reduce_bucket_size"] = std::max<int64_t>(1, run.bucketBytes / (run.precision == "f32" ? 4 : 2));
  if (run.tp > 1)
    json["tensor_parallel"] = {{"autotp_size", run.tp}};
  if (run.pp > 1)
    json["pipeline"] = {{"stages", run.pp}};
  return json.dump(2) + "\n";
}

engine::Result<std::string> planAs(const models::ModelOptions &options, ForeignFormat format, engine::Observer &observer,
                                   std::string *refusal) {
  if (options.isCompiled())
    return engine::Status::usage("--as needs the plan itself: give the model file (.npar) instead of '" + options.model + "'");
  TRY(models::ElaboratedModel elaborated, models::elaborateModel(options, observer));
  TRY(dsl::FrontendOptions frontend, options.frontend());
  dsl::Diagnostics diagnostics(elaborated.compilation->texts());
  const dsl::Program &program = elaborated.program;
  std::string text;
  if (std::optional<ForeignRun> run = runOfPlan(program, frontend.schedules, format, diagnostics))
    text = format == ForeignFormat::Megatron     ? megatronText(*run, program, diagnostics)
           : format == ForeignFormat::Torchtitan ? torchtitanText(*run, program, diagnostics)
                                                 : deepSpeedText(*run, program, diagnostics);
  std::ostringstream report;
  diagnostics.print(report);
  for (const dsl::Diagnostic &one : diagnostics.all())
    if (refusal && refusal->empty() && one.severity == dsl::Severity::Error)
      *refusal = one.message;
  if (diagnostics.hasErrors())
    return engine::Status::located(engine::Code::BadInput, report.str());
  if (!diagnostics.all().empty())
    observer.warn(report.str());
  return text;
}

} // namespace npar::foreign
