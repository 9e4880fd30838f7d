// Instructions one by one, where their results are not what comes to mind first.
#include "tests/engine/backends/standin/ptx/KernelTest.h"

using namespace npar::standin;

namespace {
struct Case {
  const char *instruction, *sizes;
  std::vector<uint64_t> operands;
  uint64_t result;
};

constexpr uint64_t one = 0x3F800000, minusZero = 0x80000000, infinity = 0x7F800000, nan32 = 0x7FFFFFFF, anyNan = 0xFFC12345;
constexpr uint64_t one64 = 0x3FF0000000000000, nan64 = 0x7FF8000000000000;

class ArithmeticTest : public KernelTest {
protected:
  void check(const std::vector<Case> &cases) {
    for (const Case &one : cases)
      EXPECT_EQ(value(one.instruction, one.sizes, one.operands), one.result) << one.instruction << std::hex << " " << one.result;
  }
};
} // namespace

// One rounding for fma, two for a product and a sum; denormals stay; one NaN, whatever comes in.
TEST_F(ArithmeticTest, Floats) {
  check({
      {"fma.rn.f32 $d, $0, $1, $2;", "wwww", {0x3F800001, 0x3F800001, 0xBF800002}, 0x28800000}, // (1 + u)^2 - (1 + 2u) = u^2
      {"mul.rn.f32 $d, $0, $1;", "www", {0x3F800001, 0x3F800001}, 0x3F800002},
      {"mul.rn.f32 $d, $0, $1;", "www", {0x00800000, 0x3F000000}, 0x00400000},
      {"add.rn.f32 $d, $0, $1;", "www", {1, 1}, 2},
      {"add.rn.f32 $d, $0, $1;", "www", {infinity, infinity | minusZero}, nan32},
      {"add.rn.f32 $d, $0, $1;", "www", {anyNan, one}, nan32},
      {"add.rn.f32 $d, $0, 0f3F800000;", "ww", {0x4B800000}, 0x4B800000}, // 2^24 + 1: a tie, to even
      {"sub.rn.f32 $d, $0, $1;", "www", {one, one}, 0},
      {"div.rn.f32 $d, $0, $1;", "www", {one, 0x40400000}, 0x3EAAAAAB},
      {"div.rn.f32 $d, $0, $1;", "www", {0, minusZero}, nan32},
      {"div.rn.f32 $d, $0, $1;", "www", {one, minusZero}, infinity | minusZero},
      {"rcp.rn.f32 $d, $0;", "ww", {0x40400000}, 0x3EAAAAAB},
      {"sqrt.rn.f32 $d, $0;", "ww", {0x40000000}, 0x3FB504F3},
      {"sqrt.rn.f32 $d, $0;", "ww", {0xBF800000}, nan32},
      {"sqrt.rn.f32 $d, $0;", "ww", {minusZero}, minusZero},
      {"abs.f32 $d, $0;", "ww", {minusZero}, 0},
      {"neg.f32 $d, $0;", "ww", {one}, 0xBF800000},
      {"copysign.f32 $d, $0, $1;", "www", {minusZero, one}, 0xBF800000},
      {"add.rn.f64 $d, $0, $1;", "ddd", {one64, 0x3CA0000000000001}, 0x3FF0000000000001},
      {"fma.rn.f64 $d, $0, $1, $2;", "dddd", {0x3FF0000000000001, 0x3FF0000000000001, 0xBFF0000000000002}, 0x3970000000000000},
      {"sqrt.rn.f64 $d, $0;", "dd", {0xBFF0000000000000}, nan64},
      {"mul.rn.f16 $d, $0, $1;", "hhh", {0x3C01, 0x3C01}, 0x3C02},
      {"add.rn.f16 $d, $0, $1;", "hhh", {0x7BFF, 0x4C00}, 0x7C00}, // 65504 + 16: half a unit too far
      {"add.rn.f16 $d, $0, $1;", "hhh", {0x7BFF, 0x4BFF}, 0x7BFF},
      {"sub.rn.f16 $d, $0, $1;", "hhh", {1, 2}, 0x8001},
      {"mul.rn.f16 $d, $0, $1;", "hhh", {0xFE01, 0}, 0x7FFF},
  });
}

