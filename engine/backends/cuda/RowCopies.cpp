// Kernels that copy lines: a block has some of a line's columns, several for each thread, so that loads of many are under way.
#include "engine/backends/cuda/RowCopies.h"

#include "engine/backends/cuda/Ptx.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {
constexpr int threads = 256, perThread = 8;
constexpr int64_t mostLines = 65535; ///< blocks of a launch in its second direction
enum Parameter { Target, Source, TargetLeading, SourceLeading, Lines, Columns, ParameterCount };

std::string nameOf(int bytes) { return "copy_lines_" + std::to_string(bytes); }

std::string textOf(int bytes) {
  PtxKernel kernel(nameOf(bytes), ParameterCount, threads);
  std::string word = std::to_string(8 * bytes);
  Kind kind = bytes == 2 ? Kind::Bits16 : Kind::Bits32;
  Operand block = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  Operand first = kernel.get(Kind::Bits32, "mad.lo.s32", block, std::to_string(threads * perThread), thread);
  Operand begin = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y"), step = kernel.get(Kind::Bits32, "mov.u32", "%nctaid.y");
  Operand columns = kernel.narrow(kernel.parameter(Columns));
  auto lineOf = [&](int pointer, int leading, const Operand &line) {
    Operand base = kernel.get(Kind::Bits64, "cvta.to.global.u64", kernel.parameter(pointer));
    Operand offset = kernel.plus(kernel.times(kernel.widen(line), kernel.parameter(leading)), kernel.widen(first));
    return kernel.address(base, offset, bytes);
  };
  kernel.loop(begin, kernel.narrow(kernel.parameter(Lines)), step, [&](const Operand &line) {
    Operand from = lineOf(Source, SourceLeading, line), to = lineOf(Target, TargetLeading, line);
    std::vector<Operand> inside, values;
    for (int i = 0; i < perThread; ++i) {
      Operand column = kernel.get(Kind::Bits32, "add.s32", first, std::to_string(i * threads));
      inside.push_back(kernel.get(Kind::Predicate, "setp.lt.s32", column, columns));
      values.push_back(kernel.get(kind, "mov.b" + word, "0"));
      kernel.when(inside.back(), [&] { kernel.put(values.back(), "ld.global.b" + word, at(from, i * threads * bytes)); });
    }
    for (int i = 0; i < perThread; ++i)
      kernel.when(inside[static_cast<size_t>(i)],
                  [&] { kernel.run("st.global.b" + word, at(to, i * threads * bytes), values[static_cast<size_t>(i)]); });
  });
  return kernel.text();
}
} // namespace

Result<RowCopies> RowCopies::load(CudaDevice &device) {
  Result<std::vector<Handle>> found = device.load(moduleText({textOf(2), textOf(4)}), "kernels that copy rows", {nameOf(2), nameOf(4)});
  if (!found.ok())
    return found.status();
  RowCopies copies;
  copies.device = &device, copies.ofTwo = (*found)[0], copies.ofFour = (*found)[1];
  return copies;
}

Code RowCopies::start(const CopiedLines &target, const CopiedLines &source, int64_t lines, int64_t columns, size_t elementBytes,
                      Handle stream) const {
  int64_t numbers[ParameterCount] = {
      static_cast<int64_t>(target.at), static_cast<int64_t>(source.at), target.leading, source.leading, lines, columns};
  void *parameters[ParameterCount];
  for (int i = 0; i < ParameterCount; ++i)
    parameters[i] = numbers + i;
  auto blocks = static_cast<unsigned>((columns + threads * perThread - 1) / (threads * perThread));
  return device->cuda().call().launchKernel(elementBytes == 2 ? ofTwo : ofFour, blocks, static_cast<unsigned>(std::min(lines, mostLines)),
                                            1, threads, 1, 1, 0, stream, parameters, nullptr);
}

} // namespace npar::engine::cuda
