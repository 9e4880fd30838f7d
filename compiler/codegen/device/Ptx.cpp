// Compiles the loops of one thread to PTX through LLVM IR. Contraction is off: every addition and product other than an fma has an explicit
// rounding mode, so that no assembler fuses two of them.
#include "compiler/codegen/device/Ptx.h"

#include "compiler/codegen/ir/LlvmIr.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
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

static llvm::Function *createEntry(llvm::Function &body, StringRef name, ArrayRef<llvm::Type *> parameters, int64_t blockThreads) {
  llvm::Module &code = *body.getParent();
  body.setName(name + "_body");
  body.setLinkage(llvm::GlobalValue::InternalLinkage);
  body.addFnAttr(llvm::Attribute::AlwaysInline);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(code.getContext()), parameters, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, code);
  entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry->addFnAttr("nvvm.reqntid", std::to_string(blockThreads));
  return entry;
}

// The entry: the buffers by value, where the body reads them in constant memory, and all rows.
static void addEntry(llvm::Function &body, StringRef name, int64_t buffers, int64_t blockThreads) {
  llvm::LLVMContext &context = body.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  llvm::Function *entry = createEntry(body, name, {pointer, pointer}, blockThreads);
  entry->addParamAttr(0, llvm::Attribute::getWithByValType(context, llvm::ArrayType::get(pointer, buffers)));
  entry->addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  entry->addParamAttr(0, llvm::Attribute::ReadOnly);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  b.CreateCall(&body, {entry->getArg(0), entry->getArg(1), b.getInt64(0), b.getInt64(0)});
  b.CreateRetVoid();
}

// The entry of a kernel for many: blocks of scores, parameters. The pointers are copied, which makes registers of them: no store can change
// them. They are to the device's own memory.
static void addEntryOfMany(llvm::Function &body, StringRef name, int64_t buffers, int64_t blockThreads) {
  llvm::LLVMContext &context = body.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *word = llvm::Type::getInt64Ty(context);
  llvm::Function *entry = createEntry(body, name, {pointer, word, pointer}, blockThreads);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  llvm::Value *block = b.CreateZExt(b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, {}), word);
  auto *global = llvm::PointerType::get(context, 1);
  llvm::Value *table = b.CreatePtrAdd(b.CreateAddrSpaceCast(entry->getArg(0), global), b.CreateMul(block, entry->getArg(1)));
  llvm::Value *own = b.CreateAlloca(llvm::ArrayType::get(pointer, buffers));
  for (int64_t i = 0; i < buffers; ++i) {
    llvm::Value *buffer = b.CreateLoad(global, b.CreateConstInBoundsGEP1_64(global, table, i));
    b.CreateStore(b.CreateAddrSpaceCast(buffer, pointer), b.CreateConstInBoundsGEP1_64(pointer, own, i));
  }
  b.CreateCall(&body, {b.CreateAddrSpaceCast(own, pointer), entry->getArg(2), b.getInt64(0), b.getInt64(0)});
  b.CreateRetVoid();
}

FailureOr<std::string> emitPtx(ModuleOp module, StringRef name, StringRef architecture, int64_t buffers, int64_t blockThreads, bool many) {
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
  (many ? addEntryOfMany : addEntry)(*code.getFunction(name), name, buffers, blockThreads);
  for (llvm::Function &function : code)
    function.setDoesNotThrow();
  for (llvm::GlobalVariable &global : code.globals())
    global.setName(name + "_" + global.getName()); // texts of several kernels are one file
  optimize(code, *machine);
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
