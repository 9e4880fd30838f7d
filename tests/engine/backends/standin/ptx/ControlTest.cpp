// Lanes that part and meet, exchanges, barriers, and what a kernel may not do.
#include "tests/engine/backends/standin/ptx/KernelTest.h"

using namespace npar::standin;

namespace {
class ControlTest : public KernelTest {
protected:
  /// Returns the error of a kernel, after checking that the context is lost with it.
  std::string failure(const std::string &body, Code expected, unsigned threads = 32, const std::string &variables = "") {
    begin({});
    Code code = Code::Success;
    runKernel(kernel(body, variables), {}, threads, &code);
    EXPECT_EQ(code, expected) << body;
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), expected);
    return message();
  }
};
} // namespace

// Each lane goes round as often as its number says, on one of two ways; afterwards all take part in an exchange.
TEST_F(ControlTest, LanesPart) {
  const std::string body = R"(
    mov.b32 %r1, 0;
    mov.b32 %r2, 0;
    and.b32 %r3, %r30, 1;
    setp.eq.b32 %p1, %r3, 0;
LOOP:
    setp.ge.u32 %p2, %r1, %r30;
    @%p2 bra DONE;
    @%p1 bra EVEN;
    add.s32 %r2, %r2, 3;
    bra.uni NEXT;
EVEN:
    add.s32 %r2, %r2, 1;
NEXT:
    add.s32 %r1, %r1, 1;
    bra.uni LOOP;
DONE:
    shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;
    cvt.u64.u32 %rd10, %r4;
    st.global.b64 [%rd3], %rd10;)";
  std::vector<uint64_t> out = runKernel(kernel(body), {}, 64);
  for (unsigned i = 0; i < 64; ++i) {
    unsigned partner = i ^ 1;
    EXPECT_EQ(out[i], partner * (partner % 2 ? 3 : 1));
  }
}

// The code after a loop may precede it in the text. Lanes that arrive first wait for the others in their mask.
TEST_F(ControlTest, ExchangesWait) {
  const std::string body = R"(
    mov.b32 %r1, 0;
    and.b32 %r5, %r30, 16;
    mov.b32 %r6, 0xFFFF;
    shl.b32 %r6, %r6, %r5;
    bra.uni LOOP;
AFTER:
    vote.sync.ballot.b32 %r2, %p3, %r6;
    cvt.u64.u32 %rd10, %r2;
    st.global.b64 [%rd3], %rd10;
    ret;
LOOP:
    add.s32 %r1, %r1, 1;
    setp.gt.u32 %p3, %r1, 8;
    setp.lt.u32 %p2, %r1, %r30;
    @%p2 bra LOOP;
    bra.uni AFTER;)";
  std::vector<uint64_t> out = runKernel(kernel(body), {}, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i < 16 ? 0xFE00u : 0xFFFF0000u) << i;
}

TEST_F(ControlTest, Shuffles) {
  auto shuffled = [&](const std::string &instruction) {
    return runKernel(kernel("mov.b32 %r9, 2;\n" + instruction +
                            "\nselp.b32 %r2, 100, 0, %p1;\nadd.s32 %r1, %r1, %r2;\ncvt.u64.u32 %rd10, %r1;\n" +
                            "st.global.b64 [%rd3], %rd10;"),
                     {}, 32);
  };
  std::vector<uint64_t> up = shuffled("shfl.sync.up.b32 %r1|%p1, %r30, %r9, 0, -1;"),
                        down = shuffled("shfl.sync.down.b32 %r1|%p1, %r30, 2, 0x1807, -1;"), // segments of 8
      index = shuffled("shfl.sync.idx.b32 %r1|%p1, %r30, 5, 0x1F, -1;");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 2 ? i : i - 2 + 100);
    EXPECT_EQ(down[i], i % 8 < 6 ? i + 2 + 100 : i);
    EXPECT_EQ(index[i], 105u);
  }
}

