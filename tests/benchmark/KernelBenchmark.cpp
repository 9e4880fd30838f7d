// Compares the speed of generated kernels at GPT-2's sizes on one core with memcpy: a good memory-bound kernel comes near 1. Times are
// those of the thread's CPU clock, the best of several runs. Usage: kernel_benchmark
#include "tests/compiler/codegen/OptimizerText.h"
#include "tests/compiler/codegen/RunFunction.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace npar::codegen;

namespace {
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

template <typename Work> double best(Work work) {
  double fastest = 1e9;
  for (int i = 0; i < 15; ++i) {
    double begin = now();
    work();
    fastest = std::min(fastest, now() - begin);
  }
  return fastest;
}

double memcpyBandwidth(size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  return 2 * bytes / best([&] { std::memcpy(to.data(), from.data(), bytes); });
}

void measure(const char *name, const std::string &text, double elements) {
  CompiledFunction function(text);
  if (!function.ok() || function.launches != 1) {
    std::printf("%-28s does not compile to one kernel\n", name);
    return;
  }
  CompiledFunction::Launch launch = function.prepare();
  double bytes = 0;
  for (const Buffer &buffer : launch.buffers)
    bytes += buffer.bytes.size();
  double seconds = best([&] { launch.run(); });
  double rate = bytes / seconds, copy = memcpyBandwidth(size_t(bytes / 2));
  std::printf("%-28s %8.3f ms %8.2f ns/element %8.1f GB/s   %5.2f of memcpy (%.1f GB/s)\n", name, seconds * 1e3, seconds * 1e9 / elements,
              rate * 1e-9, rate / copy, copy * 1e-9);
}

std::string function(const std::string &arguments, const std::string &results, const std::string &body) {
  return "module { func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n} }";
}
} // namespace

int main() {
  const std::string h = tensorText("batch=4 seq=256 hidden=3072", "f32"), b = tensorText("hidden=3072", "f32"),
                    x = tensorText("batch=4 seq=256 embed=768", "f32"), r = tensorText("batch=4 seq=256", "f32"),
                    g = tensorText("embed=768", "f32"), s = tensorText("batch=4 head=12 seq=256 key=256", "f32"),
                    q = tensorText("batch=4 head=12 seq=256", "f32"), p = tensorText("a=768 b=3072", "f32"),
                    scalar = "tensor<f64, #nn.axes<>>", t = tensorText("batch=4 seq=256", "i32"),
                    v = tensorText("batch=4 seq=256 vocab=50257", "f32");
  measure("bias + gelu (tanh)",
          function("%x: " + h + ", %b: " + b, h,
                   "%s = nn.add %x, %b : (" + h + ", " + b + ") -> " + h + "\n%y = nn.gelu %s {approximate = \"tanh\"} : (" + h + ") -> " +
                       h + "\nreturn %y : " + h),
          4 * 256 * 3072);
  measure("gelu gradient (tanh)",
          function("%x: " + h + ", %d: " + h, h,
                   "%y = nn.gelu_grad %x, %d {approximate = \"tanh\"} : (" + h + ", " + h + ") -> " + h + "\nreturn %y : " + h),
          4 * 256 * 3072);
  const std::string reduce = " : (" + x + ") -> " + r + "\n", row = " : (" + r + ") -> " + r + "\n",
                    wide = " : (" + x + ", " + r + ") -> " + x + "\n", scale = " : (" + x + ", " + g + ") -> " + x + "\n";
  measure("residual + layer norm",
          function("%i: " + x + ", %j: " + x + ", %g: " + g + ", %b: " + g, x + ", " + x + ", " + r + ", " + r,
                   "%x = nn.add %i, %j : (" + x + ", " + x + ") -> " + x + "\n%s = nn.sum %x" + reduce +
                       "%mean = nn.scale %s by 0.00130208333" + row + "%d = nn.sub %x, %mean" + wide + "%q = nn.mul %d, %d : (" + x + ", " +
                       x + ") -> " + x + "\n%v = nn.sum %q" + reduce + "%w = nn.scale %v by 0.00130208333" + row +
                       "%u = nn.shift %w by 1.0e-5" + row + "%rstd = nn.rsqrt %u" + row + "%h = nn.mul %d, %rstd" + wide +
                       "%k = nn.mul %h, %g" + scale + "%y = nn.add %k, %b" + scale + "return %x, %y, %mean, %rstd : " + x + ", " + x +
                       ", " + r + ", " + r),
          4 * 256 * 768);
  measure("column sum (bias gradient)", function("%x: " + h, b, "%y = nn.sum %x : (" + h + ") -> " + b + "\nreturn %y : " + b),
          4 * 256 * 3072);
  const std::string same = " : (" + s + ") -> " + s + "\n", over = " : (" + s + ") -> " + q + "\n",
                    by = " : (" + s + ", " + q + ") -> " + s + "\n";
  measure("scale + causal softmax",
          function("%x: " + s, s,
                   "%z = nn.scale %x by 0.125" + same + "%c = nn.causal_mask %z query \"seq\" key \"key\"" + same + "%m = nn.max %c" +
                       over + "%d = nn.sub %c, %m" + by + "%e = nn.exp %d" + same + "%t = nn.sum %e" + over + "%y = nn.div %e, %t" + by +
                       "return %y : " + s),
          4 * 12 * 256 * 256);
  const std::string logits = " : (" + v + ") -> " + v + "\n", token = " : (" + v + ") -> " + r + "\n",
                    lower = " : (" + v + ", " + r + ") -> " + v + "\n";
  measure("cross-entropy, 50257",
          function("%x: " + v + ", %i: " + t, r + ", " + r,
                   "%m = nn.max %x" + token + "%d = nn.sub %x, %m" + lower + "%e = nn.exp %d" + logits + "%s = nn.sum %e" + token +
                       "%l = nn.log %s" + row + "%n = nn.add %l, %m : (" + r + ", " + r + ") -> " + r +
                       "\n%p = nn.pick %x, %i over \"vocab\" : (" + v + ", " + t + ") -> " + r + "\n%y = nn.sub %n, %p : (" + r + ", " + r +
                       ") -> " + r + "\nreturn %y, %n : " + r + ", " + r),
          4.0 * 256 * 50257);
  measure("dropout", function("%x: " + x, x, "%y = nn.dropout %x {rate = 0.1, site = \"a\"} : (" + x + ") -> " + x + "\nreturn %y : " + x),
          4 * 256 * 768);
  measure("adamw",
          function("%w: " + p + ", %g: " + p + ", %m: " + p + ", %v: " + p + ", %f: " + scalar + ", %r: " + scalar, p + ", " + p + ", " + p,
                   adamwText("%a, %b, %c", "%f", "%r", p, p) + "return %a, %b, %c : " + p + ", " + p + ", " + p),
          768 * 3072);
  return 0;
}
