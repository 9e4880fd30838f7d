// Finds what cuDNN is to be asked for a program's attention, and describes it.
#include "engine/backends/cuda/library/LibraryAttention.h"

#include "engine/program/Attentions.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace npar::engine::cuda {

using program::ElementType;

namespace {
constexpr int64_t mostColumns = 128, alignedBytes = 16;

bool hasKeyHeads(size_t operand, bool gradient) { return operand == 1 || operand == 2 || (gradient && (operand == 7 || operand == 8)); }

std::string text(int64_t number) { return std::to_string(number); }

/// Bytes that a gradient needs for a sample: its matrices, in 16 bits and in tiles of 64, and its sums.
uint64_t workspaceOfSample(LibraryAttentionShape shape) {
  auto tiled = [](int64_t size) { return static_cast<uint64_t>((size + 63) / 64 * 64); };
  shape.samples = 1;
  return shape.gradient ? static_cast<uint64_t>(shape.heads) * tiled(shape.rows) * tiled(shape.keys) * 2 + sumsBytes(shape) : 0;
}

/// Leaves as many samples to a launch as there is room for.
void splitSamples(LibraryAttention &made) {
  int64_t all = made.samples.size, together = all;
  auto fits = [&] {
    return all % together == 0 && static_cast<uint64_t>(together) * workspaceOfSample(made.shape) <= mostAttentionWorkspace;
  };
  while (together > 1 && !fits())
    --together;
  if (together == all)
    return;
  AttentionLoop launches{all / together, made.samples.strides};
  for (int64_t &stride : launches.strides)
    stride *= together;
  made.around.push_back(std::move(launches));
  made.samples.size = made.shape.samples = together;
}
} // namespace

DnnSizes LibraryAttentionShape::sizes(size_t operand) const {
  bool ofKeys = hasKeyHeads(operand, gradient);
  bool isFeatures = operand < 2 || (gradient && (operand == 6 || operand == 7));
  return {samples, ofKeys ? keyHeads : heads, ofKeys ? keys : rows, operand == lse() ? 1 : isFeatures ? features : values};
}

int64_t LibraryAttentionShape::span(size_t operand) const {
  DnnSizes size = sizes(operand);
  const Strides &stride = strides[operand];
  return (size[0] - 1) * stride.sample + (size[1] - 1) * stride.head + (size[2] - 1) * stride.row + size[3];
}

std::string LibraryAttentionShape::words() const {
  std::string line = std::string(gradient ? "gradient" : "forward") + " " + program::wordOf(type) + (causal ? " causal " : " ") +
                     text(samples) + "x" + text(heads) + "/" + text(keyHeads) + "x" + text(rows) + "x" + text(keys) + " " + text(features) +
                     "/" + text(values) + " scale " + std::to_string(scale);
  for (const Strides &stride : strides)
    line += " " + text(stride.sample) + "," + text(stride.head) + "," + text(stride.row);
  return line;
}

std::vector<std::vector<uint32_t>> alignmentsOfAttentions(const program::Program &program) {
  std::vector<std::vector<uint32_t>> all;
  for (const program::Attention *attention : *program.attentions())
    all.emplace_back(program::attentionOperands(*attention).all.size(), 64); // arenas, slots and regions
  if (!program.classes())
    return all;
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Fragment *fragment : *rankClass->fragments())
      for (const program::Step *step : *fragment->steps())
        for (uint32_t i = 0; step->kind() == program::StepKind::Attention && i < all[step->payload()].size(); ++i) {
          uint32_t &alignment = all[step->payload()][i];
          alignment = static_cast<uint32_t>(std::gcd(uint64_t{alignment}, fragment->operands()->Get(step->first_operand() + i)->offset()));
        }
  return all;
}

