// Loops of a thread -> LLVM IR -> PTX, without contraction: every addition and product that is no fma says how it rounds, so that no
// assembler joins two of them.
#include "compiler/codegen/device/Ptx.h"

#include "compiler/codegen/ir/LlvmIr.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

namespace npar::codegen {

static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef architecture) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, architecture, "+ptx81", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// The entry: the buffers by value, where the body reads them in constant memory, and all rows.
static void addEntry(llvm::Module &code, llvm::Function &body, StringRef name, int64_t buffers, int64_t blockThreads) {
  llvm::LLVMContext &context = code.getContext();
  body.setName(name + "_body");
  body.setLinkage(llvm::GlobalValue::InternalLinkage);
  body.addFnAttr(llvm::Attribute::AlwaysInline);
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, code);
  entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry->addFnAttr("nvvm.reqntid", std::to_string(blockThreads));
  entry->addParamAttr(0, llvm::Attribute::getWithByValType(context, llvm::ArrayType::get(pointer, buffers)));
  entry->addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  entry->addParamAttr(0, llvm::Attribute::ReadOnly);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  b.CreateCall(&body, {entry->getArg(0), entry->getArg(1), b.getInt64(0), b.getInt64(0)});
  b.CreateRetVoid();
}

FailureOr<std::string> emitPtx(ModuleOp module, StringRef name, StringRef architecture, int64_t buffers, int64_t blockThreads) {
  llvm::LLVMContext context;
  FailureOr<std::unique_ptr<llvm::Module>> translated = translateToLlvm(module, context);
  if (failed(translated))
    return failure();
  llvm::Module &code = **translated;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(architecture);
  if (!machine)
    return module.emitError("internal error: no code generator for '") << architecture << "'";
  code.setDataLayout(machine->createDataLayout());
  code.setTargetTriple(machine->getTargetTriple());
  addEntry(code, *code.getFunction(name), name, buffers, blockThreads);
  for (llvm::Function &function : code)
    function.setDoesNotThrow();
  for (llvm::GlobalVariable &global : code.globals())
    global.setName(name + "_" + global.getName()); // texts of several kernels are one file
  optimize(code, *machine, /*unroll=*/true);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("internal error: no PTX can be written for '") << architecture << "'";
  passes.run(code);
  StringRef text(bytes.data(), bytes.size());
  return text.split(".address_size 64").second.ltrim().str();
}

std::string ptxHeader(StringRef architecture) { return (".version 8.1\n.target " + architecture + "\n.address_size 64\n\n").str(); }

} // namespace npar::codegen
