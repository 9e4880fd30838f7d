#!/bin/bash
# GPT-3 175B in Megatron-LM's own way: tp 8 inside a host, 16 stages of the pipeline.
GPUS_PER_NODE=8
NUM_NODES=${NNODES:-16}
LAYERS=96

MODEL_ARGS=(
    --num-layers $LAYERS
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048            # tokens
    --max-position-embeddings 2048
    --hidden-dropout 0.0 --attention-dropout 0.0
)

torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 16 \
    --num-layers-per-virtual-pipeline-stage 3 \
    --micro-batch-size 1 \
    --global-batch-size 64 \
    --rampup-batch-size 16 16 5859375 \
    --sequence-parallel \
    --recompute-activations \
    --use-distributed-optimizer \
    --overlap-grad-reduce \
    --overlap-param-gather \
    --bf16 \
    --lr 6.0e-5 --min-lr 6.0e-6 --lr-decay-style cosine --train-iters 500000 \
    --tokenizer-type GPT2BPETokenizer --merge-file "$MERGE_FILE" \
    --data-path "$DATA_PATH" --split 949,50,1 \
    --log-interval 100 --save-interval 10000 --save "my checkpoints" \
    --tp-comm-overlap \
    --frobnicate 7
