// Runs candidates on drawn operands, with events around them, and compares what they make.
#include "engine/backends/cuda/library/ProductTrial.h"

#include "engine/backends/cuda/library/DrawnNumbers.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cmath>

namespace npar::engine::cuda {

using program::ElementType;

namespace {

constexpr int productRuns = 4;                         ///< of each candidate; the first one is not timed
constexpr uint64_t comparedBytes = uint64_t{16} << 20; ///< of C at its beginning, and as many at its end

/// The largest difference between two results, in any element and in the root mean square of all elements.
struct Tolerance {
  double each, mean = HUGE_VAL;
};

/// Returns the difference that two orders of a sum of k products of numbers in (-1, 1) explain. In a float32 product, TF32 would be nine
/// times as far off. Products in TF32 may also truncate operands where npar rounds them. The root mean square error of a product of such
/// numbers is then 1.06 * 2^-12. It is 2.9 * 2^-12 for operands rounded to bf16, and 7.5 * 2^-12 for operands truncated to it. The worst of
/// many elements would not distinguish these cases; the mean of a few dozen does.
Tolerance toleranceOf(const LibraryShape &shape) {
  double root = std::sqrt(static_cast<double>(shape.k));
  if (shape.tf32)
    return {0x1p-9 * root, 1.75 * 0x1p-12 * root};
  return {(program::isWide(shape.type) ? 0x1p-44 : program::isNarrow(shape.type) ? 0x1p-14 : 0x1p-16) * root};
}

/// In TF32, A's numbers are multiplied and B's divided by this. The products are the same, except in fp16, which cannot store such
/// exponents.
double spreadOf(const LibraryShape &shape) { return shape.tf32 ? 0x1p40 : 1; }

double roundingOf(ElementType type) { return program::isNarrow(type) ? program::lastPlace(type) : 0; }

bool areNear(const std::vector<uint8_t> &left, const std::vector<uint8_t> &right, const LibraryShape &shape) {
  Tolerance tolerance = toleranceOf(shape);
  double rounding = roundingOf(shape.result), squares = 0, compared = 0;
  for (size_t i = 0, count = left.size() / program::sizeOf(shape.result); i < count; ++i) {
    double one = elementAt(left, i, shape.result), other = elementAt(right, i, shape.result);
    if (std::isnan(one) && std::isnan(other)) // gaps of C
      continue;
    if (!(std::abs(one - other) <= tolerance.each + rounding * std::abs(one)))
      return false;
    squares += (one - other) * (one - other), ++compared;
  }
  double mean = tolerance.mean * (1 + 2 / std::sqrt(compared + 1)); // of few elements it is off by itself
  return tolerance.mean == HUGE_VAL || squares <= mean * mean * compared;
}

/// Returns true if equal results mean equal orders of sums. If there are few elements, and even more so if they were rounded to 16 bits,
/// another order may have the same results.
bool isTelling(const LibraryShape &shape) {
  double elements = static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.count);
  return shape.k == 1 || elements >= (program::isNarrow(shape.result) ? 0x1p20 : 0x1p8);
}

/// The memory, stream and events of a trial; all of them go with it.
class ProductCandidates {
public:
  ProductCandidates(const CudaDevice &device, const LibraryProduct &product, const OwnProduct &own, uint64_t workspaceBytes)
      : device(device), call(device.cuda().call()), product(product), shape(product.shape), own(own), workspaceBytes(workspaceBytes) {}
  ~ProductCandidates();
  Status open(const std::string &what);
  Result<std::optional<ProductChoice>> choose();

private:
  uint64_t bytesOf(int64_t elements, ElementType type) const { return static_cast<uint64_t>(elements) * program::sizeOf(type); }
  Code fill(DevicePointer target, uint64_t bytes, const std::vector<uint8_t> &numbers);
  Code prepare();
  Status read(std::vector<uint8_t> &bytes);
  Status runOwn(std::vector<uint8_t> &result);
  Result<bool> repeats(const LtCandidate &candidate, std::vector<uint8_t> &result, double &microseconds);
  Status wrong(Code code, const char *doing) const { return device.cuda().check(code, device.label() + ": " + doing); }

