// Kernels that add up what ranks have: every source of an element is read before any target is written, so targets may be sources.
#include "engine/backends/cuda/ptx/ReduceText.h"

#include "engine/backends/cuda/ptx/Numbers.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

namespace npar::engine::cuda {

using program::ElementType;
using program::ReduceOp;

namespace {

constexpr ElementType typesReduced[] = {ElementType::F32, ElementType::F64, ElementType::BF16,
                                        ElementType::F16, ElementType::I32, ElementType::U8};

bool isInteger(ElementType type) { return type == ElementType::I32 || type == ElementType::U8; }

/// a op b, of the sums' type.
Operand combine(PtxKernel &kernel, ElementType type, ReduceOp op, const Operand &a, const Operand &b) {
  if (isInteger(type))
    return kernel.get(Kind::Bits32, op == ReduceOp::Max ? "max.s32" : "add.s32", a, b);
  Floats sums = sumsOf(type);
  if (op == ReduceOp::Max)
    return sums.larger(kernel, a, b);
  Operand sum = sums.add(kernel, a, b);
  return op == ReduceOp::RoundedSum ? roundElement(kernel, type, sum) : sum;
}

std::string kernelText(ElementType type, ReduceOp op) {
  PtxKernel kernel(reduceName(type, op), 3, reduceThreads, mostReduced * 8);
  Kind kind = isInteger(type) ? Kind::Bits32 : sumsOf(type).kind();
  std::string move = isInteger(type) ? "mov.b32" : "mov." + sumsOf(type).type();
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
      return isInteger(type) ? kernel.get(Kind::Bits32, type == ElementType::U8 ? "ld.global.u8" : "ld.global.b32", from)
                             : loadElement(kernel, type, from);
    };
    Operand sources = kernel.narrow(kernel.parameter(0));
    Operand all = kernel.get(Kind::Bits32, "add.s32", sources, kernel.narrow(kernel.parameter(1)));
    Operand result = kernel.get(kind, move, load(kernel.get(Kind::Bits32, "mov.b32", "0")));
    kernel.loop("1", sources, "1", [&](const Operand &i) { kernel.put(result, move, combine(kernel, type, op, result, load(i))); });
    kernel.loop(sources, all, "1", [&](const Operand &i) {
      std::string to = at(pointer(i));
      if (isInteger(type))
        kernel.run(type == ElementType::U8 ? "st.global.u8" : "st.global.b32", to, result);
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
  for (ElementType type : typesReduced)
    for (ReduceOp op : {ReduceOp::Sum, ReduceOp::RoundedSum, ReduceOp::Max})
      kernels.push_back(kernelText(type, op));
  return moduleText(kernels);
}

} // namespace npar::engine::cuda
