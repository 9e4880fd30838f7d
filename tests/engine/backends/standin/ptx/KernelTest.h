// Runs kernels that a test writes in PTX.
#pragma once

#include "tests/engine/backends/standin/StandinTest.h"

#include <cstring>
#include <string>

namespace npar::standin {

class KernelTest : public StandinTest {
protected:
  static std::string header() { return ".version 8.1\n.target sm_90\n.address_size 64\n"; }
  /// An entry `k` with pointers `in` and `out`: %rd0 and %rd1, moved on by 8 bytes per thread to %rd2 and %rd3. The registers are %p, %h,
  /// %r and %rd, up to 31; the thread is %r30.
  static std::string kernel(const std::string &body, const std::string &variables = "") {
    return header() + ".visible .entry k(.param .u64 .ptr .align 8 in, .param .u64 .ptr .align 8 out)\n{\n" +
           ".reg .pred %p<32>;\n.reg .b16 %h<32>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n" + variables +
           "ld.param.b64 %rd0, [in];\nld.param.b64 %rd1, [out];\nmov.u32 %r30, %tid.x;\n" +
           "mul.wide.u32 %rd31, %r30, 8;\nadd.s64 %rd2, %rd0, %rd31;\nadd.s64 %rd3, %rd1, %rd31;\n" + body + "\nret;\n}\n";
  }

  Code load(const std::string &text, Handle *function, std::string *log = nullptr) {
    Handle module = nullptr;
    char buffer[256] = "";
    int options[] = {static_cast<int>(JitOption::ErrorLogBuffer), static_cast<int>(JitOption::ErrorLogBufferBytes)};
    void *values[] = {buffer, reinterpret_cast<void *>(sizeof buffer)};
    Code code = cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
    if (log)
      *log = buffer;
    else
      EXPECT_EQ(std::string(buffer), "");
    return code == Code::Success ? cuModuleGetFunction(function, module, "k") : code;
  }

  /// Returns the words that threads write to `out`, after their `in`. `code` gets the result of the run.
  std::vector<uint64_t> runKernel(const std::string &text, std::vector<uint64_t> in, unsigned threads = 1, Code *code = nullptr,
                                  unsigned sharedBytes = 0) {
    Handle one = stream(), function = nullptr;
    std::vector<uint64_t> out(threads, 0x5555555555555555);
    in.resize(std::max<size_t>(in.size(), threads));
    EXPECT_EQ(load(text, &function), Code::Success);
    DevicePointer pointers[] = {allocate(in.size() * 8), allocate(out.size() * 8)};
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointers[0], in.data(), in.size() * 8, one), Code::Success);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointers[1], out.data(), out.size() * 8, one), Code::Success);
    void *parameters[] = {&pointers[0], &pointers[1]};
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, sharedBytes, one, parameters, nullptr), Code::Success);
    Code end = cuMemcpyDtoHAsync_v2(out.data(), pointers[1], out.size() * 8, one);
    if (code)
      *code = end;
    else
      EXPECT_EQ(end, Code::Success) << message();
    return out;
  }

  /// The result of one instruction, whose operands are named $0, $1, ... and whose result is $d. `sizes`: letters p, h, w, d of the result
  /// and the operands.
  uint64_t value(const std::string &instruction, const std::string &sizes, const std::vector<uint64_t> &operands) {
    auto name = [](char size, size_t number) {
      return (size == 'p' ? "%p" : size == 'h' ? "%h" : size == 'w' ? "%r" : "%rd") + std::to_string(10 + number);
    };
    std::string body, named = instruction;
    for (size_t i = 1; i < sizes.size(); ++i) {
      const std::string offset = "[%rd0+" + std::to_string(8 * (i - 1)) + "];\n", type = sizes[i] == 'h'   ? "b16"
                                                                                         : sizes[i] == 'w' ? "b32"
                                                                                                           : "b64";
      if (sizes[i] == 'p')
        body += "ld.global.b32 %r20, " + offset + "setp.ne.b32 " + name('p', i) + ", %r20, 0;\n";
      else
        body += "ld.global." + type + " " + name(sizes[i], i) + ", " + offset;
    }
    for (size_t at; (at = named.find('$')) != std::string::npos;)
      named.replace(at, 2,
                    named[at + 1] == 'd'
                        ? name(sizes[0], 0)
                        : name(sizes[static_cast<size_t>(named[at + 1] - '0') + 1], static_cast<size_t>(named[at + 1] - '0') + 1));
    body += named + "\n";
    if (sizes[0] == 'p')
      body += "selp.b64 %rd10, 1, 0, %p10;\n";
    const char *widen = sizes[0] == 'h' ? "cvt.u64.u16 %rd10, %h10;\n" : sizes[0] == 'w' ? "cvt.u64.u32 %rd10, %r10;\n" : "";
    // Alone, and in all lanes of a warp: these are different loops.
    const std::string text = kernel(body + widen + "st.global.b64 [%rd3], %rd10;");
    uint64_t alone = runKernel(text, operands)[0];
    EXPECT_EQ(runKernel(text, operands, 32), std::vector<uint64_t>(32, alone)) << instruction;
    return alone;
  }
};

} // namespace npar::standin
