// Prints kernels for hashing, and answers their extent.
#include "compiler/codegen/Text.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/loops/Append.h"
#include "compiler/codegen/loops/Counts.h"
#include "compiler/codegen/loops/Emit.h"
#include "compiler/codegen/loops/ScatterAdd.h"
#include "compiler/codegen/loops/SquareSum.h"
#include "compiler/codegen/lowering/Lowering.h"

using namespace mlir;

namespace npar::codegen {

std::string kernelText(rank::KernelOp kernel, dist::MeshAttr mesh, StringRef name) {
  OwningOpRef<rank::KernelOp> copy = kernel.clone();
  copy->setSymName(name);
  copy->setExtent(1);
  copy->setFilled(APFloat(1.0));
  copy->getOperation()->walk([](Operation *op) { attributes::at.remove(op); });
  std::string text;
  llvm::raw_string_ostream stream(text);
  static_cast<Attribute>(mesh).print(stream);
  // Besides the mesh, the only module attribute that a kernel body reads.
  if (auto module = kernel->getParentOfType<ModuleOp>())
    if (Attribute orders = attributes::zigzag.get(module))
      orders.print(stream);
  OpPrintingFlags flags;
  flags.enableDebugInfo(false).printGenericOpForm(true).useLocalScope();
  copy->print(stream, flags);
  return text;
}

FailureOr<int64_t> extentOf(rank::KernelOp kernel, dist::MeshAttr mesh) {
  if (isScatterAdd(kernel))
    return scatterAddExtent(kernel);
  if (isSquareSum(kernel))
    return squareSumExtent(kernel);
  if (isAppend(kernel))
    return appendExtent(kernel);
  if (isCounts(kernel))
    return countsExtent(kernel);
  FailureOr<OwningOpRef<ModuleOp>> linalg = lowerToLinalg(kernel, mesh);
  if (failed(linalg))
    return failure();
  return kernelExtent(*(*linalg)->getOps<func::FuncOp>().begin());
}

} // namespace npar::codegen