namespace {
/// Empty, or why the library has no such attention whatever its sizes are.
std::string whyOwn(const program::Program &program, const program::Attention &a) {
  if (!program::isNarrow(a.type()))
    return "has type " + std::string(program::rowOf(a.type()).longWord);
  if (a.kernels() && a.kernels()->size() > 0)
    return "has scores that the program changes";
  if (a.continues() || a.unfinished())
    return "is part of a ring";
  if (program::isPlaced(a))
    return "has cached keys";
  if (a.causal() && (program::attentionPieces(program, a) > 1 || a.zigzag() != 0 || a.rows() != a.keys()))
    return "has a piece of a sequence";
  for (int64_t columns : {a.features(), a.values()})
    if (columns > mostColumns || columns % 8 != 0)
      return "has heads of " + text(columns) + ", not of a multiple of 8 up to " + text(mostColumns);
  return a.rows() == 1 && a.keys() == 1 ? "has one row and one key" : "";
}
} // namespace

Result<LibraryAttention> libraryAttention(const program::Program &program, const program::Attention &a,
                                          const std::vector<uint32_t> &alignments) {
  if (std::string why = whyOwn(program, a); !why.empty())
    return Status::badInput(why);
  std::vector<program::AttentionOperand> operands = program::attentionOperands(a).all;
  LibraryAttention made{{a.type(), a.gradient(), a.causal(), a.scale(), 1, a.heads(), 1, a.rows(), a.keys(), a.features(), a.values(), {}},
                        {1, std::vector<int64_t>(operands.size())},
                        {1, std::vector<int64_t>(operands.size())},
                        {}};
  LibraryAttentionShape &shape = made.shape;
  std::vector<AttentionLoop> loops;
  for (uint32_t i = 0; i < a.batch()->size(); ++i) {
    AttentionLoop loop{a.batch()->Get(i), {}};
    for (const program::AttentionOperand &operand : operands)
      loop.strides.push_back(a.strides()->Get(operand.strides)->batch()->Get(i));
    if (loop.size > 1)
      loops.push_back(std::move(loop));
  }
  auto take = [&](const auto &fits) {
    auto found = std::find_if(loops.rbegin(), loops.rend(), fits);
    if (found == loops.rend())
      return AttentionLoop{1, std::vector<int64_t>(operands.size())};
    AttentionLoop loop = *found;
    loops.erase(std::next(found).base());
    return loop;
  };
  // Heads of a group and then heads with keys of their own make one axis of q's, and lse has no gaps.
  made.heads = take([&](const AttentionLoop &loop) {
    for (size_t i = 0; i < operands.size(); ++i) {
      int64_t head = i == shape.lse() ? a.rows() : a.strides()->Get(operands[i].strides)->head();
      bool isOfAll = !hasKeyHeads(i, a.gradient()), counts = a.heads() > 1 || i == shape.lse();
      if (isOfAll && counts && loop.strides[i] != a.heads() * head)
        return false;
    }
    return true;
  });
  shape.keyHeads = made.heads.size, shape.heads = made.heads.size * a.heads();
  made.samples = take([&](const AttentionLoop &loop) { return loop.strides[shape.lse()] == shape.heads * a.rows(); });
  shape.samples = made.samples.size;
  made.around = std::move(loops);
  splitSamples(made);
  for (size_t i = 0; i < operands.size(); ++i) {
    const program::AttentionStrides &own = *a.strides()->Get(operands[i].strides);
    bool ofAll = !hasKeyHeads(i, a.gradient());
    DnnSizes size = shape.sizes(i);
    int64_t head = ofAll && a.heads() > 1 ? own.head() : made.heads.strides[i];
    shape.strides.push_back({size[0] > 1 ? made.samples.strides[i] : size[1] * size[2] * size[3], size[1] > 1 ? head : size[2] * size[3],
                             size[2] > 1 ? own.row() : size[3]});
    int64_t bytes = static_cast<int64_t>(program::sizeOf(operands[i].type)), apart = alignments[i];
    const LibraryAttentionShape::Strides &stride = shape.strides.back();
    if (stride.sample < 1 || stride.head < 1 || stride.row < size[3])
      return Status::badInput(std::string("has '") + operands[i].name + "' that samples, heads or rows share");
    std::vector<int64_t> all = {stride.sample, stride.head, stride.row};
    for (const AttentionLoop &loop : made.around)
      all.push_back(loop.strides[i]);
    if (i == shape.lse())
      all.erase(all.begin(), all.begin() + 3);
    for (int64_t each : all)
      apart = std::gcd(apart, each * bytes);
    if (apart % alignedBytes != 0)
      return Status::badInput(std::string("has '") + operands[i].name + "' at addresses that are multiples of " + text(apart) +
                              " bytes, not of " + text(alignedBytes));
  }
  return made;
}

