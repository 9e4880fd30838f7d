// Launches an attention whose scores a program changes. For some blocks at a time it launches the kernels for data and scores, the
// program's kernels, and finally those of attention.
#include "engine/backends/cuda/program/CudaScores.h"

#include "engine/backends/cuda/driver/LaunchWords.h"

#include <algorithm>

namespace npar::engine::cuda {

struct CudaScores::Run {
  const CudaScores &scores;
  const Piece &piece;
  const DevicePointer *operands;
  AttentionParameters attention;
  DevicePointer context, sums, memory;
  Handle stream;
  ThreadWork &work;

  void clearSlopes();
  void part(const Pass &pass, const ScorePart &part, int64_t firstUnit, int64_t units);
  void prepare(const ScoreParameters &blocks, int64_t units);
  void addSlopes(const ScoreParameters &blocks, int64_t units);
  ScoreParameters of(const Datum &datum, ScoreParameters parameters) const;

  void launch(Handle function, int64_t x, int64_t y, int64_t z, unsigned threads, void **pointers) {
    auto blocks = [](int64_t count) { return static_cast<unsigned>(count); };
    work.note(
        scores.device.cuda().call().launchKernel(function, blocks(x), blocks(y), blocks(z), threads, 1, 1, 0, stream, pointers, nullptr),
        "a kernel for scores of attention");
  }
  template <class Parameters> void launchWith(Handle function, const Parameters &parameters, int64_t x, int64_t y, int64_t z) {
    launch(function, x, y, z, attentionThreads, LaunchWords(parameters).pointers());
  }
  void step(const ScoreStepKind &kind, const ScoreParameters &parameters, int64_t x, int64_t y, int64_t z) {
    launchWith(scores.stepFunctions.at(kind.name()), parameters, x, y, z);
  }
  void change(const ScoreKernel &kernel, int64_t table, int64_t blocks) {
    DevicePointer first = attention.slab.memory + static_cast<uint64_t>(table), where = context;
    int64_t bytes = scores.blockBytes;
    void *pointers[] = {&first, &bytes, &where};
    launch(kernel.entry, (kernel.lines->extent + kernel.lines->rows - 1) / kernel.lines->rows, blocks, 1, kernel.lines->threads, pointers);
  }
};

/// Parameters for a datum or a slope.
ScoreParameters CudaScores::Run::of(const Datum &datum, ScoreParameters p) const {
  int64_t bytes = datum.elementBytes, first = datum.hasQuery && datum.hasKey ? piece.firstKey * datum.key : 0;
  p.base = operands[datum.operand] + static_cast<uint64_t>(first * bytes);
  p.head = datum.head * bytes, p.row = scores.rowsOf(datum) * bytes, p.column = scores.columnsOf(datum) * bytes;
  for (size_t i = 0; i < scores.loops.size(); ++i)
    p.loops[i].stride = scores.loops[i].strides[datum.operand] * bytes;
  p.at = datum.at, p.also = datum.also;
  p.sums = sums + static_cast<uint64_t>(datum.sumsAt), p.sumCount = datum.sums;
  return p;
}

/// No sum is there yet, and what no query meets has a slope of 0.
void CudaScores::Run::clearSlopes() {
  if (scores.slopes.empty())
    return;
  if (scores.sumBytes)
    work.note(scores.device.cuda().call().setBytesAsync(sums, 0, scores.sumBytes, stream), "sums of slopes");
  ScoreParameters blocks{};
  blocks.heads = scores.heads;
  for (size_t i = 0; i < attentionLoops; ++i)
    blocks.loops[i].size = attention.loops[i].size;
  for (const Datum &slope : scores.slopes) {
    ScoreParameters p = of(slope, blocks);
    p.base = operands[slope.operand];
    p.rowCount = slope.entries ? slope.entries : slope.hasKey ? slope.keys : 1;
    p.row = slope.entries ? slope.elementBytes : p.row;
    p.columnCount = slope.hasQuery ? scores.rows : 1;
    constexpr int64_t most = 65535;
    for (p.first = 0; p.first < scores.units; p.first += most)
      step({ScoreStep::Clear, static_cast<int>(scores.floatBytes), false}, p,
           (p.rowCount * p.columnCount + attentionThreads - 1) / attentionThreads, 1, std::min(most, scores.units - p.first));
  }
}

/// Positions, pointers and data of all blocks.
void CudaScores::Run::prepare(const ScoreParameters &blocks, int64_t units) {
  ScoreParameters p = blocks;
  p.at = scores.rowsAt, p.also = scores.columnsAt;
  p.places = scores.placeMemory, p.placeCount = static_cast<int64_t>(scores.places.size());
  if (scores.placed) {
    constexpr size_t positions = 3; // the input after v
    p.base = operands[positions];
    for (size_t i = 0; i < scores.loops.size(); ++i)
      p.loops[i].stride = scores.loops[i].strides[positions] * int64_t(sizeof(int32_t));
  }
  step({ScoreStep::Place, 0, false}, p, 1, p.count, units);
  for (size_t i = 0; i < scores.data.size(); ++i) {
    const Datum &datum = scores.data[i];
    p = of(datum, blocks);
    if (datum.hasQuery || datum.hasKey) {
      p.rowCount = scores.blockRows(datum), p.columnCount = scores.blockColumns(datum);
      step({ScoreStep::Cut, static_cast<int>(datum.elementBytes), false}, p, 1, p.count, units);
    } else {
      auto place = static_cast<int64_t>((3 + i) * sizeof(DevicePointer));
      p.at = scores.firstTable + place, p.also = scores.gradient ? scores.secondTable + place : -1;
      step({ScoreStep::Point, 0, false}, p, 1, p.count, units);
    }
  }
}

/// Adds the slopes of blocks in the order of their queries, which is the order of additions.
void CudaScores::Run::addSlopes(const ScoreParameters &blocks, int64_t units) {
  auto bytes = static_cast<int>(scores.floatBytes);
  constexpr int64_t entriesOfBlock = attentionThreads / 32;
  for (const Datum &slope : scores.slopes) {
    ScoreParameters p = of(slope, blocks);
    if (slope.entries) {
      p.rowCount = slope.entries;
      step({ScoreStep::Entries, bytes, scores.causal}, p, (slope.entries + entriesOfBlock - 1) / entriesOfBlock, 1, units);
    } else if (slope.hasQuery && slope.hasKey) {
      step({ScoreStep::Pair, bytes, scores.causal}, p, 1, p.count, units);
    } else if (slope.hasQuery) {
      step({ScoreStep::OfQueries, bytes, scores.causal}, p, 1, 1, units);
    } else {
      step({ScoreStep::Partial, bytes, scores.causal}, p, 1, p.count, units);
      step({slope.hasKey ? ScoreStep::OfKeys : ScoreStep::OfAll, bytes, false}, p, 1, 1, units);
    }
  }
}

void CudaScores::Run::part(const Pass &pass, const ScorePart &part, int64_t firstUnit, int64_t units) {
  ScoreSlab &slab = attention.slab;
  slab = scores.tables;
  slab.blocks = pass.memory + static_cast<uint64_t>(part.firstBlock) * sizeof(ScoreBlock);
  slab.bands = pass.bandMemory + static_cast<uint64_t>(part.firstBand) * sizeof(ScoreBand);
  slab.count = part.blocks, slab.first = firstUnit, slab.memory = memory;
  ScoreParameters blocks{};
  blocks.blocks = slab.blocks, blocks.count = slab.count, blocks.first = slab.first, blocks.memory = slab.memory;
  blocks.bytes = slab.bytes, blocks.columns = slab.columns, blocks.heads = scores.heads;
  for (size_t i = 0; i < attentionLoops; ++i)
    blocks.loops[i].size = attention.loops[i].size;
  int64_t all = part.blocks * units, tiles = scoreBlockRows / scores.attentionTile;
  if (all > 0) {
    prepare(blocks, units);
    launchWith(scores.functions[1], attention, tiles, part.blocks, units);
    change(scores.kernels.front(), scores.firstTable, all);
    if (scores.gradient) {
      launchWith(scores.functions[3], attention, 1, part.blocks, units);
      change(scores.kernels.back(), scores.secondTable, all);
      if (pass.byQueries)
        addSlopes(blocks, units);
    }
  }
  if (pass.byQueries && scores.gradient)
    tiles = (program::mostScoreColumns + scores.attentionTile - 1) / scores.attentionTile;
  if (pass.byQueries)
    return launchWith(scores.functions[0], attention, tiles, part.bands, units);
  slab.first = firstUnit / scores.heads;
  launchWith(scores.functions[2], attention, tiles, part.bands, units / scores.heads);
}

void CudaScores::start(size_t number, const DevicePointer *operands, const AttentionParameters &parameters, DevicePointer context,
                       DevicePointer memory, ThreadWork &work) const {
  Handle stream = work.begin();
  if (!stream || !context || !memory)
    return;
  const Piece &piece = pieces[number];
  Run run{*this, piece, operands, parameters, context, memory, memory + sumBytes, stream, work};
  run.clearSlopes();
  for (const Pass &pass : piece.passes)
    for (const ScorePart &part : pass.blocks.parts) {
      int64_t together = unitsTogether(pass, part);
      for (int64_t unit = 0; unit < units; unit += together)
        run.part(pass, part, unit, std::min(together, units - unit));
    }
}

} // namespace npar::engine::cuda
