// Functions are told by what ops say of their own effort.
#include "compiler/dialects/nn/base/Functions.h"

#include "compiler/dialects/nn/base/Base.h"

using namespace mlir;

namespace npar::nn {

double functionsOf(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  bool isFunction = kernel && (kernel.getEffort() == Effort::Some || kernel.getEffort() == Effort::Much);
  return isFunction ? defaultFlops(op) : 0;
}

} // namespace npar::nn
