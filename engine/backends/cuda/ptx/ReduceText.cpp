// Kernels that add up what ranks have: every source of an element is read before any target is written, so targets may be sources.
#include "engine/backends/cuda/ptx/ReduceText.h"

#include "engine/backends/cuda/ptx/Numbers.h"
#include "engine/program/Words.h"

namespace npar::engine::cuda {

using program::ElementType;
using program::ReduceOp;

namespace {

/// The suffix of an instruction that loads or stores an integer.
std::string integerWord(ElementType type) { return program::sizeOf(type) == 1 ? "u8" : "b32"; }

/// a op b, of the sums' type.
Operand combine(PtxKernel &kernel, ElementType type, ReduceOp op, const Operand &a, const Operand &b) {
  if (program::isInteger(type))
    return kernel.get(Kind::Bits32, op == ReduceOp::Max ? "max.s32" : "add.s32", a, b);
  Floats sums = sumsOf(type);
  if (op == ReduceOp::Max)
    return sums.larger(kernel, a, b);
  Operand sum = sums.add(kernel, a, b);
  return op == ReduceOp::RoundedSum ? roundElement(kernel, type, sum) : sum;
}

std::string kernelText(ElementType type, ReduceOp op) {
  PtxKernel kernel(reduceName(type, op), 3, reduceThreads, mostReduced * 8);
  Kind kind = program::isInteger(type) ? Kind::Bits32 : sumsOf(type).kind();
  std::string move = program::isInteger(type) ? "mov.b32" : "mov." + sumsOf(type).type();
  auto bytes = static_cast<int64_t>(program::sizeOf(type));
  Operand block = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  Operand element = kernel.get(Kind::Bits64, "mul.wide.u32", block, std::to_string(reduceThreads));
  element = kernel.plus(element, kernel.get(Kind::Bits64, "cvt.u64.u32", thread));
  Operand inside = kernel.get(Kind::Predicate, "setp.lt.u64", element, kernel.parameter(2));
  kernel.when(inside, [&] {
    Operand place = kernel.times(element, std::to_string(bytes)), list = kernel.array();
    auto pointer = [&](const Operand &index) {
      Operand entry = kernel.address(list, kernel.widen(index), 8);
      Operand base = kernel.get(Kind::Bits64, "ld.param.b64", at(entry));
      return kernel.plus(kernel.get(Kind::Bits64, "cvta.to.global.u64", base), place);
    };
    auto load = [&](const Operand &index) {
      std::string from = at(pointer(index));
      return program::isInteger(type) ? kernel.get(Kind::Bits32, "ld.global." + integerWord(type), from) : loadElement(kernel, type, from);
    };
    Operand sources = kernel.narrow(kernel.parameter(0));
    Operand all = kernel.get(Kind::Bits32, "add.s32", sources, kernel.narrow(kernel.parameter(1)));
    Operand result = kernel.get(kind, move, load(kernel.get(Kind::Bits32, "mov.b32", "0")));
    kernel.loop("1", sources, "1", [&](const Operand &i) { kernel.put(result, move, combine(kernel, type, op, result, load(i))); });
    kernel.loop(sources, all, "1", [&](const Operand &i) {
      std::string to = at(pointer(i));
      if (program::isInteger(type))
        kernel.run("st.global." + integerWord(type), to, result);
      else
        storeElement(kernel, type, to, result);
    });
  });
  return kernel.text();
}

} // namespace

std::string reduceName(ElementType type, ReduceOp op) { return "reduce_" + std::string(program::wordOf(type)) + "_" + program::wordOf(op); }

std::string reduceText() {
  std::vector<std::string> kernels;
  for (ElementType type : program::EnumValuesElementType())
    for (ReduceOp op : {ReduceOp::Sum, ReduceOp::RoundedSum, ReduceOp::Max})
      kernels.push_back(kernelText(type, op));
  return moduleText(kernels);
}

} // namespace npar::engine::cuda
