// Elements of tensors in PTX: narrow floats are converted by integers, as engine/numbers/NarrowFloat.h does it.
#include "engine/backends/cuda/ptx/Numbers.h"

namespace npar::engine::cuda {

using program::ElementType;

Operand Floats::larger(PtxKernel &kernel, const Operand &a, const Operand &b) const {
  Operand above = compare(kernel, "gt", a, b), nan = compare(kernel, "nan", a, a);
  return choose(kernel, kernel.get(Kind::Predicate, "or.pred", above, nan), a, b);
}

static Operand bits(PtxKernel &kernel, const char *instruction, const Operand &a, const Operand &b) {
  return kernel.get(Kind::Bits32, instruction, a, b);
}

static Operand floatOf(PtxKernel &kernel, const Operand &word) { return kernel.get(Kind::Float32, "mov.b32", word); }
static Operand wordOf(PtxKernel &kernel, const Operand &value) { return kernel.get(Kind::Bits32, "mov.b32", value); }
static Operand choose(PtxKernel &kernel, const Operand &condition, const Operand &yes, const Operand &no) {
  return kernel.get(Kind::Bits32, "selp.b32", yes, no, condition);
}

static_assert(program::areNarrowTypesHalves(), "a narrow type needs conversions here");

/// A 16-bit float in the lower half of a word.
static Operand widened(PtxKernel &kernel, ElementType type, const Operand &half) {
  if (program::isUpperHalf(type))
    return floatOf(kernel, bits(kernel, "shl.b32", half, "16"));
  // The exponent's bias differs by 112; denormals become normal as they are multiplied. Infinities and NaNs get the last exponent.
  Operand size = bits(kernel, "shl.b32", bits(kernel, "and.b32", half, "0x7FFF"), "13");
  Operand scaled = wordOf(kernel, kernel.get(Kind::Float32, "mul.rn.f32", floatOf(kernel, size), constant(0x1p112f)));
  Operand last = kernel.get(Kind::Predicate, "setp.ge.u32", size, "0xF800000");
  Operand whole = choose(kernel, last, bits(kernel, "or.b32", size, "0x7F800000"), scaled);
  Operand sign = bits(kernel, "shl.b32", bits(kernel, "and.b32", half, "0x8000"), "16");
  return floatOf(kernel, bits(kernel, "or.b32", whole, sign));
}

/// The 16 bits that a float32 is rounded to.
static Operand narrowed(PtxKernel &kernel, ElementType type, const Operand &value) {
  Operand word = wordOf(kernel, value), size = bits(kernel, "and.b32", word, "0x7FFFFFFF");
  Operand nan = kernel.get(Kind::Predicate, "setp.gt.u32", size, "0x7F800000");
  auto rounded = [&](const Operand &from, int shift, const char *half) {
    Operand last = bits(kernel, "and.b32", bits(kernel, "shr.u32", from, std::to_string(shift)), "1");
    Operand sum = bits(kernel, "add.s32", bits(kernel, "add.s32", from, half), last);
    return bits(kernel, "shr.u32", sum, std::to_string(shift));
  };
  if (program::isUpperHalf(type)) {
    Operand quiet = bits(kernel, "shr.u32", bits(kernel, "or.b32", word, "0x400000"), "16");
    return choose(kernel, nan, quiet, rounded(word, 16, "0x7FFF"));
  }
  Operand normal = rounded(bits(kernel, "sub.s32", size, "0x38000000"), 13, "0xFFF");
  // Adding 0.5 shifts the last place of what is denormal there to 2^-24 and rounds.
  Operand shifted = wordOf(kernel, kernel.get(Kind::Float32, "add.rn.f32", floatOf(kernel, size), constant(0.5f)));
  Operand small = kernel.get(Kind::Predicate, "setp.lt.u32", size, "0x38800000");
  Operand half = choose(kernel, small, bits(kernel, "sub.s32", shifted, "0x3F000000"), normal);
  half = choose(kernel, kernel.get(Kind::Predicate, "setp.ge.u32", size, "0x477FF000"), "0x7C00", half);
  Operand quiet = bits(kernel, "or.b32", bits(kernel, "and.b32", bits(kernel, "shr.u32", size, "13"), "0x3FF"), "0x7E00");
  half = choose(kernel, nan, quiet, half);
  return bits(kernel, "or.b32", half, bits(kernel, "and.b32", bits(kernel, "shr.u32", word, "16"), "0x8000"));
}

Operand loadElement(PtxKernel &kernel, ElementType type, const std::string &place, const Operand &condition) {
  std::string guard = condition.empty() ? "" : "@" + condition + " ";
  Kind kind = program::isNarrow(type) ? Kind::Bits32 : sumsOf(type).kind();
  Operand value = kernel.fresh(kind);
  if (!condition.empty())
    kernel.put(value,
               kind == Kind::Float64   ? "mov.f64"
               : kind == Kind::Float32 ? "mov.f32"
                                       : "mov.b32",
               kind == Kind::Bits32 ? "0" : Floats{kind == Kind::Float64}.number(0));
  if (!program::isNarrow(type)) {
    kernel.put(value, guard + "ld.global." + sumsOf(type).type(), place);
    return value;
  }
  Operand half = kernel.fresh(Kind::Bits16);
  if (!condition.empty())
    kernel.put(half, "mov.b16", "0");
  kernel.put(half, guard + "ld.global.b16", place);
  kernel.put(value, "cvt.u32.u16", half);
  return widened(kernel, type, value);
}

void storeElement(PtxKernel &kernel, ElementType type, const std::string &place, const Operand &value) {
  if (!program::isNarrow(type))
    return kernel.run("st.global." + sumsOf(type).type(), place, value);
  kernel.run("st.global.b16", place, kernel.get(Kind::Bits16, "cvt.u16.u32", narrowed(kernel, type, value)));
}

Operand roundToTf32(PtxKernel &kernel, const Operand &value) {
  Operand word = wordOf(kernel, value), exponent = bits(kernel, "and.b32", word, "0x7F800000");
  Operand nearest = bits(kernel, "and.b32", bits(kernel, "add.s32", word, "0x1000"), "0xFFFFE000");
  return floatOf(kernel, choose(kernel, kernel.get(Kind::Predicate, "setp.eq.u32", exponent, "0x7F800000"), word, nearest));
}

Operand roundElement(PtxKernel &kernel, ElementType type, const Operand &value) {
  return program::isNarrow(type) ? widened(kernel, type, narrowed(kernel, type, value)) : value;
}

} // namespace npar::engine::cuda
