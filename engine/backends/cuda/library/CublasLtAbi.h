// The part of cuBLASLt's binary interface that npar calls: handles, numbers and the table of functions, so that neither its header nor the
// library is needed to build.
#pragma once

#include "engine/backends/cuda/driver/CudaAbi.h"

#include <cstddef>
#include <cstdint>

namespace npar::engine::cuda {

/// cublasStatus_t, as far as npar tells codes apart; the library has names for all of them.
enum class LtCode : int { Success = 0, ExecutionFailed = 13, NotSupported = 15 };

enum class LtType : int { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };  ///< cudaDataType
enum class LtCompute : int { F32 = 68, F64 = 70, FastTf32 = 77 };  ///< cublasComputeType_t: none that 16 bits are enough for
enum class LtOperation : int32_t { AsItLies = 0, Transposed = 1 }; ///< cublasOperation_t

/// The attributes of a product, a matrix and a search for algorithms that npar sets. Matrices are stored by columns unless set otherwise.
enum class LtProductAttribute : int { TransposeA = 3, TransposeB = 4 };      ///< cublasLtMatmulDescAttributes_t
enum class LtLayoutAttribute : int { BatchCount = 5, BatchStride = 6 };      ///< cublasLtMatrixLayoutAttribute_t
enum class LtAlgorithmAttribute : int { PartsOfK = 2, ReductionScheme = 3 }; ///< cublasLtMatmulAlgoConfigAttributes_t
enum class LtPreferenceAttribute : int {                                     ///< cublasLtMatmulPreferenceAttributes_t
  WorkspaceBytes = 1,
  ReductionSchemes = 3,
  AlignmentOfA = 5,
  AlignmentOfB = 6,
  AlignmentOfC = 7,
  AlignmentOfD = 8,
};

/// cublasLtMatmulAlgo_t: may be kept, for the same version of the library.
struct LtAlgorithm {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t.
struct LtCandidate {
  LtAlgorithm algorithm;
  size_t workspaceBytes;
  LtCode state;
  float waves;
  int reserved[4];
};

/// FUNCTION(member of the table, symbol of the library, parameters). All of these return cublasStatus_t.
#define NPAR_CUBLASLT_FUNCTIONS(FUNCTION)                                                                                                  \
  FUNCTION(create, cublasLtCreate, (Handle * library))                                                                                     \
  FUNCTION(destroy, cublasLtDestroy, (Handle library))                                                                                     \
  FUNCTION(productCreate, cublasLtMatmulDescCreate, (Handle * product, LtCompute compute, LtType scale))                                   \
  FUNCTION(productDestroy, cublasLtMatmulDescDestroy, (Handle product))                                                                    \
  FUNCTION(productSet, cublasLtMatmulDescSetAttribute, (Handle product, LtProductAttribute attribute, const void *value, size_t bytes))    \
  FUNCTION(layoutCreate, cublasLtMatrixLayoutCreate, (Handle * layout, LtType type, uint64_t rows, uint64_t columns, int64_t leading))     \
  FUNCTION(layoutDestroy, cublasLtMatrixLayoutDestroy, (Handle layout))                                                                    \
  FUNCTION(layoutSet, cublasLtMatrixLayoutSetAttribute, (Handle layout, LtLayoutAttribute attribute, const void *value, size_t bytes))     \
  FUNCTION(preferenceCreate, cublasLtMatmulPreferenceCreate, (Handle * preference))                                                        \
  FUNCTION(preferenceDestroy, cublasLtMatmulPreferenceDestroy, (Handle preference))                                                        \
  FUNCTION(preferenceSet, cublasLtMatmulPreferenceSetAttribute,                                                                            \
           (Handle preference, LtPreferenceAttribute attribute, const void *value, size_t bytes))                                          \
  FUNCTION(candidates, cublasLtMatmulAlgoGetHeuristic,                                                                                     \
           (Handle library, Handle product, Handle a, Handle b, Handle c, Handle d, Handle preference, int asked, LtCandidate *found,      \
            int *count))                                                                                                                   \
  FUNCTION(check, cublasLtMatmulAlgoCheck,                                                                                                 \
           (Handle library, Handle product, Handle a, Handle b, Handle c, Handle d, const LtAlgorithm *algorithm, LtCandidate *result))    \
  FUNCTION(algorithmGet, cublasLtMatmulAlgoConfigGetAttribute,                                                                             \
           (const LtAlgorithm *algorithm, LtAlgorithmAttribute attribute, void *value, size_t bytes, size_t *written))                     \
  FUNCTION(multiply, cublasLtMatmul,                                                                                                       \
           (Handle library, Handle product, const void *alpha, const void *a, Handle layoutOfA, const void *b, Handle layoutOfB,           \
            const void *beta, const void *c, Handle layoutOfC, void *d, Handle layoutOfD, const LtAlgorithm *algorithm, void *workspace,   \
            size_t workspaceBytes, Handle stream))

struct LtFunctions {
#define NPAR_CUBLASLT_MEMBER(MEMBER, SYMBOL, PARAMETERS) LtCode(*MEMBER) PARAMETERS;
  NPAR_CUBLASLT_FUNCTIONS(NPAR_CUBLASLT_MEMBER)
#undef NPAR_CUBLASLT_MEMBER
  size_t (*version)();           ///< cublasLtGetVersion
  const char *(*nameOf)(LtCode); ///< cublasLtGetStatusName
};

} // namespace npar::engine::cuda
