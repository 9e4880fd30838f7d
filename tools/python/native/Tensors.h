// Arrays that npar gives to Python, by DLPack: https://dmlc.github.io/dlpack/latest/python_spec.html.
#pragma once

#include "Calls.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace npar_python {

// The structs of dlpack.h, version 1.
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
struct DlManagedVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DlManagedVersioned *self);
  uint64_t flags; ///< 1: read-only, 2: a copy
  DlTensor tensor;
};
struct DlManaged { // before version 1
  DlTensor tensor;
  void *context;
  void (*deleter)(DlManaged *self);
};

constexpr uint64_t dlReadOnly = 1, dlIsCopied = 2;

/// An array of npar. Any number of other arrays can share its memory, which lives as long as one of them.
class Tensor {
public:
  /// Takes a managed tensor of npar.hpp.
  explicit Tensor(void *managed);

  const DlTensor &array() const { return owner->tensor; }
  bool isReadOnly() const { return owner->flags & dlReadOnly; }
  std::vector<int64_t> shape() const { return {array().shape, array().shape + array().ndim}; }
  std::vector<int64_t> strides() const;
  /// The type as NumPy and PyTorch name it, such as "float32".
  std::string dtype() const;
  /// A capsule with another managed tensor over the same memory, or over a copy of it.
  nb::object capsule(bool versioned, bool copied) const;

private:
  std::shared_ptr<DlManagedVersioned> owner;
};

} // namespace npar_python
