// The attentions of a program on a GPU: kernels for their kinds, runs of the sequence in device memory, launches for their batches.
#include "engine/backends/cuda/program/CudaAttentions.h"

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cuda/driver/LaunchWords.h"
#include "engine/program/Attentions.h"
#include "engine/program/Elements.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace npar::engine::cuda {

namespace {
constexpr size_t mostOperands = 128;

uint64_t scaleBits(double scale, program::ElementType type) {
  uint64_t bits = 0;
  auto single = static_cast<float>(scale);
  if (program::isWide(type))
    std::memcpy(&bits, &scale, sizeof scale);
  else
    std::memcpy(&bits, &single, sizeof single);
  return bits;
}

/// Appends runs in the format of AttentionParameters and returns the number of their tiles.
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

Result<AttentionBy> attentionBy(const std::string &word) {
  if (word == "own")
    return AttentionBy::Own;
  if (word == "library")
    return AttentionBy::Library;
  return Status::badInput("unknown kind of attention '" + word + "': own and library exist");
}

Status CudaAttentions::load(const program::Program &program, CudaDevice &given, AttentionBy by) {
  device = &given;
  for (uint32_t i = 0; i < program.attentions()->size(); ++i)
    if (Status status = add(program, *program.attentions()->Get(i), "attention " + std::to_string(i)); !status.ok())
      return status;
  if (Status status = loadKernels(); !status.ok() || by == AttentionBy::Own)
    return status;
  return planLibrary(program);
}

/// Loads the kernels of attention, and those that run before and after the program's kernels of scores.
Status CudaAttentions::loadKernels() {
  KernelTexts own, steps;
  for (const Attention &attention : attentions) {
    for (const AttentionKind &kind : attention.kinds)
      own.add(kind, attentionText);
    if (!attention.scores)
      continue;
    scoreBytes = std::max(scoreBytes, attention.scores->memoryBytes());
    for (const ScoreStepKind &kind : attention.scores->steps())
      steps.add(kind, scoreStepText);
  }
  Result<KernelEntries> ofAttention = own.load(*device, "kernels of attention");
  if (!ofAttention.ok())
    return ofAttention.status();
  Result<KernelEntries> ofSteps = steps.load(*device, "kernels around scores of attention");
  if (!ofSteps.ok())
    return ofSteps.status();
  for (Attention &attention : attentions) {
    for (const AttentionKind &kind : attention.kinds)
      attention.functions.push_back(ofAttention->at(kind.name()));
    if (attention.scores)
      attention.scores->setFunctions(attention.functions, *ofSteps);
  }
  return {};
}

Status CudaAttentions::takeKernels(const std::vector<GpuKernel> &kernels, const std::vector<Handle> &entries) {
  for (Attention &attention : attentions)
    if (attention.scores)
      if (Status status = attention.scores->take(kernels, entries); !status.ok())
        return Status::badInput(attention.words + " " + status.message());
  return {};
}

Status CudaAttentions::add(const program::Program &program, const program::Attention &a, const std::string &what) {
  if (Result<ProductType> type = productType(a.type(), program::ProductOrder::Portable); !type.ok())
    return Status::badInput(what + " " + type.status().message());
  Attention attention;
  attention.words = what, attention.gradient = a.gradient();
  bool scored = a.kernels() && a.kernels()->size() > 0;
  AttentionKind kind = AttentionKind::of(a);
  attention.kinds = scored ? CudaScores::kinds(a) : std::vector<AttentionKind>{kind};
  if (a.gradient() && !scored)
    attention.kinds.emplace_back(kind).pass = AttentionPass::KeyGradient;
  if (kind.sharedBytes() > mostShared || a.heads() > mostBlocks)
    return Status::badInput(what + " has heads of " + std::to_string(a.features()) + " features and " + std::to_string(a.values()) +
                            " values, which is more than a block of a GPU keeps: run the program with " + nameOf(Option::Backend, "cpu"));
  std::vector<program::AttentionOperand> operands = program::attentionOperands(a).all;
  if (operands.size() > mostOperands)
    return Status::badInput(what + " has " + std::to_string(operands.size()) + " operands, more than there is room for");
  attention.parameters.heads = a.heads(), attention.parameters.rows = a.rows();
  attention.parameters.scale = scaleBits(a.scale(), a.type());
  addLoops(a, operands, attention);
  if (scored) {
    attention.scores = std::make_unique<CudaScores>(a, *device);
    attention.scores->setLoops(attention.loops);
  }
  Status status = addPieces(program, a, kind.tile(), attention);
  attentions.push_back(std::move(attention)); // with what was allocated
  return status;
}

void CudaAttentions::addLoops(const program::Attention &a, const std::vector<program::AttentionOperand> &operands, Attention &to) const {
  std::vector<const flatbuffers::Vector<int64_t> *> strides; // of each operand along the batch
  for (const program::AttentionOperand &operand : operands) {
    to.elementBytes.push_back(static_cast<int64_t>(program::sizeOf(operand.type)));
    strides.push_back(operand.datum ? operand.datum->batch() : a.strides()->Get(operand.strides)->batch());
    if (operand.datum)
      continue;
    const program::AttentionStrides &ofRows = *a.strides()->Get(operand.strides);
    to.parameters.strides[to.bare.size()] = {ofRows.row(), ofRows.head()};
    to.bare.push_back(strides.size() - 1);
  }
  for (auto &loop : to.parameters.loops)
    loop.size = 1;
  for (uint32_t i = a.batch()->size(); i-- > 0;) {
    AttentionLoop loop{a.batch()->Get(i), {}};
    for (const auto *each : strides)
      loop.strides.push_back(each->Get(i));
    if (to.loops.size() == attentionLoops || !to.outer.empty() || to.inner * loop.size > mostBlocks) {
      to.outer.insert(to.outer.begin(), loop);
      continue;
    }
    AttentionParameters::Loop &own = to.parameters.loops[to.loops.size()];
    own.size = loop.size;
    for (size_t bare = 0; bare < to.bare.size(); ++bare)
      own.strides[bare] = loop.strides[to.bare[bare]];
    to.inner *= loop.size;
    to.loops.push_back(std::move(loop));
  }
}

/// Computes the positions of queries and keys as backends/cpu/Attentions.cpp does.
Status CudaAttentions::addPieces(const program::Program &program, const program::Attention &a, int tile, Attention &to) {
  int64_t pieces = 1;
  if (program::knowsPositions(a))
    for (uint32_t axis : *a.axes()) {
      to.axes.emplace_back(axis, program.mesh()->Get(axis)->size());
      pieces *= to.axes.back().second;
    }
  for (int64_t number = 0; number < pieces; ++number) {
    int64_t source = 0;
    std::vector<program::SequenceRun> queries = {{0, a.rows(), 0}}, keys = {{0, a.keys(), 0}};
    if (program::knowsPositions(a)) {
      int64_t size = a.ring() || a.other() ? pieces * a.rows() : a.keys();
      source = a.ring() ? (number - static_cast<int64_t>(a.step()) + pieces) % pieces : 0;
      queries = program::sequenceRuns(number, a.rows(), size, a.zigzag());
      keys = program::sequenceRuns(source, a.keys(), size, a.other() ? 0 : a.zigzag());
    }
    if (to.scores)
      if (Status status = to.scores->addPiece(queries, keys, source); !status.ok())
        return Status::badInput(to.words + " " + status.message());
    std::vector<int64_t> numbers;
    Piece &piece = to.pieces.emplace_back();
    piece.queryTiles = appendRuns(queries, tile, numbers), piece.keyTiles = appendRuns(keys, tile, numbers);
    const std::string what = "the places of an attention's rows";
    if (Status status = device->upload(numbers.data(), numbers.size() * sizeof(int64_t), what, piece.runs); !status.ok())
      return status;
  }
  return {};
}

void CudaAttentions::start(uint32_t index, const DeviceAddress *buffers, const int64_t *context, size_t count, ThreadWork &work) {
  const Attention &attention = attentions[index];
  const std::vector<AttentionLoop> &loops = attention.plan ? attention.around : attention.outer;
  int64_t number = 0, launches = 1;
  for (auto [axis, size] : attention.axes)
    number = number * size + context[3 + axis];
  const Piece &piece = attention.pieces[static_cast<size_t>(number)];
  for (const AttentionLoop &loop : loops)
    launches *= loop.size;
  AttentionParameters parameters = attention.parameters;
  parameters.runs = piece.runs;
  DevicePointer kernelContext = attention.scores ? work.context(context, count) : 0;
  std::array<DevicePointer, mostOperands> operands;
  size_t operandCount = attention.elementBytes.size();
  for (int64_t at = 0; at < launches; ++at) {
    for (size_t operand = 0; operand < operandCount; ++operand) {
      int64_t elements = 0, rest = at;
      for (size_t i = loops.size(); i-- > 0; rest /= loops[i].size)
        elements += rest % loops[i].size * loops[i].strides[operand];
      operands[operand] = reinterpret_cast<DevicePointer>(buffers[operand].devicePointer()) +
                          static_cast<uint64_t>(elements * attention.elementBytes[operand]);
    }
    for (size_t bare = 0; bare < attention.bare.size(); ++bare)
      parameters.operands[bare] = operands[attention.bare[bare]];
    if (attention.plan)
      library->start(*attention.plan, std::vector<DevicePointer>(operands.data(), operands.data() + operandCount), work, attention.words);
    else if (attention.scores)
      attention.scores->start(static_cast<size_t>(number), operands.data(), parameters, kernelContext, work.deviceRoom(), work);
    else if (Handle stream = work.begin())
      work.note(launch(attention, piece, parameters, attention.inner, stream), attention.words);
  }
}

Code CudaAttentions::launch(const Attention &attention, const Piece &piece, const AttentionParameters &parameters, int64_t inner,
                            Handle stream) const {
  LaunchWords words(parameters);
  auto blocks = [](int64_t count) { return static_cast<unsigned>(count); };
  const Functions &call = device->cuda().call();
  Code code = call.launchKernel(attention.functions[0], blocks(piece.queryTiles), blocks(parameters.heads), blocks(inner), attentionThreads,
                                1, 1, 0, stream, words.pointers(), nullptr);
  if (!attention.gradient || code != Code::Success)
    return code;
  return call.launchKernel(attention.functions[1], blocks(piece.keyTiles), 1, blocks(inner), attentionThreads, 1, 1, 0, stream,
                           words.pointers(), nullptr);
}

Status CudaAttentions::planLibrary(const program::Program &program) {
  Result<std::unique_ptr<LibraryAttentions>> opened = LibraryAttentions::open(*device);
  if (!opened.ok())
    return opened.status();
  library = std::move(*opened);
  std::vector<std::vector<uint32_t>> alignments = alignmentsOfAttentions(program);
  for (uint32_t i = 0; i < attentions.size(); ++i) {
    Result<LibraryAttention> mapped = libraryAttention(program, *program.attentions()->Get(i), alignments[i]);
    Status status = mapped.ok() ? planLibrary(attentions[i], *mapped) : mapped.status();
    if (!status.ok() && status.code() != engine::Code::BadInput)
      return status;
    attentions[i].why = status.message();
  }
  return {};
}

/// Compares the library with npar's own kernels on the samples and heads of one launch.
Status CudaAttentions::planLibrary(Attention &attention, const LibraryAttention &mapped) {
  AttentionParameters parameters = attention.parameters;
  const Piece &piece = attention.pieces.front();
  parameters.runs = piece.runs;
  int64_t inner = mapped.samples.size * mapped.heads.size;
  if (inner > mostBlocks)
    return Status::badInput("has a batch of " + std::to_string(inner) + ", more than a launch");
  for (size_t i = 0; i < attentionLoops; ++i) {
    const AttentionLoop &loop = i == 0 ? mapped.heads : i == 1 ? mapped.samples : AttentionLoop{1, std::vector<int64_t>(attentionOperands)};
    parameters.loops[i] = {};
    parameters.loops[i].size = loop.size;
    std::copy_n(loop.strides.begin(), attention.bare.size(), parameters.loops[i].strides);
  }
  auto own = [&](const std::vector<DevicePointer> &operands, Handle stream) {
    std::copy(operands.begin(), operands.end(), parameters.operands);
    return launch(attention, piece, parameters, inner, stream);
  };
  Result<const LibraryAttentions::Plan *> plan = library->plan(mapped.shape, own, attention.words);
  if (!plan.ok())
    return plan.status();
  attention.plan = *plan, attention.around = mapped.around;
  return {};
}

std::vector<std::string> CudaAttentions::remarks() const {
  if (!library || attentions.empty())
    return {};
  std::vector<std::string> said;
  std::map<std::string, std::vector<std::string>> others; // by why
  size_t taken = 0;
  for (const Attention &attention : attentions) {
    taken += attention.plan ? 1 : 0;
    if (!attention.plan)
      others[attention.why].push_back(attention.words);
  }
  for (const auto &[why, which] : others)
    said.push_back((which.size() == 1 ? which.front() : std::to_string(which.size()) + " attentions, of which " + which.front()) + " " +
                   why + ": npar's own kernels compute it");
  said.push_back("cuDNN " + library->version() + " has " + std::to_string(taken) + " of " + std::to_string(attentions.size()) +
                 " attentions, and " + std::to_string(workspaceBytes()) + " bytes of workspace for each rank here");
  return said;
}

} // namespace npar::engine::cuda
