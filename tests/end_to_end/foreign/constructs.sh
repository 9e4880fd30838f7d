#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
# Constructs of the shell, as a seed of mutated scripts.
SIZE=${1:-small}
declare -A LAYERS=([small]=4 [large]=24)
case $SIZE in
  small | tiny) HEADS=4 ;;
  *) HEADS=16 ;;
esac
if [[ $HEADS -gt 8 && -n "$SIZE" ]] || [ "$TP" = 4 -o -z "$TP" ]; then TP=2; else TP=1; fi
for flag in bf16 swiglu; do EXTRA+=("--$flag"); done
args() { local layers=${LAYERS[$SIZE]}; echo "--num-layers $layers --hidden-size $((HEADS * 64))"; }
cat > lengths.txt <<END
--seq-length 128
END
CMD="pretrain_gpt.py $(args) $(cat lengths.txt) --num-attention-heads $HEADS"
eval "torchrun --nproc_per_node $SLURM_GPUS_ON_NODE --nnodes ${SLURM_NNODES%%x*} $CMD ${EXTRA[*]}" \
  --tensor-model-parallel-size "${TP}" --vocab-size 512 2>&1 | tee log.txt
