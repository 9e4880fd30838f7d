// Classes of DeepSpeed's settings. The names and the values without effect come from its configuration classes
// (tests/reference/foreign_names.py); names of optimizers, schedules and older versions are added by hand.
#include "tools/lib/foreign/DeepSpeed.h"

namespace npar::foreign {

const NameTable &deepSpeedNames() {
  // clang-format off
  static const NameTable table = {
      {Part::Training, nullptr,
       "gradient_clipping optimizer.params.adam_w_mode optimizer.params.betas optimizer.params.eps optimizer.params.lr "
       "optimizer.params.momentum optimizer.params.torch_adam optimizer.params.weight_decay optimizer.type "
       "scheduler.params.cos_min_ratio scheduler.params.total_num_steps scheduler.params.warmup_max_lr scheduler.params.warmup_min_lr "
       "scheduler.params.warmup_min_ratio scheduler.params.warmup_num_steps scheduler.params.warmup_type scheduler.type"},
      {Part::Training, "npar has no such term in this optimizer",
       "optimizer.params.amsgrad optimizer.params.bias_correction=true optimizer.params.comm_backend_name optimizer.params.cuda_aware "
       "optimizer.params.dampening optimizer.params.freeze_step optimizer.params.max_coeff optimizer.params.max_grad_norm "
       "optimizer.params.maximize optimizer.params.min_coeff optimizer.params.nesterov"},
      {Part::Training, "npar has no such schedule",
       "scheduler.params.* scheduler.params.last_batch_iteration=-1"},
      {Part::Training, "sequences have one length, and all tokens are trained",
       "curriculum_learning.* data_efficiency.*"},
      {Part::Training, "the loss is scaled by npar's own rule",
       "fp16.consecutive_hysteresis fp16.hysteresis=2 fp16.initial_scale_power=16 fp16.loss_scale fp16.loss_scale_window=1000 "
       "fp16.min_loss_scale=1"},
      {Part::Training, "all blocks are computed",
       "progressive_layer_drop.*"},
      {Part::Training, "nothing is compressed",
       "compression_training.* eigenvalue.* quantize_training.* weight_quantization.*"},
      {Part::Training, "gradients are the mean over all ranks, scaled at the end",
       "gradient_allreduce_op=mean gradient_predivide_factor=1.0 prescale_gradients sparse_gradients"},
      {Part::Training, "DeepSpeed would compute the batch from it: npar takes train_batch_size, or one sequence on each rank",
       "elasticity.*"},
      {Part::Plan, nullptr,
       "activation_checkpointing.partition_activations bf16.enabled bfloat16.enabled communication_data_type "
       "data_types.grad_accum_dtype fp16.enabled gradient_accumulation_steps pipeline.stages sequence_parallel_size "
       "tensor_parallel.autotp_size tensor_parallel.tensor_parallel.tp_size tensor_parallel.tp.tp_size tensor_parallel.tp_size "
       "torch_autocast.dtype torch_autocast.enabled train_batch_size train_micro_batch_size_per_gpu zero_optimization zero_optimization.mics_shard_size zero_optimization.offload_optimizer.device "
       "zero_optimization.offload_param.device zero_optimization.overlap_comm zero_optimization.reduce_bucket_size "
       "zero_optimization.stage zero_optimization.zero_hpz_partition_size"},
      {Part::Plan, "gradients are reduced into shares as soon as they are computed",
       "bf16.immediate_grad_update bfloat16.immediate_grad_update managed_gradient_accumulation=true "
       "zero_optimization.contiguous_gradients=true zero_optimization.legacy_stage1 zero_optimization.reduce_scatter=true "
       "zero_optimization.round_robin_gradients zero_optimization.use_multi_rank_bucket_allreduce=true"},
      {Part::Plan, "parameters are gathered when they are used, one block ahead",
       "disable_allgather zero_optimization.allgather_bucket_size=500000000 zero_optimization.allgather_partitions=true "
       "zero_optimization.allgather_sequential zero_optimization.leaf_module.classes zero_optimization.leaf_module.name_suffixes "
       "zero_optimization.leaf_module.names zero_optimization.max_live_parameters=1000000000 "
       "zero_optimization.max_reuse_distance=1000000000 zero_optimization.model_persistence_threshold=9223372036854775807 "
       "zero_optimization.module_granularity_threshold zero_optimization.param_persistence_threshold=100000 "
       "zero_optimization.parameter_alignment zero_optimization.prefetch_bucket_size=50000000 "
       "zero_optimization.stage3_allgather_sequential zero_optimization.stage3_max_live_parameters=1000000000 "
       "zero_optimization.stage3_max_reuse_distance=1000000000 zero_optimization.stage3_model_persistence_threshold=9223372036854775807 "
       "zero_optimization.stage3_module_granularity_threshold zero_optimization.stage3_param_persistence_threshold=100000 "
       "zero_optimization.stage3_prefetch_bucket_size=50000000 zero_optimization.stage3_use_all_reduce_for_fetch_params "
       "zero_optimization.sub_group_size=1000000000 zero_optimization.use_all_reduce_for_fetch_params"},
      {Part::Plan, "nothing is moved to the host's memory",
       "activation_checkpointing.cpu_checkpointing compile.offload_activation compile.offload_activation_pin_memory=true "
       "compile.offload_opt_states compile.offload_parameters zero_force_ds_cpu_optimizer=true zero_optimization.cpu_offload "
       "zero_optimization.cpu_offload_param zero_optimization.cpu_offload_use_pin_memory "
       "zero_optimization.offload_optimizer.buffer_count=4 zero_optimization.offload_optimizer.cpuadam_cores_perc=0.8 "
       "zero_optimization.offload_optimizer.fast_init zero_optimization.offload_optimizer.nvme_path "
       "zero_optimization.offload_optimizer.pin_memory=true zero_optimization.offload_optimizer.pipeline_read "
       "zero_optimization.offload_optimizer.pipeline_write zero_optimization.offload_optimizer.ratio=1.0 "
       "zero_optimization.offload_optimizer.super_offload zero_optimization.offload_param.buffer_count=5 "
       "zero_optimization.offload_param.buffer_size=100000000 zero_optimization.offload_param.max_in_cpu=1000000000 "
       "zero_optimization.offload_param.nvme_path zero_optimization.offload_param.pin_memory=true zero_optimization.super_offload "
       "zero_optimization.zenflow.auto_ratio=0.99 zero_optimization.zenflow.full_warm_up_rounds zero_optimization.zenflow.offload "
       "zero_optimization.zenflow.overlap_step zero_optimization.zenflow.pt_reserved_cores_perc=0.5 "
       "zero_optimization.zenflow.select_interval=auto zero_optimization.zenflow.select_strategy=auto "
       "zero_optimization.zenflow.steps_per_epoch zero_optimization.zenflow.topk_ratio=0.1 "
       "zero_optimization.zenflow.update_interval=auto"},
      {Part::Plan, "shares are gathered and reduced in 16 or 32 bits, by all ranks at once",
       "zero_optimization.mics_hierarchical_params_gather zero_optimization.zero_quantized_gradients "
       "zero_optimization.zero_quantized_nontrainable_weights zero_optimization.zero_quantized_weights"},
      {Part::Plan, "the optimizer's state is f32",
       "bf16.bf16_master_weights_and_grads bf16.bf16_optimizer_states bfloat16.bf16_master_weights_and_grads "
       "bfloat16.bf16_optimizer_states data_types.buffer_dtype data_types.param_dtype fp16.fp16_master_weights_and_grads"},
      {Part::Plan, "npar has no automatic precision: that of bf16 or fp16 is taken, else f32",
       "amp.* fp16.auto_cast torch_autocast.lower_precision_safe_modules"},
      {Part::Plan, "attention is over the whole sequence",
       "sparse_attention.*"},
      {Part::Plan, "what is recomputed is kept nowhere",
       "activation_checkpointing.contiguous_memory_optimization activation_checkpointing.number_checkpoints "
       "activation_checkpointing.synchronize_checkpoint_boundary pipeline.activation_checkpoint_interval"},
      {Part::Plan, "blocks are spread by their cost, and messages are whole",
       "pipeline.grad_partitioned pipeline.partition pipeline.pipe_partitioned pipeline.seed_layers"},
      {Part::Plan, "tensor parallelism splits what the plan says",
       "tensor_parallel.dtype=torch.float16 tensor_parallel.injection_policy_tuple tensor_parallel.keep_module_on_host "
       "tensor_parallel.kernel_inject tensor_parallel.partition_config tensor_parallel.preset_model "
       "tensor_parallel.replace_with_kernel_inject tensor_parallel.tensor_parallel.mpu tensor_parallel.tensor_parallel.tp_grain_size=1 "
       "tensor_parallel.tensor_parallel.tp_group tensor_parallel.tp.mpu tensor_parallel.tp.tp_grain_size=1 tensor_parallel.tp.tp_group "
       "tensor_parallel.tp_overlap_comm tensor_parallel.vocab_parallel_ce_backend=torch tensor_parallel.vocab_parallel_lm_head"},
      {Part::Plan, "sums between ranks have the type that the plan says",
       "seq_parallel_communication_data_type=fp32"},
      {Part::Plan, "a step of training is simulated",
       "hybrid_engine.enable_cuda_graph hybrid_engine.enabled hybrid_engine.inference_tp_size=1 hybrid_engine.max_out_tokens=512 "
       "hybrid_engine.pin_parameters=true hybrid_engine.release_inference_cache hybrid_engine.tp_gather_partition_size=8"},
      {Part::Plan, "every rank has all experts",
       "expert_parallel.* moe.* use_data_before_expert_parallelism"},
      {Part::Plan, "npar's own kernels are timed",
       "compile.autoep_non_moe compile.debug_log compile.deepcompile compile.double_buffer=true compile.free_activation "
       "compile.free_activation_threshold=10485760 compile.keep_all_input_tensors compile.keep_int_input_tensors=true compile.passes "
       "compile.symmetric_memory compile.sync_after_allgather compile.sync_after_reduce compile.sync_before_allgather "
       "compile.sync_before_reduce graph_harvesting optimizer.legacy_fusion optimizer.params.foreach optimizer.params.fused "
       "optimizer.params.torch_adam_fused zero_optimization.memory_efficient_linear=true"},
      {Part::Run, nullptr,
       "activation_checkpointing.profile aio.block_size aio.intra_op_parallelism aio.overlap_events aio.queue_depth aio.single_submit "
       "aio.use_gds autotuning.* bf16.check_grad_overflow bfloat16.check_grad_overflow check_overflow checkpoint.* comet.api_key "
       "comet.enabled comet.experiment_key comet.experiment_name comet.mode comet.online comet.project comet.samples_log_interval "
       "comet.workspace comms_logger.debug comms_logger.enabled comms_logger.prof_all comms_logger.prof_ops comms_logger.verbose "
       "csv_monitor.enabled csv_monitor.job_name csv_monitor.output_path dataloader_drop_last datastates.* disable_python_gc dump_state "
       "flops_profiler.detailed flops_profiler.enabled flops_profiler.module_depth flops_profiler.output_file "
       "flops_profiler.profile_step flops_profiler.recompute_fwd_factor flops_profiler.top_modules log_level memory_breakdown "
       "monitor_config.* nebula.* steps_per_print tensorboard.enabled tensorboard.job_name tensorboard.output_path timers.* "
       "wall_clock_breakdown wandb.enabled wandb.group wandb.project wandb.team zero_allow_untested_optimizer "
       "zero_optimization.compute_grad_norm zero_optimization.elastic_checkpoint zero_optimization.enable_sanity_checks "
       "zero_optimization.gather_16bit_weights_on_model_save zero_optimization.ignore_unused_parameters "
       "zero_optimization.load_from_fp32_weights zero_optimization.log_trace_cache_warnings zero_optimization.override_module_apply "
       "zero_optimization.pipeline_loading_checkpoint zero_optimization.save_muon_momentum_buffer_in_memory "
       "zero_optimization.stage3_gather_16bit_weights_on_model_save zero_optimization.stage3_gather_fp16_weights_on_model_save"},
  };
  // clang-format on
  return table;
}

} // namespace npar::foreign
