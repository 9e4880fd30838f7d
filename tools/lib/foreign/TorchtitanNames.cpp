// Classes of torchtitan's settings. The names and the values without effect come from torchtitan/config/job_config.py
// (tests/reference/foreign_names.py); names of older releases are added by hand.
#include "tools/lib/foreign/Torchtitan.h"

namespace npar::foreign {

const NameTable &torchtitanNames() {
  // clang-format off
  static const NameTable table = {
      {Part::Model, nullptr,
       "model.flavor model.name model.norm_type training.seq_len"},
      {Part::Training, nullptr,
       "debug.seed lr_scheduler.decay_ratio lr_scheduler.decay_type lr_scheduler.lr_min lr_scheduler.min_lr_factor "
       "lr_scheduler.total_steps lr_scheduler.warmup_steps optimizer.beta1 optimizer.beta2 optimizer.eps optimizer.lr optimizer.name "
       "optimizer.weight_decay training.max_norm training.seed training.steps training.warmup_steps"},
      {Part::Training, "what a module of its own changes is unknown",
       "experimental.custom_args_module experimental.custom_import job.custom_config_module"},
      {Part::Training, "every step is trained",
       "checkpoint.create_seed_checkpoint memory_estimation.enable"},
      {Part::Training, "all replicas take every step together",
       "fault_tolerance.enable fault_tolerance.group_size fault_tolerance.min_replica_size=1 fault_tolerance.process_group=gloo "
       "fault_tolerance.process_group_timeout_ms=10000 fault_tolerance.replica_id fault_tolerance.semi_sync_method"},
      {Part::Plan, nullptr,
       "activation_checkpoint.mode activation_checkpoint.selective_ac_option experimental.context_parallel_degree "
       "experimental.context_parallel_load_balancer experimental.context_parallel_rotate_method "
       "experimental.data_parallel_replicate_degree experimental.data_parallel_shard_degree experimental.disable_loss_parallel "
       "experimental.enable_async_tensor_parallel experimental.enable_sequence_parallel experimental.expert_parallel_degree "
       "experimental.fsdp_reshard_after_forward experimental.module_fqns_per_model_part experimental.pipeline_parallel_degree "
       "experimental.pipeline_parallel_first_stage_less_layers experimental.pipeline_parallel_last_stage_less_layers "
       "experimental.pipeline_parallel_layers_per_stage experimental.pipeline_parallel_microbatch_size "
       "experimental.pipeline_parallel_schedule experimental.pipeline_parallel_schedule_csv experimental.pipeline_parallel_split_points "
       "experimental.tensor_parallel_degree parallelism.context_parallel_degree parallelism.context_parallel_load_balancer "
       "parallelism.context_parallel_rotate_method parallelism.data_parallel_replicate_degree parallelism.data_parallel_shard_degree "
       "parallelism.disable_loss_parallel parallelism.enable_async_tensor_parallel parallelism.enable_sequence_parallel "
       "parallelism.expert_parallel_degree parallelism.expert_tensor_parallel_degree parallelism.fsdp_reshard_after_forward parallelism.module_fqns_per_model_part "
       "parallelism.pipeline_parallel_degree parallelism.pipeline_parallel_first_stage_less_layers "
       "parallelism.pipeline_parallel_last_stage_less_layers parallelism.pipeline_parallel_layers_per_stage "
       "parallelism.pipeline_parallel_microbatch_size parallelism.pipeline_parallel_schedule parallelism.pipeline_parallel_schedule_csv "
       "parallelism.pipeline_parallel_split_points parallelism.tensor_parallel_degree training.batch_size "
       "training.context_parallel_degree training.context_parallel_load_balancer training.context_parallel_rotate_method "
       "training.data_parallel_replicate_degree training.data_parallel_shard_degree training.disable_loss_parallel training.dtype "
       "training.enable_async_tensor_parallel training.enable_sequence_parallel training.expert_parallel_degree "
       "training.fsdp_reshard_after_forward training.global_batch_size training.local_batch_size training.mixed_precision_param "
       "training.mixed_precision_reduce training.module_fqns_per_model_part training.pipeline_parallel_degree "
       "training.pipeline_parallel_first_stage_less_layers training.pipeline_parallel_last_stage_less_layers "
       "training.pipeline_parallel_layers_per_stage training.pipeline_parallel_microbatch_size training.pipeline_parallel_schedule "
       "training.pipeline_parallel_schedule_csv training.pipeline_parallel_split_points training.tensor_parallel_degree"},
      {Part::Plan, "the optimizer comes after the backward pass",
       "optimizer.early_step_in_backward"},
      {Part::Plan, "nothing is moved to the host's memory",
       "activation_offload.mode training.enable_cpu_offload"},
      {Part::Plan, "operations are not chosen one by one",
       "activation_checkpoint.early_stop activation_checkpoint.memory_budget=0.5 "
       "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns=moe.router.gate "
       "activation_checkpoint.visualize_memory_budget_pareto"},
      {Part::Plan, "experts are split like other layers, and rows go to them as plan and sizes say",
       "debug.moe_force_load_balance parallelism.expert_parallel_comm_backend=standard "
       "parallelism.pipeline_parallel_expert_parallel_overlap=true"},
      {Part::Plan, "npar's own kernels are timed",
       "debug.deterministic training.deterministic compile.backend=inductor compile.components=model_loss compile.enable experimental.enable_async_tensor_parallel_compile "
       "model.attn_mask_type model.use_flex_attn optimizer.implementation=fused parallelism.enable_compiled_autograd "
       "parallelism.spmd_backend training.compile"},
      {Part::Plan, "npar has no 8-bit types: products use the plan's precision",
       "float8.* model.converters mx.* quantize.grouped_mm.float8.fqns quantize.grouped_mm.mx.fqns "
       "quantize.grouped_mm.mx.recipe_name=mxfp8 quantize.linear.float8.emulate quantize.linear.float8.enable_fsdp_float8_all_gather "
       "quantize.linear.float8.filter_fqns quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp "
       "quantize.linear.float8.recipe_name quantize.linear.mx.filter_fqns=output "
       "quantize.linear.mx.mxfp8_dim1_cast_kernel_choice=triton quantize.linear.mx.recipe_name=mxfp8_cublas"},
      {Part::Run, nullptr,
       "activation_checkpoint.debug activation_checkpoint.determinism_check activation_checkpoint.preserve_rng_state "
       "checkpoint.async_mode checkpoint.enable checkpoint.enable_checkpoint "
       "checkpoint.enable_first_step_checkpoint checkpoint.enable_ft_dataloader_checkpoints checkpoint.exclude_from_loading "
       "checkpoint.export_dtype checkpoint.folder checkpoint.initial_load_in_hf checkpoint.initial_load_in_hf_quantized "
       "checkpoint.initial_load_model_only checkpoint.initial_load_path checkpoint.interval checkpoint.keep_latest_k "
       "checkpoint.last_save_in_hf checkpoint.last_save_model_only checkpoint.load_only checkpoint.load_step "
       "checkpoint.model_weights_only comm.init_timeout_seconds comm.mode comm.save_traces_file_prefix comm.save_traces_folder "
       "comm.trace_buf_size comm.train_timeout_seconds debug.deterministic_warn_only job.config_file "
       "job.description job.dump_folder job.experiment job.print_config job.save_config_file job.use_for_integration_test "
       "memory_estimation.disable_fake_mode metrics.disable_color_printing metrics.enable_tensorboard "
       "metrics.enable_wandb metrics.log_freq metrics.rank_0_only metrics.save_for_all_ranks metrics.save_tb_folder "
       "model.hf_assets_path model.print_after_conversion model.tokenizer model.tokenizer_path model.tokenizer_type profiling.enable "
       "profiling.enable_memory_snapshot profiling.enable_profiling profiling.profile_freq profiling.profiler_active "
       "profiling.profiler_warmup profiling.save_memory_snapshot_folder profiling.save_traces_folder training.data_sharding "
       "training.dataloader.num_workers training.dataloader.persistent_workers training.dataloader.pin_memory "
       "training.dataloader.prefetch_factor training.dataset training.dataset_path "
       "training.deterministic_warn_only training.gc_debug training.gc_freq training.max_context_length "
       "validation.dataloader.num_workers validation.dataloader.persistent_workers validation.dataloader.pin_memory "
       "validation.dataloader.prefetch_factor validation.dataset validation.dataset_path validation.enable validation.freq "
       "validation.local_batch_size validation.seq_len validation.steps"},
  };
  // clang-format on
  return table;
}

} // namespace npar::foreign
