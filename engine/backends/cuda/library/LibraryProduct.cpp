// Describes products to cuBLASLt.
#include "engine/backends/cuda/library/LibraryProduct.h"

#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::engine::cuda {

using program::ElementType;

namespace {
constexpr int mostCandidates = 16;

LtType libraryType(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return LtType::F64;
  case ElementType::BF16:
    return LtType::BF16;
  case ElementType::F16:
    return LtType::F16;
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::U8:
    break;
  }
  return LtType::F32; // integers are refused before
}
} // namespace

LibraryProduct::LibraryProduct(const CublasLt &lt, Handle library, const LibraryShape &shape, const RowCopies &copies,
                               const CopyLimits &limits)
    : shape(shape), lt(lt), library(library), copies(copies), pieces(copiedPieces(shape, limits)) {
  whole = std::make_unique<Described>(lt, pieces ? pieces->whole : shape);
  if (pieces && pieces->last.m != pieces->whole.m)
    last = std::make_unique<Described>(lt, pieces->last);
}

Result<std::unique_ptr<LibraryProduct>> LibraryProduct::make(const CublasLt &lt, Handle library, const LibraryShape &shape,
                                                             const RowCopies &copies, const CopyLimits &limits) {
  std::unique_ptr<LibraryProduct> made(new LibraryProduct(lt, library, shape, copies, limits));
  Status status = made->whole->describe();
  if (status.ok() && made->last)
    status = made->last->describe();
  if (!status.ok())
    return status;
  return made;
}

std::string LibraryProduct::words() const { return shape.words() + (pieces ? " copied " + std::to_string(pieces->rows) : ""); }

LibraryProduct::Described::~Described() {
  for (Handle layout : {a, b, c})
    if (layout)
      lt.call().layoutDestroy(layout);
  if (product)
    lt.call().productDestroy(product);
}

Status LibraryProduct::Described::describe() {
  bool wide = program::isWide(shape.type);
  const LtFunctions &call = lt.call();
  LtCompute compute = wide ? LtCompute::F64 : shape.tf32 ? LtCompute::FastTf32 : LtCompute::F32;
  LtCode code = call.productCreate(&product, compute, libraryType(program::widened(shape.type)));
  // A matrix stored by rows is its transpose stored by columns, which is what the library expects.
  for (auto [attribute, matrix] : {std::pair{LtProductAttribute::TransposeA, &shape.b}, {LtProductAttribute::TransposeB, &shape.a}}) {
    LtOperation operation = matrix->turned ? LtOperation::Transposed : LtOperation::AsItLies;
    if (code == LtCode::Success)
      code = call.productSet(product, attribute, &operation, sizeof operation);
  }
  Status status = lt.check(code, "describing a matrix product");
  if (status.ok())
    status = describe(a, shape.type, shape.m, shape.k, shape.a);
  if (status.ok())
    status = describe(b, shape.type, shape.k, shape.n, shape.b);
  return status.ok() ? describe(c, shape.result, shape.m, shape.n, shape.c) : status;
}

Status LibraryProduct::Described::describe(Handle &layout, ElementType type, int64_t rows, int64_t columns,
                                           const LibraryShape::Matrix &matrix) {
  auto inLine = static_cast<uint64_t>(matrix.turned ? rows : columns), lines = static_cast<uint64_t>(matrix.turned ? columns : rows);
  const LtFunctions &call = lt.call();
  LtCode code = call.layoutCreate(&layout, libraryType(type), inLine, lines, matrix.leading);
  auto count = static_cast<int32_t>(shape.count);
  if (code == LtCode::Success && count > 1)
    code = call.layoutSet(layout, LtLayoutAttribute::BatchCount, &count, sizeof count);
  if (code == LtCode::Success && count > 1)
    code = call.layoutSet(layout, LtLayoutAttribute::BatchStride, &matrix.stride, sizeof matrix.stride);
  return lt.check(code, "describing a matrix");
}

Result<std::vector<LtCandidate>> LibraryProduct::candidates(uint64_t workspaceBytes) const {
  using A = LtPreferenceAttribute;
  const LtFunctions &call = lt.call();
  const LibraryShape &asked = whole->shape;
  Handle preference = nullptr;
  LtCode code = call.preferenceCreate(&preference);
  workspaceBytes -= std::min(workspaceBytes, copiedBytes());
  if (code == LtCode::Success)
    code = call.preferenceSet(preference, A::WorkspaceBytes, &workspaceBytes, sizeof workspaceBytes);
  uint32_t none = 0; // ways to add up parts of k; an algorithm that splits k adds in another order
  std::pair<A, const uint32_t *> numbers[] = {{A::ReductionSchemes, &none},
                                              {A::AlignmentOfA, &asked.b.alignment},
                                              {A::AlignmentOfB, &asked.a.alignment},
                                              {A::AlignmentOfC, &asked.c.alignment},
                                              {A::AlignmentOfD, &asked.c.alignment}};
  for (auto [attribute, value] : numbers)
    if (code == LtCode::Success)
      code = call.preferenceSet(preference, attribute, value, sizeof *value);
  std::vector<LtCandidate> found(mostCandidates);
  int count = 0;
  if (code == LtCode::Success) {
    code =
        call.candidates(library, whole->product, whole->b, whole->a, whole->c, whole->c, preference, mostCandidates, found.data(), &count);
    if (code == LtCode::NotSupported)
      code = LtCode::Success, count = 0;
  }
  if (preference)
    call.preferenceDestroy(preference);
  if (Status status = lt.check(code, "asking for algorithms"); !status.ok())
    return status;
  found.resize(static_cast<size_t>(count));
  auto splits = [&](const LtCandidate &one) {
    int32_t parts = 0;
    uint32_t scheme = 0;
    size_t written = 0;
    return one.state != LtCode::Success || one.workspaceBytes > workspaceBytes ||
           call.algorithmGet(&one.algorithm, LtAlgorithmAttribute::PartsOfK, &parts, sizeof parts, &written) != LtCode::Success ||
           call.algorithmGet(&one.algorithm, LtAlgorithmAttribute::ReductionScheme, &scheme, sizeof scheme, &written) != LtCode::Success ||
           parts > 1 || scheme != 0 || (last && !takes(*last, one.algorithm, workspaceBytes));
  };
  found.erase(std::remove_if(found.begin(), found.end(), splits), found.end());
  for (LtCandidate &one : found)
    one.workspaceBytes += copiedBytes();
  return found;
}

