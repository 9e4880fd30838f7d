// Writes a plan as flags of Megatron-LM: model, sizes, optimizer and parallelism.
#include "tools/lib/foreign/megatron/Megatron.h"

#include "dsl/AxisSize.h"
#include "tools/lib/foreign/ModelFacts.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// Tells whether flags can describe the structure of the model.
bool hasFlags(const dsl::Model &model) {
  bool isPlain = !scaledPositions(model), isLlama = model.name == "Llama" && !hasBiases(model) && (isPlain || llama3Positions(model));
  bool isRouted = model.name == "Mixtral" || model.name == "Qwen3Moe"; // with experts in each layer
  bool isDense = hasParameter(model, "model.layers.0.mlp.gate_proj.weight");
  return model.name == "Gpt2" || isLlama || (isRouted && !isDense && isPlain) ||
         ((model.name == "Qwen3" || model.name == "Decoder") && isPlain);
}

/// The flags of the feed-forward layer's function. Empty: GELU, Megatron-LM's default. Nothing: no flag chooses it.
std::optional<std::string> activationFlag(const dsl::Model &model) {
  bool isGated = hasOp(model, "grouped") || hasParameter(model, "model.layers.0.mlp.gate_proj.weight");
  if (hasOp(model, "gelu"))
    return isGated ? std::nullopt : std::optional<std::string>("");
  if (hasOp(model, "relu")) // squared: its result is multiplied with itself
    return isGated ? std::nullopt : std::optional<std::string>("squared-relu");
  return isGated ? std::optional<std::string>("swiglu") : std::nullopt;
}

void addModel(MegatronFlags &flags, const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  const dsl::Model &model = program.model;
  int64_t heads = dsl::axisSize(model, "head"), kvHeads = dsl::axisSize(model, "kv_head"), vocab = dsl::axisSize(model, "vocab");
  std::optional<std::string> activation = activationFlag(model);
  if (!activation) {
    diagnostics.warning(model.location, "the model is not written: no flag of Megatron-LM chooses its activation");
    return;
  }
  bool isRms = hasOp(model, "rms_norm"), isGpt2 = model.name == "Gpt2", isRotary = hasOp(model, "sinusoid");
  flags.add("num-layers", run.layers);
  flags.add("hidden-size", dsl::axisSize(model, "embed"));
  flags.add("num-attention-heads", heads);
  flags.add("ffn-hidden-size", dsl::axisSize(model, "hidden"));
  flags.add("seq-length", dsl::axisSize(model, "seq"));
  flags.add("max-position-embeddings", std::max(dsl::axisSize(model, "seq"), dsl::axisSize(model, "position")));
  flags.add("vocab-size", vocab);
  flags.add("make-vocab-size-divisible-by", 1); // Megatron multiplies it by tp, like `vocab pad`
  flags.add("hidden-dropout", attributeOf(model, "dropout", "rate", 0));
  flags.add("attention-dropout", attributeOf(model, "attention", "dropout", 0));
  flags.add("norm-epsilon", attributeOf(model, isRms ? "rms_norm" : "layer_norm", "epsilon", 1e-5));
  if (isGpt2)
    return;
  flags.add("kv-channels", dsl::axisSize(model, "feature"));
  if (!activation->empty())
    flags.add(*activation);
  if (hasOp(model, "grouped")) {
    flags.add("num-experts", dsl::axisSize(model, "expert"));
    flags.add("moe-router-topk", dsl::axisSize(model, "slot"));
    flags.add("moe-ffn-hidden-size", dsl::axisSize(model, "hidden"));
    flags.add("moe-router-load-balancing-type", "none");
    flags.add("moe-grouped-gemm");
  }
  if (isRms)
    flags.add("normalization", "RMSNorm");
  if (!hasParameter(model, "model.layers.0.self_attn.o_proj.bias"))
    flags.add("disable-bias-linear");
  if (!hasParameter(model, "model.layers.0.self_attn.o_proj.bias") && hasParameter(model, "model.layers.0.self_attn.q_proj.bias"))
    flags.add("add-qkv-bias");
  if (hasParameter(model, "model.layers.0.self_attn.q_norm.weight"))
    flags.add("qk-layernorm");
  if (isRotary) {
    flags.add("position-embedding-type", "rope");
    std::optional<Llama3Positions> scaled = llama3Positions(model);
    flags.add("rotary-base", fmt::format("{:.0f}", scaled ? scaled->base : attributeOf(model, "sinusoid", "base", 10000)));
    if (scaled)
      flags.add("use-rope-scaling"), flags.add("rope-scaling-factor", scaled->factor);
  } else if (!hasParameter(model, "model.embed_positions.weight")) {
    flags.add("position-embedding-type", "none");
  }
  if (kvHeads != heads) {
    flags.add("group-query-attention");
    flags.add("num-query-groups", kvHeads);
  }
  if (hasParameter(model, "lm_head.weight"))
    flags.add("untie-embeddings-and-output-weights");
}

