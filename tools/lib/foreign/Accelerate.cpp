// Accelerate: recognizes and reads its YAML (`accelerate config`). Names come from its src/accelerate/utils/dataclasses.py and
// commands/launch.py.
#include "tools/lib/foreign/Accelerate.h"

#include "tools/lib/foreign/DeepSpeed.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace npar::foreign {

const ForeignProgram &deepSpeed();

void takeDdpBuckets(ForeignRun &run) { run.bucketBytes = 25 << 20, run.bucketNote = "default of PyTorch"; }

void takeFsdpBuckets(ForeignRun &run) {
  run.bucketBytes = 25 << 20, run.bucketNote = "npar's: FSDP reduces each block by itself";
  run.assumed.push_back(
      "gradients are reduced between replicas in buckets of 25 MiB during the backward pass (FSDP: each block by itself)");
}

namespace {

void readAccelerateFsdp(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find("fsdp_config.fsdp_" + key); };
  const ForeignEntry *strategy = at("sharding_strategy"), *reshard = at("reshard_after_forward"),
                     *recompute = at("activation_checkpointing"), *wrap = at("auto_wrap_policy");
  bool isSecond = in.word(at("version"), "1") == "2"; // whose strategy is `reshard_after_forward`
  std::string how = upperCase(in.word(isSecond ? nullptr : strategy, "FULL_SHARD"));
  run.zero = 3, run.gradientsPerStep = false;
  if (isSecond && reshard && lowerCase(reshard->value) == "false")
    run.zero = 2;
  if (how == "SHARD_GRAD_OP" || how == "2" || how == "HYBRID_SHARD_ZERO2" || how == "5")
    run.zero = 2;
  else if (how == "NO_SHARD" || how == "3")
    run.zero = 0, takeFsdpBuckets(run);
  else if (how != "FULL_SHARD" && how != "1" && how != "HYBRID_SHARD" && how != "4")
    in.leave(strategy, "npar does not know this strategy: everything is stored in shares");
  if (how.rfind("HYBRID", 0) == 0 || how == "4" || how == "5") {
    run.replicas = in.whole(in.find("num_machines"), 1);
    if (run.replicas > 1)
      takeFsdpBuckets(run);
    run.assumed.push_back(fmt::format("a hybrid strategy has shares inside each of {} machines", run.replicas));
  }
  if (in.isTrue(recompute))
    run.recompute = "block";
  if (!wrap || wrap->value == "NO_WRAP")
    run.assumed.push_back("each block is gathered by itself (without fsdp_auto_wrap_policy Accelerate gathers the whole model at once)");
  else if (wrap->value == "SIZE_BASED_WRAP")
    in.leave(wrap, "each block is gathered by itself, not modules of at least fsdp_min_num_params parameters");
  if (run.precision != "f32") // FullyShardedDataParallelPlugin.set_mixed_precision: parameters and gradients stay f32
    run.gradients = "f32", run.reduce = run.precision;
}

/// The number of ranks of context parallelism. Since release 1.15 the plugin's default is 2.
int64_t contextOfPlugin(const ForeignRun &run) { return run.world % (run.tp * run.pp * 2) == 0 ? 2 : 1; }

void readMegatronPlugin(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find("megatron_lm_config.megatron_lm_" + key); };
  const ForeignEntry *tp = at("tp_degree"), *pp = at("pp_degree"), *cp = at("context_parallel_size"),
                     *recompute = at("recompute_activations"), *how = at("recompute_granularity"), *method = at("recompute_method"),
                     *layers = at("recompute_num_layers"), *micros = at("num_micro_batches");
  run.tp = in.whole(tp, 1), run.pp = in.whole(pp, 1);
  run.cp = in.whole(cp, contextOfPlugin(run));
  in.place("tp", tp), in.place("pp", pp), in.place("cp", cp);
  run.accumulation = in.whole(micros, 1);
  run.sequenceParallel = in.isTrue(at("sequence_parallelism")) && run.tp > 1;
  run.zero = in.isTrue(at("use_distributed_optimizer")) ? 1 : 0;
  // Defaults: MegatronLMPlugin.__post_init__, since release 1.15.
  if (!cp)
    run.assumed.push_back(run.cp > 1 ? "context parallelism has 2 ranks, as by default in Accelerate 1.15"
                                     : "there is no context parallelism, although 2 ranks are the default in Accelerate 1.15");
  if (!how)
    run.assumed.push_back("blocks are recomputed, as by default in Accelerate 1.15");
  if (in.isTrue(recompute) && (!how || how->value == "full"))
    in.leave(recompute, "recompute_granularity alone decides in Accelerate 1.15: whole blocks are recomputed");
  if (!how || how->value == "full") {
    int64_t each = in.whole(layers, 1);
    run.recompute = in.word(method, "uniform") == "uniform" && each > 1 ? fmt::format("every {}", each) : "block";
    if (in.word(method, "uniform") == "block")
      in.leave(method, fmt::format("all blocks are recomputed, not {} of each stage", each));
  }
  if (run.recompute.empty())
    run.assumed.push_back("attention's probabilities are recomputed in any case: npar never keeps them");
  if (run.precision == "bf16")
    run.gradients = "f32";
  run.training.clip = in.numberSetting(at("gradient_clipping"), 1);
  if (run.pp > 1)
    run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
}

