// Classes of the arguments of SageMaker's estimators and of the dictionary of their `distribution`.
#include "tools/lib/foreign/sagemaker/SageMaker.h"

namespace npar::foreign {

const NameTable &sageMakerNames() {
  // clang-format off
  static const NameTable table = {
      {Part::Plan, nullptr,
       "instance_count instance_type mpi.enabled mpi.processes_per_host multi_worker_mirrored_strategy.enabled parameter_server.enabled "
       "pytorchddp.enabled smdistributed.dataparallel.enabled smdistributed.modelparallel.enabled "
       "smdistributed.modelparallel.parameters.bf16 smdistributed.modelparallel.parameters.context_parallel_degree "
       "smdistributed.modelparallel.parameters.ddp smdistributed.modelparallel.parameters.fp16 "
       "smdistributed.modelparallel.parameters.fp16_params smdistributed.modelparallel.parameters.horovod "
       "smdistributed.modelparallel.parameters.hybrid_shard_degree smdistributed.modelparallel.parameters.microbatches "
       "smdistributed.modelparallel.parameters.optimize smdistributed.modelparallel.parameters.partitions "
       "smdistributed.modelparallel.parameters.pipeline smdistributed.modelparallel.parameters.pipeline_parallel_degree "
       "smdistributed.modelparallel.parameters.placement_strategy smdistributed.modelparallel.parameters.prescaled_batch "
       "smdistributed.modelparallel.parameters.sdp_reduce_bucket_size "
       "smdistributed.modelparallel.parameters.shard_optimizer_state smdistributed.modelparallel.parameters.sharded_data_parallel_degree "
       "smdistributed.modelparallel.parameters.tensor_parallel_degree torch_distributed.enabled"},
      {Part::Training, nullptr,
       "hyperparameters.batch_size hyperparameters.batch_size_per_device hyperparameters.epochs hyperparameters.learning_rate "
       "hyperparameters.lr hyperparameters.momentum hyperparameters.num_train_epochs hyperparameters.per_device_train_batch_size "
       "hyperparameters.seed hyperparameters.train_batch_size hyperparameters.weight_decay "
       "smdistributed.modelparallel.parameters.sdp_gradient_clipping"},
      {Part::Training, "an argument of the training script, whose meaning npar does not know",
       "hyperparameters.*"},
      {Part::Training, "npar's own order of samples and initialization are taken",
       "smdistributed.modelparallel.parameters.random_seed"},
      {Part::Plan, "nothing is moved to the host's memory",
       "smdistributed.modelparallel.parameters._shard_offloaded_activations smdistributed.modelparallel.parameters.activation_loading_horizon=4 "
       "smdistributed.modelparallel.parameters.offload_activations smdistributed.modelparallel.parameters.sm_activation_offloading"},
      {Part::Plan, "blocks are balanced by cost over the pipeline's stages",
       "smdistributed.modelparallel.parameters.auto_partition=true smdistributed.modelparallel.parameters.contiguous=true "
       "smdistributed.modelparallel.parameters.default_partition smdistributed.modelparallel.parameters.memory_weight"},
      {Part::Plan, "the schedule has its own number of micro-batches in work; `live` of a plan limits it",
       "smdistributed.modelparallel.parameters.active_microbatches"},
      {Part::Plan, "parameters are gathered block by block when they are used",
       "smdistributed.modelparallel.parameters.allow_empty_shards smdistributed.modelparallel.parameters.sdp_hierarchical_allgather=true "
       "smdistributed.modelparallel.parameters.sdp_max_live_parameters=1000000000 "
       "smdistributed.modelparallel.parameters.sdp_param_persistence_threshold=1000000"},
      {Part::Plan, "context parallelism gathers keys and values",
       "smdistributed.modelparallel.parameters.cp_comm_type=p2p"},
      {Part::Plan, "every rank has all experts",
       "smdistributed.modelparallel.parameters.expert_parallel_degree=1"},
      {Part::Plan, "npar's kernels are its own",
       "compiler_config compiler_config.*"},
      {Part::Plan, "the hosts are of one type",
       "instance_groups"},
      {Part::Run, nullptr,
       "base_job_name checkpoint_local_path checkpoint_s3_uri code_location container_log_level debugger_hook_config dependencies "
       "disable_profiler enable_sagemaker_metrics entry_point environment framework_version git_config hyperparameters.cache_dir "
       "hyperparameters.epoch_count hyperparameters.eval_batch_size hyperparameters.log_interval hyperparameters.model_dir "
       "hyperparameters.model_id hyperparameters.model_name hyperparameters.model_name_or_path hyperparameters.output_dir image_uri "
       "input_mode keep_alive_period_in_seconds max_retry_attempts max_run max_wait metric_definitions model_uri mpi.custom_mpi_options "
       "output_path profiler_config py_version pytorch_version pytorchddp.custom_mpi_options role rules sagemaker_session script_mode "
       "security_group_ids smdistributed.dataparallel.custom_mpi_options smdistributed.modelparallel.parameters.ddp_dist_backend "
       "smdistributed.modelparallel.parameters.ddp_port smdistributed.modelparallel.parameters.delayed_parameter_initialization "
       "smdistributed.modelparallel.parameters.deterministic_server smdistributed.modelparallel.parameters.fsdp_cache_flush_warnings "
       "smdistributed.modelparallel.parameters.skip_tracing source_dir subnets tags tensorboard_output_config transformers_version "
       "use_spot_instances volume_size"},
  };
  // clang-format on
  return table;
}

} // namespace npar::foreign