// Denormals are zeros of their sign, coming and going; what is no denormal is untouched.
TEST_F(ArithmeticTest, FlushedDenormals) {
  check({
      {"add.rn.ftz.f32 $d, $0, $1;", "www", {1, 1}, 0},
      {"add.rn.ftz.f32 $d, $0, $1;", "www", {0x80000001, 0x80000001}, minusZero},
      {"add.rn.ftz.f32 $d, $0, $1;", "www", {one, 1}, one},
      {"sub.rn.ftz.f32 $d, $0, $1;", "www", {0x00800001, 0x00800000}, 0},
      {"mul.rn.ftz.f32 $d, $0, $1;", "www", {0x80800000, 0x3F000000}, minusZero},
      {"mul.rn.ftz.f32 $d, $0, $1;", "www", {0x00800000, one}, 0x00800000},
      {"fma.rn.ftz.f32 $d, $0, $1, $2;", "wwww", {0x00400000, 0x4B800000, one}, one}, // of a denormal nothing is left, however it grows
      {"fma.rn.ftz.f32 $d, $0, $1, $2;", "wwww", {0x3F800001, 0x3F800001, 0xBF800002}, 0x28800000},
      {"fma.rn.ftz.f32 $d, $0, $1, $2;", "wwww", {anyNan, one, 1}, nan32},
  });
}

TEST_F(ArithmeticTest, Extremes) {
  check({
      {"max.f32 $d, $0, $1;", "www", {anyNan, one}, one},
      {"max.f32 $d, $0, $1;", "www", {one, anyNan}, one},
      {"max.f32 $d, $0, $1;", "www", {anyNan, anyNan}, nan32},
      {"max.f32 $d, $0, $1;", "www", {minusZero, 0}, 0},
      {"max.f32 $d, $0, $1;", "www", {0, minusZero}, 0},
      {"min.f32 $d, $0, $1;", "www", {0, minusZero}, minusZero},
      {"min.f32 $d, $0, $1;", "www", {one, anyNan}, one},
      {"max.NaN.f32 $d, $0, $1;", "www", {anyNan, one}, nan32},
      {"min.NaN.f32 $d, $0, $1;", "www", {one, anyNan}, nan32},
      {"max.NaN.f32 $d, $0, $1;", "www", {0xBF800000, one}, one},
      {"max.f64 $d, $0, $1;", "ddd", {nan64, one64}, one64},
      {"min.s32 $d, $0, $1;", "www", {0xFFFFFFFF, 1}, 0xFFFFFFFF},
      {"min.u32 $d, $0, $1;", "www", {0xFFFFFFFF, 1}, 1},
      {"max.s16 $d, $0, $1;", "hhh", {0xFFFF, 1}, 1},
      {"min.u64 $d, $0, $1;", "ddd", {~uint64_t{0}, 5}, 5},
  });
}

TEST_F(ArithmeticTest, Comparisons) {
  check({
      {"setp.lt.f32 $d, $0, $1;", "pww", {anyNan, one}, 0},
      {"setp.ltu.f32 $d, $0, $1;", "pww", {anyNan, one}, 1},
      {"setp.ne.f32 $d, $0, $1;", "pww", {anyNan, one}, 0},
      {"setp.neu.f32 $d, $0, $1;", "pww", {anyNan, one}, 1},
      {"setp.eq.f32 $d, $0, $1;", "pww", {minusZero, 0}, 1},
      {"setp.nan.f32 $d, $0, $1;", "pww", {one, anyNan}, 1},
      {"setp.num.f32 $d, $0, $1;", "pww", {one, anyNan}, 0},
      {"setp.gt.f16 $d, $0, $1;", "phh", {0x3C00, 0xBC00}, 1},
      {"setp.lt.s32 $d, $0, $1;", "pww", {0xFFFFFFFF, 0}, 1},
      {"setp.lt.u32 $d, $0, $1;", "pww", {0xFFFFFFFF, 0}, 0},
      {"setp.hi.u64 $d, $0, $1;", "pdd", {~uint64_t{0}, 0}, 1},
      {"setp.lt.and.s32 $d, $0, $1, $2;", "pwwp", {1, 2, 0}, 0},
      {"setp.lt.or.s32 $d, $0, $1, $2;", "pwwp", {2, 1, 1}, 1},
      {"selp.f32 $d, $0, $1, $2;", "wwwp", {one, anyNan, 0}, anyNan},
      {"and.pred $d, $0, $1;", "ppp", {1, 0}, 0},
      {"not.pred $d, $0;", "pp", {0}, 1},
  });
}

