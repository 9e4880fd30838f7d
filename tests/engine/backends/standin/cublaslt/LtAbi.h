// The part of cuBLASLt's binary interface that the stand-in has, so that its header is not needed.
#pragma once

#include "tests/engine/backends/standin/CudaAbi.h"

#include <cstddef>
#include <cstdint>

namespace npar::standin::lt {

/// cublasStatus_t.
enum class Status : int {
  Success = 0,
  NotInitialized = 1,
  AllocFailed = 3,
  InvalidValue = 7,
  ArchMismatch = 8,
  MappingError = 11,
  ExecutionFailed = 13,
  InternalError = 14,
  NotSupported = 15,
  LicenseError = 16,
};

enum class Type : int { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 }; ///< cudaDataType
enum class Compute : int { F32 = 68, F64 = 70, FastTf32 = 77 }; ///< cublasComputeType_t

enum class ProductAttribute : int { PointerMode = 2, TransposeA = 3, TransposeB = 4 }; ///< cublasLtMatmulDescAttributes_t
enum class LayoutAttribute : int { Order = 1, BatchCount = 5, BatchStride = 6 };       ///< cublasLtMatrixLayoutAttribute_t
enum class AlgorithmAttribute : int { Id = 0, PartsOfK = 2, ReductionScheme = 3 };     ///< cublasLtMatmulAlgoConfigAttributes_t
enum class PreferenceAttribute : int {                                                 ///< cublasLtMatmulPreferenceAttributes_t
  WorkspaceBytes = 1,
  ReductionSchemes = 3,
  AlignmentOfA = 5,
  AlignmentOfB = 6,
  AlignmentOfC = 7,
  AlignmentOfD = 8,
};
constexpr uint32_t everyReductionScheme = 7, schemeOfComputeType = 2; ///< cublasLtReductionScheme_t

/// cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t.
struct Candidate {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float waves;
  int reserved[4];
};

} // namespace npar::standin::lt
