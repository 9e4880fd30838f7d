// Runs the phases over an imported program and hands back bytes or the text of a stage.
#include "compiler/Compiler.h"

#include "compiler/MlirDiagnostics.h"
#include "compiler/Pipelines.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/device/DeviceKernels.h"
#include "compiler/emit/Emit.h"
#include "compiler/import/Import.h"
#include "compiler/passes/export/Export.h"
#include "compiler/passes/export/ReadSaved.h"
#include "dsl/ParameterCounts.h"
#include "engine/program/PrintProgram.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace npar::compiler {
namespace {

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  out << '\n';
  return text;
}

/// Tells the caller that a phase with a name begins; false if the caller wants the compilation to end here.
bool begin(const CompileOptions &options, const std::string &phase) {
  auto stopped = [&] { return options.wantsToStop && options.wantsToStop(); };
  if (stopped())
    return false;
  if (options.onPhase && !phase.empty())
    options.onPhase(phase);
  return !stopped();
}

/// Tells the name of each pass of the pipeline, and skips all that are left once the caller wants to stop. A pass manager cannot be told to
/// end, and a failed pass would need a message; the module of a stopped compilation is never used.
void watchPasses(MLIRContext &context, const CompileOptions &options) {
  context.registerActionHandler([&options](function_ref<void()> transform, const tracing::Action &action) {
    const auto *execution = dyn_cast<PassExecutionAction>(&action);
    if (!execution || begin(options, execution->getPass().getArgument().str()))
      transform();
  });
}

/// The kernels' code for this processor and for the devices that are asked for. A program without kernels has no code.
LogicalResult generateKernels(ModuleOp module, const CompileOptions &options, std::vector<KernelCode> &codes) {
  codegen::KernelObject object;
  codegen::CodegenOptions generation;
  generation.onPhase = options.onPhase, generation.wantsToStop = options.wantsToStop;
  if (failed(codegen::compileKernels(module, generation, object)))
    return failure();
  if (object.bytes.empty())
    return success();
  codes.push_back({"cpu", std::move(object.targetFeatures), std::move(object.bytes)});
  for (const std::string &target : options.targets) {
    if (!begin(options, "kernels for " + target))
      return failure();
    StringRef architecture = StringRef(target).split(':').second;
    FailureOr<std::string> text = codegen::emitDeviceKernels(module, architecture);
    if (failed(text))
      return failure();
    codes.push_back({"cuda", architecture.str(), std::vector<uint8_t>(text->begin(), text->end())});
  }
  return success();
}

/// Counts the parameters that a position meets. Only the model's graph shows which ones these are.
void countActive(const dsl::Model &model, program::ProgramT &program) {
  const dsl::ParameterCounts counts = dsl::countParameters(model);
  program.active_parameters = static_cast<uint64_t>(counts.active), program.table_parameters = static_cast<uint64_t>(counts.tables);
}

/// The end of the way: the text of the stage, or the program exported, its kernels compiled and everything sealed.
LogicalResult finish(const dsl::Model &model, ModuleOp module, const CompileOptions &options, Compiled &result) {
  if (options.stopAfter == "saved") {
    result.saved = readSaved(module);
    return success();
  }
  bool asText = !options.stopAfter.empty();
  if (asText && options.stopAfter != "rank") {
    result.text = print(module);
    return success();
  }
  if (!begin(options, "planning memory"))
    return failure();
  FailureOr<std::unique_ptr<program::ProgramT>> program = exportProgram(module, options.movesWork);
  if (failed(program))
    return failure();
  countActive(model, **program);
  if (options.asDraft) {
    result.draft.bytes = packDraft(**program);
    return success();
  }
  std::vector<KernelCode> codes;
  if (!asText && !options.withoutKernels && failed(generateKernels(module, options, codes)))
    return failure();
  if (!begin(options, "checking the program"))
    return failure();
  auto sealed = emitProgram(module, **program, std::move(codes));
  if (failed(sealed))
    return failure();
  result.program = std::move(*sealed);
  if (asText)
    result.text = print(module) + "\n" + program::printProgram(result.program->root());
  return success();
}

} // namespace

std::vector<std::string> deviceTargets() { return {"cuda:sm_80", "cuda:sm_86", "cuda:sm_89", "cuda:sm_90"}; }

std::optional<Compiled> compile(const dsl::Program &program, const dsl::Sources &sources, const CompileOptions &options,
                                dsl::Diagnostics &diagnostics) {
  DialectRegistry registry;
  codegen::registerCodegen(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false); // a message shows the line of the text; the op would be the whole module at worst
  MlirDiagnostics located(context, sources, diagnostics);
  OwningOpRef<ModuleOp> module = importProgram(context, program, sources, options.kind, options.unrounded);
  if (!module)
    return std::nullopt;
  PassManager passes(&context);
  passes.enableVerifier(!options.asDraft);
  buildPipeline(passes, sources, options);
  if (options.onPhase || options.wantsToStop)
    watchPasses(context, options);
  Compiled result;
  auto stopped = [&] { return options.wantsToStop && options.wantsToStop(); };
  if (failed(passes.run(*module)) || stopped() || failed(finish(program.model, *module, options, result))) {
    if (!diagnostics.hasErrors() && !stopped())
      diagnostics.error(dsl::Code::I1, {}, "internal error: the compiler failed without a message");
    return std::nullopt;
  }
  return result;
}

} // namespace npar::compiler
