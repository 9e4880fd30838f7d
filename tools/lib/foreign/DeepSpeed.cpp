// DeepSpeed: recognizes, reads and writes its JSON, and knows what it lacks. Names and defaults come from its documentation and from
// deepspeed/runtime/config.py.
#include "tools/lib/foreign/DeepSpeed.h"

#include "engine/json/Json.h"
#include "tools/lib/foreign/ForeignProgram.h"

#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// Settings that do not affect the time or memory of a training step, with the sections they are in.
// clang-format off
const std::vector<const char *> immaterialToDeepSpeed = {
    "steps_per_print", "wall_clock_breakdown", "dump_state", "tensorboard.*", "wandb.*", "csv_monitor.*", "comet.*",
    "monitor*", "flops_profiler.*", "comms_logger.*", "checkpoint.*", "aio.*", "autotuning.*", "data_types.*", "dataloader_drop_last",
    "optimizer.legacy_fusion", "fp16.*", "bf16.*", "bfloat16.*", "gradient_predivide_factor", "prescale_gradients",
    "sparse_gradients", "disable_allgather", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer", "memory_breakdown",
    "elasticity.*", "nebula.*", "seed", "curriculum*", "data_efficiency.*", "use_data_before_expert_parallelism",
    "graph_harvesting", "activation_checkpointing.profile", "activation_checkpointing.contiguous*",
    "activation_checkpointing.synchronize*", "activation_checkpointing.number_checkpoints", "timers.*", "eigenvalue.*", "compile.*",
    "zero_optimization.contiguous_gradients", "zero_optimization.overlap_comm", "zero_optimization.reduce_scatter",
    "zero_optimization.allgather*", "zero_optimization.use_multi_rank*", "zero_optimization.load_from*", "zero_optimization.elastic*",
    "zero_optimization.sub_group_size", "zero_optimization.stage3_*", "zero_optimization.round_robin*",
    "zero_optimization.ignore_unused*", "zero_optimization.memory_efficient*", "zero_optimization.offload_*",
    "zero_optimization.cpu_offload_use_pin_memory", "zero_optimization.log_trace*", "zero_optimization.legacy*",
    "zero_optimization.override*", "zero_optimization.pipeline_loading*", "zero_optimization.param_persistence*"};
// clang-format on

} // namespace

const ForeignEntry *givenToDeepSpeed(Reading &in, const std::string &name) {
  const ForeignEntry *entry = in.find(name);
  if (!entry || entry->value != "auto")
    return entry;
  in.leave(entry, "the program that calls DeepSpeed decides it");
  return nullptr;
}

void readDeepSpeed(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find(prefix + key); };
  auto given = [&](const std::string &key) { return givenToDeepSpeed(in, prefix + key); };
  const ForeignEntry *batch = given("train_batch_size"), *micro = given("train_micro_batch_size_per_gpu"),
                     *steps = given("gradient_accumulation_steps");
  const ForeignEntry *stage = given("zero_optimization.stage"), *bf16 = given("bf16.enabled"), *older = given("bfloat16.enabled"),
                     *fp16 = given("fp16.enabled");
  const ForeignEntry *tp = given("tensor_parallel.autotp_size"), *pp = given("pipeline.stages"), *sp = given("sequence_parallel_size");
  in.place("batch", batch), in.place("micro", micro), in.place("tp", tp), in.place("pp", pp);
  run.tp = in.whole(tp, 1, 0), run.pp = in.whole(pp, 1);
  run.tp = run.tp == 0 ? 1 : run.tp;
  if (sp && in.whole(sp, 1) > 1)
    in.leave(sp, "how the script splits the sequence is not in this file");
  run.zero = in.whole(stage, 0, 0);
  if (run.zero > 3)
    in.error(*stage, fmt::format("ZeRO has stages 0 to 3, not {}", run.zero));
  run.gradientsPerStep = run.zero <= 1;
  run.batch = in.whole(batch, 0, 1, Reading::mostSize), run.accumulation = in.whole(steps, 1);
  if (micro)
    run.micro = in.whole(micro, 1);
  else if (batch && steps)
    run.micro = 0; // computed later: batch / (accumulation * dp)
  else
    run.assumed.push_back("a micro-batch has one sequence: train_micro_batch_size_per_gpu is not there");
  int64_t each = run.micro * run.accumulation;
  if (batch && micro && steps && run.batch % each == 0)
    run.dp = run.batch / each; // the three sizes determine dp
  bool isBf16 = in.isTrue(bf16) || in.isTrue(older);
  run.precision = isBf16 ? "bf16" : in.isTrue(fp16) ? "fp16" : "f32";
  std::string sums = elementType(in.word(given("data_types.grad_accum_dtype"), "")),
              sent = elementType(in.word(given("communication_data_type"), ""));
  if (run.precision != "f32" && sums == "f32")
    run.gradients = "f32";
  if (run.precision != "f32" && (sent == "f32" || sent == "bf16") && sent != run.precision)
    run.reduce = sent;
  if (const ForeignEntry *bucket = given("zero_optimization.reduce_bucket_size")) {
    double elements = in.number(bucket, 5e8, 1e12);
    if (elements < 0)
      in.error(*bucket, fmt::format("'{}' is {}, no bucket has fewer than 0 elements", bucket->key, bucket->value.substr(0, 60)));
    run.bucketBytes = static_cast<int64_t>(elements) * (run.precision == "f32" ? 4 : 2);
  }
  if (const ForeignEntry *shards = at("zero_optimization.mics_shard_size"); shards && shards->value != "-1" && shards->value != "0")
    in.leave(shards, "shares are over all ranks of dp");
  if (const ForeignEntry *shards = at("zero_optimization.zero_hpz_partition_size"); shards && in.whole(shards, 1, 0) > 1)
    in.leave(shards, "parameters have one set of shares");
  for (const char *what : {"optimizer", "param"})
    if (const ForeignEntry *device = given(std::string("zero_optimization.offload_") + what + ".device"); device && device->value != "none")
      in.leave(device, "nothing is moved to the host's memory");
  readDeepSpeedTraining(in, prefix);
  run.assumed.push_back("nothing is recomputed: a script turns it on, --set recompute=block here");
  std::vector<std::pair<std::string, const char *>> reasons = {
      {"zero_optimization.cpu_offload", "nothing is moved to the host's memory"},
      {"zero_optimization.cpu_offload_param*", "nothing is moved to the host's memory"},
      {"zero_optimization.zero_quantized*", "npar has no types of 8 bits"},
      {"zero_optimization.zeropp*", "npar has no types of 8 bits"},
      {"zero_optimization.mics_hierarchical*", "parameters are gathered at once"},
      {"activation_checkpointing.partition_activations", "what is kept of a block's input is not cut over tp"},
      {"activation_checkpointing.cpu_checkpointing", "nothing is moved to the host's memory"},
      {"amp.enabled", "the plan has no automatic precision: f32 is taken"},
      {"sparse_attention.*", "attention is over the whole sequence"},
      {"progressive_layer_drop.enabled", "all blocks are computed"},
      {"compression_training.*", "nothing is compressed"},
      {"moe.*", "the model has no experts"},
      {"hybrid_engine.enabled", "a step of training is simulated"},
      {"pipeline.*", "the pipeline is as the schedule says"},
      {"fp16.fp16_master_weights_and_grads", "the optimizer's state is f32"},
  };
  std::vector<std::pair<const char *, const char *>> named;
  for (auto &[key, why] : reasons) {
    key = prefix + key;
    named.emplace_back(key.c_str(), why);
  }
  in.leaveAll(named);
  std::vector<std::string> patterns;
  for (const char *pattern : immaterialToDeepSpeed)
    patterns.push_back(prefix + pattern);
  std::vector<const char *> ignored;
  for (const std::string &pattern : patterns)
    ignored.push_back(pattern.c_str());
  if (prefix.empty())
    in.finish(ignored);
}

