L=$((1/0)); M=${
pretrain_gpt.py --num-layers $L --hidden-size ${M} $((( --seq-length "8 \" \
 \