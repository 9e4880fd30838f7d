// What the nn dialect consists of.
#include "compiler/dialects/nn/Nn.h"

using namespace npar::nn;

void NnDialect::initialize() {
  addAllAttributes();
  for (auto add : {addAttention, addCrossEntropy, addDropout, addEinsum, addElementwise, addGather, addNorm, addReduce, addRingAttention,
                   addSelect, addUpdate, addVariable})
    add(*this);
}
