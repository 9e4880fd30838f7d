// Writes PTX, the text that a CUDA driver assembles: registers that declare themselves, and the loops and conditions of a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace npar::engine::cuda {

enum class Kind { Predicate, Bits16, Bits32, Bits64, Float32, Float64 };
constexpr int kinds = 6;

/// A register's name, or a constant where an instruction takes one.
using Operand = std::string;

/// A number as its bits, in PTX's notation.
Operand constant(float value);
Operand constant(double value);

/// One kernel as it grows. An instruction is written with its types as in NVIDIA's manual (Parallel Thread Execution ISA); what it is
/// called here says only where its result goes.
class PtxKernel {
public:
  using Body = std::function<void()>;

  /// `arrayBytes`: of an array of pointers that comes before the other parameters, which are numbers of 64 bits; 0: there is none.
  PtxKernel(std::string name, int parameters, int threads, int arrayBytes = 0);

  /// Writes an instruction whose result is a new register.
  template <class... Operands> Operand get(Kind kind, const std::string &instruction, const Operands &...operands) {
    Operand to = fresh(kind);
    write(instruction, {to, operands...});
    return to;
  }
  /// Writes an instruction whose result is an existing register.
  template <class... Operands> void put(const Operand &to, const std::string &instruction, const Operands &...operands) {
    write(instruction, {to, operands...});
  }
  /// Writes an instruction that has no result.
  template <class... Operands> void run(const std::string &instruction, const Operands &...operands) { write(instruction, {operands...}); }

  Operand fresh(Kind kind);
  Operand parameter(int number); ///< 64 bits
  /// The place of the array of pointers, for ld.param.
  Operand array();
  /// Shared memory of the block, aligned to 16: its address, 32 bits.
  Operand shared(int bytes);

  /// For i = first, first + step, .. below `limit` (32 bits, signed).
  void loop(const Operand &first, const Operand &limit, const Operand &step, const std::function<void(const Operand &)> &body);
  void when(const Operand &condition, const Body &body);
  /// A barrier: all threads of the block arrive before any continues.
  void meet() { write("bar.sync", {"0"}); }

  /// base + index * scale; `index` of 64 bits.
  Operand address(const Operand &base, const Operand &index, int64_t scale);
  Operand times(const Operand &a, const Operand &b) { return get(Kind::Bits64, "mul.lo.s64", a, b); }
  Operand plus(const Operand &a, const Operand &b) { return get(Kind::Bits64, "add.s64", a, b); }
  Operand narrow(const Operand &wide) { return get(Kind::Bits32, "cvt.u32.u64", wide); }
  Operand widen(const Operand &small) { return get(Kind::Bits64, "cvt.s64.s32", small); }

  std::string text() const;

private:
  void write(const std::string &instruction, std::initializer_list<std::string> operands);

  std::string name, body;
  int parameters, threads, arrayBytes, sharedBytes = 0, labels = 0;
  int used[kinds] = {};
};

/// "[address+bytes]".
std::string at(const Operand &address, int64_t bytes = 0);

/// A module of kernels for every device that npar supports.
std::string moduleText(const std::vector<std::string> &kernels);

} // namespace npar::engine::cuda
