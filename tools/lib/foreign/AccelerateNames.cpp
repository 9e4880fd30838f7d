// Classes of Accelerate's settings. The names and the values without effect come from its configuration class and its
// launcher's flags (tests/reference/foreign_names.py); names of older versions are added by hand.
#include "tools/lib/foreign/Accelerate.h"

namespace npar::foreign {

const NameTable &accelerateNames() {
  // clang-format off
  static const NameTable table = {
      {Part::Training, nullptr,
       "deepspeed_config.gradient_clipping megatron_lm_config.megatron_lm_gradient_clipping"},
      {Part::Training, "the model's own is taken",
       "megatron_lm_config.megatron_lm_attention_dropout megatron_lm_config.megatron_lm_hidden_dropout "
       "megatron_lm_config.megatron_lm_use_rotary_position_embeddings"},
      {Part::Training, "every token counts in the loss",
       "megatron_lm_config.megatron_lm_eod_mask_loss"},
      {Part::Plan, nullptr,
       "deepspeed_config.deepspeed_config_file deepspeed_config.gradient_accumulation_steps deepspeed_config.offload_optimizer_device "
       "deepspeed_config.offload_param_device deepspeed_config.zero_stage distributed_type fp16 "
       "fsdp_config.fsdp_activation_checkpointing fsdp_config.fsdp_reshard_after_forward fsdp_config.fsdp_sharding_strategy "
       "fsdp_config.fsdp_version megatron_lm_config.megatron_lm_context_parallel_size megatron_lm_config.megatron_lm_num_micro_batches "
       "megatron_lm_config.megatron_lm_pp_degree megatron_lm_config.megatron_lm_recompute_activations "
       "megatron_lm_config.megatron_lm_recompute_granularity megatron_lm_config.megatron_lm_recompute_method "
       "megatron_lm_config.megatron_lm_recompute_num_layers megatron_lm_config.megatron_lm_sequence_parallelism "
       "megatron_lm_config.megatron_lm_tp_degree megatron_lm_config.megatron_lm_use_distributed_optimizer mixed_precision num_machines "
       "num_processes parallelism_config.parallelism_config_cp_comm_strategy parallelism_config.parallelism_config_cp_size "
       "parallelism_config.parallelism_config_dp_replicate_size parallelism_config.parallelism_config_dp_shard_size "
       "parallelism_config.parallelism_config_sp_size parallelism_config.parallelism_config_tp_size use_cpu"},
      {Part::Plan, "nothing is moved to the host's memory",
       "fsdp_config.fsdp_activation_checkpointing_offload fsdp_config.fsdp_offload_params "
       "megatron_lm_config.megatron_lm_optimizer_cpu_offload megatron_lm_config.megatron_lm_overlap_cpu_optimizer_d2h_h2d"},
      {Part::Plan, "each block is one share, gathered when it is used",
       "fsdp_config.fsdp_auto_wrap_policy=TRANSFORMER_BASED_WRAP fsdp_config.fsdp_backward_prefetch=BACKWARD_PRE "
       "fsdp_config.fsdp_forward_prefetch fsdp_config.fsdp_ignored_modules fsdp_config.fsdp_min_num_params=100000000"},
      {Part::Plan, "npar has no 8-bit types: products use the plan's precision",
       "fp8_config.amax_compute_algo=most_recent fp8_config.amax_history_len=1024 fp8_config.backend "
       "fp8_config.enable_fsdp_float8_all_gather=true fp8_config.format=HYBRID fp8_config.interval=1 fp8_config.margin "
       "fp8_config.opt_level=O2 fp8_config.override_linear_precision=false_false_false fp8_config.pad_inner_dim=true "
       "fp8_config.use_autocast_during_eval"},
      {Part::Plan, "npar's own kernels are timed",
       "dynamo_backend dynamo_config.dynamo_backend dynamo_config.dynamo_mode=default dynamo_config.dynamo_use_dynamic "
       "dynamo_config.dynamo_use_fullgraph dynamo_config.dynamo_use_regional_compilation ipex_config.* "
       "megatron_lm_config.megatron_lm_attention_backend parallelism_config.parallelism_config_sp_attn_implementation=sdpa"},
      {Part::Plan, "the optimizer's state is f32",
       "megatron_lm_config.megatron_lm_use_precision_aware_optimizer"},
      {Part::Plan, "shares are those of the optimizer's state, and blocks are balanced by cost",
       "megatron_lm_config.megatron_lm_decoder_last_pipeline_num_layers megatron_lm_config.megatron_lm_use_custom_fsdp"},
      {Part::Plan, "every rank has all experts",
       "deepspeed_config.deepspeed_moe_layer_cls_names megatron_lm_config.megatron_lm_expert_model_parallel_size "
       "megatron_lm_config.megatron_lm_expert_tensor_parallel_size"},
      {Part::Plan, "the sequence is split over ranks of context parallelism alone",
       "parallelism_config.parallelism_config_cp_backend=torch "
       "parallelism_config.parallelism_config_sp_backend=deepspeed parallelism_config.parallelism_config_sp_seq_length "
       "parallelism_config.parallelism_config_sp_seq_length_is_variable=true"},
      {Part::Plan, "the run is on GPUs",
       "downcast_bf16 tpu_env tpu_name tpu_use_cluster tpu_use_sudo tpu_vm tpu_zone"},
      {Part::Run, nullptr,
       "command_file commands compute_environment debug deepspeed_config.deepspeed_exclusion_filter deepspeed_config.deepspeed_hostfile "
       "deepspeed_config.deepspeed_inclusion_filter deepspeed_config.deepspeed_multinode_launcher "
       "deepspeed_config.offload_optimizer_nvme_path deepspeed_config.offload_param_nvme_path deepspeed_config.zero3_init_flag "
       "deepspeed_config.zero3_save_16bit_model dispatch_batches enable_cpu_affinity env even_batches "
       "fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.fsdp_state_dict_type fsdp_config.fsdp_sync_module_states "
       "fsdp_config.fsdp_transformer_layer_cls_to_wrap fsdp_config.fsdp_use_orig_params gpu_ids log_dir machine_rank main_process_ip "
       "main_process_port main_training_function max_restarts megatron_lm_config.megatron_lm_attention_softmax_in_fp32 "
       "megatron_lm_config.megatron_lm_calculate_per_token_loss megatron_lm_config.megatron_lm_no_load_optim "
       "megatron_lm_config.megatron_lm_no_save_optim monitor_interval mpirun_config.mpirun_hostfile num_cpu_threads_per_process "
       "rdzv_backend rdzv_conf role same_network split_batches tee use_seedable_sampler"},
  };
  // clang-format on
  return table;
}

} // namespace npar::foreign
