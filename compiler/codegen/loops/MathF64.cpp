// exp, log, tanh, erf, sin, cos and pow of f64. Coefficients: Taylor for exp, FreeBSD's msun for log, sin and cos, Cephes for tanh; those
// of erf are by tests/compiler/codegen/erf_coefficients.py.
#include "compiler/codegen/loops/Elementary.h"

using namespace mlir;

namespace npar::codegen {

// ln 2 in two parts, of which the first has 21 bits of zeros at its end: n times it is exact for every exponent n.
static constexpr double ln2 = 6.93147180369123816490e-01, ln2Rest = 1.90821492927058770002e-10;
static constexpr double log2e = 1.44269504088896338700e+00;
/// (exp(r) - 1 - r - r^2 / 2) / r^3 for |r| <= ln2 / 2.
static constexpr double expTail[] = {1.6059043836821613e-10, 2.0876756987868099e-09, 2.5052108385441720e-08, 2.7557319223985893e-07,
                                     2.7557319223985893e-06, 2.4801587301587302e-05, 1.9841269841269841e-04, 1.3888888888888889e-03,
                                     8.3333333333333333e-03, 4.1666666666666667e-02, 1.6666666666666667e-01};

namespace {
/// x as n ln 2 + r, |r| <= ln2 / 2.
struct Reduced {
  Value n, exponent; ///< n as a number of either kind
  Value r;           ///< without what ln2Rest takes of it

  Reduced(Calculator &c, Value x) {
    Value magic = c.magic();
    Value shifted = c.fma(x, c.real(log2e), magic);
    n = c.sub(shifted, magic);
    exponent = c.subi(c.toBits(shifted), c.toBits(magic));
    r = c.fma(n, c.real(-ln2), x);
  }
};

/// x = 2^exponent m with m from sqrt(1/2) to sqrt(2); x is positive and normal.
struct Split {
  Value exponent; ///< an integer, in floating point
  Value f;        ///< m - 1

  Split(Calculator &c, Value x, Value exponentBefore = {}) {
    Value word = c.toBits(x);
    Value power = c.subi(c.shiftRight(word, 52), c.integer(1023));
    Value m = c.fromBits(c.either(c.both(word, c.integer(0x000FFFFFFFFFFFFF)), c.integer(0x3FF0000000000000))); // [1, 2)
    Value large = c.compare(arith::CmpFPredicate::OGT, m, c.real(1.41421356237309504880));
    power = c.addi(power, c.select(large, c.integer(1), c.integer(0)));
    if (exponentBefore)
      power = c.addi(power, exponentBefore);
    exponent = c.sub(c.fromBits(c.addi(power, c.toBits(c.magic()))), c.magic()); // vectors without AVX-512 convert no i64
    f = c.sub(c.select(large, c.mul(m, c.real(0.5)), m), c.real(1.0));
  }
};
} // namespace

static Value clampForExp(Calculator &c, Value x) { return c.clamp(x, -746.0, 710.0); }

// 1 ulp.
Value f64::exp(Calculator c, Value x) {
  x = clampForExp(c, x);
  Reduced of(c, x);
  Value r = c.fma(of.n, c.real(-ln2Rest), of.r);
  Value p = c.fma(c.polynomial(r, expTail), r, c.real(0.5));
  Value y = c.add(c.fma(p, c.mul(r, r), r), c.real(1.0));
  return c.scale(y, of.exponent);
}

// 1 ulp (msun, e_log.c): with s = f / (2 + f) log(1 + f) is f - f^2/2 + s (f^2/2 + R(s^2)).
Value f64::log(Calculator c, Value x) {
  Value tiny = c.less(x, c.real(2.2250738585072014e-308));
  Value scaled = c.select(tiny, c.mul(x, c.real(18014398509481984.0)), x); // 2^54: denormals become normal
  Split of(c, scaled, c.select(tiny, c.integer(-54), c.integer(0)));
  Value s = c.div(of.f, c.add(of.f, c.real(2.0)));
  Value z = c.mul(s, s);
  Value rest =
      c.mul(z, c.polynomial(z, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
                                2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01}));
  Value half = c.mul(c.mul(c.real(0.5), of.f), of.f);
  Value low = c.fma(s, c.add(half, rest), c.mul(of.exponent, c.real(ln2Rest)));
  return c.logEnds(x, c.fma(of.exponent, c.real(ln2), c.sub(of.f, c.sub(half, low))));
}

