// Compares npar's declarations of cuBLASLt's interface with those of cublasLt.h. It is enough that this compiles.
#include "engine/backends/cuda/library/CublasLtAbi.h"
#include "tests/engine/backends/cuda/AbiAgreement.h"

#include <cublasLt.h>
#include <type_traits>

namespace npar::engine::cuda {
namespace {

#define NPAR_CUBLASLT_AGREE(MEMBER, SYMBOL, PARAMETERS)                                                                                    \
  static_assert(Agree<decltype(LtFunctions::MEMBER), decltype(&SYMBOL)>::value, #SYMBOL " is declared otherwise in cublasLt.h");
NPAR_CUBLASLT_FUNCTIONS(NPAR_CUBLASLT_AGREE)
#undef NPAR_CUBLASLT_AGREE
static_assert(std::is_same_v<decltype(LtFunctions::version), decltype(&cublasLtGetVersion)>);
static_assert(std::is_same_v<decltype(&cublasLtGetStatusName), const char *(*)(cublasStatus_t)>);

template <class Ours, class Theirs> constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs) && sizeof(Ours) == sizeof(Theirs);
}

static_assert(same(LtCode::Success, CUBLAS_STATUS_SUCCESS) && same(LtCode::NotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same(LtCode::ExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED));
static_assert(same(LtType::F32, CUDA_R_32F) && same(LtType::F64, CUDA_R_64F) && same(LtType::F16, CUDA_R_16F) &&
              same(LtType::BF16, CUDA_R_16BF));
static_assert(same(LtCompute::F32, CUBLAS_COMPUTE_32F) && same(LtCompute::F64, CUBLAS_COMPUTE_64F) &&
              same(LtCompute::FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(LtOperation::AsItLies, CUBLAS_OP_N) && same(LtOperation::Transposed, CUBLAS_OP_T));
static_assert(same(LtProductAttribute::TransposeA, CUBLASLT_MATMUL_DESC_TRANSA) &&
              same(LtProductAttribute::TransposeB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same(LtLayoutAttribute::BatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) &&
              same(LtLayoutAttribute::BatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same(LtAlgorithmAttribute::PartsOfK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) &&
              same(LtAlgorithmAttribute::ReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
static_assert(same(LtPreferenceAttribute::WorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) &&
              same(LtPreferenceAttribute::ReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) &&
              same(LtPreferenceAttribute::AlignmentOfA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) &&
              same(LtPreferenceAttribute::AlignmentOfB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES) &&
              same(LtPreferenceAttribute::AlignmentOfC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES) &&
              same(LtPreferenceAttribute::AlignmentOfD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(CUBLASLT_REDUCTION_SCHEME_NONE == 0);
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtCandidate) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(LtCandidate, workspaceBytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(LtCandidate, state) == offsetof(cublasLtMatmulHeuristicResult_t, state) &&
              offsetof(LtCandidate, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

} // namespace
} // namespace npar::engine::cuda
