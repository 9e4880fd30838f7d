// All ops of the nn dialect, for their declarations and the list of documents; each family's definitions are compiled in its own .cpp.
#ifndef NPAR_NN_OPS_TD
#define NPAR_NN_OPS_TD

include "compiler/dialects/nn/ops/Attention.td"
include "compiler/dialects/nn/ops/CrossEntropy.td"
include "compiler/dialects/nn/ops/Dropout.td"
include "compiler/dialects/nn/ops/Einsum.td"
include "compiler/dialects/nn/ops/Elementwise.td"
include "compiler/dialects/nn/ops/Gather.td"
include "compiler/dialects/nn/ops/Norm.td"
include "compiler/dialects/nn/ops/Reduce.td"
include "compiler/dialects/nn/ops/RingAttention.td"
include "compiler/dialects/nn/ops/Select.td"
include "compiler/dialects/nn/ops/Update.td"
include "compiler/dialects/nn/ops/Variable.td"

#endif
