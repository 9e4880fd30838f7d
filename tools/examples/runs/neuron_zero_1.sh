torchrun --nproc_per_node=2 run_clm.py \
  --model_name_or_path TinyLlama/TinyLlama-1.1B-Chat-v0.6 \
  --do_train --per_device_train_batch_size 1 --block_size 1024 --bf16 --zero_1 --output_dir out