// Shared memory is written by one warp and read by another, with a barrier and, some of the time, without.
TEST_F(ControlTest, Barriers) {
  auto wrong = [&](const std::string &barrier) {
    size_t count = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      beginWithSeed(seed);
      const std::string body =
          "mul.wide.u32 %rd10, %r30, 4;\nmov.b64 %rd11, buffer;\nadd.s64 %rd12, %rd11, %rd10;\nst.shared.b32 [%rd12], %r30;\n" + barrier +
          "\nxor.b32 %r1, %r30, 32;\nmul.wide.u32 %rd13, %r1, 4;\nadd.s64 %rd14, %rd11, %rd13;\n" +
          "ld.shared.b32 %r2, [%rd14];\ncvt.u64.u32 %rd15, %r2;\nst.global.b64 [%rd3], %rd15;";
      std::vector<uint64_t> out = runKernel(kernel(body, ".shared .align 4 .b8 buffer[256];\n"), {}, 64);
      for (unsigned i = 0; i < 64; ++i)
        if (out[i] != (i ^ 32)) {
          EXPECT_EQ(out[i], 0xFFF5FFF5u);
          ++count;
        }
    }
    return count;
  };
  EXPECT_EQ(wrong("bar.sync 0;"), 0u);
  EXPECT_EQ(wrong("bar.warp.sync -1;"), 20u * 32);
}

TEST_F(ControlTest, LocalMemory) {
  const std::string body =
      "mov.b64 %rd10, depot;\nst.local.b32 [%rd10+4], %r30;\ncvta.local.u64 %rd11, %rd10;\nld.b32 %r1, [%rd11+4];\n"
      "ld.local.u16 %r2, [%rd10];\nshl.b32 %r2, %r2, 8;\nor.b32 %r1, %r1, %r2;\ncvt.u64.u32 %rd12, %r1;\nst.global.b64 [%rd3], %rd12;";
  std::vector<uint64_t> out = runKernel(kernel(body, ".local .align 4 .b8 depot[8];\n"), {}, 32);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 0xFFF500u | i);
}

TEST_F(ControlTest, Vectors) {
  const std::string body = "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd0];\nadd.s32 %r5, %r1, %r2;\nsub.s32 %r6, %r3, %r4;\n"
                           "st.global.v2.b32 [%rd3], {%r5, %r6};\n";
  EXPECT_EQ(runKernel(kernel(body), {0x0000000200000001, 0x0000000400000009})[0], 0x0000000500000003u);
}

// One lane is enough; what is not executed does not count.
TEST_F(ControlTest, BadAccesses) {
  const std::string far = failure("setp.eq.u32 %p1, %r30, 9;\n@%p1 ld.global.b32 %r1, [%rd1+256];", Code::IllegalAddress);
  EXPECT_EQ(far.find("kernel k, line 17, warp 0, lane 9: a load of 4 bytes at 0x"), 0u) << far;
  EXPECT_NE(far.find(": 0 bytes after an allocation of 256"), std::string::npos) << far;
  EXPECT_NE(failure("st.global.b32 [%rd1+2], %r30;", Code::MisalignedAddress).find("not aligned"), std::string::npos);
  EXPECT_NE(failure("ld.global.v2.b64 {%rd4, %rd5}, [%rd0+8];", Code::MisalignedAddress).find("16 bytes"), std::string::npos);
  failure("mov.b64 %rd5, 0;\nst.global.b32 [%rd5], %r30;", Code::IllegalAddress);
  failure("mov.b64 %rd5, buffer;\nst.shared.b32 [%rd5+64], %r30;", Code::IllegalAddress, 32, ".shared .align 4 .b8 buffer[64];\n");
  failure("st.shared.b32 [%rd1], %r30;", Code::IllegalAddress);
  failure("ld.param.b64 %rd5, [out+8];", Code::IllegalAddress);
  begin({});
  runKernel(kernel("setp.eq.u32 %p1, %r30, 99;\n@%p1 ld.global.b32 %r1, [%rd1+256];"), {}, 32);
}

// A register has a value in the lanes that wrote it. A copy of nothing is nothing.
TEST_F(ControlTest, UnwrittenRegisters) {
  EXPECT_NE(failure("add.s32 %r1, %r2, 1;", Code::LaunchFailed).find("never written"), std::string::npos);
  failure("@%p1 add.s32 %r1, %r30, 1;", Code::LaunchFailed);
  EXPECT_NE(failure("setp.ne.u32 %p1, %r30, 5;\n@%p1 mov.b32 %r2, 1;\nmov.b32 %r3, %r2;\nadd.s32 %r1, %r3, 1;", Code::LaunchFailed)
                .find("lane 5"),
            std::string::npos);
  begin({});
  runKernel(kernel("mov.b32 %r3, %r2;"), {}, 32);
}

