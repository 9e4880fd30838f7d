// Arithmetic of integers, bits and selections.
#include "tests/engine/backends/standin/ptx/Operations.h"

#include <algorithm>
#include <limits>

namespace npar::standin::ptx {

namespace {
template <typename Word> using Signed = std::make_signed_t<Word>;
/// Twice as wide.
template <typename Word>
using Wide = std::conditional_t<sizeof(Word) == 2, uint32_t, std::conditional_t<sizeof(Word) == 4, uint64_t, unsigned __int128>>;
template <typename Word>
using SignedWide = std::conditional_t<sizeof(Word) == 2, int32_t, std::conditional_t<sizeof(Word) == 4, int64_t, __int128>>;
template <typename Word> constexpr uint32_t bits = sizeof(Word) * 8;

template <typename Word> Word add(Word a, Word b) { return static_cast<Word>(a + b); }
template <typename Word> Word subtract(Word a, Word b) { return static_cast<Word>(a - b); }
template <typename Word> Word multiply(Word a, Word b) { return static_cast<Word>(static_cast<Wide<Word>>(a) * b); }
template <typename Word> Word multiplyHigh(Word a, Word b) { return static_cast<Word>((static_cast<Wide<Word>>(a) * b) >> bits<Word>); }
// Made of the unsigned product: of a signed one shifted by 16 GCC 12 takes the unsigned high part where it makes vectors with masks.
template <typename Word> Word multiplyHighSigned(Word a, Word b) {
  Word tooMuch = static_cast<Word>((static_cast<Signed<Word>>(a) < 0 ? b : Word{0}) + (static_cast<Signed<Word>>(b) < 0 ? a : Word{0}));
  return static_cast<Word>(multiplyHigh(a, b) - tooMuch);
}
template <typename Word> Wide<Word> multiplyWide(Word a, Word b) { return static_cast<Wide<Word>>(a) * b; }
template <typename Word> Wide<Word> multiplyWideSigned(Word a, Word b) {
  return static_cast<Wide<Word>>(static_cast<SignedWide<Word>>(static_cast<Signed<Word>>(a)) * static_cast<Signed<Word>>(b));
}
template <typename Word> Word multiplyAdd(Word a, Word b, Word c) { return static_cast<Word>(multiply(a, b) + c); }
template <typename Word> Wide<Word> multiplyAddWide(Word a, Word b, Wide<Word> c) { return multiplyWide(a, b) + c; }
template <typename Word> Wide<Word> multiplyAddWideSigned(Word a, Word b, Wide<Word> c) { return multiplyWideSigned(a, b) + c; }

// A division by zero gives all ones.
template <typename Word> Word divide(Word a, Word b) { return b == 0 ? static_cast<Word>(~Word{0}) : static_cast<Word>(a / b); }
template <typename Word> Word remainder(Word a, Word b) { return b == 0 ? static_cast<Word>(~Word{0}) : static_cast<Word>(a % b); }
template <typename Word> Word divideSigned(Word a, Word b) {
  auto x = static_cast<Signed<Word>>(a), y = static_cast<Signed<Word>>(b);
  return y == 0 ? static_cast<Word>(~Word{0}) : y == -1 ? static_cast<Word>(Word{0} - a) : static_cast<Word>(x / y);
}
template <typename Word> Word remainderSigned(Word a, Word b) {
  auto x = static_cast<Signed<Word>>(a), y = static_cast<Signed<Word>>(b);
  return y == 0 ? static_cast<Word>(~Word{0}) : y == -1 ? Word{0} : static_cast<Word>(x % y);
}

template <typename Word> Word smaller(Word a, Word b) { return a < b ? a : b; }
template <typename Word> Word larger(Word a, Word b) { return a < b ? b : a; }
template <typename Word> Word smallerSigned(Word a, Word b) { return static_cast<Signed<Word>>(a) < static_cast<Signed<Word>>(b) ? a : b; }
template <typename Word> Word largerSigned(Word a, Word b) { return static_cast<Signed<Word>>(a) < static_cast<Signed<Word>>(b) ? b : a; }
template <typename Word> Word negate(Word a) { return static_cast<Word>(Word{0} - a); }
template <typename Word> Word absolute(Word a) { return static_cast<Signed<Word>>(a) < 0 ? negate(a) : a; }

template <typename Word> Word bothBits(Word a, Word b) { return a & b; }
template <typename Word> Word eitherBit(Word a, Word b) { return a | b; }
template <typename Word> Word differentBits(Word a, Word b) { return a ^ b; }
template <typename Word> Word otherBits(Word a) { return static_cast<Word>(~a); }

// Distances beyond the register's size are that size.
template <typename Word> Word shiftLeft(Word a, uint32_t by) {
  return by >= bits<Word> ? Word{0} : static_cast<Word>(a << (by & (bits<Word> - 1)));
}
template <typename Word> Word shiftRight(Word a, uint32_t by) {
  return by >= bits<Word> ? Word{0} : static_cast<Word>(a >> (by & (bits<Word> - 1)));
}
template <typename Word> Word shiftRightSigned(Word a, uint32_t by) {
  return static_cast<Word>(static_cast<Signed<Word>>(a) >> std::min(by, bits<Word> - 1));
}

template <typename Word> uint32_t countOnes(Word a) { return static_cast<uint32_t>(__builtin_popcountll(a)); }
template <typename Word> uint32_t leadingZeros(Word a) {
  return a == 0 ? bits<Word> : static_cast<uint32_t>(__builtin_clzll(a)) - (64 - bits<Word>);
}
template <typename Word> Word reverse(Word a) {
  Word reversed = 0;
  for (uint32_t i = 0; i < bits<Word>; ++i)
    reversed = static_cast<Word>(reversed << 1 | (a >> i & 1));
  return reversed;
}

template <typename Word> Word field(Word a, uint32_t position, uint32_t length) {
  position &= 255, length &= 255;
  Word shifted = shiftRight(a, position);
  return length >= bits<Word> ? shifted : static_cast<Word>(shifted & ((Word{1} << length) - 1));
}
// The sign is the field's last bit, or the register's if the field ends beyond it. Bits beyond the register are copies of the sign.
template <typename Word> Word fieldSigned(Word a, uint32_t position, uint32_t length) {
  position &= 255, length &= 255;
  uint32_t last = std::min(position + length - 1, bits<Word> - 1);
  if (length == 0)
    return 0;
  Word sign = a >> last & 1 ? static_cast<Word>(~Word{0}) : Word{0}, value = field(a, position, length);
  uint32_t have = position >= bits<Word> ? 0 : std::min(length, bits<Word> - position);
  return have >= bits<Word> ? value : static_cast<Word>(value | static_cast<Word>(sign << have));
}
template <typename Word> Word insertField(Word a, Word b, uint32_t position, uint32_t length) {
  position &= 255, length &= 255;
  Word ones = length >= bits<Word> ? static_cast<Word>(~Word{0}) : static_cast<Word>((Word{1} << length) - 1);
  Word mask = shiftLeft(ones, position);
  return static_cast<Word>((b & ~mask) | (shiftLeft(a, position) & mask));
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t control) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t choice = control >> (4 * i) & 15, byte = static_cast<uint32_t>(bytes >> (8 * (choice & 7))) & 255;
    if (choice & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
uint32_t funnelLeftWrap(uint32_t a, uint32_t b, uint32_t by) {
  return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) << (by & 31) >> 32);
}
uint32_t funnelRightWrap(uint32_t a, uint32_t b, uint32_t by) {
  return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) >> (by & 31));
}
uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

