torchrun --nproc_per_node 2 run_clm.py \
  --model_name_or_path openai-community/gpt2 --do_train --do_eval --eval_strategy epoch --save_strategy epoch --save_total_limit 3 \
  --per_device_train_batch_size 4 --block_size 1024 --fp16 --learning_rate 2e-5 --weight_decay 0.01 --num_train_epochs 3 --output_dir out
