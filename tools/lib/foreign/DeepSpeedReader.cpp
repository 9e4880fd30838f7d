// Reads DeepSpeed's batch, types, ZeRO and parallelism. Names and defaults come from its documentation and from deepspeed/runtime/config.py
// and deepspeed/runtime/engine.py.
#include "tools/lib/foreign/DeepSpeed.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {

const ForeignEntry *givenToDeepSpeed(Reading &in, const std::string &name, const std::string &otherwise) {
  const ForeignEntry *entry = in.find(name);
  if (!entry || entry->value != "auto")
    return entry;
  in.leave(entry, "the program that calls DeepSpeed decides it" + (otherwise.empty() ? "" : "; " + otherwise + " is taken"));
  return nullptr;
}

namespace {

/// Reads the three sizes of the batch, of which DeepSpeed derives those that are missing (DeepSpeedConfig._set_batch_related_parameters).
void readBatch(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  auto given = [&](const char *key, const char *otherwise) { return givenToDeepSpeed(in, prefix + key, otherwise); };
  const ForeignEntry *batch = given("train_batch_size", "what the other sizes give"),
                     *micro = given("train_micro_batch_size_per_gpu", "what the other sizes give (or 1)"),
                     *steps = given("gradient_accumulation_steps", "what the other sizes give (or 1)");
  in.place("batch", batch), in.place("micro", micro);
  run.batch = in.whole(batch, 0, 1, Reading::mostSize), run.accumulation = in.whole(steps, 1);
  if (micro)
    run.micro = in.whole(micro, 1);
  else if (batch)
    run.micro = 0; // computed later: batch / (accumulation * dp)
  else
    run.assumed.push_back("a micro-batch has one sequence: the file gives neither train_batch_size nor train_micro_batch_size_per_gpu");
  if (run.tp > 1 && run.pp == 1) // DeepSpeedConfig divides the batch by all ranks, unless a pipeline tells it the number of dp
    run.countedRanks = run.tp;
  int64_t each = run.micro * run.accumulation * run.countedRanks;
  if (batch && micro && steps && run.batch % each != 0)
    in.error(*batch,
             fmt::format("train_batch_size {} is not divisible by {} sequences of a micro-batch times {} steps{}", run.batch, run.micro,
                         run.accumulation, run.countedRanks > 1 ? fmt::format(" times {} ranks of tensor parallelism", run.tp) : ""));
  else if (batch && micro && steps)
    run.dp = run.batch / each; // the three sizes determine dp
}

constexpr double bucketElements = 5e8; ///< default of reduce_bucket_size

/// A type by PyTorch's name or DeepSpeed's own; empty for any other word.
std::string typeIn(const ForeignEntry *entry) { return !entry ? "" : entry->value == "bfp16" ? "bf16" : elementType(entry->value); }

void readPrecision(Reading &in, const std::string &prefix, const std::string &caller) {
  ForeignRun &run = in.run;
  auto given = [&](const char *key) { return givenToDeepSpeed(in, prefix + key, "f32"); };
  auto isOn = [&](const char *key, const char *type) {
    const ForeignEntry *entry = in.find(prefix + key);
    if (!caller.empty() && (!entry || entry->value == "auto"))
      return caller == type;
    return in.isTrue(given(key));
  };
  bool isBf16 = isOn(in.peek(prefix + "bfloat16.enabled") ? "bfloat16.enabled" : "bf16.enabled", "bf16"),
       isFp16 = isOn("fp16.enabled", "fp16");
  const ForeignEntry *sums = given("data_types.grad_accum_dtype"), *sent = given("communication_data_type"),
                     *autocast = given("torch_autocast.enabled"), *cast = given("torch_autocast.dtype");
  if (const ForeignEntry *one = in.peek(prefix + "fp16.enabled"); isBf16 && isFp16)
    in.error(one ? *one : *in.peek(prefix + "bf16.enabled"), "DeepSpeed refuses bf16 and fp16 together");
  run.precision = isBf16 ? "bf16" : isFp16 ? "fp16" : "f32";
  if (in.isTrue(autocast)) {
    std::string type = typeIn(cast);
    if (run.precision != "f32" || (type != "bf16" && type != "fp16"))
      in.leave(autocast, run.precision + " is taken");
    else // parameters and their gradients stay f32; ZeRO sends gradients in the type of the computation
      run.precision = type, run.gradients = "f32";
  }
  bool isNarrow = run.precision != "f32";
  if (std::string type = typeIn(sums); isNarrow && type == "f32")
    run.gradients = "f32";
  else if (sums && type != run.sumType())
    in.leave(sums, "gradients are added up in " + run.sumType());
  const ForeignEntry *stage = in.peek(prefix + "zero_optimization.stage");
  bool isSentAsComputed = isBf16 || isFp16 || (stage && stage->value != "0"); // without ZeRO those of an autocast are sent in f32
  if (run.gradients == "f32" && (typeIn(sent) == run.precision || (isSentAsComputed && typeIn(sent) != "f32")))
    run.reduce = run.precision;
  if (!sent || typeIn(sent) == run.reduceType())
    return;
  if (isNarrow && typeIn(sent) == "f32") {
    run.reduce = "f32";
    in.leave(sent, fmt::format("ranks add gradients in f32, but send them as {}", run.precision));
  } else {
    in.leave(sent, "gradients are sent as " + run.reduceType());
  }
}

/// Sets the buckets of as many elements. DeepSpeed's hooks reduce them during the backward pass: always if gradients are in shares, with
/// overlap_comm if only the optimizer is, and never otherwise, in a pipeline or by the BF16_Optimizer, which ZeRO 1 is with f32 gradients.
void takeBuckets(ForeignRun &run, double elements, bool overlaps) {
  bool isBf16Optimizer = run.zero == 1 && run.precision == "bf16" && run.gradients == "f32";
  if (run.zero >= 2 || (run.zero == 1 && overlaps && run.pp == 1 && !isBf16Optimizer))
    run.bucketBytes = static_cast<int64_t>(elements) * (run.sumType() == "f32" ? 4 : 2);
}

/// Reads when gradients are reduced.
void readReduction(Reading &in, const std::string &section) {
  ForeignRun &run = in.run;
  auto given = [&](const char *key, const char *otherwise) { return givenToDeepSpeed(in, section + key, otherwise); };
  const ForeignEntry *overlap = given("overlap_comm", run.zero == 3 ? "true" : "false"),
                     *bucket = given("reduce_bucket_size", "DeepSpeed's default of 500000000");
  in.keep(overlap), in.keep(bucket);
  double elements = in.number(bucket, bucketElements, 1e12);
  if (elements < 0)
    in.error(*bucket, fmt::format("'{}' is {}, no bucket has fewer than 0 elements", bucket->key, bucket->value.substr(0, 60)));
  if (!overlap)
    takeDeepSpeedReduction(run);
  if (overlap || bucket)
    takeBuckets(run, elements, overlap ? in.isTrue(overlap) : run.zero == 3);
  run.bucketNote = bucket ? "" : "default of DeepSpeed";
  if (overlap && !in.isTrue(overlap) && run.zero >= 2)
    in.leave(overlap, "gradients are reduced while the backward pass continues");
}

/// Reads the groups of ranks that have shares of all state (MiCS), or of a second copy of the parameters (hpZ).
void readGroups(Reading &in, const std::string &section) {
  ForeignRun &run = in.run;
  const ForeignEntry *group = in.find(section + "mics_shard_size"), *second = in.find(section + "zero_hpz_partition_size");
  bool isMics = group && group->value != "-1" && in.whole(group, 0, 0) > 0, isHpz = second && in.whole(second, 1, 0) > 1;
  for (auto [entry, isOn] : {std::pair(group, isMics), {second, isHpz}})
    if (isOn && run.zero < 3)
      in.leave(entry, "DeepSpeed has groups of ranks in ZeRO 3 alone");
  if (run.zero < 3)
    return;
  if (isMics)
    run.groupRanks = in.whole(group, 0), in.place("group", group);
  if (isMics && isHpz)
    in.leave(second, "a group of mics_shard_size ranks has all parameters");
  else if (isHpz)
    run.secondaryRanks = in.whole(second, 1), in.place("secondary", second);
}

/// Reads which state is in shares, and how it is moved.
void readZero(Reading &in, const std::string &prefix) {
  ForeignRun &run = in.run;
  const std::string section = prefix + "zero_optimization.";
  auto given = [&](const std::string &key) { return givenToDeepSpeed(in, section + key); };
  const ForeignEntry *stage = given("stage"), *older = in.find(prefix + "zero_optimization"); // true: stage 1
  run.zero = older ? in.isTrue(older) : in.whole(stage, 0, 0);
  if (run.zero > 3)
    in.error(*stage, fmt::format("ZeRO has stages 0 to 3, not {}", run.zero));
  else if (run.zero >= 2 && run.pp > 1)
    in.error(*stage, fmt::format("DeepSpeed refuses ZeRO {} with {} pipeline stages", run.zero, run.pp));
  // DeepSpeedEngine._do_optimizer_sanity_check
  const ForeignEntry *sums = in.peek(prefix + "data_types.grad_accum_dtype");
  if (run.zero == 0 && sums && typeIn(sums) == "f32" && run.gradients == "f32")
    in.error(*sums, fmt::format("DeepSpeed refuses f32 gradients under {} without ZeRO", run.precision));
  if (run.zero == 0 && run.pp > 1 && run.precision == "bf16" && run.gradients.empty()) {
    run.zero = 1;
    run.assumed.push_back("the optimizer's state is in shares, because DeepSpeed's pipeline trains a bf16 model with its BF16_Optimizer");
  }
  run.gradientsPerStep = run.zero <= 1;
  readReduction(in, section);
  readGroups(in, section);
  for (const char *what : {"offload_optimizer", "offload_param"}) {
    const ForeignEntry *device = given(std::string(what) + ".device");
    if (device && device->value != "none")
      in.leave(device, "nothing is moved to the host's memory");
    else
      in.skipSection(section + what + ".");
  }
  if (run.zero < 3) { // settings of parameters in shares
    for (const char *key : {"stage3_", "prefetch_bucket_size", "param_persistence", "model_persistence", "max_live", "max_reuse",
                            "sub_group_size", "module_granularity", "leaf_module.", "memory_efficient_linear"})
      in.skipSection(section + key);
  }
}

} // namespace

