// The attentions of a program on a GPU: kernels for their kinds, runs of the sequence in device memory, launches for their batches.
#include "engine/backends/cuda/CudaAttentions.h"

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cuda/Ptx.h"
#include "engine/program/Attentions.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cstring>

namespace npar::engine::cuda {

namespace {
/// Blocks of a launch in its second and third direction.
constexpr int64_t mostBlocks = 65535;

uint64_t scaleBits(double scale, program::ElementType type) {
  uint64_t bits = 0;
  auto single = static_cast<float>(scale);
  if (type == program::ElementType::F64)
    std::memcpy(&bits, &scale, sizeof scale);
  else
    std::memcpy(&bits, &single, sizeof single);
  return bits;
}

/// As AttentionParameters has them in memory; returns how many tiles they have.
int64_t appendRuns(const std::vector<program::SequenceRun> &runs, int tile, std::vector<int64_t> &numbers) {
  int64_t tiles = 0;
  numbers.push_back(static_cast<int64_t>(runs.size()));
  for (const program::SequenceRun &run : runs) {
    numbers.insert(numbers.end(), {run.at, run.count, run.position});
    tiles += (run.count + tile - 1) / tile;
  }
  return tiles;
}
} // namespace

CudaAttentions::~CudaAttentions() {
  if (device)
    device->enter();
  for (const Attention &attention : attentions)
    for (const Piece &piece : attention.pieces)
      if (piece.runs)
        device->release(piece.runs);
}

Status CudaAttentions::load(const program::Program &program, CudaDevice &given) {
  device = &given;
  std::vector<AttentionKind> kinds; // of all functions, in their order
  for (uint32_t i = 0; i < program.attentions()->size(); ++i)
    if (Status status = add(program, *program.attentions()->Get(i), "attention " + std::to_string(i), kinds); !status.ok())
      return status;
  std::vector<std::string> names, texts;
  std::vector<size_t> kernelOf;
  for (const AttentionKind &kind : kinds) {
    auto found = std::find(names.begin(), names.end(), kind.name());
    kernelOf.push_back(static_cast<size_t>(found - names.begin()));
    if (found == names.end()) {
      names.push_back(kind.name());
      texts.push_back(attentionText(kind));
    }
  }
  if (names.empty())
    return {};
  Result<std::vector<Handle>> functions = given.load(moduleText(texts), "kernels of attention", names);
  if (!functions.ok())
    return functions.status();
  size_t next = 0;
  for (Attention &attention : attentions)
    for (size_t i = 0; i < (attention.gradient ? 2u : 1u); ++i)
      attention.functions.push_back((*functions)[kernelOf[next++]]);
  return {};
}

Status CudaAttentions::add(const program::Program &program, const program::Attention &a, const std::string &what,
                           std::vector<AttentionKind> &kinds) {
  if (Result<ProductType> type = productType(a.type()); !type.ok())
    return Status::badInput(what + " " + type.status().message());
  if (a.kernels() && a.kernels()->size() > 0)
    return Status::badInput(what +
                            " changes its scores (a bias, a mask, a window, dropout of probabilities), which the cuda backend cannot "
                            "do yet: run the program with --backend cpu");
  Attention attention;
  attention.words = what, attention.gradient = a.gradient();
  AttentionKind kind{a.gradient() ? AttentionPass::QueryGradient : AttentionPass::Forward,
                     a.type(),
                     a.features(),
                     a.values(),
                     a.causal(),
                     program::isPlaced(a),
                     a.continues(),
                     a.unfinished()};
  kinds.push_back(kind);
  if (a.gradient()) {
    kind.pass = AttentionPass::KeyGradient;
    kinds.push_back(kind);
  }
  if (kind.sharedBytes() > mostShared || a.heads() > mostBlocks)
    return Status::badInput(what + " has heads of " + std::to_string(a.features()) + " features and " + std::to_string(a.values()) +
                            " values, which is more than a block of a GPU keeps: run the program with --backend cpu");
  std::vector<program::AttentionOperand> operands = program::attentionOperands(a).all;
  attention.operands = operands.size();
  attention.parameters.heads = a.heads(), attention.parameters.rows = a.rows();
  attention.parameters.scale = scaleBits(a.scale(), a.type());
  for (size_t i = 0; i < operands.size(); ++i) {
    const program::AttentionStrides &strides = *a.strides()->Get(operands[i].strides);
    attention.parameters.strides[i] = {strides.row(), strides.head()};
    attention.elementBytes[i] = static_cast<int64_t>(program::sizeOf(operands[i].type));
  }
  size_t used = 0;
  for (auto &loop : attention.parameters.loops)
    loop.size = 1;
  for (uint32_t i = a.batch()->size(); i-- > 0;) {
    Loop loop{a.batch()->Get(i), {}};
    for (size_t operand = 0; operand < operands.size(); ++operand)
      loop.strides[operand] = a.strides()->Get(operands[operand].strides)->batch()->Get(i);
    if (used < attentionLoops && attention.outer.empty() && attention.inner * loop.size <= mostBlocks) {
      attention.parameters.loops[used].size = loop.size;
      std::copy(std::begin(loop.strides), std::end(loop.strides), attention.parameters.loops[used++].strides);
      attention.inner *= loop.size;
    } else {
      attention.outer.insert(attention.outer.begin(), loop);
    }
  }
  Status status = addPieces(program, a, kind.tile(), attention);
  attentions.push_back(std::move(attention)); // with what was allocated
  return status;
}

/// As backends/cpu/Attentions.cpp says where queries and keys stand.
Status CudaAttentions::addPieces(const program::Program &program, const program::Attention &a, int tile, Attention &to) {
  int64_t pieces = 1;
  if (program::knowsPositions(a))
    for (uint32_t axis : *a.axes()) {
      to.axes.emplace_back(axis, program.mesh()->Get(axis)->size());
      pieces *= to.axes.back().second;
    }
  for (int64_t number = 0; number < pieces; ++number) {
    std::vector<program::SequenceRun> queries = {{0, a.rows(), 0}}, keys = {{0, a.keys(), 0}};
    if (program::knowsPositions(a)) {
      int64_t size = a.ring() || a.other() ? pieces * a.rows() : a.keys();
      int64_t source = a.ring() ? (number - static_cast<int64_t>(a.step()) + pieces) % pieces : 0;
      queries = program::sequenceRuns(number, a.rows(), size, a.zigzag());
      keys = program::sequenceRuns(source, a.keys(), size, a.other() ? 0 : a.zigzag());
    }
    std::vector<int64_t> numbers;
    Piece piece;
    piece.queryTiles = appendRuns(queries, tile, numbers), piece.keyTiles = appendRuns(keys, tile, numbers);
    Result<DevicePointer> memory = device->allocate(numbers.size() * sizeof(int64_t), "the places of an attention's rows");
    if (!memory.ok())
      return memory.status();
    piece.runs = *memory;
    to.pieces.push_back(piece);
    if (Status status = device->write(piece.runs, numbers.data(), numbers.size() * sizeof(int64_t)); !status.ok())
      return status;
  }
  return {};
}

void CudaAttentions::start(uint32_t index, const DeviceAddress *buffers, const int64_t *context, ThreadWork &work) const {
  const Attention &attention = attentions[index];
  int64_t number = 0, launches = 1;
  for (auto [axis, size] : attention.axes)
    number = number * size + context[3 + axis];
  const Piece &piece = attention.pieces[static_cast<size_t>(number)];
  for (const Loop &loop : attention.outer)
    launches *= loop.size;
  AttentionParameters parameters = attention.parameters;
  parameters.runs = piece.runs;
  for (int64_t at = 0; at < launches; ++at) {
    for (size_t operand = 0; operand < attention.operands; ++operand) {
      int64_t elements = 0, rest = at;
      for (size_t i = attention.outer.size(); i-- > 0; rest /= attention.outer[i].size)
        elements += rest % attention.outer[i].size * attention.outer[i].strides[operand];
      parameters.operands[operand] = reinterpret_cast<DevicePointer>(buffers[operand].devicePointer()) +
                                     static_cast<uint64_t>(elements * attention.elementBytes[operand]);
    }
    launch(attention, piece, parameters, work);
  }
}

void CudaAttentions::launch(const Attention &attention, const Piece &piece, const AttentionParameters &parameters, ThreadWork &work) const {
  Handle stream = work.begin();
  if (!stream)
    return;
  AttentionParameters copy = parameters;
  auto *numbers = reinterpret_cast<uint64_t *>(&copy);
  void *pointers[attentionParameterCount];
  for (int i = 0; i < attentionParameterCount; ++i)
    pointers[i] = numbers + i;
  auto blocks = [](int64_t count) { return static_cast<unsigned>(count); };
  const Functions &call = device->cuda().call();
  Code code = call.launchKernel(attention.functions[0], blocks(piece.queryTiles), blocks(copy.heads), blocks(attention.inner),
                                attentionThreads, 1, 1, 0, stream, pointers, nullptr);
  work.note(code, attention.words);
  if (!attention.gradient)
    return;
  code = call.launchKernel(attention.functions[1], blocks(piece.keyTiles), 1, blocks(attention.inner), attentionThreads, 1, 1, 0, stream,
                           pointers, nullptr);
  work.note(code, "the gradients of keys of " + attention.words);
}

} // namespace npar::engine::cuda
