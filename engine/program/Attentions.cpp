// Checks attention: sizes and types that exist, and that no row of an operand lies outside of it, whatever the numbers are.
#include "engine/program/Attentions.h"
#include "engine/program/Checks.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>

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
         take(attention.values());
}

/// Whether rows and keys can be what the table says of one sequence.
bool isOfOneSequence(const Program &program, const Attention &attention) {
  for (uint32_t axis : *attention.axes())
    if (axis >= program.mesh()->size())
      return false;
  int64_t pieces = attentionPieces(program, attention), rows = attention.rows(), keys = attention.keys(), zigzag = attention.zigzag();
  if (pieces < 1 || attention.step() >= pieces)
    return false;
  if (!attention.causal())
    return true;
  if (attention.ring() || pieces == 1 ? rows != keys : Wide(keys) > Wide(rows) * Wide(pieces))
    return false;
  return zigzag == 0 ||
         (Wide(rows) * Wide(pieces) % Wide(2 * zigzag) == 0 && (attention.ring() || Wide(keys) == Wide(rows) * Wide(pieces)));
}

std::string checkAttention(const Program &program, const Attention &attention) {
  if (!isPossible(attention))
    return "an attention has impossible sizes";
  if (!isOfOneSequence(program, attention))
    return "an attention's rows and keys are not of one sequence";
  ElementType type = attention.type();
  if (type < ElementType::MIN || type > ElementType::MAX || !(isNarrow(type) || type == ElementType::F32 || type == ElementType::F64))
    return "an attention is of no type of floats";
  AttentionOperands operands = attentionOperands(attention);
  if (attention.gradient() && attention.continues())
    return "an attention's gradient continues another";
  if (attention.strides()->size() != operands.all.size())
    return "an attention has strides of " + std::to_string(attention.strides()->size()) + " operands, not of " +
           std::to_string(operands.all.size());
  for (uint32_t i = 0; i < operands.all.size(); ++i) {
    const AttentionStrides &strides = *attention.strides()->Get(i);
    const AttentionOperand &operand = operands.all[i];
    if (strides.batch()->size() != attention.batch()->size())
      return "an attention of " + std::to_string(attention.batch()->size()) + " batch loops has an operand with strides of " +
             std::to_string(strides.batch()->size());
    if (operand.dense && (strides.row() != operand.columns || Wide(strides.head()) != Wide(operand.rows) * Wide(operand.columns)))
      return "an attention of " + std::to_string(attention.rows()) + " rows has " + operand.name + " with strides " +
             std::to_string(strides.head()) + " and " + std::to_string(strides.row());
  }
  return "";
}

} // namespace

AttentionOperands attentionOperands(const Attention &attention) {
  int64_t heads = attention.heads(), rows = attention.rows(), keys = attention.keys();
  ElementType type = attention.type(), sums = type == ElementType::F64 ? ElementType::F64 : ElementType::F32;
  AttentionOperand q = {"q", heads, rows, attention.features(), type}, k = {"k", 1, keys, attention.features(), type};
  AttentionOperand v = {"v", 1, keys, attention.values(), type}, out = {"out", heads, rows, attention.values(), type};
  AttentionOperand lse = {"lse", heads, rows, 1, sums, true}, state = {"state", heads, rows, attention.values() + 2, sums, true};
  std::vector<AttentionOperand> all = {q, k, v};
  auto add = [&](std::vector<AttentionOperand> more) { all.insert(all.end(), more.begin(), more.end()); };
  if (!attention.gradient()) {
    if (attention.continues())
      add({state});
    uint32_t inputs = static_cast<uint32_t>(all.size());
    add(attention.unfinished() ? std::vector{state} : std::vector{out, lse});
    return {all, inputs};
  }
  std::vector<AttentionOperand> gradients = {q, k, v};
  const char *names[] = {"dq", "dk", "dv"};
  for (size_t i = 0; i < 3; ++i)
    gradients[i].name = names[i], gradients[i].type = attention.unfinished() ? sums : type;
  AttentionOperand dout = out;
  dout.name = "dout";
  add({out, dout, lse});
  uint32_t inputs = static_cast<uint32_t>(all.size());
  add(gradients);
  return {all, inputs};
}

int64_t attentionPieces(const Program &program, const Attention &attention) {
  int64_t pieces = 1;
  for (uint32_t axis : *attention.axes())
    pieces *= program.mesh()->Get(axis)->size();
  return pieces;
}

std::vector<SequenceRun> sequenceRuns(int64_t piece, int64_t rows, int64_t size, int64_t zigzag) {
  int64_t first = piece * rows;
  if (zigzag == 0)
    return {{0, rows, first}};
  int64_t chunks = 2 * zigzag, chunkSize = size / chunks;
  std::vector<SequenceRun> runs;
  for (int64_t place = first; place < first + rows;) {
    int64_t slot = place / chunkSize, within = place % chunkSize, count = std::min(first + rows - place, chunkSize - within);
    int64_t chunk = slot % 2 ? chunks - 1 - slot / 2 : slot / 2;
    runs.push_back({place - first, count, chunk * chunkSize + within});
    place += count;
  }
  std::sort(runs.begin(), runs.end(), [](const SequenceRun &a, const SequenceRun &b) { return a.position < b.position; });
  std::vector<SequenceRun> joined;
  for (const SequenceRun &run : runs)
    if (!joined.empty() && joined.back().at + joined.back().count == run.at && joined.back().position + joined.back().count == run.position)
      joined.back().count += run.count;
    else
      joined.push_back(run);
  return joined;
}

std::string checkAttentions(const Program &program) {
  for (const Attention *attention : *program.attentions())
    if (std::string wrong = checkAttention(program, *attention); !wrong.empty())
      return wrong;
  return "";
}

bool reachesBeyond(const Attention &attention, uint32_t index, uint64_t bytes) {
  const AttentionStrides &strides = *attention.strides()->Get(index);
  AttentionOperand operand = attentionOperands(attention).all[index];
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
