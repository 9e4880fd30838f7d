// Loops -> LLVM dialect -> LLVM IR -> relocatable object, without fast-math and with 512-bit vectors where the machine has them.
#include "compiler/codegen/Object.h"

#include "compiler/codegen/ir/LlvmIr.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace mlir;

namespace npar::codegen {

// Rounds x86-64 processors down to a level of the x86-64 ABI, so that code has the same instructions on all machines of one level.
Target hostTarget() {
  Target target;
  target.triple = llvm::sys::getProcessTriple();
  target.tune = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const std::pair<const char *, std::vector<const char *>> levels[] = {
      {"x86-64-v4",
       {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"x86-64-v3", {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}},
      {"x86-64-v2", {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}}}; // the oldest: engine/device/ProcessorFeatures.h
  if (llvm::Triple(target.triple).getArch() == llvm::Triple::x86_64) {
    for (auto &[cpu, needed] : levels) {
      if (!llvm::all_of(needed, [&](const char *feature) { return features.lookup(feature); }))
        continue;
      target.cpu = cpu;
      for (const char *feature : needed)
        target.features += (target.features.empty() ? "+" : ",+") + std::string(feature);
      return target;
    }
  }
  target.cpu = target.tune;
  std::vector<std::string> names;
  for (const auto &feature : features)
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(names.begin(), names.end());
  for (const std::string &name : names)
    target.features += (target.features.empty() ? "" : ",") + name;
  return target;
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const Target &target) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  std::string error;
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // only explicit fma: bits must not depend on fusion
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                                                         std::nullopt, llvm::CodeGenOptLevel::Default));
}

FailureOr<std::string> emitObject(ModuleOp module, const Target &target) {
  llvm::LLVMContext llvmContext;
  FailureOr<std::unique_ptr<llvm::Module>> translated = translateToLlvm(module, llvmContext);
  if (failed(translated))
    return failure();
  llvm::Module *code = translated->get();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  if (!machine)
    return module.emitError("internal error: no code generator for '") << target.triple << "'";
  code->setDataLayout(machine->createDataLayout());
  code->setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &function : *code) {
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("tune-cpu", target.tune);
    function.addFnAttr("target-features", target.features);
    function.setDoesNotThrow();
  }
  cleanUp(*code, *machine);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("internal error: no object file can be written for '") << target.triple << "'";
  passes.run(*code);
  return std::string(bytes.data(), bytes.size());
}

} // namespace npar::codegen
