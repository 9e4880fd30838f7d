// Checks attention: sizes and types exist, and no row of an operand is outside it, whatever numbers the file contains.
#include "engine/program/Attentions.h"
#include "engine/program/Checks.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::program {
namespace {

using Wide = unsigned __int128;

/// True if all sizes are positive and the number of operations fits a 62-bit count.
bool isPossible(const Attention &attention) {
  Wide work = 1;
  auto take = [&](int64_t size) { return size > 0 && (work *= static_cast<uint64_t>(size)) <= largestSize; };
  for (int64_t size : *attention.batch())
    if (!take(size))
      return false;
  return take(attention.heads()) && take(attention.rows()) && take(attention.keys()) && take(attention.features()) &&
         take(attention.values());
}

/// True if the row and key counts agree with the piece, the ring step and the zigzag order of one sequence.
bool isOfOneSequence(const Program &program, const Attention &attention) {
  for (uint32_t axis : *attention.axes())
    if (axis >= program.mesh()->size())
      return false;
  int64_t pieces = attentionPieces(program, attention), rows = attention.rows(), keys = attention.keys(), zigzag = attention.zigzag();
  if (pieces < 1 || attention.step() >= pieces)
    return false;
  if (!knowsPositions(attention))
    return true;
  if (isPlaced(attention))
    return pieces == 1 && !attention.ring() && zigzag == 0 && !attention.gradient() && !attention.continues() && !attention.unfinished();
  if (attention.causal() && (attention.ring() || pieces == 1 ? rows != keys : Wide(keys) > Wide(rows) * Wide(pieces)))
    return false;
  return zigzag == 0 || (Wide(rows) * Wide(pieces) % Wide(2 * zigzag) == 0 &&
                         (attention.ring() || attention.other() || Wide(keys) == Wide(rows) * Wide(pieces)));
}

/// Kernels that exist, as many as the kind needs, of the extent that blocks of scores have; data that blocks can be cut out of.
std::string checkScores(const Program &program, const Attention &attention, const AttentionOperands &operands) {
  uint32_t kernels = attention.kernels() ? attention.kernels()->size() : 0, wanted = attention.gradient() ? 2 : 1;
  if (kernels == 0)
    return operands.data + operands.slopes || attention.drops() ? "an attention has data of scores and no kernel" : "";
  if (kernels != wanted)
    return "an attention has " + std::to_string(kernels) + " kernels of scores, not " + std::to_string(wanted);
  for (uint32_t kernel : *attention.kernels())
    if (kernel >= program.kernels()->size())
      return "an attention has a kernel of scores that does not exist";
  int64_t rows = attention.rows(), keys = attention.keys();
  if (std::min(attention.back(), attention.ahead()) < -int64_t(largestSize))
    return "an attention hides keys beyond any sequence";
  for (const AttentionOperand &operand : operands.all) {
    if (!operand.datum)
      continue;
    const AttentionDatum &datum = *operand.datum;
    bool isTable = datum.entries() > 0, isSlope = operand.name == std::string("slope");
    Wide whole = Wide(static_cast<uint64_t>(keys)) * (attention.ring() && datum.has_query() ? attentionPieces(program, attention) : 1);
    if (!isKnown(datum.type()))
      return "an attention has a datum of scores of no type";
    if (datum.batch()->size() != attention.batch()->size() || datum.entries() < 0 || (isTable && (datum.has_query() || datum.has_key())) ||
        (datum.has_key() && Wide(datum.keys()) != whole) || rows < 1)
      return "an attention has a datum of scores of another shape";
    if (isSlope && (datum.type() != widened(attention.type()) || datum.datum() >= operands.data))
      return "an attention has a slope of no datum, or of another type";
    if (isSlope) {
      const AttentionDatum &of = *attention.data()->Get(datum.datum());
      if (of.entries() != datum.entries() || of.has_key() != datum.has_key() || of.has_query() != datum.has_query())
        return "an attention has a slope of another shape than its datum";
    }
  }
  return "";
}

std::string checkAttention(const Program &program, const Attention &attention) {
  if (!isPossible(attention))
    return "an attention has impossible sizes";
  if (!isOfOneSequence(program, attention))
    return "an attention's rows and keys are not of one sequence";
  if (!isKnown(attention.type()) || !isFloating(attention.type()))
    return "an attention needs a floating-point type";
  AttentionOperands operands = attentionOperands(attention);
  if (attention.gradient() && attention.continues())
    return "an attention's gradient continues another";
  if (std::string wrong = checkScores(program, attention, operands); !wrong.empty())
    return wrong;
  uint32_t bare = static_cast<uint32_t>(operands.all.size()) - operands.data - operands.slopes;
  if (attention.strides()->size() != bare)
    return "an attention has strides of " + std::to_string(attention.strides()->size()) + " operands, not of " + std::to_string(bare);
  for (const AttentionOperand &operand : operands.all) {
    if (operand.datum)
      continue;
    const AttentionStrides &strides = *attention.strides()->Get(operand.strides);
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

bool knowsPositions(const Attention &attention) { return attention.causal() || (attention.kernels() && attention.kernels()->size() > 0); }

bool isPlaced(const Attention &attention) { return attention.causal() && attention.other(); }

static uint32_t countOf(const flatbuffers::Vector<flatbuffers::Offset<AttentionDatum>> *list) { return list ? list->size() : 0; }

AttentionOperands attentionOperands(const Attention &attention) {
  int64_t heads = attention.heads(), rows = attention.rows(), keys = attention.keys();
  ElementType type = attention.type(), sums = widened(type);
  AttentionOperand q = {"q", heads, rows, attention.features(), type}, k = {"k", 1, keys, attention.features(), type};
  AttentionOperand v = {"v", 1, keys, attention.values(), type}, out = {"out", heads, rows, attention.values(), type};
  AttentionOperand lse = {"lse", heads, rows, 1, sums, true}, state = {"state", heads, rows, attention.values() + 2, sums, true};
  std::vector<AttentionOperand> all;
  uint32_t known = 0;
  auto add = [&](const std::vector<AttentionOperand> &more) {
    for (AttentionOperand operand : more) {
      operand.strides = known++;
      all.push_back(operand);
    }
  };
  auto addData = [&](const char *name, const flatbuffers::Vector<flatbuffers::Offset<AttentionDatum>> *list) {
    for (uint32_t i = 0; i < countOf(list); ++i) {
      const AttentionDatum &datum = *list->Get(i);
      all.push_back({name, heads, 1, 1, datum.type(), false, &datum});
    }
  };
  auto size = [&] { return static_cast<uint32_t>(all.size()); };
  add({q, k, v});
  if (!attention.gradient()) {
    if (attention.continues())
      add({state});
    if (isPlaced(attention))
      add({{"positions", 1, 1, 1, ElementType::I32}});
    addData("datum", attention.data());
    uint32_t inputs = size();
    add(attention.unfinished() ? std::vector{state} : std::vector{out, lse});
    return {all, inputs, countOf(attention.data())};
  }
  std::vector<AttentionOperand> gradients = {q, k, v};
  const char *names[] = {"dq", "dk", "dv"};
  for (size_t i = 0; i < 3; ++i)
    gradients[i].name = names[i], gradients[i].type = attention.unfinished() ? sums : type;
  AttentionOperand dout = out;
  dout.name = "dout";
  add({out, dout, lse});
  addData("datum", attention.data());
  uint32_t inputs = size();
  add(gradients);
  addData("slope", attention.slopes());
  return {all, inputs, countOf(attention.data()), countOf(attention.slopes())};
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

/// The bounds check of `reachesBeyond` for a datum or the gradient of a slope.
static bool datumReachesBeyond(const Attention &attention, const AttentionDatum &datum, uint64_t bytes) {
  Wide last = 0;
  auto add = [&](int64_t size, int64_t stride) {
    last += Wide(static_cast<uint64_t>(size - 1)) * static_cast<uint64_t>(stride);
    return stride >= 0 && last < largestSize;
  };
  bool good = add(attention.heads(), datum.head()) && (!datum.has_query() || add(attention.rows(), datum.query())) &&
              (!datum.has_key() || add(datum.keys(), datum.key())) && (datum.entries() == 0 || add(datum.entries(), 1));
  for (uint32_t i = 0; good && i < datum.batch()->size(); ++i)
    good = add(attention.batch()->Get(i), datum.batch()->Get(i));
  return !good || (last + 1) * sizeOf(datum.type()) > bytes;
}

bool reachesBeyond(const Attention &attention, uint32_t index, uint64_t bytes) {
  AttentionOperand operand = attentionOperands(attention).all[index];
  if (operand.datum)
    return datumReachesBeyond(attention, *operand.datum, bytes);
  const AttentionStrides &strides = *attention.strides()->Get(operand.strides);
  Wide last = static_cast<uint64_t>(operand.columns - 1);
  auto add = [&](int64_t size, int64_t stride) {
    last += Wide(static_cast<uint64_t>(size - 1)) * static_cast<uint64_t>(stride);
    return stride >= 0 && last < largestSize;
  };
  bool good = add(operand.heads, strides.head()) && add(operand.rows, strides.row());
  for (uint32_t i = 0; good && i < strides.batch()->size(); ++i)
    good = add(attention.batch()->Get(i), strides.batch()->Get(i));
  return !good || (last + 1) * sizeOf(operand.type) > bytes;
}

} // namespace npar::program
