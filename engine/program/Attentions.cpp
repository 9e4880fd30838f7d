// Checks attention: sizes and types that exist, and that no row of an operand lies outside of it, whatever the numbers are.
#include "engine/program/Attentions.h"
#include "engine/program/Checks.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

namespace npar::program {
namespace {

using Wide = unsigned __int128;
constexpr uint64_t largest = uint64_t(1) << 62;

/// Whether all sizes are positive and the work that they stand for can be counted.
bool isPossible(const Attention &attention) {
  Wide work = 1;
  auto take = [&](int64_t size) { return size > 0 && (work *= static_cast<uint64_t>(size)) <= largest; };
  for (int64_t size : *attention.batch())
    if (!take(size))
      return false;
  return take(attention.heads()) && take(attention.rows()) && take(attention.keys()) && take(attention.features()) &&
         take(attention.values()) && (!attention.causal() || attention.rows() == attention.keys());
}

std::string checkAttention(const Attention &attention) {
  if (!isPossible(attention))
    return "an attention has impossible sizes";
  ElementType type = attention.type();
  if (type < ElementType::MIN || type > ElementType::MAX || !(isNarrow(type) || type == ElementType::F32 || type == ElementType::F64))
    return "an attention is of no type of floats";
  if (attention.strides()->size() != attentionOperands(attention))
    return "an attention has strides of " + std::to_string(attention.strides()->size()) + " operands, not of " +
           std::to_string(attentionOperands(attention));
  for (const AttentionStrides *strides : *attention.strides())
    if (strides->batch()->size() != attention.batch()->size())
      return "an attention of " + std::to_string(attention.batch()->size()) + " batch loops has an operand with strides of " +
             std::to_string(strides->batch()->size());
  const AttentionStrides &lse = *attention.strides()->Get(attention.gradient() ? 5 : 4);
  if (lse.row() != 1 || lse.head() != attention.rows())
    return "an attention of " + std::to_string(attention.rows()) + " rows has an lse with strides " + std::to_string(lse.head()) + " and " +
           std::to_string(lse.row());
  return "";
}

} // namespace

AttentionOperand attentionOperand(const Attention &attention, uint32_t index) {
  int64_t heads = attention.heads(), rows = attention.rows(), keys = attention.keys();
  AttentionOperand q = {heads, rows, attention.features(), attention.type()}, k = {1, keys, attention.features(), attention.type()};
  AttentionOperand v = {1, keys, attention.values(), attention.type()}, out = {heads, rows, attention.values(), attention.type()};
  AttentionOperand lse = {heads, rows, 1, attention.type() == ElementType::F64 ? ElementType::F64 : ElementType::F32};
  const AttentionOperand forward[] = {q, k, v, out, lse}, gradient[] = {q, k, v, out, out, lse, q, k, v};
  return attention.gradient() ? gradient[index] : forward[index];
}

std::string checkAttentions(const Program &program) {
  for (const Attention *attention : *program.attentions())
    if (std::string wrong = checkAttention(*attention); !wrong.empty())
      return wrong;
  return "";
}

bool reachesBeyond(const Attention &attention, uint32_t index, uint64_t bytes) {
  const AttentionStrides &strides = *attention.strides()->Get(index);
  AttentionOperand operand = attentionOperand(attention, index);
  Wide last = static_cast<uint64_t>(operand.columns - 1);
  auto add = [&](int64_t size, int64_t stride) {
    last += Wide(static_cast<uint64_t>(size - 1)) * static_cast<uint64_t>(stride);
    return stride >= 0 && last < largest;
  };
  bool good = add(operand.heads, strides.head()) && add(operand.rows, strides.row());
  for (uint32_t i = 0; good && i < strides.batch()->size(); ++i)
    good = add(attention.batch()->Get(i), strides.batch()->Get(i));
  return !good || (last + 1) * sizeOf(operand.type) > bytes;
}

} // namespace npar::program
