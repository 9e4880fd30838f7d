// The part of cuDNN's binary interface that npar calls: descriptors, their attributes and the table of functions, so that neither its
// headers nor the library are needed to build.
#pragma once

#include "engine/backends/cuda/driver/CudaAbi.h"

#include <cstddef>
#include <cstdint>

namespace npar::engine::cuda {

/// cudnnStatus_t, as far as npar tells codes apart; the library has names for all of them.
enum class DnnCode : int { Success = 0 };

enum class DnnDescriptor : int { ///< cudnnBackendDescriptorType_t
  Pointwise = 0,
  Engine = 2,
  EngineConfiguration = 3,
  Heuristics = 4,
  Plan = 5,
  PointwiseOperation = 13,
  Graph = 15,
  Operands = 16,
  Tensor = 17,
  Product = 18,
  ProductOperation = 19,
  Reduction = 21,
  ReductionOperation = 22,
  ReshapeOperation = 31,
  Device = 38,
};

enum class DnnAttribute : int { ///< cudnnBackendAttributeName_t
  PointwiseMode = 0,
  PointwisePrecision = 1,
  PointwiseAxis = 9,
  HeuristicsMode = 200,
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  HeuristicsDevice = 204,
  ConfigurationEngine = 300,
  PlanConfiguration = 401,
  PlanWorkspaceBytes = 402,
  PlanDevice = 407,
  PointwiseOf = 750,
  PointwiseX = 751,
  PointwiseB = 752,
  PointwiseY = 753,
  PointwiseT = 758,
  GraphLibrary = 800,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorType = 901,
  TensorSizes = 902,
  TensorStrides = 903,
  TensorNumber = 906,
  TensorIsPassing = 907,
  TensorIsScalar = 908,
  OperandNumbers = 1000,
  OperandPointers = 1001,
  OperandWorkspace = 1003,
  EngineNotes = 1303,
  ProductPrecision = 1500,
  ProductA = 1520,
  ProductB = 1521,
  ProductC = 1522,
  ProductOf = 1523,
  ReductionOperator = 1600,
  ReductionPrecision = 1601,
  ReductionX = 1610,
  ReductionY = 1611,
  ReductionOf = 1612,
  ReshapeX = 2200,
  ReshapeY = 2201,
  DeviceText = 2702,
};

enum class DnnType : int { ///< cudnnBackendAttributeType_t
  Handle = 0,
  Data = 1,
  Boolean = 2,
  Int64 = 3,
  Pointer = 6,
  Mode = 8,
  Note = 11,
  Pointwise = 14,
  Descriptor = 15,
  Reduction = 18,
  Char = 24,
};

enum class DnnData : int { F32 = 0, F16 = 2, I32 = 4, BF16 = 9, Boolean = 11 }; ///< cudnnDataType_t
enum class DnnPointwise : int {                                                 ///< cudnnPointwiseMode_t
  Add = 0,
  Multiply = 1,
  Divide = 6,
  Subtract = 9,
  Exp = 13,
  Log = 15,
  GreaterOrEqual = 303,
  Index = 501,
  Select = 601,
};
enum class DnnReduction : int { Add = 0, Max = 3 };    ///< cudnnReduceTensorOp_t
enum class DnnMode : int { Fallback = 2, A = 3 };      ///< cudnnBackendHeurMode_t
enum class DnnNote : int { Restless = 4, Count = 10 }; ///< cudnnBackendNumericalNote_t: bits that do not repeat

/// FUNCTION(member of the table, symbol of the library, parameters). All of these return cudnnStatus_t.
#define NPAR_CUDNN_FUNCTIONS(FUNCTION)                                                                                                     \
  FUNCTION(create, cudnnCreate, (Handle * library))                                                                                        \
  FUNCTION(destroy, cudnnDestroy, (Handle library))                                                                                        \
  FUNCTION(setStream, cudnnSetStream, (Handle library, Handle stream))                                                                     \
  FUNCTION(describe, cudnnBackendCreateDescriptor, (DnnDescriptor type, Handle * descriptor))                                              \
  FUNCTION(forget, cudnnBackendDestroyDescriptor, (Handle descriptor))                                                                     \
  FUNCTION(set, cudnnBackendSetAttribute, (Handle descriptor, DnnAttribute attribute, DnnType type, int64_t count, const void *values))    \
  FUNCTION(get, cudnnBackendGetAttribute,                                                                                                  \
           (Handle descriptor, DnnAttribute attribute, DnnType type, int64_t asked, int64_t * count, void *values))                        \
  FUNCTION(finish, cudnnBackendFinalize, (Handle descriptor))                                                                              \
  FUNCTION(execute, cudnnBackendExecute, (Handle library, Handle plan, Handle operands))

struct DnnFunctions {
#define NPAR_CUDNN_MEMBER(MEMBER, SYMBOL, PARAMETERS) DnnCode(*MEMBER) PARAMETERS;
  NPAR_CUDNN_FUNCTIONS(NPAR_CUDNN_MEMBER)
#undef NPAR_CUDNN_MEMBER
  size_t (*version)();                           ///< cudnnGetVersion
  const char *(*nameOf)(DnnCode);                ///< cudnnGetErrorString
  void (*lastError)(char *message, size_t size); ///< cudnnGetLastErrorString: of this thread
};

} // namespace npar::engine::cuda
