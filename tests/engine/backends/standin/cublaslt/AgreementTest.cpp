// The numbers of LtAbi.h are those of cublasLt.h, where that is installed.
#include "tests/engine/backends/standin/cublaslt/LtAbi.h"

#include <cublasLt.h>

using namespace npar::standin::lt;

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME(Status::Success, CUBLAS_STATUS_SUCCESS);
SAME(Status::NotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(Status::AllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(Status::InvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(Status::ArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(Status::MappingError, CUBLAS_STATUS_MAPPING_ERROR);
SAME(Status::ExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(Status::InternalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(Status::NotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(Status::LicenseError, CUBLAS_STATUS_LICENSE_ERROR);
SAME(Type::F32, CUDA_R_32F);
SAME(Type::F64, CUDA_R_64F);
SAME(Type::F16, CUDA_R_16F);
SAME(Type::BF16, CUDA_R_16BF);
SAME(Compute::F32, CUBLAS_COMPUTE_32F);
SAME(Compute::F64, CUBLAS_COMPUTE_64F);
SAME(Compute::FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(ProductAttribute::PointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(ProductAttribute::TransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(ProductAttribute::TransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(LayoutAttribute::Order, CUBLASLT_MATRIX_LAYOUT_ORDER);
SAME(LayoutAttribute::BatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(LayoutAttribute::BatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(AlgorithmAttribute::Id, CUBLASLT_ALGO_CONFIG_ID);
SAME(AlgorithmAttribute::PartsOfK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(AlgorithmAttribute::ReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(PreferenceAttribute::WorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(PreferenceAttribute::ReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(PreferenceAttribute::AlignmentOfA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(PreferenceAttribute::AlignmentOfB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(PreferenceAttribute::AlignmentOfC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(PreferenceAttribute::AlignmentOfD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(everyReductionScheme, CUBLASLT_REDUCTION_SCHEME_MASK);
SAME(schemeOfComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t) && sizeof(Candidate) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Candidate, workspaceBytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(Candidate, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
