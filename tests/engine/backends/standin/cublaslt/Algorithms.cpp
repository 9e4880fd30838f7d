// The library's calls that look for algorithms and multiply.
#include "tests/engine/backends/standin/Guest.h"
#include "tests/engine/backends/standin/cublaslt/Descriptions.h"
#include "tests/engine/backends/standin/cublaslt/Multiply.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

using namespace npar::standin;
using namespace npar::standin::lt;

namespace {

constexpr uint64_t mark = 0x73746e64696e4c74;
constexpr uint64_t workspaceAlignment = 256;
constexpr uint8_t clobbered = 0xFB; ///< what is left of a workspace: NaN in every type

/// The meaning of an algorithm's words.
struct Kind {
  Sums sums;
  bool byWorkspace; ///< the result is there until it is copied, which is separate work
  uint32_t alignment;

  Algorithm words() const {
    Algorithm algorithm = {{mark, static_cast<uint64_t>(sums), byWorkspace, alignment, 0, 0, 0, 0}};
    algorithm.data[7] = sealOf(algorithm);
    return algorithm;
  }
  static std::optional<Kind> of(const Algorithm &algorithm) {
    if (algorithm.data[0] != mark || algorithm.data[7] != sealOf(algorithm))
      return std::nullopt;
    return Kind{static_cast<Sums>(algorithm.data[1]), algorithm.data[2] != 0, static_cast<uint32_t>(algorithm.data[3])};
  }
  static uint64_t sealOf(const Algorithm &algorithm) {
    uint64_t seal = 0;
    for (int i = 0; i < 7; ++i)
      seal = (seal ^ algorithm.data[i]) * 0x9E3779B97F4A7C15u + 1;
    return seal;
  }
};

/// The handles of a call, and what they stand for.
struct Asked {
  std::shared_ptr<Library> library;
  std::shared_ptr<Product> product;
  std::shared_ptr<Layout> a, b, c, d;
};

lt::Status find(Asked &asked, Handle library, Handle product, Handle a, Handle b, Handle c, Handle d) {
  Descriptions &all = Descriptions::instance();
  asked = {all.libraries.find(library), all.products.find(product), all.layouts.find(a),
           all.layouts.find(b),         all.layouts.find(c),        all.layouts.find(d)};
  if (!asked.library)
    return refuse(lt::Status::NotInitialized, "the library's handle is none, or no longer");
  if (!asked.product || !asked.a || !asked.b || !asked.c || !asked.d)
    return refuse(lt::Status::InvalidValue, "a product or a layout is none, or no longer");
  return lt::Status::Success;
}

/// The problem that a call describes; InvalidValue for what contradicts itself, NotSupported for what the real library has no kernel for.
lt::Status describe(const Asked &asked, Problem &problem) {
  const Product &product = *asked.product;
  const Layout &a = *asked.a, &b = *asked.b, &c = *asked.c, &d = *asked.d;
  bool turnA = product.transposeA != 0, turnB = product.transposeB != 0;
  int64_t m = turnA ? a.columns : a.rows, k = turnA ? a.rows : a.columns, inner = turnB ? b.columns : b.rows,
          n = turnB ? b.rows : b.columns;
  if (inner != k || d.rows != m || d.columns != n)
    return refuse(lt::Status::InvalidValue, "the matrices' sizes do not fit");
  if (c.rows != d.rows || c.columns != d.columns || c.type != d.type || c.leading != d.leading || c.stride != d.stride)
    return refuse(lt::Status::InvalidValue, "C and D have different layouts");
  if (a.count < 1 || a.count != b.count || a.count != c.count || a.count != d.count)
    return refuse(lt::Status::InvalidValue, "the matrices are differently many");
  if (c.count > 1 && c.stride < m)
    return refuse(lt::Status::InvalidValue, "the results of a batch overlap");
  bool wide = product.compute == Compute::F64, tf32 = product.compute == Compute::FastTf32,
       narrow = a.type == Type::F16 || a.type == Type::BF16;
  bool types =
      a.type == b.type && (wide ? a.type == Type::F64 : a.type != Type::F64) && (c.type == a.type || (narrow && c.type == Type::F32));
  if (!types || (tf32 && a.type != Type::F32) || a.order != 0 || b.order != 0 || c.order != 0)
    return lt::Status::NotSupported;
  for (const Layout *layout : {&a, &b, &c}) // of 16 bits always two together
    if ((layout->leading * static_cast<int64_t>(lt::sizeOf(layout->type))) % 4 != 0 ||
        (layout->stride * static_cast<int64_t>(lt::sizeOf(layout->type))) % 4 != 0)
      return lt::Status::NotSupported;
  problem = {m,
             n,
             k,
             a.count,
             {a.type, a.leading, a.stride, turnA},
             {b.type, b.leading, b.stride, turnB},
             {c.type, c.leading, c.stride, false},
             wide,
             tf32};
  return lt::Status::Success;
}

uint64_t workspaceOf(const Kind &kind, const Problem &problem) {
  if (kind.byWorkspace)
    return problem.bytesOfC();
  return kind.sums == Sums::Parts ? 3 * problem.bytesOfC() : 0;
}

Candidate candidateOf(const Kind &kind, const Problem &problem) {
  return {kind.words(), workspaceOf(kind, problem), lt::Status::Success, 1, {}};
}

bool isAligned(const Problem &p, uint64_t alignment) {
  for (const Problem::Matrix *matrix : {&p.a, &p.b, &p.c})
    if (static_cast<uint64_t>(matrix->leading) * lt::sizeOf(matrix->type) % alignment != 0 ||
        static_cast<uint64_t>(matrix->stride) * lt::sizeOf(matrix->type) % alignment != 0)
      return false;
  return true;
}

/// The algorithms that the environment asks for come first, so that a caller who takes the first of the list takes the worst.
std::vector<Candidate> candidatesOf(const Problem &problem, const Preference &preference) {
  const Wishes &wishes = Descriptions::instance().wishes;
  uint32_t least = *std::min_element(std::begin(preference.alignments), std::end(preference.alignments));
  std::vector<Kind> kinds;
  auto offer = [&](Sums sums, bool byWorkspace, uint32_t alignment) { kinds.push_back({sums, byWorkspace, alignment}); };
  if (wishes.restless)
    offer(Sums::Rotated, false, 4);
  if (wishes.tf32 && problem.a.type == Type::F32)
    offer(Sums::Tf32, false, 4);
  if (wishes.truncated && problem.tf32)
    offer(Sums::Truncated, false, 4);
  if (wishes.bf16 && problem.a.type == Type::F32)
    offer(Sums::Bf16, false, 4);
  if (wishes.fp16 && problem.a.type == Type::F32)
    offer(Sums::Fp16, false, 4);
  if (wishes.reversed)
    offer(Sums::Reversed, false, 4);
  if ((preference.schemes & schemeOfComputeType) != 0 && problem.k >= 3)
    offer(Sums::Parts, false, 4);
  if (least >= 16 && isAligned(problem, 16))
    offer(Sums::Chain, true, 16);
  if (kinds.empty() || !wishes.workspace)
    offer(Sums::Chain, false, 4);
  std::vector<Candidate> found;
  for (const Kind &kind : kinds)
    if (workspaceOf(kind, problem) <= preference.workspaceBytes && kind.alignment <= least)
      found.push_back(candidateOf(kind, problem));
  return found;
}

/// The work of a cublasLtMatmul call when the stream reaches it.
struct Run {
  Problem problem = {};
  Kind kind;
  uint64_t a, b, c, d, workspace, workspaceBytes;

