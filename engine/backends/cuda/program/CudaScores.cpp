// The blocks of scores of an attention, and their layout in memory. ScoreText.h describes the contents of a block.
#include "engine/backends/cuda/program/CudaScores.h"

#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {
/// Fits in a GPU's second-level cache.
constexpr int64_t mostBlockBytes = int64_t{16} << 20;
constexpr const char *uploaded = "blocks of an attention's scores";
} // namespace

CudaScores::CudaScores(const program::Attention &a, const CudaDevice &device)
    : device(device), gradient(a.gradient()), drops(a.drops()), ring(a.ring()), causal(a.causal()), placed(program::isPlaced(a)),
      heads(a.heads()), rows(a.rows()), keys(a.keys()), columns(program::scoreColumns(a.gradient() ? a.rows() : a.keys())),
      elementBytes(static_cast<int64_t>(program::sizeOf(a.type()))), floatBytes(std::max<int64_t>(elementBytes, sizeof(float))),
      attentionTile(kinds(a).front().tile()), sight{causal, placed, a.back(), a.ahead()} {
  for (uint32_t number : *a.kernels())
    kernels.push_back({number, 0, nullptr, nullptr});
  program::AttentionOperands operands = program::attentionOperands(a);
  for (uint32_t i = 0; i < operands.data; ++i)
    data.push_back(read(*a.data()->Get(i), operands.inputs - operands.data + i));
  for (uint32_t i = 0; i < operands.slopes; ++i)
    slopes.push_back(read(*a.slopes()->Get(i), operands.all.size() - operands.slopes + i));
}

CudaScores::~CudaScores() {
  device.enter();
  for (const Piece &piece : pieces)
    for (const Pass &pass : piece.passes)
      for (DevicePointer memory : {pass.memory, pass.bandMemory})
        memory ? device.release(memory) : void();
  if (placeMemory)
    device.release(placeMemory);
}

std::vector<AttentionKind> CudaScores::kinds(const program::Attention &a) {
  AttentionKind kind = AttentionKind::of(a), products = kind;
  kind.scored = products.scored = true;
  kind.drops = a.drops();
  products.pass = a.gradient() ? AttentionPass::KeyScores : AttentionPass::QueryScores;
  products.causal = products.placed = products.continues = products.unfinished = false;
  if (!a.gradient())
    return {kind, products};
  AttentionKind ofKeys = kind, probabilities = kind;
  ofKeys.pass = AttentionPass::KeyGradient, probabilities.pass = AttentionPass::Probabilities;
  kind.drops = ofKeys.drops = probabilities.unfinished = false;
  return {kind, products, ofKeys, probabilities};
}

std::vector<ScoreStepKind> CudaScores::steps() const {
  std::vector<ScoreStepKind> all = {{ScoreStep::Place, 0, false}, {ScoreStep::Point, 0, false}};
  for (const Datum &datum : data)
    if (datum.hasQuery || datum.hasKey)
      all.push_back({ScoreStep::Cut, static_cast<int>(datum.elementBytes), false});
  auto bytes = static_cast<int>(floatBytes);
  if (!slopes.empty()) {
    for (ScoreStep step : {ScoreStep::Clear, ScoreStep::OfKeys, ScoreStep::OfAll})
      all.push_back({step, bytes, false});
    for (ScoreStep step : {ScoreStep::Pair, ScoreStep::Entries, ScoreStep::Partial, ScoreStep::OfQueries})
      all.push_back({step, bytes, causal});
  }
  return all;
}

CudaScores::Datum CudaScores::read(const program::AttentionDatum &datum, size_t operand) const {
  Datum made;
  made.operand = operand;
  made.elementBytes = static_cast<int64_t>(program::sizeOf(datum.type()));
  made.hasQuery = datum.has_query(), made.hasKey = datum.has_key();
  made.head = datum.head(), made.query = made.hasQuery ? datum.query() : 0, made.key = made.hasKey ? datum.key() : 0;
  made.keys = datum.keys(), made.entries = datum.entries();
  return made;
}

void CudaScores::setLoops(const std::vector<AttentionLoop> &given) {
  loops = given;
  units = heads;
  for (const AttentionLoop &loop : loops)
    units *= loop.size;
  layOut();
}

