// Classes of Megatron-LM's settings: flags without dashes and with `_` for `-`, and the names in the list of arguments that it prints. The
// names and values without effect come from its argument parser (tests/reference/foreign_names.py); flags of older versions, of
// Megatron-DeepSpeed and of launchers are added by hand.
#include "tools/lib/foreign/megatron/Megatron.h"

namespace npar::foreign {

const NameTable &megatronNames() {
  // clang-format off
  static const NameTable table = {
      {Part::Model, nullptr,
       "add_bias_linear add_qkv_bias apply_layernorm_rms attention_dropout decoder_num_layers decoder_seq_length disable_bias_linear "
       "encoder_num_layers encoder_seq_length ffn_hidden_size group_query_attention hidden_dropout hidden_size kv_channels "
       "layernorm_epsilon make_vocab_size_divisible_by max_position_embeddings norm_epsilon normalization "
       "num_attention_heads num_experts num_key_value_heads num_layers num_moe_experts num_query_groups padded_vocab_size "
       "position_embedding_type qk_layernorm quick_geglu rope_scaling_factor rotary_base rotary_percent rotary_position_embeddings_theta seq_length squared_relu swiglu tokenizer_type "
       "untie_embeddings_and_output_weights use_rope_scaling use_rotary_position_embeddings vocab_extra_ids vocab_size pad_vocab_size no_pad_vocab_size "
       "disable_pad_vocab_size "
       "moe_apply_probs_on_input moe_aux_loss_coeff moe_expert_capacity_factor moe_expert_rank_capacity_factor "
       "moe_ffn_hidden_size moe_input_jitter_eps moe_latent_size moe_layer_freq moe_router_enable_expert_bias "
       "moe_router_force_load_balancing moe_router_group_topk moe_router_load_balancing_type moe_router_num_groups "
       "moe_router_pre_softmax moe_router_score_function moe_router_topk moe_router_topk_scaling_factor "
       "moe_shared_expert_intermediate_size moe_z_loss_coeff"},
      {Part::Model, "the model has positions",
       "add_position_embedding=true no_position_embedding"},
      {Part::Model, "the model has no latent attention: its own is taken",
       "cache_mla_latents kv_lora_rank=32 multi_latent_attention q_lora_rank qk_head_dim=128 qk_pos_emb_head_dim=64 v_head_dim=128"},
      {Part::Model, "the model predicts one token",
       "mtp_detach_heads mtp_hsm mtp_hybrid_override_pattern mtp_num_layers mtp_standalone mtp_use_repeated_layer"},
      {Part::Model, "rotary positions are plain",
       "mrope_section mscale=1.0 mscale_all_dim no_rope_freq no_yarn_correction_range_round_to_int rope_theta "
       "rotary_interleaved rotary_scaling_factor=1.0 rotary_seq_len_interpolation_factor=1 yarn_beta_fast yarn_beta_slow "
       "yarn_correction_range_round_to_int yarn_original_max_position_embeddings"},
      {Part::Model, "attention is over the whole sequence",
       "experimental_attention_variant linear_attention_freq sliding_window window_attn_skip_freq window_size"},
      {Part::Model, "the softmax of attention has no offset and the scale of its heads' size",
       "softmax_scale softmax_type=vanilla"},
      {Part::Model, "attention has no gate and no norm besides RMSNorm of queries and keys",
       "attention_output_gate qk_l2_norm"},
      {Part::Model, "the model's own activation is taken",
       "activation_func_clamp_value geglu glu_linear_offset onnx_safe openai_gelu"},
      {Part::Model, "embeddings are not normalized",
       "embed_layernorm"},
      {Part::Model, "the flags of Megatron-LM give the sizes: num_query_groups, ffn_hidden_size",
       "attention_head_type=multihead intermediate_size n_head_kv"},
      {Part::Model, "the residual stream goes before the norm",
       "apply_residual_connection_post_layernorm"},
      {Part::Model, "the residual stream is one",
       "enable_mhc_connections mhc_num_residual_streams=4"},
      {Part::Model, "all blocks are equal",
       "heterogeneous_layers_config_encoded_json heterogeneous_layers_config_path hybrid_attention_ratio hybrid_layer_pattern "
       "hybrid_mlp_ratio hybrid_override_pattern is_hybrid_model mamba_head_dim=64 mamba_num_groups=8 mamba_num_heads "
       "mamba_state_dim=128 spec"},
      {Part::Model, "widths do not change the initialization and the learning rates",
       "mup_attn_scale_power=1.0 mup_base_head_dim mup_base_hidden_size mup_embedding_mult=1.0 mup_output_mult=1.0 mup_width_mult=1.0 "
       "use_mup"},
      {Part::Model, "all sequences have one length",
       "variable_seq_lengths"},
      {Part::Model, "the model is described by flags",
       "use_checkpoint_args use_mp_args_from_checkpoint_args yaml_cfg"},
      {Part::Model, "a norm is as usual: its weight begins at 1",
       "apply_layernorm_1p layernorm_zero_centered_gamma"},
      {Part::Training, nullptr,
       "adam_beta1 adam_beta2 adam_eps clip_grad end_weight_decay lr lr_decay_iters lr_decay_samples lr_decay_style lr_decay_tokens "
       "lr_warmup_fraction lr_warmup_tokens train_tokens "
       "lr_warmup_init lr_warmup_iters lr_warmup_samples min_lr optimizer seed sgd_momentum start_weight_decay train_iters "
       "train_samples warmup weight_decay weight_decay_incr_style"},
      {Part::Training, "the model's own initialization is taken",
       "data_parallel_random_init embedding_init_method_std init_method_std=0.02 init_method_xavier_uniform no_initialization "
       "perform_initialization=true"},
      {Part::Training, "attention and positions go over the whole sequence, and every token counts in the loss",
       "dataloader_inter_document_masking eod_mask_loss reset_attention_mask reset_position_ids sft"},
      {Part::Training, "the whole model has one learning rate",
       "decoupled_lr decoupled_min_lr head_lr_mult=1.0"},
      {Part::Training, "the weight decay leaves out biases and norms",
       "apply_wd_to_qk_layernorm no_weight_decay_cond_type"},
      {Part::Training, "the loss is scaled by npar's own rule",
       "hysteresis=2 initial_loss_scale=4294967296 loss_scale loss_scale_window=1000 min_loss_scale=1.0"},
      {Part::Training, "npar has no such schedule",
       "lr_wsd_decay_iters lr_wsd_decay_samples lr_wsd_decay_style=exponential"},
      {Part::Training, "npar has no such optimizer",
       "lion_beta1=0.95 lion_beta2=0.98 muon_coefficient_type=quintic muon_extra_scale_factor=1.0 muon_fp32_matmul_prec=medium "
       "muon_momentum=0.9 muon_nesterov muon_no_split_qkv muon_num_ns_steps=5 muon_scalar_optimizer=adam muon_scale_mode=spectral "
       "muon_split_qkv=true muon_tp_mode=duplicated muon_use_syrk qk_clip qk_clip_alpha=0.5 qk_clip_threshold=100"},
      {Part::Training, "every step is trained",
       "iterations_to_skip skip_train"},
      {Part::Training, "the loss is that of the next token",
       "logits_load_dir logits_load_kd_loss_alpha=1.0 perform_rl_step"},
      {Part::Training, "the loss is the mean over micro-batches, whatever the number of their tokens",
       "calculate_per_token_loss"},
      {Part::Training, "all tokens go through all blocks",
       "random_ltd"},
      {Part::Training, "all parameters are trained",
       "freeze_all_layers"},
      {Part::Training, "a step of the full batch is simulated",
       "decrease_batch_size_if_needed rampup_batch_size step_batch_size_schedule"},
      {Part::Training, "scores are not scaled by the number of the layer, which changes their rounding",
       "apply_query_key_layer_scaling"},
      {Part::Plan, nullptr,
       "accumulate_allreduce_grads_in_fp32 activations_checkpoint_granularity activations_checkpoint_method "
       "activations_checkpoint_num_layers attention_backend batch_size bf16 bucket_size checkpoint_activations checkpoint_num_layers "
       "context_parallel_size cp_comm_type data_parallel_sharding_strategy ddp_bucket_size ddp_num_buckets "
       "decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers deepspeed deepspeed_activation_checkpointing deepspeed_config ds_sequence_parallel_size enable_1f1b_v "
       "enable_zb_runtime enable_zbh1_exact_semantics enable_zbh1_pipeline enable_zero_bubble "
       "expert_model_parallel_size expert_tensor_parallel_size fp16 global_batch_size moe_token_dispatcher_type "
       "grad_reduce_in_bf16 main_grads_dtype manual_gc manual_gc_interval micro_batch_size model_parallel_size nnodes no_pipeline_parallel nproc_per_node "
       "num_distributed_optimizer_instances num_gpus num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "
       "num_layers_per_virtual_pipeline_stage num_nodes num_virtual_stages_per_pipeline_rank outer_dp_sharding_strategy "
       "overlap_grad_reduce overlap_param_gather pipeline_model_parallel_size recompute_activations recompute_granularity "
       "recompute_method recompute_modules recompute_num_layers sequence_parallel tensor_model_parallel_size use_custom_fsdp "
       "use_distributed_optimizer use_flash_attn use_flash_attn_triton use_flash_attn_v1 use_flash_attn_v2 use_legacy_models use_mcore_models use_megatron_fsdp use_torch_fsdp2 use_tp_pp_dp_mapping virtual_pipeline_model_parallel_size "
       "world_size zero_bubble_v_schedule zero_bubble_v_schedule_mem_setup zero_stage"},
      {Part::Plan, "npar has no 8-bit types: products use the plan's precision",
       "disable_fp8_wgrad first_last_layers_bf16 fp8 fp8_amax_compute_algo=most_recent fp8_amax_history_len=1 fp8_format fp8_interval=1 "
       "fp8_margin fp8_output_proj fp8_param_gather fp8_quantizer_factory fp8_recipe=delayed fp8_wgrad=true keep_fp8_transpose_cache "
       "kitchen_config_file kitchen_recipe_number no_fp8_wgrad num_layers_at_end_in_bf16=1 num_layers_at_start_in_bf16=1 "
       "reuse_grad_buf_for_mxfp8_param_ag te_precision_config_file"},
      {Part::Plan, "npar has no 4-bit types: products use the plan's precision",
       "fp4 fp4_format fp4_param_gather fp4_quantizer_factory fp4_recipe=nvfp4"},
      {Part::Plan, "nothing is moved to the host's memory",
       "activation_offload_fraction=1.0 cpu_offloading cpu_offloading_num_layers cpu_offloading_retain_pinned_cpu_buffers "
       "delay_offload_until_cuda_graph delta_offload_bytes_across_pp_ranks fine_grained_activation_offloading "
       "fine_grained_offloading_max_inflight_offloads min_offloaded_tensor_size=1048576 no_pin_cpu_grads no_pin_cpu_params "
       "offload_modules optimizer_cpu_offload optimizer_offload_fraction=1.0 overlap_cpu_optimizer_d2h_h2d pin_cpu_grads=true "
       "pin_cpu_params=true use_torch_optimizer_for_cpu_offload checkpoint_in_cpu cpu_optimizer ds_sequence_parallel_fpdt_offloading "
       "optimizer_offload_policy remote_device"},
      {Part::Plan, "the optimizer's state is f32",
       "exp_avg_dtype=torch.float32 exp_avg_sq_dtype=torch.float32 main_params_dtype=torch.float32 megatron_fsdp_grad_comm_dtype "
       "megatron_fsdp_main_grads_dtype megatron_fsdp_main_params_dtype=torch.float32 use_precision_aware_optimizer"},
      {Part::Plan, "gradients are added up in the type that they are stored in",
       "ddp_average_in_collective ddp_param_name_patterns_for_fp32_local_accumulation ddp_reduce_scatter_with_fp32_accumulation "
       "disable_bf16_reduced_precision_matmul"},
      {Part::Plan, "a block computes its sequence in one piece",
       "ds_sequence_parallel_fpdt ds_sequence_parallel_fpdt_chunk_size=65536"},
      {Part::Plan, "a product does not overlap with its own collective",
       "no_async_tensor_model_parallel_allreduce disable_tp_comm_bulk_dgrad disable_tp_comm_bulk_wgrad disable_tp_comm_overlap_ag disable_tp_comm_overlap_rs "
       "disable_tp_comm_split_ag disable_tp_comm_split_rs no_tp_comm_bulk_dgrad no_tp_comm_bulk_wgrad no_tp_comm_overlap_ag "
       "no_tp_comm_overlap_rs no_tp_comm_split_ag no_tp_comm_split_rs tp_comm_bulk_dgrad=true tp_comm_bulk_wgrad=true tp_comm_overlap "
       "tp_comm_overlap_ag=true tp_comm_overlap_cfg tp_comm_overlap_rs=true tp_comm_overlap_rs_dgrad tp_comm_split_ag=true "
       "tp_comm_split_rs=true"},
      {Part::Plan, "what is kept of a block's input is not cut over tp",
       "distribute_saved_activations partition_activations"},
      {Part::Plan, "attention, the residual stream and the loss use the plan's precision",
       "fp16_lm_cross_entropy fp32_attention fp32_residual_connection logit_dtype output_logit_dtype"},
      {Part::Plan, "the cost of a launch is the machine's figure",
       "cuda_graph_impl cuda_graph_modules cuda_graph_scope cuda_graph_warmup_steps=3 enable_cuda_graph external_cuda_graph "
       "optimizer_cuda_graph"},
      {Part::Plan, "the schedule alone says when gradients of weights are computed",
       "defer_embedding_wgrad_compute delay_wgrad_compute wgrad_deferral_limit"},
      {Part::Plan, "gathers come with the use of a parameter, and gradients are reduced as soon as they are computed",
       "align_grad_reduce=true align_param_gather disable_align_grad_reduce no_align_grad_reduce no_align_param_gather "
       "overlap_param_gather_with_optimizer_step torch_fsdp2_no_reshard_after_forward torch_fsdp2_reshard_after_forward=true"},
      {Part::Plan, "messages of the pipeline go between pairs, at any time",
       "batch_p2p_comm batch_p2p_sync no_overlap_p2p_communication overlap_p2p_comm=true overlap_p2p_comm_warmup_flush "
       "overlap_p2p_communication_warmup_flush use_ring_exchange_p2p"},
      {Part::Plan, "blocks are spread evenly",
       "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split pipeline_model_parallel_layout"},
      {Part::Plan, "micro-batches go in groups of the number of stages",
       "microbatch_group_size_per_virtual_pipeline_stage microbatch_group_size_per_vp_stage"},
      {Part::Plan, "the ring is one",
       "hierarchical_context_parallel_sizes hybrid_context_parallel max_seqlen_per_dp_cp_rank"},
      {Part::Plan, "the model has no experts",
       "overlap_moe_expert_parallel_comm"},
      {Part::Plan, "collectives are those of the machine file",
       "create_all_gather_group ddp_pad_buckets_for_high_nccl_busbw disable_symmetric_registration high_priority_a2a_comm_stream "
       "high_priority_stream_groups nccl_communicator_config_path nccl_ub pipeline_model_parallel_comm_backend sharp_enabled_group "
       "suggested_communication_unit_size symmetric_ar_type use_nccl_ub use_sharp"},
      {Part::Plan, "npar's own kernels are timed",
       "apply_rope_fusion=true batch_invariant_mode bias_dropout_fusion=true deterministic_mode bias_gelu_fusion=true bias_swiglu_fusion=true "
       "clone_scatter_output_in_embedding=true cross_entropy_fusion_impl=native cross_entropy_loss_fusion "
       "disable_clone_scatter_output_in_embedding disable_jit_fuser fused_residual_rmsnorm gradient_reduce_div_fusion=true "
       "kitchen_attention_backend=sdpa masked_softmax_fusion=true memory_efficient_layer_norm mlp_chunks_for_training=1 "
       "no_bias_activation_fusion no_bias_dropout_fusion no_bias_gelu_fusion no_bias_swiglu_fusion no_clone_scatter_output_in_embedding "
       "no_gradient_reduce_div_fusion no_masked_softmax_fusion no_persist_layer_norm no_rope_fusion no_scaled_masked_softmax_fusion "
       "transformer_impl=transformer_engine use_fused_weighted_squared_relu use_grouped_gemm_for_dense_mlp use_kitchen_attention "
       "use_te_activation_func use_transformer_engine_op_fuser"},
      {Part::Plan, "each matrix product adds its gradient to the sum; --unfused-sums simulates a pass of its own",
       "gradient_accumulation_fusion=true no_gradient_accumulation_fusion"},
      {Part::Plan, "shares are whole and gathered when they are used",
       "enable_full_sharding_in_hsdp fsdp_db_use_persist_buf_on_alloc_fail fsdp_double_buffer fsdp_manual_registration "
       "megatron_fsdp_enable_fine_grained_param_gather megatron_fsdp_max_pool_double_buffer megatron_fsdp_version=1 "
       "use_layer_wise_distributed_optimizer"},
      {Part::Plan, "weights are not cut again inside a rank",
       "expert_gtp_weight_remat_size=1 expert_tensor_parallel_num_weight_shards=1 gtp_expert_remat_nccl_ub gtp_remat_nccl_ub "
       "gtp_remat_opt_in_modules gtp_remat_reduce_scatter_with_fp32_accumulation gtp_weight_remat_size=1 "
       "tensor_parallel_num_weight_shards=1"},
      {Part::Plan, "a device waits for others only where it needs their data",
       "synchronize_each_layer train_sync_interval"},
      {Part::Plan, "memory is one arena of a fixed size",
       "empty_unused_memory_level"},
      {Part::Run, nullptr,
       "override_opt_param_scheduler use_checkpoint_opt_param_scheduler DDP_impl adlr_autoresume adlr_autoresume_interval "
       "allow_ambiguous_pad_tokens app_tag_run_name app_tag_run_version async_ckpt_cpu_priority async_ckpt_io_priority "
       "async_ckpt_use_cpu_shm async_save async_strategy attention_softmax_in_fp32 auto_detect_ckpt_format barrier_with_L1_time "
       "batch_invariant_backend bert_binary_head bert_embedder_type bert_load bert_no_binary_head biencoder_projection_dim "
       "biencoder_shared_query_context_model block_data_path calc_ft_timeouts chat_template "
       "check_for_large_grads check_for_nan_in_loss_and_grad check_for_spiky_loss check_weight_hash_across_dp_replicas_interval "
       "ckpt_assume_constant_structure ckpt_convert_format ckpt_convert_save ckpt_convert_update_legacy_dist_opt_format "
       "ckpt_drop_redundant_extra_state ckpt_format ckpt_fully_parallel_load ckpt_fully_parallel_load_exchange_algo "
       "ckpt_fully_parallel_load_per_rank_objects ckpt_fully_parallel_load_process_group ckpt_fully_parallel_save "
       "ckpt_fully_parallel_save_deprecated ckpt_fully_parallel_save_process_group ckpt_load_validate_sharding_integrity "
       "ckpt_pg_tensors_cache_create ckpt_pg_tensors_cache_path ckpt_step classes_fraction config_logger_dir consumed_train_samples "
       "consumed_valid_samples create_attention_mask_in_dataloader data_args_path data_cache_path data_impl data_parallel_size "
       "data_path data_per_class_fraction data_sharding dataloader_defer_npy_index_mmap dataloader_fast_cache_load dataloader_type "
       "dataset_impl ddp_impl decode_only_cuda_graphs deprecated_use_mcore_models "
       "dino_bottleneck_size dino_freeze_last_layer dino_head_hidden_size dino_local_crops_number "
       "dino_local_img_size dino_norm_last_layer dino_teacher_temp dino_warmup_teacher_temp dino_warmup_teacher_temp_epochs "
       "disable_ckpt_load_validate_sharding_integrity disable_dsa_indexer_rotate_activation disable_dsa_indexer_scoring_relu "
       "disable_flight_recorder_dump_on_timeout disable_flight_recorder_extra_dump_on_exec disable_flight_recorder_include_only_active "
       "disable_gloo_process_groups disable_log_loss_scale_to_tensorboard disable_mamba_mem_eff_path disable_manual_gc_eval "
       "disable_moe_token_dropping disable_msc disable_msc_deprecated disable_save_tokenizer_assets disable_straggler_on_startup "
       "disable_strict_fsdp_dtensor_load disable_tokenizer_sentencepiece_ignore_extra_whitespaces "
       "disable_use_tokenizer_model_from_checkpoint_args dist_ckpt_format dist_ckpt_format_deprecated dist_ckpt_optim_fully_reshardable "
       "dist_ckpt_save_pre_mcore_014 dist_ckpt_strictness dist_ckpt_workers distrib_optim_fully_reshardable_mem_efficient "
       "distributed_backend distributed_timeout_minutes distributed_timeout_seconds_after_init dsa_indexer_head_dim "
       "dsa_indexer_k_norm_epsilon dsa_indexer_k_norm_fp32 dsa_indexer_loss_coeff dsa_indexer_n_heads dsa_indexer_rope_interleaved "
       "dsa_indexer_rotate_activation dsa_indexer_scoring_relu dsa_indexer_skip_topk_offset dsa_indexer_topk dsa_indexer_topk_freq "
       "dsa_indexer_use_sparse_loss dsa_kernel_backend dump_param_to_param_group_map elastic_training embedding_path "
       "enable_chunked_prefill enable_experimental enable_ft_package enable_msc enable_one_logger ep_overlap_early_attn_memory_release "
       "error_injection_rate error_injection_type eval_global_batch_size eval_interval eval_iters eval_micro_batch_size "
       "evidence_data_path exclude exit_duration_in_mins exit_interval exit_on_missing_checkpoint exit_signal exit_signal_handler "
       "exit_signal_handler_for_dataloader exit_signal_handler_for_training fake_process_group fault_injector_delay_start_iteration "
       "fault_injector_fault_delay fault_injector_fault_probabilities fault_injector_fault_types fault_injector_mtti_seconds "
       "fault_injector_num_ranks fault_injector_offset_seconds fault_injector_ranks fault_injector_seed fim_data fim_eod_token "
       "fim_fragment_rate fim_middle_token fim_no_prefix fim_pad_token fim_prefix_token fim_rate fim_split_sample fim_spm_rate "
       "fim_suffix_token finetune flash_attention_version flash_decode flight_recorder_dump_on_timeout flight_recorder_dump_path "
       "flight_recorder_extra_dump_on_exec flight_recorder_include_only_active flight_recorder_include_stack_trace "
       "flight_recorder_trace_buffer_size force_multi ft_num_warmup_iters full_validation gdp_cutedsl_kernel "
       "gdp_num_chunk_states_to_recompute gdp_num_householder gpu_sniff_test_interval grpo_clamp_eps_lower grpo_clamp_eps_upper "
       "grpo_entropy_term_weight grpo_filter_groups_with_same_reward grpo_group_size grpo_iterations grpo_kl_beta grpo_prompts_per_step "
       "help hostfile ict_head_size ict_load img_h img_w include indexer_batch_size indexer_log_interval "
       "inference_batch_times_seqlen_threshold inference_coordinator_port inference_cuda_graph_all_prefills "
       "inference_cuda_graph_max_tokens inference_cuda_graph_scope inference_disable_ep_consensus inference_disable_triton_nvls_kernels "
       "inference_dynamic_batching inference_dynamic_batching_async_sched_mode inference_dynamic_batching_block_size "
       "inference_dynamic_batching_buffer_size_gb inference_dynamic_batching_cuda_graph_mixed_prefill_count "
       "inference_dynamic_batching_cuda_graph_sizing_distribution inference_dynamic_batching_enable_prefix_caching "
       "inference_dynamic_batching_logprobs_mode inference_dynamic_batching_mamba_memory_ratio inference_dynamic_batching_max_requests "
       "inference_dynamic_batching_max_tokens inference_dynamic_batching_num_cuda_graphs "
       "inference_dynamic_batching_paused_buffer_size_gb inference_dynamic_batching_prefix_caching "
       "inference_dynamic_batching_prefix_caching_coordinator_policy inference_dynamic_batching_prefix_caching_eviction_policy "
       "inference_dynamic_batching_prefix_caching_mamba_gb inference_dynamic_batching_prefix_caching_routing_alpha "
       "inference_dynamic_batching_sampling_backend inference_dynamic_batching_track_generated_token_events "
       "inference_dynamic_batching_track_paused_request_events inference_dynamic_batching_unified_memory_level "
       "inference_fuse_tp_communication inference_grouped_gemm_backend inference_logging_step_interval inference_max_requests "
       "inference_max_seq_length inference_moe_disable_fused_quant_kernels inference_moe_token_dispatcher_type inference_rng_tracker "
       "inference_shards inference_text_gen_server_logging inference_use_synchronous_zmq_collectives inference_wandb_logging "
       "init_model_with_meta_device inprocess_active_world_size inprocess_barrier_timeout inprocess_completion_timeout "
       "inprocess_empty_cuda_cache inprocess_granularity inprocess_hard_timeout inprocess_heartbeat_interval "
       "inprocess_heartbeat_timeout inprocess_last_call_wait inprocess_max_iterations inprocess_monitor_process_interval "
       "inprocess_monitor_thread_interval inprocess_progress_watchdog_interval inprocess_restart inprocess_soft_timeout "
       "inprocess_termination_grace_time iter_per_epoch langrl_env_config launcher launcher_args lazy_mpu_init linear_conv_kernel_dim "
       "linear_key_head_dim linear_num_key_heads linear_num_value_heads linear_value_head_dim load load_main_params_from_ckpt "
       "local_rank local_ranks_filter log_batch_size_to_tensorboard log_device_memory_used log_dir log_energy log_interval "
       "log_learning_rate_to_tensorboard log_loss_scale_to_tensorboard log_max_attention_logit log_memory_interval "
       "log_memory_to_tensorboard log_num_zeros_in_grad log_optimizer_states_to_tensorboard log_params_norm log_progress log_straggler "
       "log_throughput log_timers_to_tensorboard log_validation_ppl_to_tensorboard log_world_size_to_tensorboard logging_level "
       "logits_load_decode_threads logits_load_ignore_errors logits_load_msc_prefetch_depth logits_load_prefetch_factor logits_save_dir "
       "logits_save_dtype logits_save_top_k logits_save_top_p logits_save_top_p_min_k mamba_inference_conv_states_dtype "
       "mamba_inference_ssm_states_dtype mamba_training_ssm_states_dtype manual_gc_eval mask_factor "
       "mask_prob mask_type master_addr master_port max_elastic_nodes max_restarts max_tokens_to_oom memory_snapshot_path metadata_path "
       "mhc_init_gating_factor mhc_recompute_layer_num mhc_sinkhorn_iterations mid_level_dataset_surplus min_elastic_nodes "
       "mla_down_proj_fusion mlp_chunks_for_prefill mmap_bin_files mock_data module "
       "moe_combine_bwd_dtype moe_deepep_num_sms moe_dispatch_fwd_dtype moe_enable_deepep moe_enable_routing_replay "
       "moe_flex_dispatcher_backend "
       "moe_flex_dispatcher_num_sms moe_grouped_gemm moe_hybridep_num_blocks_permute moe_hybridep_num_blocks_unpermute "
       "moe_hybridep_num_sms moe_hybridep_num_sms_preprocessing moe_hybridep_pad_uneven_dispatch_inputs "
       "moe_layer_recompute moe_mlp_glu_interleave_size moe_ncclep_zero_copy "
       "moe_pad_expert_input_to_capacity moe_pad_experts_for_cuda_graph_inference moe_paged_stash "
       "moe_paged_stash_buffer_size_factor_cpu moe_paged_stash_buffer_size_factor_cuda moe_paged_stash_page_size moe_per_layer_logging "
       "moe_permute_fusion moe_permute_fusion_into_hybridep moe_router_bias_update_rate moe_router_dtype "
       "moe_router_force_biased moe_router_fusion "
       "moe_router_padding_for_fp8 moe_router_padding_for_quantization "
       "moe_router_quantile_balancing_ema "
       "moe_routing_trace_capture_hidden_states moe_routing_trace_capture_logits moe_routing_trace_dump_weights "
       "moe_routing_trace_max_training_iters moe_routing_trace_path moe_shared_expert_gate moe_shared_expert_glu_interleave_size "
       "moe_shared_expert_overlap moe_single_grouped_bias moe_single_grouped_weight "
       "moe_token_drop_policy moe_upcycling_granularity moe_use_grouped_tensor moe_use_upcycling "
       "monitor_interval mtp_loss_scaling_factor multiple_validation_sets nccl_all_reduce_for_prefill "
       "no_barrier_with_level_1_timing no_check_for_nan_in_loss_and_grad no_ckpt_fully_parallel_save "
       "no_ckpt_load_validate_sharding_integrity no_contiguous_buffers_in_local_ddp no_create_attention_mask_in_dataloader "
       "no_data_sharding no_dsa_indexer_rotate_activation no_dsa_indexer_scoring_relu no_flight_recorder_dump_on_timeout "
       "no_flight_recorder_extra_dump_on_exec no_flight_recorder_include_only_active no_inference_disable_ep_consensus "
       "no_inference_dynamic_batching_prefix_caching no_inference_text_gen_server_logging no_inference_use_synchronous_zmq_collectives "
       "no_inference_wandb_logging no_load_optim no_load_rng no_log_loss_scale_to_tensorboard no_manual_gc_eval no_mmap_bin_files "
       "no_one_logger no_python no_query_key_layer_scaling no_rl_inference_logprobs_is_correction "
       "no_rl_offload_inference_model_weights_when_idle no_rl_partial_rollouts no_rl_persist_cuda_graphs no_rl_skip_bos_token "
       "no_rl_training_cuda_graphs no_rl_use_sequence_packing no_rl_verify_model_weights_swap no_save_optim no_save_rng "
       "no_save_tokenizer_assets no_strict_fsdp_dtensor_load no_tokenizer_sentencepiece_ignore_extra_whitespaces "
       "no_use_layer_wise_param_layout no_use_tokenizer_model_from_checkpoint_args node_rank non_persistent_ckpt_type "
       "non_persistent_global_ckpt_dir non_persistent_local_ckpt_algo non_persistent_local_ckpt_dir non_persistent_save_interval "
       "null_tokenizer_eod_id null_tokenizer_pad_id num_channels num_classes num_dataset_builder_threads num_speculative_tokens "
       "num_workers nvtx_ranges object_storage_cache_path offset_sampling_seed_by_dp_rank one_logger_async one_logger_project "
       "one_logger_run_name otel_enabled otel_service_name otel_span_groups output_bert_embeddings "
       "overlap_dispatch_backward_with_experts_wgrad override_ckpt_iteration params_dtype patch_dim per_dataset_sequences_path "
       "per_split_data_args_path persistent_save_interval phase_transition_iterations pretrained_checkpoint profile profile_ranks "
       "profile_step_end profile_step_start pytorch_profiler_collect_callstack pytorch_profiler_collect_chakra "
       "pytorch_profiler_collect_shapes query_in_block_prob rank rdzv_backend rdzv_conf rdzv_endpoint rdzv_id record_memory_history "
       "record_shapes redirects refit_method relative_attention_max_distance relative_attention_num_buckets replication "
       "replication_factor replication_jump rerun_mode result_rejected_tracker_filename retriever_report_topk_accuracies "
       "retriever_score_scaling rl_consumption_granularity rl_default_temperature rl_default_top_k rl_default_top_p "
       "rl_durable_rollout_bank rl_generation_lag rl_importance_sampling_truncation_coef rl_inference_expert_model_parallel_size "
       "rl_inference_expert_tensor_model_parallel_size rl_inference_logprobs_is_correction rl_inference_model_unified_memory_level "
       "rl_inference_parsers rl_inference_pipeline_model_parallel_size rl_inference_tensor_model_parallel_size "
       "rl_kv_cache_management_mode rl_max_inflight_requests rl_offload_inference_model_weights_when_idle "
       "rl_offload_optimizer_during_inference rl_partial_rollouts rl_persist_cuda_graphs rl_profile rl_profile_dir rl_prompts_per_eval "
       "rl_rollout_bank_dir rl_rollout_bank_max_bytes rl_sequence_packing_algo rl_sequence_packing_max_sequences_per_bin "
       "rl_skip_bos_token rl_submission_granularity rl_training_cuda_graphs rl_use_sequence_packing rl_verify_model_weights_swap role "
       "rope_type run_workload_inspector_server sample_rate save save_activations_interval save_dgrads_interval save_interval "
       "save_params_interval save_retain_interval save_tokenizer_assets save_tokens_per_expert_interval save_wgrads_interval "
       "sft_tokenizer_prompt_format short_seq_prob skipped_train_samples special_tokens split standalone start_eval_at_iter "
       "start_method straggler_ctrlr_port straggler_minmax_count strict_fsdp_dtensor_load swin_backbone_type "
       "te_rng_tracker tee tensorboard_dir tensorboard_log_interval tensorboard_queue_size test_data_path test_mode "
       "tiktoken_num_special_tokens tiktoken_pattern timing_log_level timing_log_option titles_data_path "
       "tokenizer_hf_no_include_special_tokens tokenizer_hf_no_use_fast tokenizer_metadata tokenizer_model "
       "tokenizer_sentencepiece_ignore_extra_whitespaces tokenizer_sentencepiece_legacy tokenizer_special_tokens "
       "tp_comm_bootstrap_backend train_data_path transformer_pipeline_model_parallel_size trust_remote_code "
       "use_cpu_initialization use_dist_ckpt use_dist_ckpt_deprecated use_env "
       "use_gigatoken use_gloo_process_groups use_grouped_gemm_for_shared_expert use_layer_wise_param_layout "
       "use_legacy_static_engine use_mamba_mem_eff_path use_one_sent_docs use_persistent_ckpt_worker "
       "use_pytorch_profiler use_same_sampling_seed_across_dp_ranks use_tokenizer_model_from_checkpoint_args valid_data_path "
       "validation_set_names verify_integrity vision_backbone_type vision_pretraining vision_pretraining_type merge_file vocab_file wandb_entity "
       "wandb_exp_name wandb_project wandb_save_dir config_file dataset max_padding_length moe_eval_capacity_factor moe_expert_parallel_size "
       "moe_loss_coeff moe_min_capacity moe_train_capacity_factor no_load_lr_state override_lr_scheduler patch_tokenizer_type "
       "repeated_dataloader reset_iteration tokenizer_name_or_path train_data train_mode universal_checkpoint valid_data"},
  };
  // clang-format on
  return table;
}

} // namespace npar::foreign
