// Reads `// kernel NAME threads T rows R extent E [many] : TYPE[COUNT] ... -> TYPE[COUNT] ... inplace R=O ...`.
#include "engine/backends/cuda/ptx/KernelText.h"

#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <sstream>

namespace npar::engine::cuda {

size_t KernelBuffer::elementBytes() const {
  if (std::optional<program::ElementType> element = program::valueOf<program::ElementType>(type))
    return program::sizeOf(*element);
  return type == "i64" ? 8 : 1; // kernels also have counters, and bytes
}

Result<std::vector<GpuKernel>> readKernelLines(const std::string &text) {
  std::vector<GpuKernel> kernels;
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line.rfind("// npar kernels ", 0) != 0)
    return Status::badInput("the object for GPUs does not begin with '// npar kernels'");
  while (std::getline(lines, line) && line.rfind("// kernel ", 0) == 0) {
    GpuKernel kernel;
    std::istringstream words(line.substr(10));
    std::string word;
    words >> kernel.name >> word;
    words >> kernel.threads >> word >> kernel.rows >> word >> kernel.extent >> word;
    if (word == "many")
      kernel.many = true, words >> word;
    bool good = word == ":" && kernel.threads > 0 && kernel.rows > 0 && kernel.extent > 0;
    while (good && words >> word && word != "->" && word != "inplace")
      kernel.buffers.push_back({word.substr(0, word.find('[')), std::stoull(word.substr(word.find('[') + 1))});
    kernel.operands = kernel.buffers.size();
    while (good && words >> word && word != "inplace")
      kernel.buffers.push_back({word.substr(0, word.find('[')), std::stoull(word.substr(word.find('[') + 1))});
    for (; good && words >> word; words >> word)
      kernel.inplace.emplace_back(std::stoull(word), std::stoull(word.substr(word.find('=') + 1)));
    if (!good)
      return Status::badInput("a line of the object for GPUs cannot be read: " + line);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

} // namespace npar::engine::cuda
