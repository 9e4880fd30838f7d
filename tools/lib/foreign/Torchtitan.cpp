// Reads the TOML of torchtitan. Names and defaults come from its torchtitan/config/job_config.py.
#include "tools/lib/foreign/Reading.h"

#include <fmt/format.h>

namespace npar::foreign {
namespace {

// clang-format off
const std::vector<const char *> immaterialToTorchtitan = {
    "job.*", "profiling.*", "metrics.*", "checkpoint.*", "comm.*", "debug.*", "validation.*", "lr_scheduler.*", "compile.*",
    "memory_estimation.*", "experimental.custom*", "fault_tolerance.*", "model.tokenizer*", "model.hf_assets_path", "model.print_after*",
    "model.norm_type", "optimizer.lr", "optimizer.beta*", "optimizer.eps", "optimizer.weight_decay", "optimizer.implementation",
    "training.steps", "training.dataset*", "training.seed", "training.deterministic*", "training.gc_*", "training.compile",
    "training.warmup_steps", "training.max_context_length", "training.data_*", "activation_checkpoint.selective_ac_option",
    "activation_checkpoint.preserve*", "activation_checkpoint.determinism*", "activation_checkpoint.debug",
    "activation_checkpoint.early_stop", "float8.*", "mx.*", "quantize.*", "parallelism.enable_compiled_autograd",
    "parallelism.spmd_backend", "parallelism.context_parallel_ptrr*"};
// clang-format on

/// Finds a name in its section, or in [experimental] or [training], where older files have it.
const ForeignEntry *parallel(Reading &in, const std::string &name) {
  for (const char *section : {"parallelism.", "experimental.", "training."})
    if (const ForeignEntry *entry = in.find(section + name))
      return entry;
  return nullptr;
}

void readModel(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *name = in.find("model.name"), *size = in.find("model.flavor");
  for (const TorchtitanFlavor &flavor : torchtitanFlavors())
    if (name && size && (name->value == "llama3" || name->value == "llama3_ft") && size->value == flavor.name) {
      run.model = "llama", run.layers = flavor.depth;
      for (const auto &[key, value] : {std::pair("vocab", int64_t{128256}),
                                       {"context", std::max<int64_t>(run.length, 8192)},
                                       {"length", run.length},
                                       {"width", flavor.width},
                                       {"heads", flavor.heads},
                                       {"depth", flavor.depth},
                                       {"mlp", flavor.mlp},
                                       {"kv_heads", flavor.kvHeads}})
        run.constants.emplace_back(key, std::to_string(value));
      run.constants.emplace_back("theta", "500000.0");
    }
  if (run.model.empty() && (name || size))
    in.diagnostics
        .error((size ? size : name)->at,
               fmt::format("of torchtitan's models npar knows llama3 8B, 70B and 405B, not '{} {}'", in.word(name, ""), in.word(size, "")))

        .help((size ? size : name)->at, "--model-config names the config.json of the model");
}

} // namespace

const std::vector<TorchtitanFlavor> &torchtitanFlavors() {
  static const std::vector<TorchtitanFlavor> flavors = {
      {"8B", 4096, 32, 32, 8, 14336}, {"70B", 8192, 80, 64, 8, 28672}, {"405B", 16384, 126, 128, 8, 53248}};
  return flavors;
}

std::vector<int64_t> torchtitanStages(int64_t layers, int64_t parts, int64_t before, int64_t after) {
  std::vector<int64_t> blocks;
  int64_t all = layers + before + after;
  for (int64_t part = 0; part < parts; ++part)
    blocks.push_back(all / parts + (part < all % parts ? 1 : 0) - (part == 0 ? before : 0) - (part == parts - 1 ? after : 0));
  return blocks;
}

namespace {

void readSchedule(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *schedule = parallel(in, "pipeline_parallel_schedule"), *perStage = parallel(in, "pipeline_parallel_layers_per_stage"),
                     *file = parallel(in, "pipeline_parallel_schedule_csv");
  const ForeignEntry *points = parallel(in, "pipeline_parallel_split_points"), *parts = parallel(in, "module_fqns_per_model_part");
  const ForeignEntry *less = parallel(in, "pipeline_parallel_first_stage_less_layers"),
                     *lessLast = parallel(in, "pipeline_parallel_last_stage_less_layers");
  if (run.pp == 1)
    return;
  std::string name = in.word(schedule, "1F1B");
  int64_t layers = run.layers > 0 ? run.layers : hints.layers, chunks = 2, first = in.whole(less, 1, 0), last = in.whole(lessLast, 1, 0);
  if (perStage && layers > 0) {
    int64_t each = in.whole(perStage, 1), parts = (layers + first + last + each - 1) / each;
    if (parts % run.pp != 0)
      in.error(*perStage,
               fmt::format("{} layers, with those that embedding and output count as, make {} parts of {}, which {} stages do not divide",
                           layers + first + last, parts, each, run.pp));
    chunks = std::max<int64_t>(1, parts / run.pp);
  }
  if (file && !file->value.empty())
    in.leave(file, "the schedule is taken by its name");
  if (points && points->value != "[]")
    in.leave(points, "blocks are spread as torchtitan does without it");
  in.leave(parts, "blocks are spread as torchtitan does without it");
  if (name == "1F1B" || name == "GPipe")
    run.schedule = name == "1F1B" ? "1f1b" : "gpipe";
  else if (name == "Interleaved1F1B" || name == "LoopedBFS" || name == "InterleavedZeroBubble")
    run.schedule = name == "LoopedBFS" ? "looped_bfs" : "interleaved", run.chunks = chunks;
  else if (name == "ZBVZeroBubble" || name == "DualPipeV")
    run.schedule = name == "DualPipeV" ? "dualpipe_v" : "zb_v", run.chunks = 2;
  else
    in.leave(schedule, "npar does not know this schedule: 1f1b is taken");
  if (name == "InterleavedZeroBubble")
    in.leave(schedule, "the interleaved schedule is taken, whose backwards are whole");
  if (layers == 0 || run.schedule == "zb_v" || run.schedule == "dualpipe_v") {
    run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
    return;
  }
  int64_t count = run.pp * run.chunks;
  run.stages = torchtitanStages(layers, count, first, last);
  for (int64_t blocks : run.stages)
    if (blocks < 1) {
      in.diagnostics.error(run.placeOf("pp"),
                           fmt::format("{} layers leave a stage of the pipeline, which has {} parts, without a block", layers, count));
      return;
    }
}

void readRecompute(Reading &in) {
  const ForeignEntry *mode = in.find("activation_checkpoint.mode"), *option = in.find("activation_checkpoint.selective_ac_option");
  std::string how = in.word(mode, "selective"), every = in.word(option, "2");
  if (how == "full" || (how == "selective" && every == "1"))
    in.run.recompute = "block";
  else if (how == "selective")
    // Every k-th block is recomputed there; `recompute every k` of npar recomputes all, k at a time.
    in.leave(option ? option : mode, every == "op" ? "operations are not chosen one by one: nothing is recomputed"
                                                   : "all blocks are recomputed, or none: none is taken");
  else if (how != "none")
    in.leave(mode, "npar does not know this way to recompute: nothing is");
  if (how == "selective" && !mode)
    in.run.assumed.push_back("the file does not choose recomputation: torchtitan recomputes some blocks by default, npar none");
}

} // namespace

void readTorchtitan(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *local = in.find("training.local_batch_size"), *older = in.find("training.batch_size"),
                     *batch = in.find("training.global_batch_size"), *length = in.find("training.seq_len");
  const ForeignEntry *shard = parallel(in, "data_parallel_shard_degree"), *replicate = parallel(in, "data_parallel_replicate_degree"),
                     *tp = parallel(in, "tensor_parallel_degree");
  const ForeignEntry *pp = parallel(in, "pipeline_parallel_degree"), *cp = parallel(in, "context_parallel_degree"),
                     *rotate = parallel(in, "context_parallel_rotate_method");
  const ForeignEntry *reshard = parallel(in, "fsdp_reshard_after_forward"), *noLoss = parallel(in, "disable_loss_parallel"),
                     *sequence = parallel(in, "enable_sequence_parallel");
  const ForeignEntry *micro = parallel(in, "pipeline_parallel_microbatch_size"), *ep = parallel(in, "expert_parallel_degree"),
                     *async = parallel(in, "enable_async_tensor_parallel");
  const ForeignEntry *balancer = parallel(in, "context_parallel_load_balancer");
  if (!local)
    local = older;
  run.tp = in.whole(tp, 1), run.pp = in.whole(pp, 1), run.cp = in.whole(cp, 1), run.replicas = in.whole(replicate, 1);
  int64_t sharded = in.whole(shard, -1, -1);
  if (shard && sharded == 0)
    in.error(*shard, "'data_parallel_shard_degree' is -1 (what the world leaves) or at least 1, not 0");
  run.dp = sharded == -1 ? 0 : sharded;
  run.length = in.whole(length, 2048, 1, Reading::mostSize);
  in.place("tp", tp), in.place("pp", pp), in.place("cp", cp), in.place("dp", shard), in.place("batch", batch ? batch : local),
      in.place("micro", micro);
  int64_t each = in.whole(local, 8), global = in.whole(batch, -1, -1, Reading::mostSize);
  if (!local)
    run.assumed.push_back("a rank's batch has 8 sequences, torchtitan's default");
  run.micro = run.pp > 1 ? in.whole(micro, 1) : each;
  if (each % run.micro != 0)
    in.diagnostics.error((micro ? micro : local)->at,
                         fmt::format("local_batch_size {} is not divisible by pipeline_parallel_microbatch_size {}", each, run.micro));
  else
    run.accumulation = each / run.micro;
  run.batch = global > 0 ? global : 0;
  if (run.pp > 1 && run.batch > 0)
    run.assumed.push_back(
        "all micro-batches of a step go through the pipeline in one run, also where torchtitan drains it between accumulated batches");
  run.zero = 3, run.gradientsPerStep = false; // fully_shard: parameters, their gradients and the optimizer's state
  std::string after = in.word(reshard, "default");
  if (after == "never" || (after == "default" && run.pp > 1))
    run.zero = 2; // gathered once for forward and backward
  if (run.dp == 1 && run.cp == 1)
    run.zero = 0;
  run.sequenceParallel = run.tp > 1 && (!sequence || in.isTrue(sequence));
  if (in.isTrue(noLoss) && run.tp > 1)
    in.leave(noLoss, "the loss is split over tp with the vocabulary");
  if (in.isTrue(async))
    in.leave(async, "a product does not overlap with its own collective");
  if (run.cp > 1)
    run.ring = in.word(rotate, "allgather") == "allgather" ? "gather" : balancer && balancer->value == "None" ? "ring" : "ring(zigzag)";
  if (ep && in.whole(ep, 1) > 1)
    in.leave(ep, "the model has no experts");
  std::string param = elementType(in.word(in.find("training.mixed_precision_param"), "bfloat16")),
              dtype = elementType(in.word(in.find("training.dtype"), "float32"));
  std::string reduced = elementType(in.word(in.find("training.mixed_precision_reduce"), "float32"));
  run.precision = dtype == "bf16" ? "bf16" : param.empty() ? "bf16" : param;
  if (run.precision == "bf16" && dtype != "bf16") {
    run.gradients = "f32", run.reduce = reduced == "bf16" ? "bf16" : "f32";
    run.assumed.push_back(
        "npar stores 16-bit parameters in addition to the optimizer's f32 ones: 2 bytes per parameter more than torchtitan's shares");
  }
  if (dtype == "bf16")
    in.leave(in.find("training.dtype"), "the optimizer's state stays f32");
  if (const ForeignEntry *converters = in.find("model.converters"); converters && converters->value != "[]")
    in.leave(converters, "npar has no 8-bit types: products use the plan's precision");
  const ForeignEntry *optimizer = in.find("optimizer.name");
  if (optimizer && optimizer->value != "AdamW" && optimizer->value != "Adam")
    in.leave(optimizer, "AdamW is taken");
  if (const ForeignEntry *early = in.find("optimizer.early_step_in_backward"); in.isTrue(early))
    in.leave(early, "the optimizer comes after the backward pass");
  run.clip = in.number(in.find("training.max_norm"), 1) > 0;
  if (hints.modelIsKnown)
    in.find("model.name"), in.find("model.flavor");
  else
    readModel(in);
  readSchedule(in, hints);
  readRecompute(in);
  in.leaveAll({{"training.enable_cpu_offload", "nothing is moved to the host's memory"},
               {"activation_offload.*", "nothing is moved to the host's memory"},
               {"activation_checkpoint.memory_budget", "operations are not chosen one by one"},
               {"activation_checkpoint.per_op*", "operations are not chosen one by one"},
               {"parallelism.expert_tensor_parallel_degree", "the model has no experts"}});
  in.finish(immaterialToTorchtitan);
}

} // namespace npar::foreign
