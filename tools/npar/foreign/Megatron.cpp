// Flags of Megatron-LM, or the list of arguments that it prints. Names and defaults are those of its megatron/training/arguments.py and of
// the configurations beside it.
#include "tools/npar/foreign/Reading.h"

#include <fmt/format.h>

namespace npar::driver {
namespace {

/// Names that are about something else than the time and memory of a training step.
const std::vector<const char *> immaterial = {"lr",
                                              "lr_*",
                                              "min_lr",
                                              "decoupled_*",
                                              "warmup",
                                              "adam_*",
                                              "sgd_*",
                                              "weight_decay*",
                                              "start_weight_decay",
                                              "end_weight_decay",
                                              "decoupled_weight_decay",
                                              "wd_*",
                                              "no_weight_decay*",
                                              "apply_wd_*",
                                              "init_method*",
                                              "embedding_init*",
                                              "seed",
                                              "train_iters",
                                              "train_samples",
                                              "iterations_to_skip",
                                              "override_opt*",
                                              "use_checkpoint_opt*",
                                              "save*",
                                              "load*",
                                              "no_save*",
                                              "no_load*",
                                              "*ckpt*",
                                              "*checkpoint_args",
                                              "use_dist_ckpt*",
                                              "async_*",
                                              "finetune",
                                              "pretrained_checkpoint",
                                              "exit_*",
                                              "most_recent_k",
                                              "non_persistent*",
                                              "use_persistent_ckpt*",
                                              "replication*",
                                              "verify_integrity",
                                              "distrib_optim_fully*",
                                              "auto_detect_ckpt*",
                                              "fully_parallel_*",
                                              "dist_ckpt*",
                                              "strict_fsdp*",
                                              "log*",
                                              "no_log*",
                                              "timing*",
                                              "tensorboard*",
                                              "wandb*",
                                              "*one_logger*",
                                              "app_tag*",
                                              "throughput*",
                                              "barrier*",
                                              "memory_*",
                                              "record_*",
                                              "runtime_time_unit",
                                              "filter_warnings",
                                              "modules_to_filter",
                                              "set_level*",
                                              "profile*",
                                              "use_pytorch_profiler",
                                              "pytorch_profiler*",
                                              "nvtx*",
                                              "use_nsys*",
                                              "straggler*",
                                              "config_logger*",
                                              "moe_per_layer_logging",
                                              "save_config_filepath",
                                              "eval_*",
                                              "skip_train",
                                              "full_validation",
                                              "multiple_validation*",
                                              "validation_*",
                                              "start_eval*",
                                              "test_*",
                                              "data_*",
                                              "*_data_path",
                                              "mock_data",
                                              "split",
                                              "num_workers",
                                              "dataloader*",
                                              "reset_*",
                                              "eod_mask_loss",
                                              "create_attention_mask*",
                                              "no_create_attention*",
                                              "num_dataset_builder*",
                                              "object_storage*",
                                              "mid_level_dataset*",
                                              "mmap_*",
                                              "no_mmap*",
                                              "allow_ambiguous*",
                                              "sample_rate",
                                              "mask_prob",
                                              "short_seq_prob",
                                              "mask_*",
                                              "per_split*",
                                              "per_dataset*",
                                              "phase_transition*",
                                              "s3_*",
                                              "fim_*",
                                              "*_file",
                                              "merge_file",
                                              "tokenizer*",
                                              "tiktoken*",
                                              "null_tokenizer*",
                                              "trust_remote_code",
                                              "chat_template",
                                              "special_tokens",
                                              "vocab_extra_ids",
                                              "pad_vocab_size",
                                              "metadata_path",
                                              "use_gigatoken",
                                              "loss_scale*",
                                              "initial_loss_scale",
                                              "min_loss_scale",
                                              "hysteresis",
                                              "clip_grad",
                                              "check_*",
                                              "no_check_for*",
                                              "manual_gc*",
                                              "empty_unused*",
                                              "adlr_*",
                                              "distributed_timeout*",
                                              "distributed_backend",
                                              "nccl_comm*",
                                              "local_rank",
                                              "rank",
                                              "master_*",
                                              "node_rank",
                                              "rdzv_*",
                                              "max_restarts",
                                              "role",
                                              "tee",
                                              "log_dir",
                                              "standalone",
                                              "lazy_mpu_init",
                                              "inference*",
                                              "rl_*",
                                              "grpo_*",
                                              "retro*",
                                              "vision*",
                                              "dino_*",
                                              "img_*",
                                              "patch_dim",
                                              "num_classes",
                                              "num_channels",
                                              "ict_*",
                                              "bert_*",
                                              "biencoder*",
                                              "titles*",
                                              "query_in*",
                                              "use_one_sent*",
                                              "evidence*",
                                              "retriever*",
                                              "block_data*",
                                              "embedding_path",
                                              "indexer*",
                                              "classes_fraction",
                                              "data_per_class*",
                                              "head_lr_mult",
                                              "swin_*",
                                              "iter_per_epoch",
                                              "mask_type",
                                              "mask_factor",
                                              "inprocess*",
                                              "result_rejected*",
                                              "error_injection*",
                                              "rerun_*",
                                              "ft_*",
                                              "enable_ft*",
                                              "calc_ft*",
                                              "enable_msc",
                                              "flight_recorder*",
                                              "perform_rl*",
                                              "langrl*",
                                              "sft*",
                                              "logits_*",
                                              "max_tokens_to_oom",
                                              "output_bert*",
                                              "workload*",
                                              "run_workload*",
                                              "disable_msc",
                                              "yaml_cfg",
                                              "transformer_impl",
                                              "use_mcore_models",
                                              "use_legacy_models",
                                              "use_flash_attn",
                                              "flash_attention_version",
                                              "fp32_attention",
                                              "perform_initialization",
                                              "use_cpu_initialization",
                                              "*rng_tracker",
                                              "init_model_with*",
                                              "*masked_softmax_fusion",
                                              "*bias_*fusion",
                                              "bias_activation_fusion",
                                              "*gradient_accumulation_fusion",
                                              "*rope_fusion",
                                              "*persist_layer_norm",
                                              "apply_layernorm_1p",
                                              "layernorm_zero_centered_gamma",
                                              "memory_efficient_layer_norm",
                                              "cross_entropy*",
                                              "attention_softmax_in_fp32",
                                              "apply_query_key_layer_scaling",
                                              "no_query_key_layer_scaling",
                                              "calculate_per_token_loss",
                                              "*deallocate_pipeline_outputs",
                                              "params_dtype",
                                              "pipeline_dtype",
                                              "autocast_dtype",
                                              "batch_p2p*",
                                              "*gloo*",
                                              "use_tp_pp_dp_mapping",
                                              "ddp_average*",
                                              "ddp_pad*",
                                              "*align_*",
                                              "high_priority*",
                                              "deterministic_mode",
                                              "disable_jit*",
                                              "data_parallel_random_init",
                                              "consumed_*",
                                              "iteration",
                                              "do_train",
                                              "do_valid",
                                              "do_test",
                                              "encoder_num_layers",
                                              "encoder_seq_length",
                                              "decoder_seq_length",
                                              "decoder_num_layers",
                                              "rotary_base",
                                              "rotary_interleaved",
                                              "rope_*",
                                              "use_rope*",
                                              "yarn*",
                                              "mscale*",
                                              "rotary_s*",
                                              "beta_*",
                                              "variable_seq_lengths",
                                              "timers",
                                              "name",
                                              "spec",
                                              "model_type",
                                              "max_position_embeddings",
                                              "add_position_embedding",
                                              "softmax_scale",
                                              "softmax_type",
                                              "exit",
                                              "nproc_per_node",
                                              "nnodes",
                                              "world_size",
                                              "data_parallel_size",
                                              "transformer_pipeline*",
                                              "help",
                                              "glu_linear_offset",
                                              "onnx_safe",
                                              "hybrid_*_ratio"};

/// What npar has no counterpart for, by name, where it is on.
const std::vector<std::pair<const char *, const char *>> inexpressible = {
    {"fp8*", "npar has no types of 8 bits: products are of the plan's precision"},
    {"fp4*", "npar has no types of 4 bits: products are of the plan's precision"},
    {"*offload*", "nothing is moved to the host's memory"},
    {"use_precision_aware_optimizer", "the optimizer's state is f32"},
    {"exp_avg_dtype", "the optimizer's state is f32"},
    {"exp_avg_sq_dtype", "the optimizer's state is f32"},
    {"main_params_dtype", "the optimizer's state is f32"},
    {"tp_comm_overlap", "a product does not overlap with its own collective"},
    {"rampup_batch_size", "a step of the full batch is simulated"},
    {"step_batch_size_schedule", "a step of the full batch is simulated"},
    {"distribute_saved_activations", "what is kept of a block's input is not cut over tp"},
    {"fp32_residual_connection", "the residual stream is of the plan's precision"},
    {"multi_latent_attention", "the model has no latent attention: its own is taken"},
    {"mtp_num_layers", "the model predicts one token"},
    {"qk_layernorm", "the model has no norm of queries and keys"},
    {"add_qkv_bias", "the model has no bias there alone"},
    {"window_size", "attention is over the whole sequence"},
    {"squared_relu", "the model's own activation is taken, which costs the same products"},
    {"apply_residual_connection_post_layernorm", "the residual stream goes before the norm"},
    {"*cuda_graph*", "the cost of a launch is the machine's figure"},
    {"delay_wgrad_compute", "the schedule alone says when gradients of weights are computed"},
    {"defer_embedding_wgrad_compute", "the schedule alone says when gradients of weights are computed"},
    {"overlap_param_gather_with_optimizer_step", "gathers come with the use of a parameter"},
    {"use_ring_exchange_p2p", "messages of the pipeline go between pairs"},
    {"pipeline_model_parallel_layout", "blocks are spread evenly"},
    {"account_for_embedding_in_pipeline_split", "blocks are spread evenly"},
    {"account_for_loss_in_pipeline_split", "blocks are spread evenly"},
    {"microbatch_group_size_per_vp_stage", "micro-batches go in groups of the number of stages"},
    {"hierarchical_context_parallel_sizes", "the ring is one"},
    {"expert_model_parallel_size", "the model has no experts"},
    {"expert_tensor_parallel_size", "the model has no experts"},
    {"use_sharp", "collectives are those of the machine file"},
    {"nccl_ub", "collectives are those of the machine file"},
    {"use_nccl_ub", "collectives are those of the machine file"},
    {"freeze_all_layers", "all parameters are trained"},
    {"heterogeneous_layers*", "all blocks are equal"},
    {"hybrid_layer_pattern", "all blocks are equal"},
    {"hybrid_override_pattern", "all blocks are equal"},
};

std::string text(int64_t value) { return std::to_string(value); }

/// Vocabulary as Megatron pads it, for the table of embeddings and for the loss.
int64_t vocabulary(Reading &in, int64_t tp) {
  const ForeignEntry *padded = in.find("padded_vocab_size"), *given = in.find("vocab_size"),
                     *multiple = in.find("make_vocab_size_divisible_by");
  const ForeignEntry *type = in.find("tokenizer_type"), *merges = in.find("merge_file");
  if (padded)
    return in.whole(padded, 1);
  int64_t vocab = in.whole(given, 0), step = in.whole(multiple, 128) * tp;
  if (!given && (merges || in.word(type, "") == "GPT2BPETokenizer")) {
    vocab = 50257;
    in.run.assumed.push_back("the vocabulary of GPT-2's tokenizer has 50,257 tokens");
  }
  if (vocab == 0)
    return 0;
  int64_t whole = (vocab + step - 1) / step * step;
  if (whole != vocab)
    in.run.assumed.push_back(
        fmt::format("a vocabulary of {} is padded to {}, a multiple of {} * tp, as Megatron-LM does", vocab, whole, step / tp));
  return whole;
}

/// Gpt2 or Llama, whichever is nearer; where it differs is named.
void readModel(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *layers = in.find("num_layers"), *hidden = in.find("hidden_size"), *headsAt = in.find("num_attention_heads");
  const ForeignEntry *swiglu = in.find("swiglu"), *norm = in.find("normalization"), *untie = in.find("untie_embeddings_and_output_weights"),
                     *grouped = in.find("group_query_attention");
  const ForeignEntry *groups = in.find("num_query_groups"), *position = in.find("position_embedding_type"),
                     *rotary = in.find("use_rotary_position_embeddings");
  const ForeignEntry *noBias = in.find("disable_bias_linear"), *bias = in.find("add_bias_linear"), *inner = in.find("ffn_hidden_size"),
                     *channels = in.find("kv_channels");
  const ForeignEntry *hiddenDropout = in.find("hidden_dropout"), *attentionDropout = in.find("attention_dropout"),
                     *experts = in.findAny({"num_experts", "num_moe_experts"});
  const ForeignEntry *percent = in.find("rotary_percent");
  in.findAny({"norm_epsilon", "layernorm_epsilon"});
  if (experts && in.whole(experts, 1, 0) > 1)
    in.error(*experts, "npar has no model with experts that tokens are sent to ('" + experts->key + "')");
  run.layers = in.whole(layers, 0);
  int64_t width = in.whole(hidden, 0), heads = in.whole(headsAt, 0);
  if (!layers || !hidden || !headsAt) {
    if (layers || hidden || headsAt)
      in.diagnostics.error((layers   ? layers
                            : hidden ? hidden
                                     : headsAt)
                               ->at,
                           "num_layers, hidden_size and num_attention_heads say a model together");
    return;
  }
  if (in.diagnostics.hasErrors())
    return;
  if (width % heads != 0 && !channels)
    in.error(*hidden, fmt::format("hidden_size {} is not divisible by num_attention_heads {}", width, heads));
  bool gated = in.isTrue(swiglu), rms = in.word(norm, "LayerNorm") == "RMSNorm",
       rope = in.isTrue(rotary) || in.word(position, "") == "rope";
  bool hasBias = noBias ? !in.isTrue(noBias) : !bias || in.isTrue(bias), untied = in.isTrue(untie);
  int64_t kvHeads = in.isTrue(grouped) ? in.whole(groups, 1) : heads, vocab = vocabulary(in, run.tp);
  int64_t mlp = in.whole(inner, gated ? 4 * width * 2 / 3 / 64 * 64 : 4 * width), feature = in.whole(channels, width / heads);
  double dropout = in.number(hiddenDropout, 0.1), probabilities = in.number(attentionDropout, 0.1);
  if (heads % kvHeads != 0 && groups)
    in.error(*groups, fmt::format("num_attention_heads {} is not divisible by num_query_groups {}", heads, kvHeads));
  bool isLlama = gated || rms || kvHeads != heads || (rope && untied);
  run.model = isLlama ? "llama" : "gpt2";
  std::string name = isLlama ? "Llama" : "Gpt2";
  auto differs = [&](bool it, const ForeignEntry *entry, const std::string &why) {
    if (it && entry)
      in.leave(entry, why);
    else if (it)
      run.assumed.push_back(why);
  };
  if (isLlama) {
    differs(!gated, swiglu, "Llama's unit is gated (SwiGLU), Megatron-LM's without --swiglu is not: a third more products there");
    differs(!rms, norm, "Llama has RMSNorm");
    differs(!rope, position, "Llama has rotary embeddings");
    differs(hasBias, bias, "Llama's products have no biases; Megatron-LM's have, without --disable-bias-linear");
    if (percent && in.number(percent, 1) != 1)
      in.leave(percent, "all of a head is turned");
    differs(dropout > 0, hiddenDropout, "Llama has no dropout (Megatron-LM's hidden_dropout is 0.1 where it is not said)");
    differs(probabilities > 0 && dropout <= 0, attentionDropout,
            "Llama has no dropout (Megatron-LM's attention_dropout is 0.1 where it is not said)");
  } else {
    differs(rope, rotary ? rotary : position, "Gpt2 has a table of positions");
    differs(untied, untie, "Gpt2's output is projected by the embedding");
    differs(!hasBias, noBias ? noBias : bias, "Gpt2's products have biases");
    differs(feature != width / heads, channels, "Gpt2's heads share the width evenly");
    differs(dropout != probabilities, attentionDropout, "Gpt2 has one dropout for all: that of the residual stream");
    if (percent)
      in.find("rotary_percent");
  }
  int64_t context = in.whole(in.find("max_position_embeddings"), run.length);
  if (vocab > 0)
    run.constants.emplace_back("vocab", text(vocab));
  else if (!hints.vocabularyIsKnown)
    in.diagnostics.error(layers->at, "the file does not say how large the vocabulary is")
        .help(layers->at, "add --vocab-size to it, or give --set vocab=N");
  run.constants.emplace_back("context", text(std::max(context, run.length)));
  run.constants.emplace_back("length", text(run.length));
  run.constants.emplace_back("width", text(width));
  run.constants.emplace_back("heads", text(heads));
  run.constants.emplace_back("depth", text(run.layers));
  run.constants.emplace_back(isLlama ? "mlp" : "inner", text(mlp));
  if (isLlama) {
    run.constants.emplace_back("kv_heads", text(kvHeads));
    run.constants.emplace_back("head_dim", text(feature));
    run.constants.emplace_back("tied", untied ? "false" : "true");
  } else if (dropout > 0) {
    run.constants.emplace_back("dropout", fmt::format("{}", dropout));
  }
}

void readPipeline(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *perStage = in.find("num_layers_per_virtual_pipeline_stage"),
                     *virtualStages = in.findAny({"num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size"});
  const ForeignEntry *first = in.findAny({"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage"});
  const ForeignEntry *last = in.findAny({"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"});
  int64_t layers = run.layers > 0 ? run.layers : hints.layers;
  if (run.pp == 1 || layers == 0) {
    if (run.pp > 1)
      run.assumed.push_back("blocks are balanced by cost over the pipeline's stages");
    return;
  }
  if (perStage && !virtualStages && layers % run.pp == 0) {
    int64_t each = in.whole(perStage, 1);
    if (layers / run.pp % each != 0)
      in.error(*perStage, fmt::format("the {} layers of a stage are not divisible by {} per virtual stage", layers / run.pp, each));
    else
      run.chunks = layers / run.pp / each;
  }
  run.chunks = in.whole(virtualStages, run.chunks);
  run.schedule = run.chunks > 1 ? "interleaved" : "1f1b";
  int64_t parts = run.pp * run.chunks, rest = layers, between = parts;
  if (parts > layers) {
    in.diagnostics.error(run.placeOf("pp"), fmt::format("{} layers are fewer than the {} parts of the pipeline", layers, parts));
    return;
  }
  int64_t inFirst = in.whole(first, 0, 0), inLast = in.whole(last, 0, 0); // of a stage, all its chunks
  for (auto [entry, blocks] : {std::pair(first, inFirst), std::pair(last, inLast)})
    if (entry && blocks % run.chunks != 0)
      in.error(*entry, fmt::format("{} layers do not go evenly over the {} chunks of a stage", blocks, run.chunks));
  rest -= inFirst + inLast;
  between -= (first ? run.chunks : 0) + (last ? run.chunks : 0);
  if (rest < 0 || between < 0 || (between == 0 ? rest != 0 : rest % between != 0)) {
    in.diagnostics.error(run.placeOf("pp"), fmt::format("{} layers do not go evenly over {} parts of the pipeline", rest, between))
        .help(run.placeOf("pp"),
              "Megatron-LM refuses it too; --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers make a rest");
    return;
  }
  for (int64_t part = 0; part < parts; ++part)
    run.stages.push_back(first && part % run.pp == 0           ? inFirst / run.chunks
                         : last && part % run.pp == run.pp - 1 ? inLast / run.chunks
                                                               : rest / between);
}

void readRecompute(Reading &in) {
  const ForeignEntry *granularity = in.find("recompute_granularity"), *method = in.find("recompute_method"),
                     *count = in.find("recompute_num_layers");
  const ForeignEntry *selective = in.find("recompute_activations"), *all = in.find("checkpoint_activations"),
                     *modules = in.find("recompute_modules");
  std::string how = in.word(granularity, in.isTrue(all) ? "full" : in.isTrue(selective) ? "selective" : "");
  if (how == "full") {
    int64_t layers = in.whole(count, 1);
    in.run.recompute = in.word(method, "uniform") == "uniform" && layers > 1 ? "every " + text(layers) : "block";
    if (in.word(method, "uniform") == "block")
      in.leave(method, fmt::format("all blocks are recomputed, not {} of each stage", layers));
  } else if (how == "selective") {
    std::string what = in.word(modules, "core_attn");
    if (what != "core_attn")
      in.leave(modules, "of parts of a block, attention alone is recomputed");
    in.run.assumed.push_back("attention's probabilities are recomputed in any case: npar never keeps them");
  } else if (granularity) {
    in.error(*granularity, "'recompute_granularity' is 'full' or 'selective', not '" + how.substr(0, 40) + "'");
  }
}

/// Who stores what, in which types.
void readStorage(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *bf16 = in.find("bf16"), *fp16 = in.find("fp16"), *inBf16 = in.find("grad_reduce_in_bf16"),
                     *inF32 = in.find("accumulate_allreduce_grads_in_fp32"), *mainGrads = in.find("main_grads_dtype");
  run.precision = in.isTrue(bf16) ? "bf16" : in.isTrue(fp16) ? "fp16" : "f32";
  if (in.isTrue(bf16) && in.isTrue(fp16))
    in.error(*fp16, "a run is in bf16 or fp16, not both");
  // bf16 adds gradients up in f32 unless it is told otherwise; fp16 only when it is told to.
  if (run.precision != "f32")
    run.gradients = (run.precision == "bf16" && !in.isTrue(inBf16)) || in.isTrue(inF32) ? "f32" : "";
  if (mainGrads && in.word(mainGrads, "fp32") == "bf16")
    in.leave(mainGrads, "gradients are of the type that --grad-reduce-in-bf16 says");
  const ForeignEntry *distributed = in.find("use_distributed_optimizer"),
                     *fsdp = in.findAny({"use_megatron_fsdp", "use_torch_fsdp2", "use_custom_fsdp"}),
                     *strategy = in.find("data_parallel_sharding_strategy");
  const ForeignEntry *instances = in.find("num_distributed_optimizer_instances"), *outer = in.find("outer_dp_sharding_strategy"),
                     *overlap = in.find("overlap_grad_reduce"), *gather = in.find("overlap_param_gather");
  run.zero = in.isTrue(distributed) ? 1 : 0;
  if (in.isTrue(fsdp)) {
    std::string how = in.word(strategy, "optim_grads_params");
    run.zero = how == "no_shard" ? 0 : how == "optim" ? 1 : how == "optim_grads" ? 2 : 3;
    run.gradientsPerStep = false;
    if (outer && outer->value != "no_shard")
      in.leave(outer, "between replicas nothing is stored in shares");
  }
  run.replicas = in.whole(instances, 1);
  if (run.zero > 0 && !in.isTrue(gather) && !in.isTrue(fsdp))
    run.assumed.push_back(
        "parameters are gathered where they are used first (without --overlap-param-gather Megatron-LM gathers all of them at once)");
  if (!in.isTrue(overlap) && !in.isTrue(fsdp))
    run.assumed.push_back("gradients are reduced as soon as they are there (without --overlap-grad-reduce Megatron-LM waits for the last)");
  const ForeignEntry *bucket = in.findAny({"ddp_bucket_size", "bucket_size"}), *buckets = in.find("ddp_num_buckets");
  if (bucket)
    run.bucketBytes = in.whole(bucket, 1) * (run.precision == "f32" || run.gradients == "f32" ? 4 : 2);
  in.leave(buckets, "buckets have a size, not a number");
  std::string optimizer = in.word(in.find("optimizer"), "adam");
  if (optimizer == "sgd")
    run.optimizer = "Sgd(lr = 1e-4, momentum = 0.9)";
  else if (optimizer != "adam")
    in.leave(in.find("optimizer"), "AdamW is taken");
  run.clip = in.number(in.find("clip_grad"), 1) > 0;
}

} // namespace

void readMegatron(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *tp = in.find("tensor_model_parallel_size"), *pp = in.find("pipeline_model_parallel_size"),
                     *cp = in.find("context_parallel_size");
  const ForeignEntry *world = in.find("world_size"), *perNode = in.find("nproc_per_node"), *nodes = in.find("nnodes"),
                     *micro = in.findAny({"micro_batch_size", "batch_size"}), *batch = in.find("global_batch_size");
  const ForeignEntry *length = in.findAny({"seq_length", "encoder_seq_length"}), *old = in.find("model_parallel_size");
  run.tp = in.whole(tp ? tp : old, 1), run.pp = in.whole(pp, 1), run.cp = in.whole(cp, 1);
  in.place("tp", tp ? tp : old), in.place("pp", pp), in.place("cp", cp), in.place("micro", micro), in.place("batch", batch);
  in.place("world", world ? world : nodes ? nodes : perNode);
  if (hints.world == 0)
    run.world = world ? in.whole(world, 0) : perNode ? in.whole(perNode, 1) * in.whole(nodes, 1) : 0;
  run.micro = in.whole(micro, 1), run.batch = in.whole(batch, 0);
  run.length = in.whole(length, 0);
  if (!micro)
    run.assumed.push_back("a micro-batch has one sequence: --micro-batch-size is not there");
  run.sequenceParallel = in.isTrue(in.find("sequence_parallel")) && run.tp > 1;
  if (const ForeignEntry *how = in.find("cp_comm_type"); how && run.cp > 1) {
    std::string word = how->value;
    if (word.find("all_gather") != std::string::npos)
      run.ring = "gather";
    else if (word.find("p2p") == std::string::npos)
      in.leave(how, "keys and values go round in a ring");
  }
  if (const ForeignEntry *backend = in.find("attention_backend");
      backend && (backend->value == "unfused" || backend->value == "local" || backend->value == "AttnBackend.unfused"))
    in.leave(backend, "attention is fused: its probabilities are never kept");
  if (!hints.modelIsKnown) {
    if (run.length == 0 && in.find("num_layers"))
      in.diagnostics.error(in.find("num_layers")->at, "the file does not say how long a sequence is").help({}, "add --seq-length to it");
    else
      readModel(in, hints);
  } else {
    for (const char *key : {"num_layers",
                            "hidden_size",
                            "num_attention_heads",
                            "swiglu",
                            "normalization",
                            "untie_embeddings_and_output_weights",
                            "group_query_attention",
                            "num_query_groups",
                            "position_embedding_type",
                            "use_rotary_position_embeddings",
                            "disable_bias_linear",
                            "add_bias_linear",
                            "ffn_hidden_size",
                            "kv_channels",
                            "vocab_size",
                            "padded_vocab_size",
                            "make_vocab_size_divisible_by",
                            "hidden_dropout",
                            "attention_dropout",
                            "norm_epsilon",
                            "layernorm_epsilon",
                            "rotary_percent",
                            "max_position_embeddings"})
      in.find(key);
    run.assumed.push_back("the model is that of --model-config, whatever the file says of it");
  }
  readPipeline(in, hints);
  readRecompute(in);
  readStorage(in);
  in.leaveAll(inexpressible);
  in.finish(immaterial);
}

} // namespace npar::driver