template <typename Word> Word select(Word a, Word b, bool condition) { return condition ? a : b; }
bool bothPredicates(bool a, bool b) { return a && b; }
bool eitherPredicate(bool a, bool b) { return a || b; }
bool differentPredicates(bool a, bool b) { return a != b; }
bool otherPredicate(bool a) { return !a; }

template <typename Word> void addSize(Operations &all) {
  const std::string size = std::to_string(bits<Word>), s = ".s" + size, u = ".u" + size, b = ".b" + size;
  for (const std::string &type : {s, u}) {
    all["add" + type] = lanewise<add<Word>>();
    all["sub" + type] = lanewise<subtract<Word>>();
    all["mul.lo" + type] = lanewise<multiply<Word>>();
    all["mad.lo" + type] = lanewise<multiplyAdd<Word>>();
  }
  all["mul.hi" + u] = lanewise<multiplyHigh<Word>>();
  all["mul.hi" + s] = lanewise<multiplyHighSigned<Word>>();
  if constexpr (sizeof(Word) < 8) {
    all["mul.wide" + u] = lanewise<multiplyWide<Word>>();
    all["mul.wide" + s] = lanewise<multiplyWideSigned<Word>>();
    all["mad.wide" + u] = lanewise<multiplyAddWide<Word>>();
    all["mad.wide" + s] = lanewise<multiplyAddWideSigned<Word>>();
  }
  all["div" + u] = lanewise<divide<Word>>();
  all["div" + s] = lanewise<divideSigned<Word>>();
  all["rem" + u] = lanewise<remainder<Word>>();
  all["rem" + s] = lanewise<remainderSigned<Word>>();
  all["min" + u] = lanewise<smaller<Word>>();
  all["min" + s] = lanewise<smallerSigned<Word>>();
  all["max" + u] = lanewise<larger<Word>>();
  all["max" + s] = lanewise<largerSigned<Word>>();
  all["neg" + s] = lanewise<negate<Word>>();
  all["abs" + s] = lanewise<absolute<Word>>();
  all["and" + b] = lanewise<bothBits<Word>>();
  all["or" + b] = lanewise<eitherBit<Word>>();
  all["xor" + b] = lanewise<differentBits<Word>>();
  all["not" + b] = lanewise<otherBits<Word>>();
  all["shl" + b] = lanewise<shiftLeft<Word>>();
  all["shr" + u] = all["shr" + b] = lanewise<shiftRight<Word>>();
  all["shr" + s] = lanewise<shiftRightSigned<Word>>();
  for (const char *type : {".s", ".u", ".b", ".f"})
    all["selp" + (type + size)] = lanewise<select<Word>>();
  if constexpr (sizeof(Word) > 2) {
    all["popc" + b] = lanewise<countOnes<Word>>();
    all["clz" + b] = lanewise<leadingZeros<Word>>();
    all["brev" + b] = lanewise<reverse<Word>>();
    all["bfe" + u] = lanewise<field<Word>>();
    all["bfe" + s] = lanewise<fieldSigned<Word>>();
    all["bfi" + b] = lanewise<insertField<Word>>();
  }
}
} // namespace

void addIntegers(Operations &all) {
  addSize<uint16_t>(all);
  addSize<uint32_t>(all);
  addSize<uint64_t>(all);
  all["prmt.b32"] = lanewise<permute>();
  all["shf.l.wrap.b32"] = lanewise<funnelLeftWrap>();
  all["shf.r.wrap.b32"] = lanewise<funnelRightWrap>();
  all["lop3.b32"] = lanewise<logic3>();
  all["and.pred"] = lanewise<bothPredicates>();
  all["or.pred"] = lanewise<eitherPredicate>();
  all["xor.pred"] = lanewise<differentPredicates>();
  all["not.pred"] = lanewise<otherPredicate>();
}

const Operations &lanewiseOperations() {
  static const Operations all = [] {
    Operations made;
    addIntegers(made);
    addFloats(made);
    addComparisons(made);
    addConversions(made);
    return made;
  }();
  return all;
}

} // namespace npar::standin::ptx
