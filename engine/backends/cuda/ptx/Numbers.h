// Elements of tensors in PTX: loaded and widened, rounded and stored, with the bits that the processor gives them.
#pragma once

#include "engine/backends/cuda/ptx/Ptx.h"
#include "engine/program/Elements.h"
#include "engine/program/Program_generated.h"

namespace npar::engine::cuda {

/// Arithmetic in float32 or float64, each operation rounded to nearest even; denormals are kept.
struct Floats {
  bool wide = false;

  Kind kind() const { return wide ? Kind::Float64 : Kind::Float32; }
  std::string type() const { return wide ? "f64" : "f32"; }
  int bytes() const { return wide ? 8 : 4; }
  Operand number(double value) const { return wide ? constant(value) : constant(static_cast<float>(value)); }

  Operand set(PtxKernel &kernel, double value) const { return kernel.get(kind(), "mov." + type(), number(value)); }
  Operand add(PtxKernel &kernel, const Operand &a, const Operand &b) const { return kernel.get(kind(), "add.rn." + type(), a, b); }
  Operand subtract(PtxKernel &kernel, const Operand &a, const Operand &b) const { return kernel.get(kind(), "sub.rn." + type(), a, b); }
  Operand multiply(PtxKernel &kernel, const Operand &a, const Operand &b) const { return kernel.get(kind(), "mul.rn." + type(), a, b); }
  Operand fma(PtxKernel &kernel, const Operand &a, const Operand &b, const Operand &c) const {
    return kernel.get(kind(), "fma.rn." + type(), a, b, c);
  }
  Operand choose(PtxKernel &kernel, const Operand &condition, const Operand &yes, const Operand &no) const {
    return kernel.get(kind(), "selp." + type(), yes, no, condition);
  }
  Operand compare(PtxKernel &kernel, const std::string &how, const Operand &a, const Operand &b) const {
    return kernel.get(Kind::Predicate, "setp." + how + "." + type(), a, b);
  }
  /// a where a > b or a is NaN, else b.
  Operand larger(PtxKernel &kernel, const Operand &a, const Operand &b) const;
};

/// The type in which elements of a type are added.
inline Floats sumsOf(program::ElementType type) { return {program::isWide(type)}; }

/// An element, widened to the sums' type, where `condition`; else 0, and nothing is read. Types of floats.
Operand loadElement(PtxKernel &kernel, program::ElementType type, const std::string &place, const Operand &condition = "");
/// Rounds to nearest even and stores.
void storeElement(PtxKernel &kernel, program::ElementType type, const std::string &place, const Operand &value);
/// Rounds a float32 to TF32 (RULES.md#N8) with integer operations, because only sm_80 and later have an instruction for it.
Operand roundToTf32(PtxKernel &kernel, const Operand &value);
/// A number of the sums' type as an element of the type has it.
Operand roundElement(PtxKernel &kernel, program::ElementType type, const Operand &value);

} // namespace npar::engine::cuda
