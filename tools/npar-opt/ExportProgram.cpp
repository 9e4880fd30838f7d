// The option --export-program: the compiled program that a scheduled module becomes, printed as `npar compile --emit=rank` prints it. What
// is left of the module, variables and kernels, follows.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/emit/Emit.h"
#include "compiler/passes/export/Export.h"
#include "engine/program/PrintProgram.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace npar::tools {
namespace {

struct ExportProgram : PassWrapper<ExportProgram, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExportProgram)
  StringRef getArgument() const override { return "export-program"; }
  StringRef getDescription() const override { return "prints the compiled program that a scheduled module with outlined kernels becomes"; }

  /// The mesh of a module without one.
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<dist::DistDialect>(); }

  void runOnOperation() override {
    FailureOr<std::unique_ptr<program::ProgramT>> program = compiler::exportProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    auto sealed = compiler::emitProgram(getOperation(), **program, {});
    if (failed(sealed))
      return signalPassFailure();
    llvm::outs() << program::printProgram((*sealed)->root());
  }
};

} // namespace

void registerExportProgram() { PassRegistration<ExportProgram>(); }

} // namespace npar::tools
