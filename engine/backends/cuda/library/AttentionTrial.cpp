// Runs npar's own kernels and cuDNN's plans on drawn operands, and compares what they make.
#include "engine/backends/cuda/library/AttentionTrial.h"

#include "engine/backends/cuda/library/DrawnNumbers.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace npar::engine::cuda {

using program::ElementType;

namespace {
constexpr int attentionRuns = 3; ///< of each plan

uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
} // namespace

uint64_t workspaceBytes(const LibraryAttentionShape &shape, const DnnPlan &plan) { return rounded(sumsBytes(shape)) + plan.workspaceBytes; }

DnnCode executeAttention(const Cudnn &dnn, Handle library, const LibraryAttentionShape &shape, const DnnPlan &plan,
                         const AttentionCall &call) {
  auto scale = static_cast<float>(shape.scale), hidden = std::numeric_limits<float>::lowest(), one = 1.0f;
  std::vector<int64_t> numbers;
  std::vector<void *> pointers;
  auto give = [&](int64_t number, void *pointer) { numbers.push_back(number), pointers.push_back(pointer); };
  for (size_t i = 0; i < call.operands.size(); ++i)
    give(static_cast<int64_t>(i) + 1, reinterpret_cast<void *>(call.operands[i]));
  give(ScaleNumber, &scale);
  if (shape.causal)
    give(HiddenNumber, &hidden);
  if (shape.gradient) {
    give(OneNumber, &one);
    give(SumsNumber, reinterpret_cast<void *>(call.workspace));
  }
  auto *workspace = reinterpret_cast<void *>(call.workspace + rounded(sumsBytes(shape)));
  const DnnFunctions &functions = dnn.call();
  Handle handle = nullptr;
  DnnCode code = functions.describe(DnnDescriptor::Operands, &handle);
  DnnObject operands(dnn, code == DnnCode::Success ? handle : nullptr);
  auto set = [&](DnnAttribute attribute, DnnType type, size_t count, const void *values) {
    if (code == DnnCode::Success)
      code = functions.set(handle, attribute, type, static_cast<int64_t>(count), values);
  };
  set(DnnAttribute::OperandNumbers, DnnType::Int64, numbers.size(), numbers.data());
  set(DnnAttribute::OperandPointers, DnnType::Pointer, pointers.size(), pointers.data());
  set(DnnAttribute::OperandWorkspace, DnnType::Pointer, 1, &workspace);
  code = code == DnnCode::Success ? functions.finish(handle) : code;
  return code == DnnCode::Success ? functions.execute(library, plan.plan.get(), handle) : code;
}

namespace {
/// Runs plans for one attention. Owns the memory and the stream of the trial.
class AttentionCandidates {
public:
  AttentionCandidates(const CudaDevice &device, const Cudnn &dnn, Handle library, const LibraryAttentionShape &shape)
      : device(device), call(device.cuda().call()), dnn(dnn), library(library), shape(shape),
        firstResult(shape.gradient ? shape.lse() + 1 : 3) {}
  ~AttentionCandidates();
  Status open(uint64_t workspace, const std::string &what);
  Status runOwn(const OwnAttention &own);
  Result<bool> isGood(const DnnPlan &plan);

private:
  using Results = std::vector<std::vector<uint8_t>>; ///< bytes of each
  ElementType typeOf(size_t operand) const { return operand == shape.lse() ? program::widened(shape.type) : shape.type; }
  uint64_t bytesOf(size_t operand) const { return static_cast<uint64_t>(shape.span(operand)) * program::sizeOf(typeOf(operand)); }
  Status fill(size_t operand);
  Status clear();
  Status read(Results &results);
  bool areNear(const Results &results) const;
  Status wrong(Code code, const char *doing) const { return device.cuda().check(code, device.label() + ": " + doing); }

