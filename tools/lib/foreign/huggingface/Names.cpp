// Classes of the Trainer's settings. The names and the values without effect come from TrainingArguments, NeuronTrainingArguments and the
// arguments of the example scripts (tests/reference/foreign_names.py); names of launchers, of other scripts and of older versions are added
// by hand.
#include "tools/lib/foreign/huggingface/HuggingFace.h"

namespace npar::foreign {

const NameTable &huggingFaceNames() {
  // clang-format off
  static const NameTable table = {
      {Part::Training, nullptr,
       "adafactor adam_beta1 adam_beta2 adam_epsilon learning_rate lr_scheduler_kwargs.lr_end lr_scheduler_kwargs.min_lr "
       "lr_scheduler_kwargs.min_lr_rate lr_scheduler_kwargs.num_cycles lr_scheduler_kwargs.power lr_scheduler_type max_grad_norm max_steps "
       "optim seed warmup_ratio warmup_steps weight_decay"},
      {Part::Training, "npar has no such schedule",
       "lr_scheduler_kwargs lr_scheduler_kwargs.*"},
      {Part::Training, "the optimizer has no further settings, and trains all of its tensors in one way",
       "optim_args optim_target_modules"},
      {Part::Training, "the loss is that of the model's text, over every position that counts",
       "average_tokens_across_devices=true label_smoothing_factor mlm_probability=0.15 neftune_noise_alpha problem_type=single_label_classification "
       "stochastic_rounding_enabled=true"},
      {Part::Training, "all parameters are trained, in floating-point types",
       "load_in_4bit load_in_8bit lora_alpha lora_dropout lora_r lora_target_modules peft_config use_lora use_peft"},
      {Part::Training, "the batch is that of the file",
       "auto_find_batch_size"},
      {Part::Training, "samples have one length and come in one random order, all of a batch or none",
       "group_by_length packing train_sampling_strategy=random"},
      {Part::Model, "the model is the configuration as it is; --set changes its sizes",
       "config_overrides"},
      {Part::Plan, nullptr,
       "activation_checkpointing bf16 block_size config_file ddp_bucket_cap_mb deepspeed disable_embedding_parallelization disable_sequence_parallel "
       "fp16 fsdp fsdp_config fsdp_config.activation_checkpointing fsdp_config.fsdp_activation_checkpointing fsdp_config.fsdp_min_num_params "
       "fsdp_config.fsdp_reshard_after_forward fsdp_config.fsdp_transformer_layer_cls_to_wrap fsdp_config.fsdp_version "
       "fsdp_config.min_num_params fsdp_config.reshard_after_forward fsdp_config.transformer_layer_cls_to_wrap fsdp_config.version "
       "gradient_accumulation_steps gradient_checkpointing kv_size_multiplier max_length max_seq_len max_seq_length max_source_length nnodes "
       "nproc_per_node num_gpus num_nodes optimizer_use_fp32_grad_acc parallelism_config.cp_size parallelism_config.dp_replicate_size "
       "parallelism_config.dp_shard_size parallelism_config.tp_size per_device_train_batch_size per_gpu_train_batch_size pipeline_parallel_num_microbatches "
       "pipeline_parallel_size tensor_parallel_size tf32 world_size zero_1"},
      {Part::Plan, "shares are those of the plan, gathered block by block when they are used",
       "fsdp_config.* fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap parallelism_config parallelism_config.*"},
      {Part::Plan, "what is recomputed is a whole block",
       "activation_checkpointing_kwargs gradient_checkpointing_kwargs gradient_checkpointing_kwargs.*"},
      {Part::Plan, "npar's own kernels are timed",
       "attn_implementation fuse_qkv jit_mode_eval liger_kernel_config neuron_cc_optlevel recompute_causal_mask=true torch_compile torch_compile_backend "
       "torch_compile_mode torchdynamo use_flash_attention_2 use_ipex use_liger_kernel"},
      {Part::Plan, "a copy of the parameters in f32 is part of the optimizer's state",
       "optimizer_use_master_weights=true"},
      {Part::Plan, "a GPU run is simulated",
       "no_cuda tpu_num_cores use_cpu use_mps_device"},
      {Part::Plan, "types are those of bf16 and fp16",
       "dtype=auto fp16_backend=auto fp16_opt_level=O1 half_precision_backend=auto torch_dtype use_autocast"},
      {Part::Plan, "gradients are reduced in buckets, during the backward pass of the last micro-batch",
       "ddp_broadcast_buffers ddp_find_unused_parameters ddp_static_graph"},
      {Part::Plan, "the plan is made of the other flags",
       "mp_parameters"},
      {Part::Run, nullptr,
       "_n_gpu accelerator_config accelerator_config.* add_pad_token async_save batch_eval_metrics cache_dir config_name data_seed dataloader_drop_last "
       "dataloader_in_order dataloader_multiprocessing_context dataloader_num_workers dataloader_persistent_workers dataloader_pin_memory "
       "dataloader_prefetch_factor dataloader_prefetch_size dataset_config_name dataset_name dataset_path ddp_backend ddp_timeout debug disable_tqdm "
       "dispatch_batches do_eval do_predict do_train enable_efficiency_metrics enable_jit_checkpoint enable_mfu_metrics "
       "enable_throughput_metrics eval_accumulation_steps eval_delay eval_do_concat_batches eval_on_start eval_steps eval_strategy evaluation_strategy "
       "eval_use_gather_object bf16_full_eval fp16_full_eval full_determinism greater_is_better hub_always_push hub_model_id hub_private_repo "
       "hub_revision hub_strategy hub_token ignore_data_skip ignore_mismatched_sizes image_column_name image_processor_name "
       "include_for_metrics include_inputs_for_metrics include_num_input_tokens_seen include_tokens_per_second keep_linebreaks "
       "label_column_name label_names length_column_name line_by_line load_best_model_at_end local_rank log_level log_level_replica "
       "log_on_each_node logging_dir logging_first_step logging_nan_inf_filter logging_steps logging_strategy max_eval_samples "
       "max_predict_samples max_train_samples metric_for_best_model metrics_window_size model_name_or_path model_revision model_type "
       "num_local_ranks_per_step num_train_epochs optimizer_save_master_weights_in_ckpt output_dir overwrite_cache overwrite_output_dir "
       "pad_to_max_length past_index per_device_eval_batch_size per_gpu_eval_batch_size prediction_loss_only preprocessing_num_workers project push_to_hub "
       "push_to_hub_model_id push_to_hub_organization push_to_hub_token ray_scope remove_unused_columns report_to "
       "restore_callback_states_from_checkpoint resume_from_checkpoint run_name save_on_each_node save_only_model save_safetensors save_steps "
       "save_strategy save_total_limit skip_cache_push skip_memory_metrics split_batches streaming task_name test_file token tokenizer_name "
       "torch_empty_cache_steps tpu_metrics_debug trackio_bucket_id trackio_space_id trackio_static_space_id train_dir train_file "
       "train_val_split trust_remote_code use_auth_token use_cache use_fast_tokenizer use_legacy_prediction_loop use_xser validation_dir "
       "validation_file validation_split_percentage"},
  };
  // clang-format on
  return table;
}

} // namespace npar::foreign