namespace {

std::string deepSpeedText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  OrderedJson json = {{"train_batch_size", run.batch},
                                 {"train_micro_batch_size_per_gpu", run.micro},
                                 {"gradient_accumulation_steps", program.plan.microCount}};
  addDeepSpeedTraining(json, run, program.train.location, diagnostics);
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

class DeepSpeed : public ForeignProgram {
public:
  const char *key() const override { return "deepspeed"; }
  const char *name() const override { return "DeepSpeed"; }
  const char *file() const override { return "a DeepSpeed JSON"; }

  Sign signOf(const std::string &text) const override {
    size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '{' ? Sign::Whole : Sign::None;
  }
  bool hasEnding(const std::string &ending) const override { return ending == ".json"; }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    return readJson(text, file, diagnostics);
  }
  std::string shown(const std::string &key, const std::string &value, bool) const override { return key + ": " + value; }
  void read(Reading &in, const ForeignHints &) const override { readDeepSpeed(in, ""); }

  bool writes() const override { return true; }
  std::string write(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) const override {
    return deepSpeedText(run, program, diagnostics);
  }
  const std::set<std::string> &schedules() const override {
    static const std::set<std::string> known = {"1f1b"};
    return known;
  }
  std::vector<std::string> optimizers() const override { return {"AdamW", "Adam", "Sgd"}; }
  bool expresses(const PlanShape &plan) const override { return plan.cp == 1 && !plan.sequence; }

  /// The training script also decides which blocks are in which part.
  void checkPipeline(const dsl::Pipeline &pipeline, const ForeignRun &run, Refusals &refusals) const override {
    refusals.warning(pipeline.location,
                     "the training script makes DeepSpeed's pipeline: PipelineModule(..., num_stages = " + std::to_string(run.pp) + ")");
  }
  void checkSequenceOverTensor(const dsl::Rule &rule, Refusals &refusals) const override {
    refusals.error(rule.location, "DeepSpeed does not split the sequence over the ranks of tensor parallelism");
  }
  void checkContext(const dsl::Rule &rule, const ForeignRun &, Refusals &refusals) const override {
    refusals.error(rule.location, "DeepSpeed's settings have no context parallelism with keys and values that are gathered or go round");
  }
  void checkStores(const dsl::Plan &, const dsl::Store *first, const ForeignRun &run, Refusals &refusals) const override {
    if (first && run.replicas > 1)
      refusals.error(first->location, "DeepSpeed's shares are over all ranks of data parallelism");
  }
  void checkRecompute(const dsl::Recompute &recompute, const ForeignRun &, Refusals &refusals) const override {
    refusals.warning(recompute.location, "DeepSpeed has no setting for recomputation: the training script calls its checkpointing");
  }
};

} // namespace

const ForeignProgram &deepSpeed() {
  static const DeepSpeed program;
  return program;
}

} // namespace npar::foreign
