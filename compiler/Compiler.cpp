// Runs the phases over an imported program and hands back bytes or the text of a stage.
#include "compiler/Compiler.h"

#include "compiler/MlirDiagnostics.h"
#include "compiler/Pipelines.h"
#include "compiler/import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace npar::compiler {
namespace {

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  return text;
}

} // namespace

std::optional<Compiled> compile(const dsl::Program &program, const dsl::Sources &sources, const CompileOptions &options,
                                dsl::Diagnostics &diagnostics) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  MlirDiagnostics located(context, sources, diagnostics);
  OwningOpRef<ModuleOp> module = importProgram(context, program, sources);
  if (!module)
    return std::nullopt;
  PassManager passes(&context);
  buildPipeline(passes, options);
  if (failed(passes.run(*module))) {
    if (!diagnostics.hasErrors())
      diagnostics.error({}, "internal error: a compiler pass failed without a message");
    return std::nullopt;
  }
  Compiled result;
  result.text = print(*module);
  return result;
}

} // namespace npar::compiler
