// The operands of an attention step: how many there are, and what each holds (Program.fbs, table Attention).
#pragma once

#include "engine/program/Program_generated.h"

namespace npar::program {

constexpr uint32_t attentionInputs(bool gradient) { return gradient ? 6 : 3; }
constexpr uint32_t attentionOutputs(bool gradient) { return gradient ? 3 : 2; }
inline uint32_t attentionOperands(const Attention &attention) {
  return attentionInputs(attention.gradient()) + attentionOutputs(attention.gradient());
}

/// One operand for one index of the batch list: `heads` x `rows` rows of `columns` contiguous elements.
struct AttentionOperand {
  int64_t heads, rows, columns;
  ElementType type;
};
AttentionOperand attentionOperand(const Attention &attention, uint32_t index);

/// Whether some row of an operand of `bytes` bytes lies outside of it; the attention's sizes are good.
bool reachesBeyond(const Attention &attention, uint32_t index, uint64_t bytes);

} // namespace npar::program
