// Runs an attention's parts for every index of its batch list, in as many pieces as pay. A gradient has one part for each index.
#include "engine/backends/cpu/Attentions.h"

#include "engine/attention/Attention.h"
#include "engine/backends/cpu/Workers.h"
#include "engine/program/Attentions.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <array>

namespace npar::engine {

struct Attentions::Batched {
  /// One for each piece of the sequence that a rank may have, if the piece matters; otherwise one.
  std::vector<Attention> attentions;
  std::vector<AttentionShape> shapes; ///< shape of each attention
  Scores scores = {};
  uint64_t attentionScratch = 0; ///< bytes of the attention, placed before those of scores
  program::AttentionOperands operands = {};
  bool gradient = false, continues = false, unfinished = false, placed = false;
  int64_t parts = 1, pieces = 1; ///< parts: number for each index
  int64_t step = 0;              ///< step of a ring
  BatchLoops loops = {};
  /// The mesh axes over which the sequence is split: their numbers and sizes, major to minor.
  std::vector<std::pair<uint32_t, int64_t>> axes = {};

  /// The number of the rank's piece of the sequence, if the piece matters.
  int64_t pieceOf(const int64_t *context) const {
    int64_t piece = 0;
    for (auto [axis, size] : axes)
      piece = piece * size + context[3 + axis];
    return piece;
  }
};

Attentions::Attentions() = default;
Attentions::~Attentions() = default;

Status Attentions::load(const program::Program &program, const Spread &spread, program::ProductOrder order, const KernelTable &kernels) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return set.status();
  for (uint32_t i = 0; i < program.attentions()->size(); ++i) {
    const program::Attention &attention = *program.attentions()->Get(i);
    Result<ProductType> type = productType(attention.type(), order);
    Status status = type.ok() ? add(program, attention, *type, spread, *set, kernels) : type.status();
    if (!status.ok())
      return Status::badInput("attention " + std::to_string(i) + " " + status.message());
  }
  return {};
}

/// Cost in floating-point operations: two products of a row with a key forward, five backward. With few rows the time is that of fetching
/// keys and values: a byte takes about as long as `operationsPerByte` operations.
static double flopsOf(const program::Attention &a) {
  constexpr double operationsPerByte = 5;
  double keys = a.causal() && a.keys() == a.rows() ? (double(a.keys()) + 1) / 2 : double(a.keys());
  double columns = a.gradient() ? 3 * double(a.features()) + 2 * double(a.values()) : double(a.features()) + double(a.values());
  double bytes = double(a.keys()) * (double(a.features()) + double(a.values())) * double(program::sizeOf(a.type()));
  return std::max(2 * double(a.heads()) * double(a.rows()) * keys * columns, operationsPerByte * bytes);
}

static std::vector<PositionRun> positionRuns(int64_t piece, int64_t rows, int64_t size, int64_t zigzag) {
  std::vector<PositionRun> runs;
  for (const program::SequenceRun &run : program::sequenceRuns(piece, rows, size, zigzag))
    runs.push_back({run.at, run.count, run.position});
  return runs;
}

/// The piece of a ring that the keys are.
static int64_t sourceOf(const program::Attention &a, int64_t piece, int64_t pieces) {
  return (piece - int64_t(a.step()) + pieces) % pieces;
}

/// The shape of the work of a rank that has piece number `piece` of `pieces` of the sequence.
static AttentionShape shapeOf(const program::Attention &a, ProductType type, int64_t piece, int64_t pieces) {
  AttentionShape shape{};
  shape.type = type, shape.groups = a.heads(), shape.queries = a.rows(), shape.keys = a.keys();
  shape.width = a.features(), shape.valueWidth = a.values();
  shape.scale = a.scale();
  shape.causal = a.causal();
  shape.back = std::min(a.back(), shape.back), shape.ahead = std::min(a.ahead(), shape.ahead);
  if (program::knowsPositions(a)) {
    int64_t size = a.ring() || a.other() ? pieces * a.rows() : a.keys();
    shape.queryRuns = positionRuns(piece, a.rows(), size, a.zigzag());
    shape.keyRuns = positionRuns(a.ring() ? sourceOf(a, piece, pieces) : 0, a.keys(), size, a.other() ? 0 : a.zigzag());
  }
  auto lies = [&](RowStrides &strides, uint32_t operand) {
    strides = {a.strides()->Get(operand)->row(), a.strides()->Get(operand)->head()};
  };
  lies(shape.q, 0), lies(shape.k, 1), lies(shape.v, 2);
  if (a.gradient())
    lies(shape.out, 3), lies(shape.dout, 4), lies(shape.dq, 6), lies(shape.dk, 7), lies(shape.dv, 8);
  else if (!a.unfinished())
    lies(shape.out, a.continues() || program::isPlaced(a) ? 4 : 3);
  return shape;
}

