torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --lr_scheduler_kwargs '{"min_lr": 1e-5}' \
  --lr_scheduler_type cosine_with_min_lr --warmup_steps 0.1 --max_steps 100 --fsdp "shard_grad_op auto_wrap" --zero_1 --tensor_parallel_size 2