// 1.3 ulp. Odd near 0, 1 - 2 / (exp(2|x|) + 1) beyond.
Value f64::tanh(Calculator c, Value x) {
  Value size = c.abs(x), z = c.mul(x, x);
  Value p = c.polynomial(z, {-9.64399179425052238628e-01, -9.92877231001918586564e+01, -1.61468768441708447952e+03});
  Value q = c.polynomial(z, {1.0, 1.12811678491632931402e+02, 2.23548839060100448583e+03, 4.84406305325125486048e+03});
  Value near = c.fma(c.mul(x, z), c.div(p, q), x);
  Value far = c.sub(c.real(1.0), c.div(c.real(2.0), c.add(exp(c, c.add(size, size)), c.real(1.0))));
  return c.select(c.less(size, c.real(0.625)), near, c.copySign(far, x));
}

// 1.3 ulp. Odd below 1; 1 - exp(-x^2) Q(1 / (2 + |x|)) up to 6, from where on it is 1.
Value f64::erf(Calculator c, Value x) {
  Value size = c.abs(x), square = c.mul(x, x);
  Value p = c.polynomial(square, {-7.79589882700214224e-10, 1.37200645467776856e-08, -1.62084838018717059e-07, 1.64474247033173624e-06,
                                  -1.49247369074196603e-05, 1.20552949048397079e-04, -8.54832597538969208e-04, 5.22397760711642273e-03,
                                  -2.68661706432377704e-02, 1.12837916709450063e-01, -3.76126389031835404e-01, 1.28379167095512567e-01});
  Value near = c.fma(x, p, x);
  Value t = c.clamp(size, 1.0, 6.0);
  Value u = c.sub(c.div(c.real(1.0), c.add(t, c.real(2.0))), c.real(0.22916666666666666));
  Value q =
      c.polynomial(u, {1051.4775993545124307, -428.82870867761168898, -161.40264021449530599, 167.36869292245117936, -3.9400384150768796479,
                       -48.513185138284559802, 11.79479346654312974, 14.875362400972199643, -5.7458478679895702627, -6.5875757416777149517,
                       1.6743948247176000856, 4.9446269619175001174, 3.5537421703847328998, 1.55417825319384339, 0.22142954022993180632});
  Value tail = exp(c, c.sub(c.real(0.0), c.mul(t, t)));
  Value far = c.copySign(c.sub(c.real(1.0), c.mul(tail, q)), x);
  return c.select(c.less(size, c.real(1.0)), near, c.select(c.compare(arith::CmpFPredicate::UNO, x, x), x, far));
}

// 1.5 ulp. sin(x + quarters pi / 2): x less a multiple of pi / 2, in two parts, which fma takes away with one rounding each.
static Value wave(Calculator c, Value x, int64_t quarters) {
  Value magic = c.magic();
  Value shifted = c.fma(x, c.real(0.63661977236758134308), magic);
  Value n = c.sub(shifted, magic);
  Value quadrant = c.addi(c.subi(c.toBits(shifted), c.toBits(magic)), c.integer(quarters));
  Value r = c.fma(n, c.real(-1.57079632679489655800e+00), x);
  r = c.fma(n, c.real(-6.12323399573676603587e-17), r);
  Value z = c.mul(r, r);
  Value sine = c.fma(c.mul(r, z),
                     c.polynomial(z, {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                                      -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01}),
                     r);
  Value half = c.mul(c.real(0.5), z), w = c.sub(c.real(1.0), half);
  Value rest = c.polynomial(z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                                2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02});
  Value cosine = c.add(w, c.fma(c.mul(z, z), rest, c.sub(c.sub(c.real(1.0), w), half)));
  auto isSet = [&](int64_t bit) {
    return Value(arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::ne, c.both(quadrant, c.integer(bit)), c.integer(0)));
  };
  Value value = c.select(isSet(1), cosine, sine);
  return c.select(isSet(2), c.sub(c.real(-0.0), value), value);
}