TEST_F(ControlTest, BadExchanges) {
  EXPECT_NE(failure("setp.eq.u32 %p1, %r30, 3;\n@%p1 bra END;\nbar.warp.sync -1;\nEND:\nadd.s32 %r1, %r30, 1;", Code::LaunchFailed)
                .find("never come"),
            std::string::npos);
  EXPECT_NE(failure("bar.warp.sync 1;", Code::LaunchFailed).find("not in the mask"), std::string::npos);
  EXPECT_NE(failure("and.b32 %r1, %r30, 16;\nmov.b32 %r2, 0xFFFF;\nshl.b32 %r2, %r2, %r1;\nshfl.sync.bfly.b32 %r3, %r30, 16, 31, %r2;",
                    Code::LaunchFailed)
                .find("does not name"),
            std::string::npos);
}

// Unknown instructions are refused when the text is loaded, with their line.
TEST_F(ControlTest, Refusals) {
  Handle function = nullptr;
  std::string log;
  auto refusal = [&](const std::string &text) {
    EXPECT_EQ(load(text, &function, &log), Code::InvalidPtx) << text;
    return log;
  };
  EXPECT_EQ(refusal(kernel("ex2.approx.f32 %r1, %r30;")), "line 16: 'ex2.approx.f32' is not known");
  EXPECT_EQ(refusal(kernel("add.f32 %r1, %r30, %r30;")), "line 16: 'add.f32' is not known"); // it says not how it rounds
  EXPECT_EQ(refusal(kernel("add.s32 %r1, %r30;")), "line 16: 'add.s32' has 2 operands");
  EXPECT_EQ(refusal(kernel("add.s32 %r1, %r30, %rd0;")), "line 16: register '%rd0' has not the size that 'add.s32' takes");
  EXPECT_EQ(refusal(kernel("add.s32 %r1, %r30, %r99;")), "line 16: '%r99' is not known");
  EXPECT_EQ(refusal(kernel("bra NOWHERE;")), "line 16: there is no label 'NOWHERE' before an instruction");
  EXPECT_EQ(refusal("hello"), "line 1: 'hello' is not known here");
  EXPECT_EQ(refusal(".version 8.1\n.target sm_100\n"), "the text is for sm_100, the device is sm_90");
  EXPECT_EQ(refusal(".version 8.1\n.target sm_80a\n"), "the text is for sm_80a, the device is sm_90");
  ASSERT_EQ(load(kernel(""), &function), Code::Success);
  DevicePointer memory = allocate(8);
  void *parameters[] = {&memory, &memory};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, stream(), parameters, nullptr), Code::InvalidValue);
  EXPECT_EQ(cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, stream(), parameters, nullptr), Code::InvalidValue);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), Code::NotSupported);
}

// Variables of a module have their values; threads and blocks have three dimensions.
TEST_F(ControlTest, Places) {
  const std::string body =
      "mov.u32 %r1, %tid.y;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nld.global.nc.b32 %r4, [table+4];\n"
      "ld.param.b64 %rd20, [out];\nmad.lo.s32 %r5, %r1, %r3, %r30;\nmad.lo.s32 %r6, %r2, 8, %r5;\nmul.wide.u32 %rd10, %r6, 8;\n"
      "add.s64 %rd11, %rd20, %rd10;\nadd.s32 %r7, %r6, %r4;\ncvt.u64.u32 %rd12, %r7;\nst.global.b64 [%rd11], %rd12;";
  std::string text = kernel(body);
  text.insert(text.find(".visible"), ".global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 1};\n");
  Handle function = nullptr, one = stream();
  ASSERT_EQ(load(text, &function), Code::Success);
  DevicePointer out = allocate(16 * 8);
  void *parameters[] = {&out, &out};
  EXPECT_EQ(cuLaunchKernel(function, 2, 1, 1, 4, 2, 1, 0, one, parameters, nullptr), Code::Success);
  std::vector<uint64_t> seen(16);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(seen.data(), out, 16 * 8, one), Code::Success);
  for (uint64_t i = 0; i < 16; ++i)
    EXPECT_EQ(seen[i], i + 0x105);
}
