// Floating-point arithmetic: rounded to nearest, nothing fused, denormals flushed if the instruction asks for it.
#include "tests/engine/backends/standin/ptx/Floats.h"

#include "tests/engine/backends/standin/ptx/Operations.h"

namespace npar::standin::ptx {

namespace {
template <typename Type> using Register = typename Type::Register;

template <typename Type> Register<Type> add(Register<Type> a, Register<Type> b) { return Type::write(Type::read(a) + Type::read(b)); }
template <typename Type> Register<Type> subtract(Register<Type> a, Register<Type> b) { return Type::write(Type::read(a) - Type::read(b)); }
template <typename Type> Register<Type> multiply(Register<Type> a, Register<Type> b) { return Type::write(Type::read(a) * Type::read(b)); }
template <typename Type> Register<Type> divide(Register<Type> a, Register<Type> b) { return Type::write(Type::read(a) / Type::read(b)); }
template <typename Type> Register<Type> reciprocal(Register<Type> a) { return Type::write(1 / Type::read(a)); }
template <typename Type> Register<Type> root(Register<Type> a) { return Type::write(std::sqrt(Type::read(a))); }
template <typename Type> Register<Type> multiplyAdd(Register<Type> a, Register<Type> b, Register<Type> c) {
  return Type::write(std::fma(Type::read(a), Type::read(b), Type::read(c)));
}

template <typename Type> constexpr Register<Type> signBit = Register<Type>{1} << (sizeof(Register<Type>) * 8 - 1);

template <typename Type> Register<Type> absolute(Register<Type> a) { return a & static_cast<Register<Type>>(~signBit<Type>); }
template <typename Type> Register<Type> negate(Register<Type> a) { return a ^ signBit<Type>; }
/// The sign of `a`, the rest of `b`.
template <typename Type> Register<Type> copySign(Register<Type> a, Register<Type> b) {
  return (a & signBit<Type>) | (b & static_cast<Register<Type>>(~signBit<Type>));
}

// -0 is less than +0. Of a NaN and a number the number is taken, or the NaN where it counts.
template <typename Type, bool isMax, bool nanCounts> Register<Type> extreme(Register<Type> a, Register<Type> b) {
  auto x = Type::read(a), y = Type::read(b);
  bool isNanA = x != x, isNanB = y != y, negative = (a & signBit<Type>) != 0;
  bool takesA = x == y ? negative != isMax : (x < y) != isMax;
  if (nanCounts)
    return isNanA || isNanB ? Type::write(x + y) : takesA ? a : b;
  return isNanA && isNanB ? Type::write(x + y) : isNanA ? b : isNanB ? a : takesA ? a : b;
}

template <typename Type> void addType(Operations &all, const std::string &type) {
  all["add.rn" + type] = lanewise<add<Type>>();
  all["sub.rn" + type] = lanewise<subtract<Type>>();
  all["mul.rn" + type] = lanewise<multiply<Type>>();
  all["abs" + type] = lanewise<absolute<Type>>();
  all["neg" + type] = lanewise<negate<Type>>();
  all["min" + type] = lanewise<extreme<Type, false, false>>();
  all["max" + type] = lanewise<extreme<Type, true, false>>();
}

template <typename Type> void addWide(Operations &all, const std::string &type) {
  addType<Type>(all, type);
  all["fma.rn" + type] = lanewise<multiplyAdd<Type>>();
  all["div.rn" + type] = lanewise<divide<Type>>();
  all["rcp.rn" + type] = lanewise<reciprocal<Type>>();
  all["sqrt.rn" + type] = lanewise<root<Type>>();
  all["copysign" + type] = lanewise<copySign<Type>>();
}
} // namespace

void addFloats(Operations &all) {
  addWide<F32>(all, ".f32");
  addWide<F64>(all, ".f64");
  addType<F16>(all, ".f16");
  all["add.rn.ftz.f32"] = lanewise<add<FlushedF32>>();
  all["sub.rn.ftz.f32"] = lanewise<subtract<FlushedF32>>();
  all["mul.rn.ftz.f32"] = lanewise<multiply<FlushedF32>>();
  all["fma.rn.ftz.f32"] = lanewise<multiplyAdd<FlushedF32>>();
  all["min.NaN.f32"] = lanewise<extreme<F32, false, true>>();
  all["max.NaN.f32"] = lanewise<extreme<F32, true, true>>();
  all["min.NaN.f16"] = lanewise<extreme<F16, false, true>>();
  all["max.NaN.f16"] = lanewise<extreme<F16, true, true>>();
}

} // namespace npar::standin::ptx