TEST_F(ArithmeticTest, Integers) {
  constexpr uint64_t all = ~uint64_t{0}, word = 0xFFFFFFFF;
  check({
      {"mul.hi.s32 $d, $0, $1;", "www", {word, 2}, word},
      {"mul.hi.u32 $d, $0, $1;", "www", {word, 2}, 1},
      {"mul.hi.s16 $d, $0, $1;", "hhh", {0x8000, 10923}, 0xEAAA},
      {"mul.hi.u64 $d, $0, $1;", "ddd", {all, all}, all - 1},
      {"mul.wide.s32 $d, $0, $1;", "dww", {word, 3}, all - 2},
      {"mul.wide.u16 $d, $0, $1;", "whh", {0xFFFF, 0xFFFF}, 0xFFFE0001},
      {"mul.lo.s16 $d, $0, $1;", "hhh", {0xFFFF, 0xFFFF}, 1},
      {"mad.lo.s64 $d, $0, $1, $2;", "dddd", {all, 5, 7}, 2},
      {"div.s32 $d, $0, $1;", "www", {0xFFFFFFF9, 2}, 0xFFFFFFFD},
      {"rem.s32 $d, $0, $1;", "www", {0xFFFFFFF9, 2}, word},
      {"div.s32 $d, $0, $1;", "www", {0x80000000, word}, 0x80000000},
      {"div.u64 $d, $0, $1;", "ddd", {7, 0}, all},
      {"shl.b32 $d, $0, $1;", "www", {1, 32}, 0},
      {"shl.b16 $d, $0, $1;", "hhw", {1, 15}, 0x8000},
      {"shr.u64 $d, $0, $1;", "ddw", {all, 64}, 0},
      {"shr.s32 $d, $0, $1;", "www", {0x80000000, 1000}, word},
      {"shr.s16 $d, $0, $1;", "hhw", {0x8000, 2}, 0xE000},
      {"abs.s32 $d, $0;", "ww", {word}, 1},
      {"neg.s32 $d, $0;", "ww", {1}, word},
      {"popc.b64 $d, $0;", "wd", {all}, 64},
      {"clz.b32 $d, $0;", "ww", {1}, 31},
      {"clz.b32 $d, $0;", "ww", {0}, 32},
      {"brev.b32 $d, $0;", "ww", {1}, 0x80000000},
      {"bfe.u32 $d, $0, 4, 8;", "ww", {0xABCD}, 0xBC},
      {"bfe.s32 $d, $0, 4, 8;", "ww", {0xABCD}, 0xFFFFFFBC},
      {"bfe.u64 $d, $0, 52, 11;", "dd", {0x4010000000000000}, 0x401},
      {"bfe.u32 $d, $0, 28, 8;", "ww", {word}, 15},
      {"bfe.s32 $d, $0, 28, 8;", "ww", {0x80000000}, 0xFFFFFFF8},
      {"bfi.b32 $d, $0, $1, 8, 4;", "www", {0xF, 0}, 0xF00},
      {"prmt.b32 $d, $0, $1, 0x5410;", "www", {0x22221111, 0x44443333}, 0x33331111},
      {"prmt.b32 $d, $0, $1, 0x8880;", "www", {0x80, 0}, 0xFFFFFF80},
      {"shf.l.wrap.b32 $d, $0, $1, 8;", "www", {0x12345678, 0x9ABCDEF0}, 0xBCDEF012},
      {"shf.r.wrap.b32 $d, $0, $1, 8;", "www", {0x12345678, 0x9ABCDEF0}, 0xF0123456},
      {"lop3.b32 $d, $0, $1, 7, 0xE8;", "www", {5, 3}, 7}, // the majority
      {"not.b32 $d, $0;", "ww", {0}, word},
      {"mov.b64 $d, {%r11, %r12};", "dww", {1, 2}, 0x200000001},
      {"mov.b64 {_, $d}, $0;", "wd", {0x200000001}, 2},
      {"mov.b32 {_, $d}, $0;", "hw", {0x20001}, 2},
  });
}

