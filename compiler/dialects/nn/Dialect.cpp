// Registers the attributes and operations of the nn dialect.
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Along.h"
#include "compiler/dialects/nn/ops/Chain.h"
#include "compiler/dialects/nn/ops/Counts.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/dialects/nn/ops/Function.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/dialects/nn/ops/Largest.h"
#include "compiler/dialects/nn/ops/Samples.h"
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/dialects/nn/ops/Windows.h"

using namespace npar::nn;

void NnDialect::initialize() {
  addAllAttributes();
  for (auto add : {addAlong,   addAttention, addChain,  addCounts,  addCrossEntropy, addDropout, addEinsum, addElementwise,
                   addExperts, addFunction,  addGather, addInteger, addLargest,      addNorm,    addReduce, addRingAttention,
                   addSamples, addScores,    addSelect, addUpdate,  addVariable,     addWindows})
    add(*this);
}
