// Kernels that copy lines: a block has some of a line's columns, several for each thread, so that loads of many are under way.
#include "engine/backends/cuda/library/RowCopies.h"

#include "engine/backends/cuda/ptx/Ptx.h"

#include <algorithm>
#include <functional>

namespace npar::engine::cuda {

namespace {
constexpr int threads = 256, perThread = 8;
constexpr int64_t mostLines = 65535; ///< blocks of a launch in its second direction
enum Parameter { Target, Source, TargetLeading, SourceLeading, Lines, Columns, ParameterCount };

constexpr int wide = 16, inWide = wide / 2; ///< bytes of a store, and elements of 2 bytes in it
const char *const oddName = "copy_lines_to_odd_places";

std::string nameOf(int bytes) { return "copy_lines_" + std::to_string(bytes); }

/// This thread's number in its line, and a loop over the block's lines.
void overLines(PtxKernel &kernel, const Operand &perBlock, const std::function<void(const Operand &first, const Operand &line)> &body) {
  Operand block = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  Operand first = kernel.get(Kind::Bits32, "mad.lo.s32", block, perBlock, thread);
  Operand begin = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y"), step = kernel.get(Kind::Bits32, "mov.u32", "%nctaid.y");
  kernel.loop(begin, kernel.narrow(kernel.parameter(Lines)), step, [&](const Operand &line) { body(first, line); });
}

Operand lineOf(PtxKernel &kernel, int pointer, int leading, const Operand &line, int bytes) {
  Operand base = kernel.get(Kind::Bits64, "cvta.to.global.u64", kernel.parameter(pointer));
  return kernel.address(base, kernel.times(kernel.widen(line), kernel.parameter(leading)), bytes);
}

std::string textOf(int bytes) {
  PtxKernel kernel(nameOf(bytes), ParameterCount, threads);
  std::string word = std::to_string(8 * bytes);
  Kind kind = bytes == 2 ? Kind::Bits16 : Kind::Bits32;
  Operand columns = kernel.narrow(kernel.parameter(Columns));
  overLines(kernel, std::to_string(threads * perThread), [&](const Operand &first, const Operand &line) {
    Operand from = kernel.address(lineOf(kernel, Source, SourceLeading, line, bytes), kernel.widen(first), bytes);
    Operand to = kernel.address(lineOf(kernel, Target, TargetLeading, line, bytes), kernel.widen(first), bytes);
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

/// A thread has the 16 bytes at an even place of the target: elements from 8 times its number less where the line begins in its own 16.
std::string oddText() {
  PtxKernel kernel(oddName, ParameterCount, threads);
  Operand columns = kernel.narrow(kernel.parameter(Columns));
  overLines(kernel, std::to_string(threads), [&](const Operand &number, const Operand &line) {
    Operand to = lineOf(kernel, Target, TargetLeading, line, 2);
    Operand before = kernel.get(Kind::Bits32, "and.b32", kernel.narrow(to), std::to_string(wide - 1));
    Operand first = kernel.get(Kind::Bits32, "mul.lo.s32", number, std::to_string(inWide));
    first = kernel.get(Kind::Bits32, "sub.s32", first, kernel.get(Kind::Bits32, "shr.u32", before, "1"));
    Operand behind = kernel.get(Kind::Bits32, "add.s32", first, std::to_string(inWide));
    Operand from = kernel.address(lineOf(kernel, Source, SourceLeading, line, 2), kernel.widen(first), 2);
    to = kernel.address(to, kernel.widen(first), 2);
    Operand begun = kernel.get(Kind::Predicate, "setp.ge.s32", first, "0"),
            ends = kernel.get(Kind::Predicate, "setp.le.s32", behind, columns);
    Operand whole = kernel.get(Kind::Predicate, "and.pred", begun, ends), part = kernel.get(Kind::Predicate, "not.pred", whole);
    kernel.when(whole, [&] {
      std::vector<Operand> words;
      for (int i = 0; i < inWide; i += 2) {
        Operand low = kernel.get(Kind::Bits32, "ld.global.u16", at(from, 2 * i)),
                high = kernel.get(Kind::Bits32, "ld.global.u16", at(from, 2 * i + 2));
        words.push_back(kernel.get(Kind::Bits32, "or.b32", low, kernel.get(Kind::Bits32, "shl.b32", high, "16")));
      }
      kernel.run("st.global.v4.b32", at(to), "{" + words[0] + ", " + words[1] + ", " + words[2] + ", " + words[3] + "}");
    });
    kernel.when(part, [&] {
      for (int i = 0; i < inWide; ++i) {
        Operand column = kernel.get(Kind::Bits32, "add.s32", first, std::to_string(i));
        kernel.when(kernel.get(Kind::Predicate, "setp.lt.u32", column, columns), // none below 0 either
                    [&] { kernel.run("st.global.b16", at(to, 2 * i), kernel.get(Kind::Bits16, "ld.global.b16", at(from, 2 * i))); });
      }
    });
  });
  return kernel.text();
}
} // namespace

std::string rowCopiesText() { return moduleText({textOf(2), textOf(4), oddText()}); }

Result<RowCopies> RowCopies::load(CudaDevice &device) {
  Result<std::vector<Handle>> found =
      device.load(rowCopiesText(), "kernels that copy rows", {nameOf(2), nameOf(4), oddName});
  if (!found.ok())
    return found.status();
  RowCopies copies;
  copies.device = &device, copies.ofTwo = (*found)[0], copies.ofFour = (*found)[1], copies.toOdd = (*found)[2];
  return copies;
}

Code RowCopies::start(const CopiedLines &target, const CopiedLines &source, int64_t lines, int64_t columns, size_t elementBytes,
                      Handle stream) const {
  int64_t numbers[ParameterCount] = {
      static_cast<int64_t>(target.at), static_cast<int64_t>(source.at), target.leading, source.leading, lines, columns};
  void *parameters[ParameterCount];
  for (int i = 0; i < ParameterCount; ++i)
    parameters[i] = numbers + i;
  bool isOdd = elementBytes == 2 && target.leading % inWide != 0;
  int64_t items = isOdd ? columns / inWide + 2 : columns, perBlock = isOdd ? threads : threads * perThread;
  auto blocks = static_cast<unsigned>((items + perBlock - 1) / perBlock);
  return device->cuda().call().launchKernel(isOdd               ? toOdd
                                            : elementBytes == 2 ? ofTwo
                                                                : ofFour,
                                            blocks, static_cast<unsigned>(std::min(lines, mostLines)), 1, threads, 1, 1, 0, stream,
                                            parameters, nullptr);
}

} // namespace npar::engine::cuda