TEST_F(ArithmeticTest, Conversions) {
  constexpr uint64_t big = 0x4F800000; // 2^32
  check({
      {"cvt.rzi.s32.f32 $d, $0;", "ww", {0xC0200000}, 0xFFFFFFFE}, // -2.5
      {"cvt.rni.s32.f32 $d, $0;", "ww", {0x40200000}, 2},          // 2.5: to even
      {"cvt.rmi.s32.f32 $d, $0;", "ww", {0xC0200000}, 0xFFFFFFFD},
      {"cvt.rpi.s32.f32 $d, $0;", "ww", {0x40200000}, 3},
      {"cvt.rzi.s32.f32 $d, $0;", "ww", {big}, 0x7FFFFFFF},
      {"cvt.rzi.s32.f32 $d, $0;", "ww", {big | minusZero}, 0x80000000},
      {"cvt.rzi.u32.f32 $d, $0;", "ww", {big}, 0xFFFFFFFF},
      {"cvt.rzi.u32.f32 $d, $0;", "ww", {0xBF800000}, 0},
      {"cvt.rzi.s32.f32 $d, $0;", "ww", {anyNan}, 0},
      {"cvt.rzi.s64.f64 $d, $0;", "dd", {nan64}, uint64_t{1} << 63},
      {"cvt.rzi.s64.f64 $d, $0;", "dd", {0xC000000000000000}, ~uint64_t{0} - 1},
      {"cvt.rn.f32.s32 $d, $0;", "ww", {0x7FFFFFFF}, 0x4F000000},
      {"cvt.rn.f64.s64 $d, $0;", "dd", {~uint64_t{0}}, 0xBFF0000000000000},
      {"cvt.rni.f32.f32 $d, $0;", "ww", {0xBF000000}, minusZero}, // -0.5
      {"cvt.rmi.f32.f32 $d, $0;", "ww", {0xBF000000}, 0xBF800000},
      {"cvt.rn.f16.f32 $d, $0;", "hw", {0x477FF000}, 0x7C00}, // 65520: a tie, to infinity
      {"cvt.rn.f16.f32 $d, $0;", "hw", {0x477FEFFF}, 0x7BFF},
      {"cvt.rn.f16.f32 $d, $0;", "hw", {0x33000000}, 0}, // half of the smallest: to even
      {"cvt.rn.f16.f32 $d, $0;", "hw", {0x33000001}, 1},
      {"cvt.rn.f16.f32 $d, $0;", "hw", {0x387FFFFF}, 0x0400}, // rounds up to the smallest normal number
      {"cvt.rn.f16.f32 $d, $0;", "hw", {anyNan}, 0x7FFF},
      {"cvt.f32.f16 $d, $0;", "wh", {0x8001}, 0xB3800000},
      {"cvt.f32.f16 $d, $0;", "wh", {0xFC00}, 0xFF800000},
      {"cvt.f32.f16 $d, $0;", "wh", {0x7C01}, nan32},
      {"cvt.rn.bf16.f32 $d, $0;", "hw", {0x3F808000}, 0x3F80},
      {"cvt.rn.bf16.f32 $d, $0;", "hw", {0x3F818000}, 0x3F82},
      {"cvt.f64.f32 $d, $0;", "dw", {1}, 0x36A0000000000000},
      {"cvt.rn.f32.f64 $d, $0;", "wd", {0x36A0000000000000}, 1},
      {"cvt.rn.f32.f64 $d, $0;", "wd", {0x47F0000000000000}, infinity},
      {"cvt.u64.u16 $d, $0;", "dh", {0xFFFF}, 0xFFFF},
      {"cvt.s64.s32 $d, $0;", "dw", {0xFFFFFFFF}, ~uint64_t{0}},
      {"cvt.s32.s8 $d, $0;", "ww", {0x180}, 0xFFFFFF80},
      {"cvt.u32.u8 $d, $0;", "wh", {0x1FF}, 0xFF},
      {"cvt.u16.u64 $d, $0;", "hd", {0x12345678}, 0x5678},
  });
}
