// Writes PTX: registers that declare themselves, and the loops and conditions of a kernel.
#include "engine/backends/cuda/ptx/Ptx.h"

#include <cstdio>
#include <cstring>

namespace npar::engine::cuda {

namespace {
constexpr const char *prefixes[kinds] = {"%p", "%h", "%r", "%rd", "%f", "%fd"};
constexpr const char *types[kinds] = {".pred", ".b16", ".b32", ".b64", ".f32", ".f64"};

template <class Word> std::string hexadecimal(const char *prefix, Word word) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%s%0*llX", prefix, int(2 * sizeof word), static_cast<unsigned long long>(word));
  return digits;
}
} // namespace

Operand constant(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  return hexadecimal("0f", word);
}

Operand constant(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return hexadecimal("0d", word);
}

std::string at(const Operand &address, int64_t bytes) { return "[" + address + (bytes ? "+" + std::to_string(bytes) : "") + "]"; }

PtxKernel::PtxKernel(std::string name, int parameters, int threads, int arrayBytes)
    : name(std::move(name)), parameters(parameters), threads(threads), arrayBytes(arrayBytes) {}

void PtxKernel::write(const std::string &instruction, std::initializer_list<std::string> operands) {
  body += "\t" + instruction;
  const char *before = " ";
  for (const std::string &operand : operands) {
    body += before + operand;
    before = ", ";
  }
  body += ";\n";
}

Operand PtxKernel::fresh(Kind kind) {
  auto index = static_cast<size_t>(kind);
  return prefixes[index] + std::to_string(++used[index]);
}

Operand PtxKernel::parameter(int number) { return get(Kind::Bits64, "ld.param.b64", "[" + name + "_" + std::to_string(number) + "]"); }

Operand PtxKernel::array() { return get(Kind::Bits64, "mov.b64", name + "_array"); }

Operand PtxKernel::shared(int bytes) {
  Operand address = get(Kind::Bits32, "mov.u32", name + "_shared");
  int begin = sharedBytes;
  sharedBytes += (bytes + 15) / 16 * 16;
  return begin ? get(Kind::Bits32, "add.s32", address, std::to_string(begin)) : address;
}

void PtxKernel::loop(const Operand &first, const Operand &limit, const Operand &step, const std::function<void(const Operand &)> &each) {
  std::string number = std::to_string(labels++);
  Operand i = get(Kind::Bits32, "mov.b32", first), ends = fresh(Kind::Predicate);
  body += "LOOP" + number + ":\n";
  put(ends, "setp.ge.s32", i, limit);
  run("@" + ends + " bra", "END" + number);
  each(i);
  put(i, "add.s32", i, step);
  run("bra.uni", "LOOP" + number);
  body += "END" + number + ":\n";
}

void PtxKernel::when(const Operand &condition, const Body &then) {
  std::string number = std::to_string(labels++);
  run("@!" + condition + " bra", "SKIP" + number);
  then();
  body += "SKIP" + number + ":\n";
}

Operand PtxKernel::address(const Operand &base, const Operand &index, int64_t scale) {
  return plus(base, times(index, std::to_string(scale)));
}

std::string PtxKernel::text() const {
  std::string text = ".visible .entry " + name + "(\n", before = "\t";
  if (arrayBytes) {
    text += before + ".param .align 8 .b8 " + name + "_array[" + std::to_string(arrayBytes) + "]";
    before = ",\n\t";
  }
  for (int i = 0; i < parameters; ++i, before = ",\n\t")
    text += before + ".param .b64 " + name + "_" + std::to_string(i);
  text += "\n)\n.reqntid " + std::to_string(threads) + "\n{\n";
  for (size_t kind = 0; kind < kinds; ++kind)
    if (used[kind])
      text += "\t.reg " + std::string(types[kind]) + " " + prefixes[kind] + "<" + std::to_string(used[kind] + 1) + ">;\n";
  if (sharedBytes)
    text += "\t.shared .align 16 .b8 " + name + "_shared[" + std::to_string(sharedBytes) + "];\n";
  return text + body + "\tret;\n}\n";
}

std::string moduleText(const std::vector<std::string> &kernels) {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n\n";
  for (const std::string &kernel : kernels)
    text += kernel + "\n";
  return text;
}

} // namespace npar::engine::cuda