  const CudaDevice &device;
  const Functions &call;
  const Cudnn &dnn;
  Handle library;
  const LibraryAttentionShape &shape;
  const size_t firstResult;
  AttentionCall places;
  Handle stream = nullptr;
  Results wanted;
};

AttentionCandidates::~AttentionCandidates() {
  device.enter();
  if (stream) {
    call.streamSynchronize(stream);
    call.streamDestroy(stream);
  }
  for (DevicePointer memory : places.operands)
    device.release(memory);
  if (places.workspace)
    device.release(places.workspace);
}

Status AttentionCandidates::open(uint64_t workspace, const std::string &what) {
  device.enter();
  if (Status status = wrong(call.streamCreate(&stream, streamNonBlocking), "preparing a trial of attention"); !status.ok())
    return status;
  for (size_t i = 0; i < shape.operands(); ++i) {
    Result<DevicePointer> memory = device.allocate(bytesOf(i), "operands to try " + what + " on");
    if (!memory.ok())
      return memory.status();
    places.operands.push_back(*memory);
    if (i < firstResult)
      if (Status status = fill(i); !status.ok())
        return status;
  }
  if (workspace > 0) {
    Result<DevicePointer> memory = device.allocate(workspace, "a workspace to try " + what + " in");
    if (!memory.ok())
      return memory.status();
    places.workspace = *memory;
  }
  return {};
}

/// A gradient is a function of q, k, v, out, dout and lse, whether or not they belong together. lse is such that probabilities add up to
/// about one.
Status AttentionCandidates::fill(size_t operand) {
  std::vector<uint8_t> numbers = drawnNumbers(typeOf(operand), operand + 1);
  if (operand == shape.lse())
    for (size_t i = 0; i < numbers.size() / sizeof(float); ++i)
      reinterpret_cast<float *>(numbers.data())[i] += std::log(static_cast<float>(shape.keys));
  Code code = Code::Success;
  for (uint64_t at = 0, bytes = bytesOf(operand); at < bytes && code == Code::Success; at += numbers.size())
    code = call.copyInAsync(places.operands[operand] + at, numbers.data(), std::min<uint64_t>(numbers.size(), bytes - at), stream);
  Code done = call.streamSynchronize(stream);
  return wrong(code == Code::Success ? done : code, "preparing a trial of attention");
}

/// Results are NaN, so that nothing of an earlier run is left.
Status AttentionCandidates::clear() {
  Code code = Code::Success;
  for (size_t i = firstResult; i < shape.operands() && code == Code::Success; ++i)
    code = call.setBytesAsync(places.operands[i], 0xFF, bytesOf(i), stream);
  return wrong(code, "trying attention");
}

Status AttentionCandidates::read(Results &results) {
  Code code = Code::Success;
  results.resize(shape.operands() - firstResult);
  for (size_t i = 0; i < results.size() && code == Code::Success; ++i) {
    results[i].resize(bytesOf(firstResult + i));
    code = call.copyOutAsync(results[i].data(), places.operands[firstResult + i], results[i].size(), stream);
  }
  Code done = call.streamSynchronize(stream);
  return wrong(code == Code::Success ? done : code, "trying attention");
}

Status AttentionCandidates::runOwn(const OwnAttention &own) {
  Status status = clear();
  if (status.ok())
    status = wrong(own(places.operands, stream), "trying npar's own attention");
  return status.ok() ? read(wanted) : status;
}

/// Probabilities and gradients of scores are rounded to the type on their way into a product: errors of its last place, relative to the
/// size of what is added up.
bool AttentionCandidates::areNear(const Results &results) const {
  for (size_t which = 0; which < results.size(); ++which) {
    ElementType type = typeOf(firstResult + which);
    size_t count = results[which].size() / program::sizeOf(type);
    double squares = 0, numbers = 0;
    for (size_t i = 0; i < count; ++i)
      if (double value = elementAt(wanted[which], i, type); !std::isnan(value))
        squares += value * value, ++numbers;
    double place = program::isNarrow(type) ? program::lastPlace(type) / 2 : 0x1p-14;
    double usual = std::sqrt(squares / std::max(numbers, 1.0));
    for (size_t i = 0; i < count; ++i) {
      double own = elementAt(wanted[which], i, type), other = elementAt(results[which], i, type);
      bool isGap = std::isnan(own) && std::isnan(other);
      if (!isGap && !(std::abs(own - other) <= place * (8 * usual + 2 * std::abs(own))))
        return false;
    }
  }
  return true;
}

/// False too where the library refuses to run it.
Result<bool> AttentionCandidates::isGood(const DnnPlan &plan) {
  Results first, again;
  for (int run = 0; run < attentionRuns; ++run) {
    if (Status status = clear(); !status.ok())
      return status;
    if (dnn.call().setStream(library, stream) != DnnCode::Success ||
        executeAttention(dnn, library, shape, plan, places) != DnnCode::Success)
      return false;
    if (Status status = read(run == 0 ? first : again); !status.ok())
      return status;
    if (run > 0 && again != first)
      return false;
  }
  return areNear(first);
}
} // namespace

Result<size_t> tryAttention(const CudaDevice &device, const Cudnn &dnn, Handle library, const LibraryAttentionShape &shape,
                            const std::vector<DnnPlan> &plans, const OwnAttention &own, const std::string &what) {
  if (plans.empty())
    return size_t{0};
  uint64_t workspace = 0;
  for (const DnnPlan &plan : plans)
    workspace = std::max(workspace, workspaceBytes(shape, plan));
  AttentionCandidates trial(device, dnn, library, shape);
  Status status = trial.open(workspace, what);
  if (status.ok())
    status = trial.runOwn(own);
  if (!status.ok())
    return status;
  for (size_t i = 0; i < plans.size(); ++i) {
    Result<bool> good = trial.isGood(plans[i]);
    if (!good.ok())
      return good.status();
    if (*good)
      return i;
  }
  return plans.size();
}

} // namespace npar::engine::cuda
