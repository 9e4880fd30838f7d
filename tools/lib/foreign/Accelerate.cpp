// Accelerate: recognizes and reads its YAML (`accelerate config`). Names come from its src/accelerate/utils/dataclasses.py and
// commands/launch.py.
#include "tools/lib/foreign/Accelerate.h"

#include "tools/lib/foreign/DeepSpeed.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

#include <cstring>
#include <fmt/format.h>

namespace npar::foreign {

const ForeignProgram &deepSpeed();

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
    run.zero = 0;
  else if (how != "FULL_SHARD" && how != "1" && how != "HYBRID_SHARD" && how != "4")
    in.leave(strategy, "npar does not know this strategy: everything is stored in shares");
  if (how.rfind("HYBRID", 0) == 0 || how == "4" || how == "5") {
    run.replicas = in.whole(in.find("num_machines"), 1);
    run.assumed.push_back(fmt::format("a hybrid strategy has shares inside each of {} machines", run.replicas));
  }
  if (in.isTrue(recompute))
    run.recompute = "block";
  if (!wrap || wrap->value == "NO_WRAP")
    run.assumed.push_back("each block is gathered by itself (without fsdp_auto_wrap_policy Accelerate gathers the whole model at once)");
  if (run.precision == "bf16")
    run.gradients = "f32", run.reduce = "bf16";
}

void readMegatronPlugin(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find("megatron_lm_config.megatron_lm_" + key); };
  const ForeignEntry *tp = at("tp_degree"), *pp = at("pp_degree"), *cp = at("context_parallel_size"),
                     *recompute = at("recompute_activations"), *how = at("recompute_granularity"), *method = at("recompute_method"),
                     *layers = at("recompute_num_layers"), *micros = at("num_micro_batches");
  run.tp = in.whole(tp, 1), run.pp = in.whole(pp, 1), run.cp = in.whole(cp, 1);
  in.place("tp", tp), in.place("pp", pp), in.place("cp", cp);
  run.accumulation = in.whole(micros, 1);
  run.sequenceParallel = in.isTrue(at("sequence_parallelism")) && run.tp > 1;
  run.zero = in.isTrue(at("use_distributed_optimizer")) ? 1 : 0;
  if (how && how->value == "full") {
    int64_t each = in.whole(layers, 1);
    run.recompute = in.word(method, "uniform") == "uniform" && each > 1 ? fmt::format("every {}", each) : "block";
    if (in.word(method, "uniform") == "block")
      in.leave(method, fmt::format("all blocks are recomputed, not {} of each stage", each));
  }
  if (run.recompute.empty() && (in.isTrue(recompute) || how))
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

/// The names that the settings of `deepspeed_config_file` get.
constexpr const char *ofFile = "deepspeed_config_file.";

/// Reads the file that `deepspeed_config_file` names, or else the plugin's own settings.
void readDeepSpeedPlugin(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const char *key) { return in.find(std::string("deepspeed_config.") + key); };
  const ForeignEntry *file = at("deepspeed_config_file"), *stage = at("zero_stage"), *steps = at("gradient_accumulation_steps"),
                     *clip = at("gradient_clipping");
  const std::string types = run.precision;
  if (file) {
    readDeepSpeed(in, ofFile);
    run.micro = run.micro == 0 || in.peek(std::string(ofFile) + "train_micro_batch_size_per_gpu") ? run.micro : 1;
    for (const ForeignEntry *one : {stage, steps, clip})
      in.leave(one, "the settings of deepspeed_config_file count");
    if (run.precision == "f32")
      run.precision = types;
    return;
  }
  run.zero = in.whole(stage, 2, 0); // DeepSpeedPlugin.zero_stage
  if (run.zero > 3)
    in.error(*stage, fmt::format("ZeRO has stages 0 to 3, not {}", run.zero));
  run.gradientsPerStep = run.zero <= 1;
  run.accumulation = in.whole(steps, run.accumulation);
  run.training.clip = in.numberSetting(clip, 1); // DeepSpeed's own default
  if (run.zero < 3)
    run.assumed.push_back(fmt::format(
        "gradients are reduced as soon as they are computed (overlap_comm of DeepSpeed is off by default in ZeRO {})", run.zero));
  for (const char *what : {"offload_optimizer_device", "offload_param_device"})
    if (const ForeignEntry *device = at(what); device && device->value != "none")
      in.leave(device, "nothing is moved to the host's memory");
}

void readAccelerate(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *type = in.find("distributed_type"), *world = in.find("num_processes"), *precision = in.find("mixed_precision"),
                     *half = in.find("fp16"), *cpu = in.find("use_cpu");
  if (!type) {
    in.diagnostics.error({0, 1, 1, 1}, "an Accelerate file needs distributed_type");
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
    if (run.precision != "f32") // under autocast the parameters and their gradients stay f32
      run.gradients = "f32";
  }
  if (!in.peek(std::string(ofFile) + "train_micro_batch_size_per_gpu"))
    run.assumed.push_back("a micro-batch has one sequence, because an Accelerate file does not state it; --set micro=N changes it");
  readAccelerateMesh(in);
  // Sections of other values of distributed_type have no effect.
  for (const auto &[section, of] :
       {std::pair("fsdp_config.", "FSDP"), std::pair("deepspeed_config", "DEEPSPEED"), std::pair("megatron_lm_config.", "MEGATRON_LM")})
    if (how != of)
      in.skipSection(section);
  if (word != "fp8")
    in.skipSection("fp8_config.");
  in.finish();
}

/// True for a YAML key: `num_processes: 8`.
bool isKey(std::string_view line) {
  size_t colon = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return colon != std::string_view::npos && colon > 0 && line[colon] == ':' &&
         (colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\t');
}

class Accelerate : public ForeignProgram {
public:
  const char *key() const override { return "accelerate"; }
  const char *name() const override { return "Accelerate"; }
  const char *file() const override { return "an Accelerate YAML"; }

  Sign signOfLine(std::string_view line) const override { return isKey(line) ? Sign::Whole : Sign::None; }
  bool hasEnding(const std::string &ending) const override { return ending == ".yaml" || ending == ".yml"; }
  std::vector<ForeignEntry> parse(const std::string &text, uint32_t file, bool, dsl::Diagnostics &diagnostics) const override {
    return readYaml(text, file, diagnostics);
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
    if (entry.key != "deepspeed_config.deepspeed_config_file")
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
