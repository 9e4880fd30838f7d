// An attention's parts, for every index of its batch list, in as many pieces as pay. A gradient has one part for each index.
#include "engine/backends/cpu/Attentions.h"

#include "engine/attention/Attention.h"
#include "engine/backends/cpu/Workers.h"
#include "engine/program/Attentions.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <array>

namespace npar::engine {

struct Attentions::Batched {
  Attention attention;
  bool gradient = false;
  int64_t parts = 1, pieces = 1; ///< parts: for each index
  BatchLoops loops = {};
  uint32_t operands = 0;
};

Attentions::Attentions() = default;
Attentions::~Attentions() = default;

Status Attentions::load(const program::Program &program, const Spread &spread) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return set.status();
  for (uint32_t i = 0; i < program.attentions()->size(); ++i)
    if (Status status = add(*program.attentions()->Get(i), spread, *set); !status.ok())
      return Status::badInput("attention " + std::to_string(i) + " " + status.message());
  return {};
}

/// Products of a row with a key: forward two, backward five.
static double flopsOf(const program::Attention &a) {
  double keys = a.causal() ? (double(a.keys()) + 1) / 2 : double(a.keys());
  double columns = a.gradient() ? 3 * double(a.features()) + 2 * double(a.values()) : double(a.features()) + double(a.values());
  return 2 * double(a.heads()) * double(a.rows()) * keys * columns;
}

Status Attentions::add(const program::Attention &a, const Spread &spread, InstructionSet set) {
  Result<ProductType> type = productType(a.type());
  if (!type.ok())
    return type.status();
  AttentionShape shape{};
  shape.type = *type, shape.groups = a.heads(), shape.queries = a.rows(), shape.keys = a.keys();
  shape.width = a.features(), shape.valueWidth = a.values();
  RowStrides *forward[] = {&shape.q, &shape.k, &shape.v, &shape.out, nullptr};
  RowStrides *gradient[] = {&shape.q, &shape.k, &shape.v, &shape.out, &shape.dout, nullptr, &shape.dq, &shape.dk, &shape.dv};
  shape.scale = a.scale();
  shape.causal = a.causal();
  BatchLoops loops;
  loops.setSizes(*a.batch());
  uint32_t operands = program::attentionOperands(a);
  for (uint32_t i = 0; i < operands; ++i) {
    const program::AttentionStrides &strides = *a.strides()->Get(i);
    loops.addOperand(*strides.batch(), program::sizeOf(program::attentionOperand(a, i).type));
    if (RowStrides *target = (a.gradient() ? gradient : forward)[i])
      *target = {strides.row(), strides.head()};
  }
  Batched batched{Attention(shape, set), a.gradient()};
  batched.parts = a.gradient() ? 1 : batched.attention.forwardParts();
  batched.pieces = std::min(piecesOf(flopsOf(a) * double(loops.count()), spread), loops.count() * batched.parts);
  batched.loops = std::move(loops);
  batched.operands = operands;
  scratchBytes = std::max(scratchBytes, a.gradient() ? batched.attention.backwardScratch() : batched.attention.forwardScratch());
  attentions.push_back(std::move(batched));
  return {};
}

void Attentions::runPart(const Batched &batched, int64_t item, void *const *buffers, void *memory) const {
  std::array<void *, program::attentionInputs(true) + program::attentionOutputs(true)> at{};
  for (uint32_t i = 0; i < batched.operands; ++i)
    at[i] = static_cast<uint8_t *>(buffers[i]) + batched.loops.offset(item / batched.parts, i);
  if (batched.gradient)
    batched.attention.backward({at[0], at[1], at[2], at[3], nullptr, at[4], at[5], at[6], at[7], at[8]}, memory);
  else
    batched.attention.forward(static_cast<int>(item % batched.parts), {at[0], at[1], at[2], at[3], at[4]}, memory);
}

void Attentions::run(uint32_t index, void *const *buffers, WorkerScratch &scratch) const {
  const Batched &batched = attentions[index];
  int64_t items = batched.loops.count() * batched.parts;
  forEachPart(batched.pieces, [&](int64_t piece) {
    void *memory = scratch.own();
    for (int64_t item = items * piece / batched.pieces; item < items * (piece + 1) / batched.pieces; ++item)
      runPart(batched, item, buffers, memory);
  });
}

} // namespace npar::engine
