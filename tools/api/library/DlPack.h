// DLPack tensors: the structs of dlpack.h, version 1 (https://dmlc.github.io/dlpack/latest/c_api.html), by which libraries exchange arrays
// without knowing each other.
#pragma once

#include "engine/runtime/BorrowedArrays.h"
#include "engine/runtime/HostPieces.h"
#include "npar/npar.h"

#include <memory>
#include <vector>

namespace npar::api {

struct TrainerMemory;

struct DlDevice {
  int32_t type; ///< 1: the processor's memory
  int32_t id;
};

struct DlType {
  uint8_t code; ///< 0 signed integer, 1 unsigned, 2 IEEE float, 4 bfloat16, 6 bool
  uint8_t bits;
  uint16_t lanes;
};

struct DlTensor {
  void *data;
  DlDevice device;
  int32_t ndim;
  DlType dtype;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: row-major
  uint64_t byteOffset;
};

struct DlManagedTensor {
  struct Version {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(DlManagedTensor *self);
  uint64_t flags; ///< 1: read-only, 2: a copy
  DlTensor tensor;
};

/// BadInput for another version, device or type than npar reads.
engine::Status arrayFromDlPack(const void *managed, npar_array &array);

/// A read-only tensor of a piece, which keeps the trainer's memory. Returns the managed tensor.
void *dlPackView(const engine::HostPiece &piece, std::shared_ptr<TrainerMemory> memory);

/// Memory of its own, to be filled, for a tensor of float64 or float32.
struct DlPackCopy {
  std::vector<uint8_t> bytes;
  engine::BorrowedArray array; ///< of `bytes`
};
std::unique_ptr<DlPackCopy> dlPackCopy(bool wide, std::vector<int64_t> shape);
void *dlPackOf(std::unique_ptr<DlPackCopy> copy);

} // namespace npar::api
