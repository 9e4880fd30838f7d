// How often one transformer block communicates per micro-batch, by the rules alone.
// RUN: sed -e 's/PLAN_MESH/dp = 2, tp = 2/' -e 's/PLAN_RULES/#dist.rule<axis = "batch", mesh = ["dp"]>, #dist.rule<axis = "head", mesh = ["tp"]>, #dist.rule<axis = "hidden", mesh = ["tp"]>, #dist.rule<axis = "vocab", mesh = ["tp"], pad>/' %S/inputs/block.mlir > %t.tp
// RUN: sed -e 's/PLAN_MESH/dp = 2, tp = 2/' -e 's/PLAN_RULES/#dist.rule<axis = "batch", mesh = ["dp"]>, #dist.rule<axis = "head", mesh = ["tp"]>, #dist.rule<axis = "hidden", mesh = ["tp"]>, #dist.rule<axis = "vocab", mesh = ["tp"], pad>, #dist.rule<axis = "seq", mesh = ["tp"]>/' %S/inputs/block.mlir > %t.sp
// RUN: sed -e 's/PLAN_MESH/dp = 2/' -e 's/PLAN_RULES/#dist.rule<axis = "batch", mesh = ["dp"]>/' %S/inputs/block.mlir > %t.dp
// RUN: sed -e 's/PLAN_MESH//' -e 's/PLAN_RULES//' %S/inputs/block.mlir > %t.none

// Megatron's tensor parallelism: 4 all_reduces, 2 forward and 2 backward.
// RUN: npar-opt %t.tp -autodiff -place | sed -nE 's/.*(dist\.[a-z_]*) .*nn\.at<([FB]), "h\.0.*/\2 \1/p' | sort | uniq -c | FileCheck %s --check-prefix=TP
// TP: 2 B dist.all_reduce
// TP-NEXT: 2 F dist.all_reduce
// TP-NOT: dist.

// With sequence parallelism: 4 all_gathers, 4 reduce_scatters, and 2 gathers again of what the forward pass saved split (RULES.md#P6).
// RUN: npar-opt %t.sp -autodiff -place | sed -nE 's/.*(dist\.[a-z_]*) .*nn\.at<([FB]), "h\.0.*/\2 \1/p' | sort | uniq -c | FileCheck %s --check-prefix=SP
// SP: 4 B dist.all_gather
// SP-NEXT: 2 B dist.reduce_scatter
// SP-NEXT: 2 F dist.all_gather
// SP-NEXT: 2 F dist.reduce_scatter
// SP-NOT: dist.

// Data parallelism: nothing per micro-batch, one all_reduce for each of the 16 accumulators and one for the loss, none for the square sums.
// RUN: npar-opt %t.dp -autodiff -place | sed -nE 's/.*(dist\.[a-z_]*) .*nn\.at<([FBU]), .*/\2 \1/p' | sort | uniq -c | FileCheck %s --check-prefix=DP
// DP-NOT: {{[FB]}} dist
// DP: 17 U dist.all_reduce
// DP-NOT: dist.

// One rank: nothing at all.
// RUN: npar-opt %t.none -autodiff -place | sed -nE 's/.*(dist\.[a-z_]*) .*nn\.at<([FBU]), .*/\2 \1/p' | count 0

// The padded, vocabulary-parallel embedding: 33 rows over 2 ranks; both uses split it, so it is stored split; its gradients reduce once per step, in place.
// The norms' gradients are partial over tp where the sequence is split.
// RUN: npar-opt %t.sp -autodiff -place | FileCheck %s --check-prefix=IR
// IR: nn.variable @wte.weight : tensor<17x16xf32, #dist.layout<vocab : 33 {tp}, embed : 16>>
// IR: nn.variable @wte.weight.grad.0 : tensor<17x16xf32, #dist.layout<vocab : 33 {tp}, embed : 16, partial = {dp : sum}>>
// IR: nn.variable @h.0.ln_1.weight.grad.0 : tensor<16xf32, #dist.layout<embed : 16, partial = {dp : sum, tp : sum}>>
// IR: nn.variable @wte.weight.exp_avg : tensor<17x16xf32, #dist.layout<vocab : 33 {tp}, embed : 16>>
// IR-LABEL: func.func @update
// IR: %[[G:.*]] = nn.read @wte.weight.grad.0
// IR-NEXT: %[[R:.*]] = dist.all_reduce %[[G]] {{.*}}axes = ["dp"]
// IR-NEXT: nn.write @wte.weight.grad.0, %[[R]]
// IR: nn.combine %[[R]], %
// Only owners count squares: a gradient that tp replicates counts on coordinate 0.
// IR: nn.square_sums {{.*}} owners = {{\[\[\], \["tp"\]}}
// IR-NEXT: dist.all_reduce {{.*}}axes = ["tp"]
