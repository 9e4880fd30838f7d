// func, scf, cf, arith and math to the LLVM dialect, that to LLVM IR, and its clean-up for a machine.
#include "compiler/codegen/ir/LlvmIr.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace npar::codegen {

static LogicalResult lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet loops(context);
  populateSCFToControlFlowConversionPatterns(loops);
  ConversionTarget noLoops(*context);
  noLoops.addIllegalDialect<scf::SCFDialect>();
  noLoops.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  if (failed(applyPartialConversion(module, noLoops, std::move(loops))))
    return failure();

  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget onlyLLVM(*context);
  onlyLLVM.addLegalOp<ModuleOp>();
  return applyFullConversion(module, onlyLLVM, std::move(patterns));
}

FailureOr<std::unique_ptr<llvm::Module>> translateToLlvm(ModuleOp module, llvm::LLVMContext &context) {
  if (failed(lowerToLLVM(module)))
    return module.emitError("internal error: kernel does not lower to the LLVM dialect");
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return module.emitError("internal error: kernel does not translate to LLVM IR");
  return code;
}

namespace {
/// Runs the passes that `choose` takes from a builder.
template <typename Choose>
void runPasses(llvm::Module &module, llvm::TargetMachine &machine, const llvm::PipelineTuningOptions &tuning, Choose choose) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  choose(builder).run(module, modules);
}
} // namespace

void cleanUp(llvm::Module &module, llvm::TargetMachine &machine) {
  constexpr const char *passes = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(loop-rotate,licm),"
                                 "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";
  runPasses(module, machine, {}, [&](llvm::PassBuilder &builder) {
    llvm::ModulePassManager manager;
    llvm::cantFail(builder.parsePassPipeline(manager, passes));
    return manager;
  });
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  runPasses(module, machine, tuning,
            [](llvm::PassBuilder &builder) { return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3); });
}

} // namespace npar::codegen