namespace {
/// Scores with those that a causal mask hides replaced.
CudnnGraph::Tensor masked(CudnnGraph &graph, const LibraryAttentionShape &shape, CudnnGraph::Tensor scores, const DnnSizes &sizes) {
  if (!shape.causal)
    return scores;
  CudnnGraph::Tensor row = graph.passing(DnnData::I32, sizes), column = graph.passing(DnnData::I32, sizes);
  CudnnGraph::Tensor seen = graph.passing(DnnData::Boolean, sizes), left = graph.passing(DnnData::F32, sizes);
  graph.point(DnnPointwise::Index, scores, nullptr, row, nullptr, 2);
  graph.point(DnnPointwise::Index, scores, nullptr, column, nullptr, 3);
  graph.point(DnnPointwise::GreaterOrEqual, row, column, seen);
  graph.point(DnnPointwise::Select, scores, graph.scalar(HiddenNumber), left, seen);
  return left;
}

DnnSizes turned(const DnnSizes &sizes) { return {sizes[0], sizes[1], sizes[3], sizes[2]}; }

DnnData dnnTypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return DnnData::F32;
  case ElementType::BF16:
    return DnnData::BF16;
  case ElementType::F16:
    return DnnData::F16;
  case ElementType::I32:
    return DnnData::I32;
  case ElementType::F64:
  case ElementType::U8:
    break;
  }
  throw std::logic_error("internal error: cuDNN's attention has no such type"); // `whyOwn` leaves it to npar
}

struct Parts {
  Parts(CudnnGraph &graph, const LibraryAttentionShape &shape)
      : graph(graph), shape(shape), type(dnnTypeOf(shape.type)), scores{shape.samples, shape.heads, shape.rows, shape.keys},
        perRow{shape.samples, shape.heads, shape.rows, 1} {}
  DnnSizes stridesOf(size_t operand) const {
    const LibraryAttentionShape::Strides &stride = shape.strides[operand];
    return {stride.sample, stride.head, stride.row, 1};
  }
  CudnnGraph::Tensor operand(size_t i) const {
    return graph.inMemory(static_cast<int64_t>(i) + 1, i == shape.lse() ? DnnData::F32 : type, shape.sizes(i), stridesOf(i));
  }
  CudnnGraph::Tensor turnedOperand(size_t i) const {
    return graph.inMemory(static_cast<int64_t>(i) + 1, type, turned(shape.sizes(i)), turned(stridesOf(i)));
  }
  CudnnGraph::Tensor passing(const DnnSizes &sizes) const { return graph.passing(DnnData::F32, sizes); }

  CudnnGraph &graph;
  const LibraryAttentionShape &shape;
  DnnData type;
  DnnSizes scores, perRow;
};

void describeForward(const Parts &p) {
  CudnnGraph &graph = p.graph;
  CudnnGraph::Tensor products = p.passing(p.scores), scaled = p.passing(p.scores);
  graph.multiply(p.operand(0), p.turnedOperand(1), products);
  graph.point(DnnPointwise::Multiply, products, graph.scalar(ScaleNumber), scaled);
  CudnnGraph::Tensor scores = masked(graph, p.shape, scaled, p.scores);
  CudnnGraph::Tensor largest = p.passing(p.perRow), below = p.passing(p.scores), powers = p.passing(p.scores), sum = p.passing(p.perRow);
  CudnnGraph::Tensor logarithm = p.passing(p.perRow), probabilities = graph.passing(p.type, p.scores);
  graph.reduce(DnnReduction::Max, scores, largest);
  graph.point(DnnPointwise::Subtract, scores, largest, below);
  graph.point(DnnPointwise::Exp, below, nullptr, powers);
  graph.reduce(DnnReduction::Add, powers, sum);
  graph.point(DnnPointwise::Log, sum, nullptr, logarithm);
  graph.point(DnnPointwise::Add, largest, logarithm, p.operand(4));
  graph.point(DnnPointwise::Divide, powers, sum, probabilities);
  graph.multiply(probabilities, p.operand(2), p.operand(3));
}