bool LibraryProduct::takes(const Described &call, const LtAlgorithm &algorithm, uint64_t workspaceBytes) const {
  LtCandidate result = {};
  return lt.call().check(library, call.product, call.b, call.a, call.c, call.c, &algorithm, &result) == LtCode::Success &&
         result.workspaceBytes <= workspaceBytes;
}

bool LibraryProduct::takes(const LtAlgorithm &algorithm, uint64_t workspaceBytes) const {
  if (workspaceBytes < copiedBytes())
    return false;
  workspaceBytes -= copiedBytes();
  return takes(*whole, algorithm, workspaceBytes) && (!last || takes(*last, algorithm, workspaceBytes));
}

LtCode LibraryProduct::multiply(const Described &call, const LtAlgorithm &algorithm, DevicePointer a, DevicePointer b, DevicePointer c,
                                DevicePointer workspace, uint64_t workspaceBytes, Handle stream) const {
  const float ones[] = {1.0f, shape.accumulate ? 1.0f : 0.0f};
  const double wideOnes[] = {1.0, shape.accumulate ? 1.0 : 0.0};
  bool wide = program::isWide(shape.type);
  auto scale = [&](int i) { return wide ? static_cast<const void *>(wideOnes + i) : ones + i; };
  auto at = [](DevicePointer address) { return reinterpret_cast<void *>(address); };
  return lt.call().multiply(library, call.product, scale(0), at(b), call.b, at(a), call.a, scale(1), at(c), call.c, at(c), call.c,
                            &algorithm, at(workspace), workspaceBytes, stream);
}

LtCode LibraryProduct::start(const LtAlgorithm &algorithm, DevicePointer a, DevicePointer b, DevicePointer c, DevicePointer workspace,
                             uint64_t workspaceBytes, Handle stream) const {
  if (!pieces)
    return multiply(*whole, algorithm, a, b, c, workspace, workspaceBytes, stream);
  const CopiedPieces &p = *pieces;
  auto bytes = static_cast<int64_t>(program::sizeOf(shape.type)), resultBytes = static_cast<int64_t>(program::sizeOf(shape.result));
  DevicePointer ofA = workspace, ofB = ofA + p.bytesOfA, ofC = ofB + p.bytesOfB, rest = ofC + p.bytesOfC;
  uint64_t restBytes = workspaceBytes - p.bytes();
  auto copy = [&](const CopiedLines &to, const CopiedLines &from, int64_t lines, int64_t columns, int64_t each) {
    return copies.start(to, from, lines, columns, static_cast<size_t>(each), stream) == Code::Success;
  };
  auto copyOperand = [&](DevicePointer to, const LibraryShape::Matrix &in, DevicePointer from, const LibraryShape::Matrix &as, int64_t rows,
                         int64_t columns) {
    return copy({to, in.leading}, {from, as.leading}, as.turned ? columns : rows, as.turned ? rows : columns, bytes);
  };
  bool good = p.whole.n == shape.n || copies.zero(ofB, p.bytesOfB, stream) == Code::Success;
  good = good && (!p.b || copyOperand(ofB, p.whole.b, b, shape.b, shape.k, shape.n));
  for (int64_t first = 0; first < shape.m && good; first += p.rows) {
    int64_t rows = std::min(p.rows, shape.m - first);
    DevicePointer hereA = a + static_cast<uint64_t>((shape.a.turned ? first : first * shape.a.leading) * bytes);
    DevicePointer hereC = c + static_cast<uint64_t>(first * shape.c.leading * resultBytes);
    good = !p.a || copyOperand(ofA, p.whole.a, hereA, shape.a, rows, shape.k);
    if (good && p.c && shape.accumulate)
      good = copy({ofC, p.whole.c.leading}, {hereC, shape.c.leading}, rows, shape.n, resultBytes);
    const Described &call = last && rows == p.last.m ? *last : *whole;
    LtCode code =
        good ? multiply(call, algorithm, p.a ? ofA : hereA, p.b ? ofB : b, p.c ? ofC : hereC, restBytes ? rest : 0, restBytes, stream)
             : LtCode::Success;
    if (code != LtCode::Success)
      return code;
    if (good && p.c)
      good = copy({hereC, shape.c.leading}, {ofC, p.whole.c.leading}, rows, shape.n, resultBytes);
  }
  return good ? LtCode::Success : LtCode::ExecutionFailed;
}

} // namespace npar::engine::cuda