Status Attentions::add(const program::Program &program, const program::Attention &a, ProductType type, const Spread &spread,
                       InstructionSet set, const KernelTable &kernels) {
  Batched batched;
  batched.placed = program::isPlaced(a);
  batched.gradient = a.gradient(), batched.continues = a.continues(), batched.unfinished = a.unfinished();
  batched.operands = program::attentionOperands(a);
  batched.loops.setSizes(*a.batch());
  for (const program::AttentionOperand &operand : batched.operands.all)
    batched.loops.addOperand(operand.datum ? *operand.datum->batch() : *a.strides()->Get(operand.strides)->batch(),
                             program::sizeOf(operand.type));
  int64_t pieces = 1;
  if (program::knowsPositions(a))
    for (uint32_t axis : *a.axes()) {
      batched.axes.emplace_back(axis, program.mesh()->Get(axis)->size());
      pieces *= batched.axes.back().second;
    }
  for (int64_t piece = 0; piece < pieces; ++piece) {
    batched.shapes.push_back(shapeOf(a, type, piece, pieces));
    const Attention &attention = batched.attentions.emplace_back(batched.shapes.back(), set);
    batched.attentionScratch = std::max(batched.attentionScratch, a.gradient() ? attention.backwardScratch() : attention.forwardScratch());
  }
  batched.scores = Scores(a, kernels), batched.step = a.ring() ? int64_t(a.step()) : 0;
  if (batched.scores.buffers() > Scores::mostBuffers)
    return Status::badInput("has " + std::to_string(batched.operands.data) + " data of scores, more than there is room for");
  scratchBytes = std::max(scratchBytes, batched.attentionScratch + batched.scores.scratchBytes());
  batched.parts = a.gradient() ? 1 : batched.attentions.front().forwardParts();
  int64_t indices = batched.loops.count();
  batched.pieces = std::min(piecesOf(flopsOf(a) * double(indices), spread), indices * batched.parts);
  attentions.push_back(std::move(batched));
  return {};
}

void Attentions::runPart(const Batched &batched, int64_t piece, int64_t item, void *const *buffers, const int64_t *context, void *memory) {
  const Attention &attention = batched.attentions[static_cast<size_t>(piece)];
  std::array<void *, 9 + Scores::mostBuffers> at{};
  for (size_t i = 0; i < batched.operands.all.size(); ++i)
    at[i] = static_cast<uint8_t *>(buffers[i]) + batched.loops.offset(item / batched.parts, i);
  void **results = &at[batched.operands.inputs];
  int64_t pieces = static_cast<int64_t>(batched.attentions.size());
  int64_t firstPosition = batched.placed ? *static_cast<const int32_t *>(at[3]) : 0;
  Scores::Item scores(batched.scores, batched.shapes[static_cast<size_t>(piece)], results - batched.operands.data, results + 3, context,
                      (piece - batched.step + pieces) % pieces, firstPosition, static_cast<uint8_t *>(memory) + batched.attentionScratch);
  ScoreModifier modifier = batched.scores.change() ? scores.modifier() : ScoreModifier{};
  if (batched.gradient) {
    BackwardOperands operands{at[0], at[1], at[2], at[3], nullptr, at[4], at[5], results[0], results[1], results[2]};
    operands.wide = batched.unfinished;
    operands.modifier = modifier;
    attention.backward(operands, memory);
    return scores.finish();
  }
  ForwardOperands operands{at[0], at[1], at[2], batched.unfinished ? nullptr : results[0], batched.unfinished ? nullptr : results[1]};
  operands.before = batched.continues ? at[3] : nullptr;
  operands.after = batched.unfinished ? results[0] : nullptr;
  operands.modifier = modifier;
  operands.firstPosition = firstPosition;
  attention.forward(static_cast<int>(item % batched.parts), operands, memory);
}

void Attentions::run(uint32_t index, void *const *buffers, const int64_t *context, WorkerScratch &scratch) const {
  const Batched &batched = attentions[index];
  int64_t rank = batched.pieceOf(context), items = batched.loops.count() * batched.parts;
  forEachPart(batched.pieces, [&](int64_t piece) {
    void *memory = scratch.own();
    for (int64_t item = items * piece / batched.pieces; item < items * (piece + 1) / batched.pieces; ++item)
      runPart(batched, rank, item, buffers, context, memory);
  });
}

} // namespace npar::engine
