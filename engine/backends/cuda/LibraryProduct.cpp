// Describes products to cuBLASLt.
#include "engine/backends/cuda/LibraryProduct.h"

#include "engine/program/Words.h"

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

std::optional<LibraryShape::Matrix> matrixOf(int64_t rows, int64_t columns, int64_t row, int64_t column, uint32_t alignment) {
  if (column == 1 && (row >= columns || rows == 1))
    return LibraryShape::Matrix{false, std::max(row, columns), 0, alignment};
  if (row == 1 && (column >= rows || columns == 1))
    return LibraryShape::Matrix{true, std::max(column, rows), 0, alignment};
  return std::nullopt;
}
} // namespace

std::string LibraryShape::words() const {
  auto number = [](int64_t value) { return " " + std::to_string(value); };
  std::string text =
      std::string(tf32 ? "tf32" : program::wordOf(type)) + " " + program::wordOf(result) + (accumulate ? " added" : " stored");
  text += number(m) + number(n) + number(k) + number(count);
  for (const Matrix *matrix : {&a, &b, &c})
    text += (matrix->turned ? " turned" : " rows") + number(matrix->leading) + number(matrix->stride) + number(matrix->alignment);
  return text;
}

int64_t LibraryShape::span(const Matrix &matrix, int64_t rows, int64_t columns) const {
  int64_t lines = matrix.turned ? columns : rows, inLine = matrix.turned ? rows : columns;
  return (count - 1) * matrix.stride + (lines - 1) * matrix.leading + inLine;
}

std::optional<LibraryShape> libraryShape(const program::Matmul &p, const std::array<uint32_t, 3> &alignments) {
  std::optional<LibraryShape::Matrix> a = matrixOf(p.m(), p.k(), p.a_row(), p.a_column(), alignments[0]),
                                      b = matrixOf(p.k(), p.n(), p.b_row(), p.b_column(), alignments[1]),
                                      c = matrixOf(p.m(), p.n(), p.c_row(), 1, alignments[2]);
  if (!a || !b || !c || c->turned)
    return std::nullopt;
  return LibraryShape{p.type(), p.result(), p.accumulate(), p.tf32(), p.m(), p.n(), p.k(), 1, *a, *b, *c};
}

Result<std::unique_ptr<LibraryProduct>> LibraryProduct::make(const CublasLt &lt, Handle library, const LibraryShape &shape) {
  std::unique_ptr<LibraryProduct> made(new LibraryProduct(lt, library, shape));
  if (Status status = made->describe(); !status.ok())
    return status;
  return made;
}

LibraryProduct::~LibraryProduct() {
  for (Handle layout : {layoutOfA, layoutOfB, layoutOfC})
    if (layout)
      lt.call().layoutDestroy(layout);
  if (product)
    lt.call().productDestroy(product);
}

Status LibraryProduct::describe() {
  bool wide = shape.type == ElementType::F64;
  const LtFunctions &call = lt.call();
  LtCompute compute = wide ? LtCompute::F64 : shape.tf32 ? LtCompute::FastTf32 : LtCompute::F32;
  LtCode code = call.productCreate(&product, compute, wide ? LtType::F64 : LtType::F32);
  // By columns a matrix that lies by rows is its transposed one, which is what is asked for.
  for (auto [attribute, matrix] : {std::pair{LtProductAttribute::TransposeA, &shape.b}, {LtProductAttribute::TransposeB, &shape.a}}) {
    LtOperation operation = matrix->turned ? LtOperation::Transposed : LtOperation::AsItLies;
    if (code == LtCode::Success)
      code = call.productSet(product, attribute, &operation, sizeof operation);
  }
  Status status = lt.check(code, "describing a matrix product");
  if (status.ok())
    status = describe(layoutOfA, shape.type, shape.m, shape.k, shape.a);
  if (status.ok())
    status = describe(layoutOfB, shape.type, shape.k, shape.n, shape.b);
  return status.ok() ? describe(layoutOfC, shape.result, shape.m, shape.n, shape.c) : status;
}

Status LibraryProduct::describe(Handle &layout, ElementType type, int64_t rows, int64_t columns, const LibraryShape::Matrix &matrix) {
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
  Handle preference = nullptr;
  LtCode code = call.preferenceCreate(&preference);
  if (code == LtCode::Success)
    code = call.preferenceSet(preference, A::WorkspaceBytes, &workspaceBytes, sizeof workspaceBytes);
  uint32_t none = 0; // of the ways to add up parts of k: whoever splits k adds in another order
  std::pair<A, const uint32_t *> numbers[] = {{A::ReductionSchemes, &none},
                                              {A::AlignmentOfA, &shape.b.alignment},
                                              {A::AlignmentOfB, &shape.a.alignment},
                                              {A::AlignmentOfC, &shape.c.alignment},
                                              {A::AlignmentOfD, &shape.c.alignment}};
  for (auto [attribute, value] : numbers)
    if (code == LtCode::Success)
      code = call.preferenceSet(preference, attribute, value, sizeof *value);
  std::vector<LtCandidate> found(mostCandidates);
  int count = 0;
  if (code == LtCode::Success) {
    code = call.candidates(library, product, layoutOfB, layoutOfA, layoutOfC, layoutOfC, preference, mostCandidates, found.data(), &count);
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
           parts > 1 || scheme != 0;
  };
  found.erase(std::remove_if(found.begin(), found.end(), splits), found.end());
  return found;
}

bool LibraryProduct::takes(const LtAlgorithm &algorithm, uint64_t workspaceBytes) const {
  LtCandidate result = {};
  return lt.call().check(library, product, layoutOfB, layoutOfA, layoutOfC, layoutOfC, &algorithm, &result) == LtCode::Success &&
         result.workspaceBytes <= workspaceBytes;
}

LtCode LibraryProduct::start(const LtAlgorithm &algorithm, DevicePointer a, DevicePointer b, DevicePointer c, DevicePointer workspace,
                             uint64_t workspaceBytes, Handle stream) const {
  const float ones[] = {1.0f, shape.accumulate ? 1.0f : 0.0f};
  const double wideOnes[] = {1.0, shape.accumulate ? 1.0 : 0.0};
  bool wide = shape.type == ElementType::F64;
  auto scale = [&](int i) { return wide ? static_cast<const void *>(wideOnes + i) : ones + i; };
  auto at = [](DevicePointer address) { return reinterpret_cast<void *>(address); };
  return lt.call().multiply(library, product, scale(0), at(b), layoutOfB, at(a), layoutOfA, scale(1), at(c), layoutOfC, at(c), layoutOfC,
                            &algorithm, at(workspace), workspaceBytes, stream);
}

} // namespace npar::engine::cuda
