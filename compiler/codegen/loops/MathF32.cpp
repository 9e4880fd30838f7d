// exp, log, tanh and erf of f32 (coefficients: Cephes for exp, log and tanh, Eigen for erf).
#include "compiler/codegen/loops/Elementary.h"

using namespace mlir;

namespace npar::codegen {

// exp(x) = 2^n exp(r), |r| <= ln2 / 2.
Value f32::exp(Calculator c, Value x) {
  x = c.clamp(x, -104.0, 89.0);
  Value magic = c.magic();
  Value shifted = c.fma(x, c.real(1.44269504088896341), magic);
  Value n = c.sub(shifted, magic);
  Value exponent = c.subi(c.toBits(shifted), c.toBits(magic));
  Value r = c.fma(n, c.real(-0.693359375), x);
  r = c.fma(n, c.real(2.12194440e-4), r);
  Value p = c.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  Value y = c.fma(p, c.mul(r, r), c.add(r, c.real(1.0)));
  return c.scale(y, exponent);
}

Value f32::log(Calculator c, Value x) {
  Value tiny = c.less(x, c.real(1.17549435e-38));
  Value scaled = c.select(tiny, c.mul(x, c.real(33554432.0)), x); // 2^25: denormals become normal
  Value word = c.toBits(scaled);
  Value biased = c.shiftRight(word, 23);
  Value exponent = c.subi(c.subi(biased, c.integer(126)), c.select(tiny, c.integer(25), c.integer(0)));
  Value mantissa = c.both(word, c.integer(0x007FFFFF));
  Value m = c.fromBits(c.either(mantissa, c.integer(0x3F000000))); // [0.5, 1)
  Value small = c.less(m, c.real(0.70710678118654752));
  Value e = arith::SIToFPOp::create(c.b, c.loc, c.type, c.subi(exponent, c.select(small, c.integer(1), c.integer(0))));
  Value t = c.sub(c.select(small, c.add(m, m), m), c.real(1.0));
  Value z = c.mul(t, t);
  Value p = c.polynomial(t, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                             2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value y = c.mul(c.mul(p, z), t);
  y = c.fma(e, c.real(-2.12194440e-4), y);
  y = c.fma(z, c.real(-0.5), y);
  Value result = c.fma(e, c.real(0.693359375), c.add(t, y));
  return c.logEnds(x, result);
}

// Odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) beyond.
Value f32::tanh(Calculator c, Value x) {
  Value size = c.abs(x);
  Value z = c.mul(x, x);
  Value p = c.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  Value near = c.fma(c.mul(p, z), x, x);
  Value far = c.sub(c.real(1.0), c.div(c.real(2.0), c.add(exp(c, c.add(size, size)), c.real(1.0))));
  far = c.copySign(far, x);
  return c.select(c.less(size, c.real(0.625)), near, far);
}

Value f32::erf(Calculator c, Value x) {
  Value t = c.clamp(x, -4.0, 4.0);
  Value z = c.mul(t, t);
  Value p = c.polynomial(z, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                             -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  Value q =
      c.polynomial(z, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02});
  return c.clamp(c.div(c.mul(t, p), q), -1.0, 1.0);
}

} // namespace npar::codegen
