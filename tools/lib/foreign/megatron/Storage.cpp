// Reads which state is in shares, and the types of gradients and their sums: by Megatron-LM's own flags, or by the file that
// Megatron-DeepSpeed gives DeepSpeed (setup_model_and_optimizer in its megatron/training.py).
#include "tools/lib/foreign/megatron/Megatron.h"

#include "tools/lib/foreign/DeepSpeed.h"

#include <algorithm>
#include <string>

namespace npar::foreign {
namespace {

/// Tells whether DeepSpeed trains the model.
bool isByDeepSpeed(Reading &in) { return in.isTrue(in.find("deepspeed")) || in.find("deepspeed_config") || in.find("zero_stage"); }

/// An entry of the file of --deepspeed_config; null if it is not there.
const ForeignEntry *inDeepSpeedFile(Reading &in, const std::string &key) { return givenToDeepSpeed(in, ofDeepSpeedFile + key); }

bool hasDeepSpeedFile(const Reading &in) {
  const std::string prefix = ofDeepSpeedFile;
  return std::any_of(in.file.entries.begin(), in.file.entries.end(),
                     [&](const ForeignEntry &entry) { return entry.key.compare(0, prefix.size(), prefix) == 0; });
}

/// Takes DeepSpeed's settings from the flags, because its file is missing.
void assumeDeepSpeedFile(Reading &in, const ForeignEntry *config, const ForeignEntry *stage) {
  ForeignRun &run = in.run;
  run.zero = in.whole(stage, 1, 0); // its default in Megatron-DeepSpeed
  run.assumed.push_back(fmt::format(
      "DeepSpeed stores state in shares by ZeRO {}, {}, and its types and clipping are those of the flags: {}", run.zero,
      stage ? "as --zero-stage has it" : "the default of --zero-stage",
      config ? fmt::format("npar does not have '{}', which decides it", config->value.substr(0, 60)) : "there is no --deepspeed_config"));
  takeDeepSpeedReduction(run);
}

/// Takes the storage, types and clipping of DeepSpeed's file, and names flags that say otherwise.
void readDeepSpeedFile(Reading &in, const ForeignEntry *stage) {
  ForeignRun &run = in.run;
  const std::string types = run.precision;
  bool statesTypes = false;
  for (const char *key : {"bf16.enabled", "bfloat16.enabled", "fp16.enabled"})
    statesTypes = statesTypes || in.isTrue(in.peek(ofDeepSpeedFile + std::string(key)));
  readDeepSpeedStorage(in, ofDeepSpeedFile, statesTypes ? "" : types);
  if (run.precision == "f32") // the types of the model as Megatron-DeepSpeed makes it
    run.precision = types;
  else if (run.precision != types)
    in.leave(in.findAny({"bf16", "fp16"}), fmt::format("DeepSpeed computes in {}, by its own file", run.precision));
  if (stage && in.whole(stage, 0, 0) != run.zero)
    in.leave(stage, fmt::format("DeepSpeed's own file decides: ZeRO {}", run.zero));
  const ForeignEntry *clip = in.peek("clip_grad");
  Setting<double> theirs = in.numberSetting(inDeepSpeedFile(in, "gradient_clipping"), 1);
  if (clip && in.number(clip, 1) != theirs.value)
    in.leave(clip, fmt::format("DeepSpeed clips by its own file: {}", theirs.value));
  run.training.clip = theirs;
  for (const char *section : {"optimizer.", "scheduler."}) // Megatron-DeepSpeed gives DeepSpeed its own
    in.skipSection(ofDeepSpeedFile + std::string(section));
}

void readDeepSpeedRun(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *config = in.find("deepspeed_config"), *stage = in.find("zero_stage"), *flag = in.find("deepspeed");
  bool isPipelined = !in.isTrue(in.find("no_pipeline_parallel"));
  for (const char *key : {"deepspeed", "deepspeed_config", "zero_stage", "deepspeed_activation_checkpointing", "no_pipeline_parallel"})
    in.keep(in.find(key));
  if (!in.isTrue(flag))
    run.assumed.push_back(fmt::format("DeepSpeed trains the model, as --{} suggests, although --deepspeed is not there",
                                      config ? "deepspeed_config" : "zero-stage"));
  if (hasDeepSpeedFile(in))
    readDeepSpeedFile(in, stage);
  else
    assumeDeepSpeedFile(in, config, stage);
  if (run.zero > 3)
    in.error(*stage, fmt::format("ZeRO has stages 0 to 3, not {}", run.zero));
  run.gradientsPerStep = run.zero <= 1;
  if (run.zero == 0 && isPipelined && run.precision == "bf16") { // _do_optimizer_sanity_check in deepspeed/runtime/engine.py
    run.zero = 1;
    run.assumed.push_back("the optimizer's state is in shares, because DeepSpeed's pipeline trains a bf16 model with its BF16_Optimizer");
  }
}

/// Reads the flags of Megatron-LM's own data parallelism.
void readOwnStorage(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *inBf16 = in.find("grad_reduce_in_bf16"), *inF32 = in.find("accumulate_allreduce_grads_in_fp32"),
                     *mainGrads = in.find("main_grads_dtype");
  // Gradients are accumulated in f32 by default with bf16, but with fp16 only on request.
  if (run.precision != "f32")
    run.gradients = (run.precision == "bf16" && !in.isTrue(inBf16)) || in.isTrue(inF32) ? "f32" : "";
  if (mainGrads && in.word(mainGrads, "fp32") == "bf16")
    in.leave(mainGrads, "gradients have the type that --grad-reduce-in-bf16 sets");
  const ForeignEntry *distributed = in.find("use_distributed_optimizer"),
                     *fsdp = in.findAny({"use_megatron_fsdp", "use_torch_fsdp2", "use_custom_fsdp"}),
                     *strategy = in.find("data_parallel_sharding_strategy");
  const ForeignEntry *instances = in.find("num_distributed_optimizer_instances"), *outer = in.find("outer_dp_sharding_strategy"),
                     *overlap = in.find("overlap_grad_reduce"), *gather = in.find("overlap_param_gather");
  run.zero = in.isTrue(distributed) ? 1 : 0;
  if (in.isTrue(fsdp)) {
    in.keep(in.find("no_gradient_accumulation_fusion")); // which Megatron-LM's FSDP needs
    std::string how = in.word(strategy, "optim_grads_params");
    run.zero = how == "no_shard" ? 0 : how == "optim" ? 1 : how == "optim_grads" ? 2 : 3;
    run.gradientsPerStep = false;
    if (outer && outer->value != "no_shard")
      in.leave(outer, "between replicas nothing is stored in shares");
  }
  run.replicas = in.whole(instances, 1);
  run.dpOutside = in.isTrue(in.find("use_tp_pp_dp_mapping"));
  for (const ForeignEntry *one : {distributed, fsdp, strategy, instances, outer, overlap, gather}) // a plan on one rank has no shares
    in.keep(one);
  if (run.zero > 0 && !in.isTrue(gather) && !in.isTrue(fsdp))
    run.assumed.push_back(
        "parameters are gathered where they are used first (without --overlap-param-gather Megatron-LM gathers all of them at once)");
  // Megatron-LM reduces all gradients after the backward pass unless --overlap-grad-reduce is given, whatever the size of buckets.
  const ForeignEntry *bucket = in.findAny({"ddp_bucket_size", "bucket_size"}), *buckets = in.find("ddp_num_buckets");
  in.keep(bucket);
  if (in.isTrue(fsdp) ? bucket != nullptr : in.isTrue(overlap)) {
    int64_t ranks = std::max(hints.world, run.world) / std::max<int64_t>(1, run.tp * run.pp * run.cp),
            usual = std::max<int64_t>(40'000'000, 1'000'000 * ranks); // elements; DistributedDataParallel of megatron/core/distributed
    run.bucketBytes = in.whole(bucket, usual, 1, Reading::mostSize) * (run.sumType() == "f32" ? 4 : 2);
    run.bucketNote = bucket ? "" : "default of Megatron-LM";
    if (run.pp > 1)
      run.assumed.push_back("all stages of the pipeline have buckets (in Megatron-LM only the first one reduces gradients in several)");
  }
  if (in.isTrue(overlap) || in.isTrue(fsdp))
    in.leave(buckets, "buckets have a size, not a number");
}

} // namespace

void readDeepSpeedBatch(Reading &in) {
  const ForeignEntry *batch = inDeepSpeedFile(in, "train_batch_size"), *micro = inDeepSpeedFile(in, "train_micro_batch_size_per_gpu");
  inDeepSpeedFile(in, "gradient_accumulation_steps"); // follows from the others
  ForeignRun &run = in.run;
  auto take = [&](int64_t &size, const ForeignEntry *theirs, std::initializer_list<const char *> flags) {
    const ForeignEntry *own = in.findAny(flags);
    int64_t value = in.whole(theirs, size, 1, Reading::mostSize);
    if (theirs && own && value != size)
      in.leave(theirs, fmt::format("the batch is that of the flags: {}", in.shown(*own)));
    else
      size = value;
  };
  take(run.batch, batch, {"global_batch_size"});
  take(run.micro, micro, {"micro_batch_size", "batch_size"});
}

void readMegatronStorage(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *bf16 = in.find("bf16"), *fp16 = in.find("fp16");
  run.precision = in.isTrue(bf16) ? "bf16" : in.isTrue(fp16) ? "fp16" : "f32";
  if (in.isTrue(bf16) && in.isTrue(fp16))
    in.error(*fp16, "a run is in bf16 or fp16, not both");
  if (isByDeepSpeed(in))
    readDeepSpeedRun(in);
  else
    readOwnStorage(in, hints);
}

} // namespace npar::foreign
