#!/bin/bash
#SBATCH --nodes=2
GPUS=$((4 * 2)); TP=${TP:-2}; L="$((GPUS * 3 - 1 * 2))"
ARGS=(
  --num-layers "$L" --hidden-size 512 # a comment
  --num-attention-heads ${HEADS:-${MORE:-8}}
)
if [ "$1" = x ]; then EXTRA="--bf16 --recompute-granularity full --recompute-num-layers 2"; else
  EXTRA='--fp16'; fi
torchrun --nproc_per_node $GPUS --nnodes 2 pretrain_gpt.py "${ARGS[@]}" $EXTRA \
  --seq-length 1024 --max-position-embeddings=1024 --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 \
  --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 16 --vocab-size 50257 --data-path a b c