Value f64::sin(Calculator c, Value x) { return wave(c, x, 0); }
Value f64::cos(Calculator c, Value x) { return wave(c, x, 1); }

namespace {
/// A number as a sum of two, the second one a small part of the first.
struct Pair {
  Value high, low;
};
} // namespace

/// x + y for |x| >= |y|. The low part is exact up to its own rounding.
static Pair sum(Calculator &c, Value x, Value y) {
  Value high = c.add(x, y);
  return {high, c.add(c.sub(x, high), y)};
}
/// x y, exact.
static Pair product(Calculator &c, Value x, Value y) {
  Value high = c.mul(x, y);
  return {high, c.fma(x, y, c.sub(c.real(0.0), high))};
}

/// log(x) by the series 2 s + 2/3 s^3 + ... of s = f / (2 + f), the first two terms as pairs.
static Pair logPair(Calculator &c, Value x) {
  Split of(c, x);
  auto negative = [&](Value v) { return c.sub(c.real(0.0), v); };
  Value divisor = c.add(of.f, c.real(2.0)), divisorLow = c.sub(of.f, c.sub(divisor, c.real(2.0)));
  Pair s;
  s.high = c.div(of.f, divisor);
  s.low = c.div(c.fma(negative(s.high), divisorLow, c.fma(negative(s.high), divisor, of.f)), divisor);
  Pair z = product(c, s.high, s.high);
  z.low = c.add(z.low, c.mul(c.add(s.high, s.high), s.low));
  Value tail = c.polynomial(z.high, {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5});
  constexpr double twoThirds = 2.0 / 3, twoThirdsRest = 3.7007434154171886e-17;
  Pair a = product(c, z.high, c.real(twoThirds));
  a.low = c.add(c.add(c.fma(z.low, c.real(twoThirds), a.low), c.mul(z.high, c.real(twoThirdsRest))), c.mul(c.mul(z.high, z.high), tail));
  Pair cubed = product(c, s.high, a.high);
  cubed.low = c.add(c.add(cubed.low, c.mul(s.high, a.low)), c.mul(s.low, a.high));
  Pair log = sum(c, c.add(s.high, s.high), cubed.high);
  log.low = c.add(log.low, c.add(cubed.low, c.add(s.low, s.low)));
  // k ln2 is 0 or larger than what it is added to.
  Value large = c.mul(of.exponent, c.real(ln2)), isZero = c.compare(arith::CmpFPredicate::OEQ, large, c.real(0.0));
  Pair all = sum(c, c.select(isZero, log.high, large), c.select(isZero, large, log.high));
  all.low = c.add(all.low, c.fma(of.exponent, c.real(ln2Rest), log.low));
  return all;
}

/// exp(x.high + x.low).
static Value expPair(Calculator &c, Pair x) {
  Value high = clampForExp(c, x.high);
  Reduced of(c, high);
  Value low = c.fma(of.n, c.real(-ln2Rest), x.low);
  Value r = c.add(of.r, low), rest = c.add(c.sub(of.r, r), low);
  Pair z = product(c, r, r);
  Value half = c.real(0.5);
  Pair one = sum(c, c.real(1.0), r), two = sum(c, one.high, c.mul(half, z.high));
  Value tail = c.fma(half, z.low, c.fma(rest, r, rest));
  tail = c.add(c.fma(c.mul(c.polynomial(r, expTail), r), z.high, tail), one.low);
  return c.scale(c.add(two.high, c.add(two.low, tail)), of.exponent);
}

Value f64::pow(Calculator c, Value x, Value y) {
  Pair log = logPair(c, x), all = product(c, y, log.high);
  all.low = c.add(all.low, c.mul(y, log.low));
  Value isZero = c.compare(arith::CmpFPredicate::OEQ, y, c.real(0.0));
  Value ofZero = c.select(isZero, c.real(1.0), c.real(0.0));
  return c.select(c.compare(arith::CmpFPredicate::OEQ, x, c.real(0.0)), ofZero, expPair(c, all));
}

} // namespace npar::codegen