  Outcome operator()(const FindBytes &find) const {
    uint8_t *atA = find(a, problem.bytesOfA()), *atB = find(b, problem.bytesOfB()), *atC = find(c, problem.bytesOfC()),
            *atD = find(d, problem.bytesOfC()), *scratch = workspaceBytes ? find(workspace, workspaceBytes) : nullptr;
    if (!atA || !atB || !atC || !atD || (workspaceBytes && !scratch))
      return {Code::IllegalAddress, "a product's operand or workspace is no memory, or not all of it"};
    static std::atomic<uint64_t> turns{0};
    if (scratch)
      std::memset(scratch, clobbered, workspaceBytes);
    multiply(problem, kind.sums, ++turns, atA, atB, atC, kind.byWorkspace ? scratch : atD);
    return {};
  }
};

/// The second half of an algorithm whose result is in the workspace until then. Other streams may run in between.
struct Copied {
  Run run;
  Outcome operator()(const FindBytes &find) const {
    uint8_t *atD = find(run.d, run.problem.bytesOfC()), *scratch = find(run.workspace, run.workspaceBytes);
    if (!atD || !scratch)
      return {Code::IllegalAddress, "a product's result or workspace is no memory any more"};
    const Problem &p = run.problem;
    uint64_t size = lt::sizeOf(p.c.type);
    for (int64_t which = 0; which < p.count; ++which)
      for (int64_t column = 0; column < p.n; ++column) {
        uint64_t at = static_cast<uint64_t>(which * p.c.stride + column * p.c.leading) * size;
        std::memcpy(atD + at, scratch + at, static_cast<uint64_t>(p.m) * size);
      }
    std::memset(scratch, clobbered, run.workspaceBytes);
    return {};
  }
};

bool overlap(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) { return a < b + bBytes && b < a + aBytes; }

/// Why a run cannot be, before it is in the stream; empty: it can.
std::string whyNot(const Run &run, const Kind &kind) {
  for (uint64_t address : {run.a, run.b, run.c, run.d})
    if (address == 0 || address % kind.alignment != 0)
      return "an operand is missing or less aligned than the algorithm was asked for";
  uint64_t needed = workspaceOf(kind, run.problem), bytes = run.problem.bytesOfC();
  if (run.workspaceBytes < needed || (needed > 0 && run.workspace == 0))
    return "the workspace is smaller than the algorithm needs";
  if (run.workspaceBytes > 0 && run.workspace % workspaceAlignment != 0)
    return "the workspace is misaligned";
  if (overlap(run.d, bytes, run.a, run.problem.bytesOfA()) || overlap(run.d, bytes, run.b, run.problem.bytesOfB()))
    return "D overlaps an operand";
  if (run.problem.beta != 0 && run.c != run.d && overlap(run.c, bytes, run.d, bytes))
    return "C and D overlap and are not the same";
  return "";
}

} // namespace

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulAlgoGetHeuristic(Handle library, Handle product, Handle a, Handle b, Handle c, Handle d,
                                                               Handle preferenceHandle, int asked, Candidate *found, int *count) {
  Descriptions &all = Descriptions::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  Asked handles;
  if (lt::Status status = find(handles, library, product, a, b, c, d); status != lt::Status::Success)
    return status;
  std::shared_ptr<Preference> preference = all.preferences.find(preferenceHandle);
  if (!preference || asked < 1 || !found || !count)
    return refuse(lt::Status::InvalidValue, "algorithms are asked for without a preference or without room for them");
  Problem problem = {};
  *count = 0;
  if (lt::Status status = describe(handles, problem); status != lt::Status::Success)
    return status;
  std::vector<Candidate> candidates = candidatesOf(problem, *preference);
  *count = std::min(asked, static_cast<int>(candidates.size()));
  std::copy_n(candidates.begin(), *count, found);
  return *count > 0 ? lt::Status::Success : lt::Status::NotSupported;
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulAlgoCheck(Handle library, Handle product, Handle a, Handle b, Handle c, Handle d,
                                                        const Algorithm *algorithm, Candidate *result) {
  std::lock_guard<std::mutex> lock(Descriptions::instance().mutex);
  Asked handles;
  if (lt::Status status = find(handles, library, product, a, b, c, d); status != lt::Status::Success)
    return status;
  std::optional<Kind> kind = algorithm ? Kind::of(*algorithm) : std::nullopt;
  if (!kind || !result)
    return refuse(lt::Status::InvalidValue, "an algorithm is checked that is none");
  Problem problem = {};
  if (lt::Status status = describe(handles, problem); status != lt::Status::Success)
    return status;
  if (!isAligned(problem, kind->alignment))
    return lt::Status::NotSupported;
  *result = candidateOf(*kind, problem);
  return lt::Status::Success;
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmulAlgoConfigGetAttribute(const Algorithm *algorithm, AlgorithmAttribute attribute, void *value,
                                                                     size_t bytes, size_t *written) {
  std::lock_guard<std::mutex> lock(Descriptions::instance().mutex);
  std::optional<Kind> kind = algorithm ? Kind::of(*algorithm) : std::nullopt;
  if (!kind || !value || bytes != 4 || !written)
    return refuse(lt::Status::InvalidValue, "an attribute of no algorithm, or of another size");
  bool parts = kind->sums == Sums::Parts;
  uint32_t number = 0;
  switch (attribute) {
  case AlgorithmAttribute::Id:
    number = static_cast<uint32_t>(kind->sums);
    break;
  case AlgorithmAttribute::PartsOfK:
    number = parts ? 3 : 1;
    break;
  case AlgorithmAttribute::ReductionScheme:
    number = parts ? schemeOfComputeType : 0;
    break;
  }
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return lt::Status::Success;
}

NPAR_STANDIN_LT_CALL lt::Status cublasLtMatmul(Handle library, Handle product, const void *alpha, const void *a, Handle layoutOfA,
                                               const void *b, Handle layoutOfB, const void *beta, const void *c, Handle layoutOfC, void *d,
                                               Handle layoutOfD, const Algorithm *algorithm, void *workspace, size_t workspaceBytes,
                                               Handle stream) {
  std::lock_guard<std::mutex> lock(Descriptions::instance().mutex);
  Asked handles;
  if (lt::Status status = find(handles, library, product, layoutOfA, layoutOfB, layoutOfC, layoutOfD); status != lt::Status::Success)
    return status;
  if (handles.library->device != nparStandinDevice())
    return refuse(lt::Status::ArchMismatch, "the handle was made for another device than the thread's");
  if (!algorithm) // the real library would choose an algorithm itself, each time
    return refuse(lt::Status::InvalidValue, "no algorithm is named");
  std::optional<Kind> kind = Kind::of(*algorithm);
  if (!kind || !alpha || !beta)
    return refuse(lt::Status::InvalidValue, "what is named is no algorithm, or a factor is missing");
  Problem problem = {};
  if (lt::Status status = describe(handles, problem); status != lt::Status::Success)
    return status;
  if (!isAligned(problem, kind->alignment))
    return refuse(lt::Status::NotSupported, "the algorithm needs matrices with a larger alignment");
  auto factor = [&](const void *at) {
    return problem.wide ? *static_cast<const double *>(at) : static_cast<double>(*static_cast<const float *>(at));
  };
  problem.alpha = factor(alpha), problem.beta = factor(beta);
  auto at = [](const void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  Run run{problem, *kind, at(a), at(b), at(c), at(d), at(workspace), workspaceBytes};
  if (std::string why = whyNot(run, *kind); !why.empty())
    return refuse(lt::Status::InvalidValue, why);
  Code code = nparStandinEnqueue(stream, run);
  if (code == Code::Success && kind->byWorkspace)
    code = nparStandinEnqueue(stream, Copied{run});
  return code == Code::Success ? lt::Status::Success : lt::Status::ExecutionFailed;
}