void CudaScores::layOut() {
  auto take = [&](int64_t bytes) {
    int64_t at = blockBytes;
    blockBytes += (bytes + 63) / 64 * 64;
    return at;
  };
  int64_t table = program::scoreRows * columns;
  auto pointers = [&](size_t count) { return take(static_cast<int64_t>(count * sizeof(DevicePointer))); };
  size_t inputs = 3 + data.size(), entries = 0;
  for (const Datum &slope : slopes)
    entries += slope.entries > 0;
  size_t ofFirst = inputs + 1 + (drops ? 1 : 0), ofSecond = inputs + 2 + slopes.size() + entries;
  kernels.front().buffers = ofFirst;
  if (gradient)
    kernels.back().buffers = ofSecond;
  firstTable = pointers(ofFirst);
  secondTable = gradient ? pointers(ofSecond) : 0;
  rowsAt = take(program::scoreRows * int64_t(sizeof(int32_t)));
  columnsAt = take(columns * int64_t(sizeof(int32_t)));
  for (Datum &datum : data) {
    if (datum.hasQuery || datum.hasKey)
      datum.at = take(blockRows(datum) * blockColumns(datum) * datum.elementBytes);
  }
  tables.columns = columns;
  tables.scores = tables.changed = take(table * floatBytes);
  if (drops)
    tables.factors = take(table * floatBytes);
  if (gradient) {
    tables.changed = take(table * floatBytes);
    tables.gradients = take(table * floatBytes);
    tables.probabilities = take(table * floatBytes);
  }
  for (Datum &slope : slopes) {
    bool isPair = slope.hasQuery && slope.hasKey;
    slope.at = take(table * floatBytes);
    slope.also = slope.entries ? take(table * int64_t(sizeof(int32_t))) : take(program::scoreRows * int64_t(sizeof(double)));
    slope.sums = slope.entries ? slope.entries : isPair ? 0 : slope.hasQuery ? rows : slope.hasKey ? keys : 1;
    slope.sumsAt = static_cast<int64_t>(sumBytes);
    sumBytes += static_cast<uint64_t>((units * slope.sums * int64_t(sizeof(double)) + 255) / 256 * 256);
  }
  tables.bytes = blockBytes;
  places.assign(static_cast<size_t>((gradient ? secondTable : firstTable) / 8) + (gradient ? ofSecond : ofFirst), -1);
  auto put = [&](int64_t tableAt, const std::vector<int64_t> &all) { std::copy(all.begin(), all.end(), places.begin() + tableAt / 8); };
  std::vector<int64_t> first = {tables.scores, gradient ? columnsAt : rowsAt, gradient ? rowsAt : columnsAt};
  for (const Datum &datum : data)
    first.push_back(datum.at);
  std::vector<int64_t> second = first;
  first.push_back(tables.changed);
  if (drops)
    first.push_back(tables.factors);
  put(firstTable, first);
  if (!gradient)
    return;
  second.insert(second.end(), {tables.gradients, tables.gradients});
  for (const Datum &slope : slopes) {
    second.push_back(slope.at);
    if (slope.entries)
      second.push_back(slope.also);
  }
  put(secondTable, second);
}

int64_t CudaScores::blocksTogether() const { return std::clamp<int64_t>(mostBlockBytes / blockBytes, 1, mostBlocks); }

int64_t CudaScores::unitsTogether(const Pass &pass, const ScorePart &part) const {
  int64_t group = groupUnits(pass), blocks = part.blocks * group, most = blocks ? blocksTogether() / blocks : mostBlocks / group;
  return group * std::clamp<int64_t>(most, 1, units / group);
}

Status CudaScores::addPiece(const std::vector<program::SequenceRun> &queries, const std::vector<program::SequenceRun> &ofKeys,
                            int64_t source) {
  if (!placeMemory)
    if (Status status = device.upload(places.data(), places.size() * sizeof(int64_t), uploaded, placeMemory); !status.ok())
      return status;
  Piece &piece = pieces.emplace_back();
  piece.firstKey = ring ? source * keys : 0;
  for (bool byQueries : gradient ? std::vector<bool>{true, false} : std::vector<bool>{true}) {
    Pass &pass = piece.passes.emplace_back();
    pass.byQueries = byQueries;
    int64_t group = groupUnits(pass);
    pass.blocks = scoreBlocks(queries, ofKeys, sight, gradient, byQueries, std::max<int64_t>(blocksTogether() / group, 1));
    for (const ScorePart &part : pass.blocks.parts) {
      int64_t blocks = part.blocks * group;
      if (blocks > mostBlocks || part.bands > mostBlocks || group > mostBlocks)
        return Status::badInput("changes scores of a sequence that is longer than a GPU's launch");
      blockMemory = std::max(blockMemory, static_cast<uint64_t>(unitsTogether(pass, part) * part.blocks * blockBytes));
    }
    const ScoreBlocks &all = pass.blocks;
    if (Status status = device.upload(all.blocks.data(), all.blocks.size() * sizeof(ScoreBlock), uploaded, pass.memory); !status.ok())
      return status;
    if (Status status = device.upload(all.bands.data(), all.bands.size() * sizeof(ScoreBand), uploaded, pass.bandMemory); !status.ok())
      return status;
  }
  return {};
}

Status CudaScores::take(const std::vector<GpuKernel> &all, const std::vector<Handle> &entries) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    ScoreKernel &kernel = kernels[i];
    kernel.lines = &all[kernel.number], kernel.entry = entries[kernel.number];
    if (!kernel.lines->many || kernel.lines->buffers.size() != kernel.buffers)
      return Status::badInput("changes its scores by kernel '" + kernel.lines->name +
                              "', which has an incompatible entry: compile the program again");
  }
  return {};
}

void CudaScores::setFunctions(std::vector<Handle> ofAttention, KernelEntries ofSteps) {
  functions = std::move(ofAttention), stepFunctions = std::move(ofSteps);
}

} // namespace npar::engine::cuda
