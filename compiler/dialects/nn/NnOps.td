// All ops of the nn dialect; one .td per group, one .cpp in ops/ per family.
#ifndef NPAR_NN_OPS_TD
#define NPAR_NN_OPS_TD

include "compiler/dialects/nn/ops/VariableOps.td"
include "compiler/dialects/nn/ops/ElementwiseOps.td"
include "compiler/dialects/nn/ops/ShapeOps.td"
include "compiler/dialects/nn/ops/LayerOps.td"
include "compiler/dialects/nn/ops/UpdateOps.td"

#endif
