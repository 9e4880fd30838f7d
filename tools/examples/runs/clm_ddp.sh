torchrun --nproc_per_node 2 run_clm.py \
  --model_name_or_path openai-community/gpt2 \
  --do_train --per_device_train_batch_size 4 --max_steps 200 --output_dir out
