// cvt: between integers, between floats, and from one to the other.
#include "tests/engine/backends/standin/ptx/Floats.h"
#include "tests/engine/backends/standin/ptx/Operations.h"

#include <limits>

namespace npar::standin::ptx {

namespace {
template <typename Value> std::string nameOf() { return (std::is_signed_v<Value> ? ".s" : ".u") + std::to_string(sizeof(Value) * 8); }

/// Takes the source's low bits; a register that is larger than the target is filled with its sign or zeros.
template <typename Target, typename TargetRegister, typename Source, typename SourceRegister> TargetRegister resize(SourceRegister bits) {
  auto value = static_cast<Target>(static_cast<Source>(bits));
  return static_cast<TargetRegister>(static_cast<std::conditional_t<std::is_signed_v<Target>, int64_t, uint64_t>>(value));
}

template <typename Target, typename TargetRegister, typename Source, typename SourceRegister> void addResize(Operations &all) {
  if constexpr (sizeof(TargetRegister) >= sizeof(Target) && sizeof(SourceRegister) >= sizeof(Source)) {
    const char registers[] = {':', letterOf<TargetRegister>(), letterOf<SourceRegister>(), 0};
    all["cvt" + nameOf<Target>() + nameOf<Source>() + registers] = lanewise<resize<Target, TargetRegister, Source, SourceRegister>>();
  }
}

// Registers larger than the type matter for 8 bits, which have none of their own.
template <typename Target, typename Source, typename SourceRegister> void addTargetRegisters(Operations &all) {
  if constexpr (sizeof(Target) == 1) {
    addResize<Target, uint16_t, Source, SourceRegister>(all);
    addResize<Target, uint32_t, Source, SourceRegister>(all);
  } else {
    addResize<Target, std::make_unsigned_t<Target>, Source, SourceRegister>(all);
  }
}

template <typename Source, typename SourceRegister> void addTargets(Operations &all) {
  addTargetRegisters<int8_t, Source, SourceRegister>(all);
  addTargetRegisters<uint8_t, Source, SourceRegister>(all);
  addTargetRegisters<int16_t, Source, SourceRegister>(all);
  addTargetRegisters<uint16_t, Source, SourceRegister>(all);
  addTargetRegisters<int32_t, Source, SourceRegister>(all);
  addTargetRegisters<uint32_t, Source, SourceRegister>(all);
  addTargetRegisters<int64_t, Source, SourceRegister>(all);
  addTargetRegisters<uint64_t, Source, SourceRegister>(all);
}

template <typename Source> void addSources(Operations &all) {
  if constexpr (sizeof(Source) == 1) {
    addTargets<Source, uint16_t>(all);
    addTargets<Source, uint32_t>(all);
    addTargets<Source, uint64_t>(all);
  } else {
    addTargets<Source, std::make_unsigned_t<Source>>(all);
  }
}

enum class Rounding { Nearest, Zero, Down, Up };

template <Rounding rounding, typename Float> Float roundToInteger(Float value) {
  switch (rounding) {
  case Rounding::Nearest:
    return std::nearbyint(value); // ties to even: the rounding mode is never changed
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  }
  return value;
}

/// Numbers that do not fit give the nearest that does. NaN gives 0 from f32 to 32 bits, else the highest bit alone.
template <typename Type, typename Value, Rounding rounding> std::make_unsigned_t<Value> toInteger(typename Type::Register bits) {
  using Word = std::make_unsigned_t<Value>;
  using Limits = std::numeric_limits<Value>;
  auto value = Type::read(bits);
  if (value != value)
    return sizeof(bits) == 8 || sizeof(Value) == 8 ? Word{1} << (sizeof(Word) * 8 - 1) : Word{0};
  auto rounded = roundToInteger<rounding>(value);
  // The highest value plus 1 is a power of two, which every float type has.
  auto above =
      static_cast<decltype(rounded)>(std::is_signed_v<Value> ? 1 : 2) * static_cast<decltype(rounded)>(Word{1} << (sizeof(Word) * 8 - 1));
  if (rounded >= above)
    return static_cast<Word>(Limits::max());
  if (rounded <= static_cast<decltype(rounded)>(Limits::min()))
    return static_cast<Word>(Limits::min());
  return static_cast<Word>(static_cast<Value>(rounded));
}

template <typename Type, typename Value> typename Type::Register fromInteger(std::make_unsigned_t<Value> bits) {
  using Float = decltype(Type::read(0));
  return Type::write(static_cast<Float>(static_cast<Value>(bits)));
}

template <typename Type, Rounding rounding> typename Type::Register toWhole(typename Type::Register bits) {
  return Type::write(roundToInteger<rounding>(Type::read(bits)));
}

template <typename Operation> std::string withRegisters(const std::string &name, const Operation &operation) {
  return name + ":" + operation.signature;
}

template <typename Type, typename Value> void addFloatAndInteger(Operations &all, const std::string &type) {
  auto put = [&](const std::string &name, Operation operation) { all[withRegisters(name, operation)] = std::move(operation); };
  put("cvt.rni" + nameOf<Value>() + type, lanewise<toInteger<Type, Value, Rounding::Nearest>>());
  put("cvt.rzi" + nameOf<Value>() + type, lanewise<toInteger<Type, Value, Rounding::Zero>>());
  put("cvt.rmi" + nameOf<Value>() + type, lanewise<toInteger<Type, Value, Rounding::Down>>());
  put("cvt.rpi" + nameOf<Value>() + type, lanewise<toInteger<Type, Value, Rounding::Up>>());
  put("cvt.rn" + type + nameOf<Value>(), lanewise<fromInteger<Type, Value>>());
}

template <typename Type> void addFloat(Operations &all, const std::string &type) {
  auto put = [&](const std::string &name, Operation operation) { all[withRegisters(name, operation)] = std::move(operation); };
  addFloatAndInteger<Type, int32_t>(all, type);
  addFloatAndInteger<Type, uint32_t>(all, type);
  addFloatAndInteger<Type, int64_t>(all, type);
  addFloatAndInteger<Type, uint64_t>(all, type);
  put("cvt.rni" + type + type, lanewise<toWhole<Type, Rounding::Nearest>>());
  put("cvt.rzi" + type + type, lanewise<toWhole<Type, Rounding::Zero>>());
  put("cvt.rmi" + type + type, lanewise<toWhole<Type, Rounding::Down>>());
  put("cvt.rpi" + type + type, lanewise<toWhole<Type, Rounding::Up>>());
}

uint64_t singleToDouble(uint32_t bits) { return canonical(static_cast<double>(bitsAs<float>(bits))); }
uint32_t doubleToSingle(uint64_t bits) { return canonical(static_cast<float>(bitsAs<double>(bits))); }
uint32_t halfToSingle(uint16_t bits) { return canonical(halfToFloat(bits)); }
uint16_t singleToHalf(uint32_t bits) { return floatToHalf(bitsAs<float>(bits)); }
uint64_t halfToDouble(uint16_t bits) { return canonical(static_cast<double>(halfToFloat(bits))); }
uint32_t bfloatToSingle(uint16_t bits) { return canonical(bfloatToFloat(bits)); }
uint16_t singleToBfloat(uint32_t bits) { return floatToBfloat(bitsAs<float>(bits)); }
} // namespace

void addConversions(Operations &all) {
  addSources<int8_t>(all);
  addSources<uint8_t>(all);
  addSources<int16_t>(all);
  addSources<uint16_t>(all);
  addSources<int32_t>(all);
  addSources<uint32_t>(all);
  addSources<int64_t>(all);
  addSources<uint64_t>(all);
  addFloat<F32>(all, ".f32");
  addFloat<F64>(all, ".f64");
  auto put = [&](const std::string &name, Operation operation) { all[withRegisters(name, operation)] = std::move(operation); };
  put("cvt.f64.f32", lanewise<singleToDouble>());
  put("cvt.rn.f32.f64", lanewise<doubleToSingle>());
  put("cvt.f32.f16", lanewise<halfToSingle>());
  put("cvt.rn.f16.f32", lanewise<singleToHalf>());
  put("cvt.f64.f16", lanewise<halfToDouble>());
  put("cvt.f32.bf16", lanewise<bfloatToSingle>());
  put("cvt.rn.bf16.f32", lanewise<singleToBfloat>());
}

} // namespace npar::standin::ptx