/// c (+ over the heads of a group) = turned a b.
void multiplyTurned(const Parts &p, CudnnGraph::Tensor a, CudnnGraph::Tensor b, size_t target) {
  DnnSizes rows = turned(p.scores);
  CudnnGraph::Tensor turnedA = p.graph.passing(p.type, rows, turned(denseStrides(p.scores)));
  p.graph.reshape(a, turnedA);
  if (p.shape.heads == p.shape.keyHeads)
    return p.graph.multiply(turnedA, b, p.operand(target));
  CudnnGraph::Tensor ofAllHeads = p.graph.passing(p.type, {p.shape.samples, p.shape.heads, p.shape.keys, p.shape.sizes(target)[3]});
  p.graph.multiply(turnedA, b, ofAllHeads);
  p.graph.reduce(DnnReduction::Add, ofAllHeads, p.operand(target));
}

void describeGradient(const Parts &p) {
  CudnnGraph &graph = p.graph;
  CudnnGraph::Tensor q = p.operand(0), k = p.turnedOperand(1), dout = p.operand(4), scale = graph.scalar(ScaleNumber);
  // The softmax subtracts the sum of dout out from each row. That sum is in memory, because all tiles of a row need it.
  CudnnGraph::Tensor each = p.passing(p.shape.sizes(3)), sum = p.passing(p.perRow);
  CudnnGraph::Tensor sums = graph.inMemory(SumsNumber, DnnData::F32, p.perRow, denseStrides(p.perRow));
  graph.point(DnnPointwise::Multiply, dout, p.operand(3), each);
  graph.reduce(DnnReduction::Add, each, sum);
  graph.point(DnnPointwise::Multiply, sum, graph.scalar(OneNumber), sums);
  // Probabilities again, from lse.
  CudnnGraph::Tensor products = p.passing(p.scores), scaled = p.passing(p.scores), below = p.passing(p.scores);
  CudnnGraph::Tensor probabilities = p.passing(p.scores);
  graph.multiply(q, k, products);
  graph.point(DnnPointwise::Multiply, products, scale, scaled);
  graph.point(DnnPointwise::Subtract, scaled, p.operand(5), below);
  graph.point(DnnPointwise::Exp, masked(graph, p.shape, below, p.scores), nullptr, probabilities);
  multiplyTurned(p, probabilities, dout, 8);
  // Gradients of scores.
  CudnnGraph::Tensor ofProbabilities = p.passing(p.scores), less = p.passing(p.scores), times = p.passing(p.scores);
  CudnnGraph::Tensor ofScores = p.passing(p.scores);
  graph.multiply(dout, p.turnedOperand(2), ofProbabilities);
  graph.point(DnnPointwise::Subtract, ofProbabilities, sums, less);
  graph.point(DnnPointwise::Multiply, less, probabilities, times);
  graph.point(DnnPointwise::Multiply, times, scale, ofScores);
  multiplyTurned(p, ofScores, q, 7);
  // Straight to dq: by way of sums in float32, blocks would add in the order they come in.
  CudnnGraph::Tensor rowsOfK = graph.passing(p.type, p.shape.sizes(1), p.stridesOf(1));
  graph.reshape(k, rowsOfK);
  graph.multiply(ofScores, rowsOfK, p.operand(6));
}
} // namespace

Result<Handle> describeAttention(CudnnGraph &graph, const LibraryAttentionShape &shape, Handle library) {
  Parts parts(graph, shape);
  if (shape.gradient)
    describeGradient(parts);
  else
    describeForward(parts);
  return graph.finish(library);
}

} // namespace npar::engine::cuda