void readAccelerateMesh(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find("parallelism_config.parallelism_config_" + key); };
  const ForeignEntry *replicate = at("dp_replicate_size"), *shard = at("dp_shard_size"), *tp = at("tp_size"), *cp = at("cp_size"),
                     *how = at("cp_comm_strategy"), *sp = at("sp_size");
  if (!replicate && !shard && !tp && !cp && !sp)
    return;
  run.replicas = in.whole(replicate, 1), run.tp = in.whole(tp, run.tp), run.cp = in.whole(cp, run.cp);
  run.dp = shard ? in.whole(shard, 1) : 0;
  if (run.replicas > 1 && run.zero > 0 && run.bucketBytes == 0)
    takeFsdpBuckets(run);
  in.place("dp", shard), in.place("tp", tp), in.place("cp", cp);
  if (run.cp > 1 && (!how || how->value == "allgather"))
    run.ring = "gather";
  if (int64_t ranks = in.whole(sp, 1); ranks > 1) {
    if (run.cp > 1)
      in.error(*sp, "npar splits the sequence in one way: by cp_size or by sp_size");
    run.cp = ranks, run.ring = "ulysses";
    in.place("cp", sp);
  }
}

constexpr const char *namesFile = "deepspeed_config.deepspeed_config_file";
/// The names that the settings of that file get.
constexpr const char *ofFile = "deepspeed_config_file.";

/// Reads the file that `deepspeed_config_file` names, or else the plugin's own settings.
void readDeepSpeedPlugin(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const char *key) { return in.find(std::string("deepspeed_config.") + key); };
  auto given = [&](const char *key) { return givenToDeepSpeed(in, std::string("deepspeed_config.") + key, "1"); };
  const ForeignEntry *file = at("deepspeed_config_file"), *stage = at("zero_stage"), *steps = given("gradient_accumulation_steps"),
                     *clip = given("gradient_clipping");
  if (file) {
    readDeepSpeed(in, ofFile, run.precision);
    run.micro = run.micro == 0 || in.peek(std::string(ofFile) + "train_micro_batch_size_per_gpu") ? run.micro : 1;
    for (const ForeignEntry *one : {stage, steps, clip})
      in.leave(one, "the settings of deepspeed_config_file count");
    return;
  }
  run.zero = in.whole(stage, 2, 0); // DeepSpeedPlugin.zero_stage
  if (run.zero > 3)
    in.error(*stage, fmt::format("ZeRO has stages 0 to 3, not {}", run.zero));
  run.gradientsPerStep = run.zero <= 1;
  run.accumulation = in.whole(steps, run.accumulation);
  run.training.clip = in.numberSetting(clip, 1); // DeepSpeed's own default
  takeDeepSpeedReduction(run);
  for (const char *what : {"offload_optimizer_device", "offload_param_device"})
    if (const ForeignEntry *device = at(what); device && device->value != "none")
      in.leave(device, "nothing is moved to the host's memory");
}

/// Reads on how many machines the processes are. The launcher starts equally many on each.
void readMachines(Reading &in, bool isAlone) {
  ForeignRun &run = in.run;
  const ForeignEntry *machines = in.find("num_machines");
  int64_t hosts = in.whole(machines, 1);
  if (isAlone || hosts == 1 || run.world == 0)
    return;
  if (run.world % hosts == 0)
    run.hosts = hosts;
  else
    in.leave(machines, fmt::format("{} processes are not equally many on each: they fill one host after the other", run.world));
}

