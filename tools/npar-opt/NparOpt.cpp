// npar-opt: reads MLIR text of our dialects, runs the named passes, prints; what `npar compile --emit` prints can be fed back.
#include "compiler/dialects/nn/Nn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#if NPAR_HAS_DIST
#include "compiler/dialects/dist/Dist.h"
#endif
#if NPAR_HAS_PIPE
#include "compiler/dialects/pipe/Pipe.h"
#endif
#if NPAR_HAS_RANK
#include "compiler/dialects/rank/Rank.h"
#endif
#if NPAR_HAS_CODEGEN
#include "compiler/codegen/Codegen.h"
#endif
#if NPAR_HAS_PREPARE
#include "compiler/passes/prepare/Prepare.h"
#endif
#if NPAR_HAS_AUTODIFF
#include "compiler/passes/autodiff/Autodiff.h"
#endif
#if NPAR_HAS_PLACE
#include "compiler/passes/place/Place.h"
#endif
#if NPAR_HAS_SCHEDULE
#include "compiler/passes/schedule/Schedule.h"
#endif

namespace npar::tools {
void registerExportProgram();
} // namespace npar::tools

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, npar::nn::NnDialect>();
#if NPAR_HAS_DIST
  registry.insert<npar::dist::DistDialect>();
#endif
#if NPAR_HAS_PIPE
  registry.insert<npar::pipe::PipeDialect>();
#endif
#if NPAR_HAS_RANK
  registry.insert<npar::rank::RankDialect>();
#endif
  mlir::registerTransformsPasses();
#if NPAR_HAS_PREPARE
  npar::compiler::registerPreparePasses();
#endif
#if NPAR_HAS_AUTODIFF
  npar::compiler::registerAutodiffPasses();
#endif
#if NPAR_HAS_PLACE
  npar::place::registerPlacePasses();
#endif
#if NPAR_HAS_SCHEDULE
  npar::compiler::registerSchedulePasses();
#endif
#if NPAR_HAS_CODEGEN
  npar::codegen::registerCodegen(registry);
  npar::codegen::registerCodegenPasses(llvm::outs());
#endif
#if NPAR_HAS_EMIT
  npar::tools::registerExportProgram();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "npar pass driver\n", registry));
}
