// Accelerate: recognizes and reads its YAML (`accelerate config`). Names come from its src/accelerate/utils/dataclasses.py and
// commands/launch.py.
#include "tools/lib/foreign/DeepSpeed.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/Reading.h"

#include <fmt/format.h>

namespace npar::foreign {
namespace {

// clang-format off
const std::vector<const char *> immaterialToAccelerate = {
    "compute_environment", "debug", "downcast_bf16", "enable_cpu_affinity", "machine_rank", "main_process_ip", "main_process_port",
    "main_training_function", "rdzv_*", "same_network", "tpu_*", "use_cpu", "gpu_ids", "command_file", "commands", "num_cpu_threads*",
    "dynamo_*", "ipex_config*", "mpirun*", "monitor_interval", "max_restarts", "tee", "log_dir", "role", "env*", "deepspeed_hostfile",
    "num_machines", "use_*", "fsdp_config.fsdp_auto_wrap_policy", "fsdp_config.fsdp_transformer_layer*",
    "fsdp_config.fsdp_min_num_params", "fsdp_config.fsdp_backward_prefetch*", "fsdp_config.fsdp_forward_prefetch",
    "fsdp_config.fsdp_state_dict_type", "fsdp_config.fsdp_sync_module_states", "fsdp_config.fsdp_use_orig_params",
    "fsdp_config.fsdp_cpu_ram*", "fsdp_config.fsdp_ignored_modules", "fsdp_config.fsdp_version", "deepspeed_config.deepspeed_multinode*",
    "deepspeed_config.deepspeed_hostfile", "deepspeed_config.deepspeed_*filter", "deepspeed_config.zero3_init_flag",
    "deepspeed_config.zero3_save*", "deepspeed_config.offload_*nvme_path", 
    "megatron_lm_config.megatron_lm_no_*", "megatron_lm_config.megatron_lm_eod*", "megatron_lm_config.megatron_lm_calculate*",
    "megatron_lm_config.megatron_lm_attention_softmax*"};
// clang-format on

void readAccelerateFsdp(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find("fsdp_config.fsdp_" + key); };
  const ForeignEntry *strategy = at("sharding_strategy"), *reshard = at("reshard_after_forward"),
                     *recompute = at("activation_checkpointing"), *offload = at("offload_params");
  std::string how = in.word(strategy, "FULL_SHARD");
  run.zero = 3, run.gradientsPerStep = false;
  if (!strategy && reshard && reshard->value == "false")
    run.zero = 2;
  else if (!strategy && reshard && reshard->value != "true")
    how = reshard->value;
  if (how == "SHARD_GRAD_OP" || how == "2" || how == "HYBRID_SHARD_ZERO2" || how == "5")
    run.zero = 2;
  else if (how == "NO_SHARD" || how == "3")
    run.zero = 0;
  else if (how != "FULL_SHARD" && how != "1" && how != "HYBRID_SHARD" && how != "4")
    in.leave(strategy ? strategy : reshard, "npar does not know this strategy: everything is stored in shares");
  if (how.rfind("HYBRID", 0) == 0 || how == "4" || how == "5") {
    run.replicas = in.whole(in.find("num_machines"), 1);
    run.assumed.push_back(fmt::format("a hybrid strategy has shares inside each of {} machines", run.replicas));
  }
  if (in.isTrue(recompute))
    run.recompute = "block";
  if (in.isTrue(offload))
    in.leave(offload, "nothing is moved to the host's memory");
  if (run.precision == "bf16")
    run.gradients = "f32", run.reduce = "bf16";
}

void readMegatronPlugin(Reading &in) {
  ForeignRun &run = in.run;
  auto at = [&](const std::string &key) { return in.find("megatron_lm_config.megatron_lm_" + key); };
  const ForeignEntry *tp = at("tp_degree"), *pp = at("pp_degree"), *cp = at("context_parallel_size"),
                     *recompute = at("recompute_activations"), *how = at("recompute_granularity"), *micros = at("num_micro_batches");
  run.tp = in.whole(tp, 1), run.pp = in.whole(pp, 1), run.cp = in.whole(cp, 1);
  in.place("tp", tp), in.place("pp", pp), in.place("cp", cp);
  run.accumulation = in.whole(micros, 1);
  run.sequenceParallel = in.isTrue(at("sequence_parallelism")) && run.tp > 1;
  run.zero = in.isTrue(at("use_distributed_optimizer")) ? 1 : 0;
  if (how && how->value == "full")
    run.recompute = "block";
  else if (in.isTrue(recompute) || how)
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
  if (!replicate && !shard && !tp && !cp)
    return;
  run.replicas = in.whole(replicate, 1), run.tp = in.whole(tp, run.tp), run.cp = in.whole(cp, run.cp);
  run.dp = shard ? in.whole(shard, 1) : 0;
  in.place("dp", shard), in.place("tp", tp), in.place("cp", cp);
  if (run.cp > 1 && (!how || how->value == "allgather"))
    run.ring = "gather";
  if (sp && in.whole(sp, 1) > 1)
    in.leave(sp, "attention is not split over heads by it");
}

void readAccelerate(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *type = in.find("distributed_type"), *world = in.find("num_processes"), *precision = in.find("mixed_precision"),
                     *steps = in.find("gradient_accumulation_steps");
  run.world = in.whole(world, 0);
  in.place("world", world);
  std::string word = in.word(precision, "no"), how = in.word(type, "NO");
  run.precision = word == "bf16" || word == "fp16" ? word : "f32";
  if (word == "fp8")
    in.leave(precision, "npar has no types of 8 bits: bf16 is taken"), run.precision = "bf16";
  run.accumulation = in.whole(steps, 1);
  run.assumed.push_back("assumed one sequence per micro-batch, which an Accelerate file does not state; --set micro=N changes it");
  if (how == "FSDP") {
    readAccelerateFsdp(in);
  } else if (how == "MEGATRON_LM") {
    readMegatronPlugin(in);
  } else if (how == "DEEPSPEED") {
    std::string types = run.precision;
    readDeepSpeed(in, "deepspeed_config.");
    run.precision = types; // mixed_precision of Accelerate's file decides
    run.micro = 1;
    if (const ForeignEntry *stage = in.find("deepspeed_config.zero_stage"))
      run.zero = in.whole(stage, 2, 0);
    else
      run.zero = 2; // the plugin's default
    run.gradientsPerStep = run.zero <= 1;
    for (const char *what : {"deepspeed_config.offload_optimizer_device", "deepspeed_config.offload_param_device"})
      if (const ForeignEntry *device = in.find(what); device && device->value != "none")
        in.leave(device, "nothing is moved to the host's memory");
    if (const ForeignEntry *file = in.find("deepspeed_config.deepspeed_config_file"))
      in.leave(file, "that file has the settings: give it to --from itself, with --world");
  } else if (how != "NO" && how != "false" && how.rfind("MULTI_", 0) != 0) {
    in.leave(type, "npar does not know it: parameters are not stored in shares");
  }
  readAccelerateMesh(in);
  // Sections of other values of distributed_type have no effect.
  std::vector<const char *> ignored = immaterialToAccelerate;
  for (const auto &[section, of] :
       {std::pair("fsdp_config.*", "FSDP"), std::pair("deepspeed_config.*", "DEEPSPEED"), std::pair("megatron_lm_config.*", "MEGATRON_LM")})
    if (how != of)
      ignored.push_back(section);
  in.leaveAll({{"fp8_config.*", "npar has no types of 8 bits"}});
  in.finish(ignored);
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
  std::string shown(const std::string &key, const std::string &value, bool) const override { return key + ": " + value; }
  void read(Reading &in, const ForeignHints &) const override { readAccelerate(in); }
};

} // namespace

const ForeignProgram &accelerate() {
  static const Accelerate program;
  return program;
}

} // namespace npar::foreign
