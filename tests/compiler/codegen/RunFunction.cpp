// Compiles a function in this process and interprets what is left around its kernels.
#include "tests/compiler/codegen/RunFunction.h"

#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/rank/Rank.h"
#include "engine/numbers/NarrowFloat.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <dlfcn.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace npar::codegen {

std::string tensorText(const std::string &axes, const std::string &element) {
  std::istringstream words(axes);
  std::string word, shape, names;
  while (words >> word) {
    size_t equal = word.find('=');
    shape += word.substr(equal + 1) + "x";
    names += (names.empty() ? "" : ", ") + word.substr(0, equal);
  }
  return "tensor<" + shape + element + ", #nn.axes<" + names + ">>";
}

CompiledFunction::CompiledFunction(const std::string &text) {
  DialectRegistry registry;
  registerCodegen(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return;
  PassManager passes(&context);
  passes.addPass(createExportOutlineKernels());
  if (failed(passes.run(*module)))
    return;
  llvm::raw_string_ostream stream(printed);
  module->print(stream);
  KernelObject object;
  CodegenOptions options;
  options.useCache = false;
  if (failed(compileKernels(*module, options, object)))
    return;
  for (rank::KernelOp kernel : module->getOps<rank::KernelOp>())
    kernels += bool(kernel);
  module->walk([&](rank::LaunchOp) { ++launches; });
  module->walk([&](rank::MatmulOp) { ++products; });
  if (!object.bytes.empty()) {
    file = memfd_create("kernels", 0); // stays open: dlopen takes equal paths for one library
    if (write(file, object.bytes.data(), object.bytes.size()) != ssize_t(object.bytes.size()))
      return;
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      llvm::errs() << dlerror() << "\n";
  }
  valid = library || kernels == 0;
}

CompiledFunction::~CompiledFunction() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

static size_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8);
}

static void multiply(rank::MatmulOp op, const Buffer &a, const Buffer &b, const Buffer *start, Buffer &c) {
  if (start)
    c = *start;
  auto *x = reinterpret_cast<const float *>(a.bytes.data()) + op.getAOffset();
  auto *y = reinterpret_cast<const float *>(b.bytes.data()) + op.getBOffset();
  auto *z = reinterpret_cast<float *>(c.bytes.data());
  ArrayRef<int64_t> batch = op.getBatch(), as = op.getA(), bs = op.getB(), cs = op.getC();
  size_t depth = batch.size();
  auto taken = [rounds = op.getTf32()](float value) { return rounds ? engine::toTf32(value) : value; };
  int64_t total = 1;
  for (int64_t size : batch)
    total *= size;
  for (int64_t index = 0; index < total; ++index) {
    int64_t rest = index, ao = 0, bo = 0, co = 0;
    for (int64_t i = depth - 1; i >= 0; --i) {
      ao += rest % batch[i] * as[i], bo += rest % batch[i] * bs[i], co += rest % batch[i] * cs[i];
      rest /= batch[i];
    }
    for (int64_t i = 0; i < int64_t(op.getM()); ++i)
      for (int64_t j = 0; j < int64_t(op.getN()); ++j) {
        double sum = 0;
        for (int64_t k = 0; k < int64_t(op.getK()); ++k)
          sum += double(taken(x[ao + i * as[depth] + k * as[depth + 1]])) * taken(y[bo + k * bs[depth] + j * bs[depth + 1]]);
        float &out = z[co + i * cs[depth] + j];
        out = float(sum + (start ? out : 0.0f));
      }
  }
}

CompiledFunction::Launch CompiledFunction::prepare() {
  Launch result;
  module->walk([&](rank::LaunchOp launch) {
    for (Type type : launch->getOperandTypes())
      result.buffers.emplace_back().bytes.assign(bytesOf(type), 0);
    for (Type type : launch->getResultTypes())
      result.buffers.emplace_back().bytes.assign(bytesOf(type), 0);
    result.kernel = reinterpret_cast<Kernel>(dlsym(library, launch.getKernel().str().c_str()));
    result.extent = module->lookupSymbol<rank::KernelOp>(launch.getKernel()).getExtent();
  });
  for (Buffer &buffer : result.buffers)
    result.pointers.push_back(buffer.bytes.data());
  return result;
}

std::vector<Buffer> CompiledFunction::run(const std::vector<Buffer> &arguments, std::vector<int64_t> words, int64_t split) {
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  llvm::DenseMap<Value, Buffer> values;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (arguments[i].bytes.size() != bytesOf(argument.getType()))
      llvm::errs() << "argument " << i << " has " << arguments[i].bytes.size() << " bytes, needs " << bytesOf(argument.getType()) << "\n";
    values[argument] = arguments[i];
  }
  std::vector<Buffer> results;
  for (Operation &op : function.front()) {
    for (Value result : op.getResults()) {
      Buffer fresh;
      fresh.bytes.assign(bytesOf(result.getType()), 0xFF); // NaN: what is not written shows
      values[result] = fresh;
    }
    if (auto launch = dyn_cast<rank::LaunchOp>(op)) {
      std::vector<void *> buffers;
      for (Value operand : launch.getOperands())
        buffers.push_back(values[operand].bytes.data());
      for (Value result : launch.getOutputs())
        buffers.push_back(values[result].bytes.data());
      auto launched = module->lookupSymbol<rank::KernelOp>(launch.getKernel());
      auto kernel = reinterpret_cast<Kernel>(dlsym(library, launched.getFunction().str().c_str()));
      int64_t extent = launched.getExtent();
      for (int64_t i = split - 1; i >= 0; --i)
        kernel(buffers.data(), words.data(), extent * i / split, extent * (i + 1) / split);
    } else if (auto product = dyn_cast<rank::MatmulOp>(op)) {
      Buffer start;
      if (product.getAccumulator())
        start = values[product.getAccumulator()];
      multiply(product, values[product.getLhs()], values[product.getRhs()], product.getAccumulator() ? &start : nullptr,
               values[product.getResult()]);
    } else if (auto rename = dyn_cast<nn::RenameOp>(op)) {
      values[rename.getResult()] = values[rename.getX()];
    } else if (isa<func::ReturnOp>(op)) {
      for (Value operand : op.getOperands())
        results.push_back(values[operand]);
    } else {
      llvm::errs() << "cannot run " << op.getName() << "\n";
    }
  }
  return results;
}

} // namespace npar::codegen
