# A Llama of two layers, flags in a variable as older scripts have them.
ARGS="--num-layers 4 --hidden-size 256 --num-attention-heads 8 \
  --group-query-attention --num-query-groups 4 --ffn-hidden-size 512 --swiglu --normalization RMSNorm \
  --position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear \
  --hidden-dropout 0 --attention-dropout 0 --seq-length 128 --vocab-size 1000"
python pretrain_gpt.py $ARGS --tensor-model-parallel-size 2 --context-parallel-size 2 --sequence-parallel \
  --micro-batch-size 2 --global-batch-size 16 --bf16 --recompute-granularity full --recompute-method uniform --recompute-num-layers 2