void takeDeepSpeedReduction(ForeignRun &run) {
  takeBuckets(run, bucketElements, /*overlaps=*/run.zero == 3);
  run.bucketNote = "default of DeepSpeed";
  if (run.zero == 2)
    run.assumed.push_back(
        "gradients are reduced while the backward pass continues (overlap_comm of DeepSpeed is off by default in ZeRO 2)");
}

void readDeepSpeedStorage(Reading &in, const std::string &prefix, const std::string &precision) {
  readPrecision(in, prefix, precision);
  readZero(in, prefix);
  if (const ForeignEntry *cut = givenToDeepSpeed(in, prefix + "activation_checkpointing.partition_activations"); in.isTrue(cut))
    in.leave(cut, "what is kept of a block's input is not cut over tp");
}

void readDeepSpeed(Reading &in, const std::string &prefix, const std::string &precision) {
  ForeignRun &run = in.run;
  auto given = [&](const std::string &key) { return givenToDeepSpeed(in, prefix + key); };
  const ForeignEntry *tp = given("tensor_parallel.autotp_size"), *pp = given("pipeline.stages"), *sp = given("sequence_parallel_size");
  for (const char *key : {"tensor_parallel.tp.tp_size", "tensor_parallel.tensor_parallel.tp_size", "tensor_parallel.tp_size"})
    if (const ForeignEntry *other = given(key); other && !tp)
      tp = other;
  in.place("tp", tp), in.place("pp", pp);
  run.tp = std::max<int64_t>(1, in.whole(tp, 1, 0)), run.pp = in.whole(pp, 1);
  if (int64_t ranks = in.whole(sp, 1); ranks > 1) {
    run.cp = ranks, run.ring = "ulysses";
    in.place("cp", sp);
  }
  readBatch(in, prefix);
  readDeepSpeedStorage(in, prefix, precision);
  readDeepSpeedTraining(in, prefix);
  if (const ForeignEntry *tuned = in.find(prefix + "autotuning.enabled"); in.isTrue(tuned))
    in.leave(tuned, "DeepSpeed's launcher would choose the micro-batch and the ZeRO stage; npar takes the file's");
  for (const char *what :
       {"weight_quantization", "activation_quantization", "sparse_pruning", "row_pruning", "head_pruning", "channel_pruning"})
    if (std::string part = prefix + "compression_training." + what + "."; !in.isTrue(in.peek(part + "shared_parameters.enabled")))
      in.skipSection(part);
  run.assumed.push_back("nothing is recomputed: a script turns it on, --set recompute=block here");
}

} // namespace npar::foreign