void readAccelerate(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *type = in.find("distributed_type"), *world = in.find("num_processes"), *precision = in.find("mixed_precision"),
                     *half = in.find("fp16"), *cpu = in.find("use_cpu");
  if (!type) {
    in.diagnostics.error(dsl::Code::F2, {0, 1, 1, 1}, "an Accelerate file needs distributed_type");
    return;
  }
  std::string word = lowerCase(in.word(precision, in.isTrue(half) ? "fp16" : "no")), how = upperCase(in.word(type, "NO"));
  bool isAlone = how == "NO" || how == "FALSE"; // YAML takes a bare NO for false
  run.world = isAlone ? 1 : in.whole(world, 0, -1) == -1 ? 0 : in.whole(world, 0);
  in.place("world", world ? world : type);
  run.precision = word == "bf16" || word == "fp16" ? word : "f32";
  if (word == "fp8")
    in.leave(precision, "npar has no 8-bit types: bf16 is taken"), run.precision = "bf16";
  if (in.isTrue(cpu))
    in.leave(cpu, "a machine with GPUs is simulated");
  if (how == "FSDP") {
    readAccelerateFsdp(in);
  } else if (how == "MEGATRON_LM") {
    readMegatronPlugin(in);
  } else if (how == "DEEPSPEED") {
    readDeepSpeedPlugin(in);
  } else {
    if (!isAlone && how.rfind("MULTI_", 0) != 0)
      in.leave(type, "npar does not know it: parameters are not stored in shares");
    takeDdpBuckets(run);
    if (run.precision != "f32") // under autocast the parameters and their gradients stay f32
      run.gradients = "f32";
  }
  if (how != "DEEPSPEED" || !in.peek(namesFile))
    run.assumed.push_back(
        "a micro-batch has one sequence, because an Accelerate file does not state it; --set micro=N --set batch=M changes it");
  readAccelerateMesh(in);
  readMachines(in, isAlone);
  // Sections of other values of distributed_type have no effect.
  for (const auto &[section, of] :
       {std::pair("fsdp_config.", "FSDP"), std::pair("deepspeed_config", "DEEPSPEED"), std::pair("megatron_lm_config.", "MEGATRON_LM")})
    if (how != of)
      in.skipSection(section);
  if (word != "fp8")
    in.skipSection("fp8_config.");
  in.finish();
}

/// The name with the prefix that the launcher adds to the settings of some sections (_validate_launch_cmd in commands/launch.py), or
/// without the one that the table of names leaves out.
std::string inLaunchersTerms(const std::string &key) {
  for (const auto &[section, prefix] : {std::pair("fsdp_config.", "fsdp"), std::pair("dynamo_config.", "dynamo_")})
    if (size_t size = std::strlen(section); key.compare(0, size, section) == 0 && key.compare(size, std::strlen(prefix), prefix) != 0)
      return key.substr(0, size) + (std::string(prefix) == "fsdp" ? "fsdp_" : prefix) + key.substr(size);
  if (const std::string given = "fp8_config.fp8_"; key.compare(0, given.size(), given) == 0)
    return "fp8_config." + key.substr(given.size());
  return key;
}

class Accelerate : public ForeignProgram {
public:
  const char *key() const override { return "accelerate"; }
  const char *name() const override { return "Accelerate"; }
  const char *file() const override { return "an Accelerate YAML"; }

  Sign signOfLine(std::string_view line) const override { return isYamlKey(line) ? Sign::Whole : Sign::None; }
  bool hasEnding(const std::string &ending) const override { return ending == ".yaml" || ending == ".yml"; }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    std::vector<ForeignEntry> entries = readYaml(text, file, diagnostics);
    bool isDeepSpeed = false;
    for (ForeignEntry &one : entries) {
      one.key = inLaunchersTerms(one.key);
      if (one.key == "distributed_type")
        isDeepSpeed = upperCase(one.value) == "DEEPSPEED";
    }
    if (!isDeepSpeed) // its file is not read, and need not be there
      entries.erase(std::remove_if(entries.begin(), entries.end(), [](const ForeignEntry &one) { return one.key == namesFile; }),
                    entries.end());
    return entries;
  }
  bool isNested() const override { return true; }
  std::string shown(const std::string &key, const std::string &value, bool) const override { return key + ": " + value; }
  void read(Reading &in, const ForeignHints &) const override { readAccelerate(in); }
  const KnownName *nameOf(const std::string &key) const override {
    return key.rfind(ofFile, 0) == 0 ? deepSpeedNames().find(key.substr(std::strlen(ofFile))) : accelerateNames().find(key);
  }
  bool isOnlyHere(const std::string &key) const override {
    bool isSection = key.rfind("fsdp_config.fsdp_", 0) == 0 || key.rfind("megatron_lm_config.", 0) == 0 ||
                     key.rfind("deepspeed_config.", 0) == 0 || key.rfind("parallelism_config.", 0) == 0;
    return key == "distributed_type" || key == "compute_environment" || key == "main_training_function" || (isSection && nameOf(key));
  }
  std::optional<ForeignReference> referenceOf(const ForeignEntry &entry) const override {
    if (entry.key != namesFile)
      return std::nullopt;
    return ForeignReference{&deepSpeed(), ofFile};
  }
};

} // namespace

const ForeignProgram &accelerate() {
  static const Accelerate program;
  return program;
}

} // namespace npar::foreign