void addPipeline(MegatronFlags &flags, const ForeignRun &run) {
  if (run.pp == 1)
    return;
  if (run.chunks > 1 && run.schedule == "interleaved")
    flags.add("num-virtual-stages-per-pipeline-rank", run.chunks);
  if (run.stages.empty())
    return;
  size_t last = static_cast<size_t>(run.pp) - 1;
  int64_t between = run.pp > 2 ? run.stages[1] : run.stages[last];
  if (run.stages[0] != between)
    flags.add("decoder-first-pipeline-num-layers", run.stages[0] * run.chunks);
  if (run.stages[last] != between)
    flags.add("decoder-last-pipeline-num-layers", run.stages[last] * run.chunks);
}

void addStorage(MegatronFlags &flags, const ForeignRun &run) {
  if (run.precision != "f32")
    flags.add(run.precision);
  if (run.keeps({"zero_stage", "deepspeed"})) // by DeepSpeed, which needs no other flag
    return;
  if (run.precision == "bf16" && run.gradients != "f32")
    flags.add("grad-reduce-in-bf16");
  if (run.precision == "fp16" && run.gradients == "f32")
    flags.add("accumulate-allreduce-grads-in-fp32");
  if (run.zero >= 1)
    flags.add("use-distributed-optimizer");
  if (!run.writesOwnPlan() && (run.bucketBytes > 0 || run.zero >= 2)) { // gradients are reduced during the backward pass
    flags.add("overlap-grad-reduce");
    if (run.zero >= 1)
      flags.add("overlap-param-gather");
  }
  if (run.zero >= 2) {
    flags.add("use-megatron-fsdp");
    flags.add("data-parallel-sharding-strategy", run.zero == 2 ? "optim_grads" : "optim_grads_params");
    flags.add("no-gradient-accumulation-fusion");
    flags.add("ckpt-format", "fsdp_dtensor");
  }
  if (run.replicas > 1)
    flags.add("num-distributed-optimizer-instances", run.replicas);
  if (run.bucketBytes > 0 && !run.writesOwnPlan())
    flags.add("ddp-bucket-size", std::max<int64_t>(1, run.bucketBytes / (run.sumType() == "f32" ? 4 : 2)));
}

} // namespace

std::string megatronText(const ForeignRun &run, const dsl::Program &program, dsl::Diagnostics &diagnostics) {
  MegatronFlags flags;
  bool wasDeepSpeeds = std::any_of(run.kept.begin(), run.kept.end(), [](const KeptSetting &one) { return one.key == "deepspeed"; });
  if (run.readFrom == run.program && !run.isOwnPlan && wasDeepSpeeds)
    diagnostics.warning(program.plan.location, "this plan is written for Megatron-LM's own data parallelism: --deepspeed is left out");
  if (run.readFrom == run.program && !run.modelSettings.empty())
    for (const auto &[key, value] : run.modelSettings)
      flags.text += run.program->shown(key, value, false) + "\n";
  else if (!run.differences.empty())
    diagnostics.warning(program.model.location, "the model is not written: npar's is only the nearest one to that of the file");
  else if (hasFlags(program.model))
    addModel(flags, run, program, diagnostics);
  else
    diagnostics.warning(program.model.location,
                        "no flags of Megatron-LM are written for the model '" + program.model.name +
                            "': of npar's they describe Gpt2, Llama without biases, Qwen3, Decoder, Mixtral and Qwen3Moe, whose positions "
                            "are scaled as Llama 3.1's or not at all");
  flags.add("micro-batch-size", run.micro);
  flags.add("global-batch-size", run.batch);
  addMegatronTraining(flags, run);
  flags.add("tensor-model-parallel-size", run.tp);
  flags.add("pipeline-model-parallel-size", run.pp);
  addPipeline(flags, run);
  addMegatronExperts(flags, run);
  bool isOlder = run.keeps({"ds_sequence_parallel_size", "deepspeed", "zero_stage"}); // Megatron-DeepSpeed, which has no such flags
  if (!isOlder)
    flags.add("context-parallel-size", run.cp);
  if (run.cp > 1 && !isOlder)
    flags.add("cp-comm-type", run.ring == "gather" ? "all_gather" : run.ring == "ulysses" ? "a2a" : "p2p");
  if (run.sequenceParallel)
    flags.add("sequence-parallel");
  if (run.dpOutside)
    flags.add("use-tp-pp-dp-mapping");
  if (!run.recompute.empty() && !run.keeps({"recompute_", "activations_checkpoint", "checkpoint_"})) {
    flags.add("recompute-granularity", "full");
    flags.add("recompute-method", "uniform");
    flags.add("recompute-num-layers", run.recompute == "block" ? "1" : run.recompute.substr(run.recompute.find(' ') + 1));
  }
  addStorage(flags, run);
  for (const KeptSetting &one : run.keptToWrite()) {
    if (one.key.rfind(ofDeepSpeedFile, 0) == 0) // that file is not written
      continue;
    std::string line = run.program->shown(one.key, one.value, false);
    flags.remove(line.substr(2, line.find(' ') - 2));
    flags.text += line + "\n";
  }
  return std::move(flags.text);
}

} // namespace npar::foreign
