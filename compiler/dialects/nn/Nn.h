// The nn dialect (what is computed): attributes, interfaces and ops over tensors with named axes.
#pragma once

#include "compiler/dialects/nn/base/Base.h"
#include "compiler/dialects/nn/ops/Ops.h"