  const CudaDevice &device;
  const Functions &call;
  const LibraryProduct &product;
  const LibraryShape &shape;
  const OwnProduct &own;
  uint64_t workspaceBytes, bytesOfC = 0;
  DevicePointer a = 0, b = 0, c = 0, first = 0, workspace = 0; ///< first: what C holds before, where it is added to
  Handle stream = nullptr, begin = nullptr, end = nullptr;
};

ProductCandidates::~ProductCandidates() {
  device.enter();
  if (stream) {
    call.streamSynchronize(stream);
    call.streamDestroy(stream);
  }
  for (Handle event : {begin, end})
    if (event)
      call.eventDestroy(event);
  for (DevicePointer memory : {a, b, c, first, workspace})
    if (memory)
      device.release(memory);
}

Status ProductCandidates::open(const std::string &what) {
  device.enter();
  bytesOfC = bytesOf(shape.spanOfC(), shape.result);
  uint64_t bytesOfA = bytesOf(shape.spanOfA(), shape.type), bytesOfB = bytesOf(shape.spanOfB(), shape.type);
  std::pair<DevicePointer *, uint64_t> places[] = {
      {&a, bytesOfA}, {&b, bytesOfB}, {&c, bytesOfC}, {&first, shape.accumulate ? bytesOfC : 0}, {&workspace, workspaceBytes}};
  for (auto [place, bytes] : places) {
    Result<DevicePointer> memory = bytes ? device.allocate(bytes, "operands to try " + what + " on") : DevicePointer(0);
    if (!memory.ok())
      return memory.status();
    *place = *memory;
  }
  Code code = call.streamCreate(&stream, streamNonBlocking);
  for (Handle *event : {&begin, &end})
    code = code == Code::Success ? call.eventCreate(event, 0) : code;
  code = code == Code::Success ? fill(a, bytesOfA, drawnNumbers(shape.type, 1, spreadOf(shape))) : code;
  code = code == Code::Success ? fill(b, bytesOfB, drawnNumbers(shape.type, 2, 1 / spreadOf(shape))) : code;
  if (shape.accumulate)
    code = code == Code::Success ? fill(first, bytesOfC, drawnNumbers(shape.result, 3)) : code;
  return wrong(code, "preparing a trial of matrix products");
}

Code ProductCandidates::fill(DevicePointer target, uint64_t bytes, const std::vector<uint8_t> &numbers) {
  Code code = Code::Success;
  for (uint64_t at = 0; at < bytes && code == Code::Success; at += numbers.size())
    code = call.copyInAsync(target + at, numbers.data(), std::min<uint64_t>(numbers.size(), bytes - at), stream);
  return code == Code::Success ? call.streamSynchronize(stream) : code;
}

/// Fills C with its initial values, or with NaN, so that nothing of an earlier run is left.
Code ProductCandidates::prepare() {
  return shape.accumulate ? call.copyAsync(c, first, bytesOfC, stream) : call.setBytesAsync(c, 0xFF, bytesOfC, stream);
}

/// The beginning and the end of C: an algorithm that shares out its last tiles otherwise shows it there.
Status ProductCandidates::read(std::vector<uint8_t> &bytes) {
  uint64_t head = std::min(bytesOfC, comparedBytes), tail = std::min(bytesOfC - head, comparedBytes);
  bytes.resize(head + tail);
  Code code = call.copyOutAsync(bytes.data(), c, head, stream);
  if (code == Code::Success && tail > 0)
    code = call.copyOutAsync(bytes.data() + head, c + bytesOfC - tail, tail, stream);
  Code done = call.streamSynchronize(stream);
  return wrong(code == Code::Success ? done : code, "trying matrix products");
}

Status ProductCandidates::runOwn(std::vector<uint8_t> &result) {
  Code code = prepare();
  code = code == Code::Success ? own(a, b, c, stream) : code;
  return code == Code::Success ? read(result) : wrong(code, "trying npar's own matrix product");
}

/// False too where the library refuses to run it.
Result<bool> ProductCandidates::repeats(const LtCandidate &candidate, std::vector<uint8_t> &result, double &microseconds) {
  std::vector<uint8_t> again;
  for (int run = 0; run < productRuns; ++run) {
    Code code = prepare();
    code = code == Code::Success ? call.eventRecord(begin, stream) : code;
    if (product.start(candidate.algorithm, a, b, c, candidate.workspaceBytes ? workspace : 0, candidate.workspaceBytes, stream) !=
        LtCode::Success)
      return false;
    code = code == Code::Success ? call.eventRecord(end, stream) : code;
    if (code != Code::Success)
      return wrong(code, "trying matrix products");
    if (Status status = read(run == 0 ? result : again); !status.ok())
      return status;
    if (run > 0 && again != result)
      return false;
    float milliseconds = 0;
    if (Status status = wrong(call.eventElapsedTime(&milliseconds, begin, end), "timing matrix products"); !status.ok())
      return status;
    if (run > 0)
      microseconds = std::min(microseconds, 1000.0 * static_cast<double>(milliseconds));
  }
  return true;
}

Result<std::optional<ProductChoice>> ProductCandidates::choose() {
  Result<std::vector<LtCandidate>> candidates = product.candidates(workspaceBytes);
  if (!candidates.ok())
    return candidates.status();
  std::vector<uint8_t> ownResult, agreed, result;
  if (Status status = runOwn(ownResult); !status.ok())
    return status;
  std::optional<ProductChoice> best;
  bool telling = isTelling(shape);
  for (const LtCandidate &candidate : *candidates) {
    double microseconds = HUGE_VAL;
    Result<bool> good = repeats(candidate, result, microseconds);
    if (!good.ok())
      return good.status();
    bool ownBits = *good && telling && result == ownResult;
    if (!*good || !areNear(ownResult, result, shape) || (best && best->ownBits && !ownBits))
      continue;
    bool agrees = best && telling && result == agreed;
    if (best && !agrees && !ownBits)
      continue;
    if (!best || (ownBits && !best->ownBits) || microseconds < best->microseconds)
      best = ProductChoice{candidate.algorithm, candidate.workspaceBytes, microseconds, ownBits};
    agreed = result;
  }
  return best;
}

} // namespace

Result<std::optional<ProductChoice>> tryProduct(const CudaDevice &device, const LibraryProduct &product, const OwnProduct &own,
                                                uint64_t workspaceBytes, const std::string &what) {
  ProductCandidates trial(device, product, own, workspaceBytes);
  if (Status status = trial.open(what); !status.ok())
    return status;
  return trial.choose();
}

} // namespace npar::engine::cuda
