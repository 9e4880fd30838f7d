// Operations on tensors as cuDNN is told them: each description is made, filled and finished here, and the first refusal is kept.
#pragma once

#include "engine/backends/cuda/library/Cudnn.h"

#include <array>
#include <utility>
#include <vector>

namespace npar::engine::cuda {

/// One of the library's descriptors; goes with this.
class DnnObject {
public:
  DnnObject() = default;
  DnnObject(const Cudnn &dnn, Handle handle) : dnn(&dnn), handle(handle) {}
  DnnObject(DnnObject &&other) noexcept : dnn(other.dnn), handle(std::exchange(other.handle, nullptr)) {}
  DnnObject &operator=(DnnObject &&other) noexcept;
  ~DnnObject();
  Handle get() const { return handle; }

private:
  const Cudnn *dnn = nullptr;
  Handle handle = nullptr;
};

/// Creates descriptors and keeps the first error: once the library has refused something, it is not called again.
class DnnWriter {
public:
  explicit DnnWriter(const Cudnn &dnn) : dnn(dnn) {}
  /// `what` it is, for the message.
  DnnObject make(DnnDescriptor type, const char *what);
  void set(const DnnObject &object, DnnAttribute attribute, DnnType type, int64_t count, const void *values);
  template <typename Value> void set(const DnnObject &object, DnnAttribute attribute, DnnType type, const Value &value) {
    set(object, attribute, type, 1, &value);
  }
  void link(const DnnObject &object, DnnAttribute attribute, Handle other) { set(object, attribute, DnnType::Descriptor, other); }
  /// An object that others may be described by.
  void finish(const DnnObject &object);
  /// Returns the number of values, at most `count`.
  int64_t get(const DnnObject &object, DnnAttribute attribute, DnnType type, int64_t count, void *values);
  const Status &status() const { return failed; }

private:
  void note(DnnCode code, const char *doing);
  const Cudnn &dnn;
  Status failed;
  const char *described = "";
};

/// The sizes or strides of samples, heads, rows and columns.
using DnnSizes = std::array<int64_t, 4>;
/// Strides of a tensor without gaps.
DnnSizes denseStrides(const DnnSizes &sizes);

class CudnnGraph {
public:
  /// A tensor of this graph.
  using Tensor = Handle;
  explicit CudnnGraph(const Cudnn &dnn) : writer(dnn) {}
  /// A tensor in memory, aligned to 16 bytes. An execution's operands refer to it by `number`.
  Tensor inMemory(int64_t number, DnnData type, const DnnSizes &sizes, const DnnSizes &strides);
  /// A float that the host gives, with each execution.
  Tensor scalar(int64_t number);
  /// That passes from one operation to another, and nothing else sees.
  Tensor passing(DnnData type, const DnnSizes &sizes, const DnnSizes &strides);
  Tensor passing(DnnData type, const DnnSizes &sizes) { return passing(type, sizes, denseStrides(sizes)); }
  /// Matrices of rows and columns, for each sample and head; heads of `b` may be fewer than those of `a`. Sums are float32.
  void multiply(Tensor a, Tensor b, Tensor c);
  /// y = x mode b; of Select: t ? x : b. `axis`: of Index, whose places are written.
  void point(DnnPointwise mode, Tensor x, Tensor b, Tensor y, Tensor t = nullptr, int64_t axis = -1);
  /// Along the sizes in which y is smaller.
  void reduce(DnnReduction op, Tensor x, Tensor y);
  /// y has x's elements in its own order, and its own type.
  void reshape(Tensor x, Tensor y);
  /// All operations so far. `library` as cudnnCreate makes it, or null where none is there: then nothing can be executed.
  Result<Handle> finish(Handle library);

private:
  Tensor tensor(int64_t number, DnnData type, const DnnSizes &sizes, const DnnSizes &strides, bool isPassing, bool isScalar);
  void operation(DnnObject &&object);
  DnnWriter writer;
  int64_t nextPassing = 1000;
  std::vector<DnnObject> objects; ///< in the order in which they refer to each other
  std::vector<Handle> operations;
};

/// A way to execute a graph that gives the same bits each time, as the library says.
struct DnnPlan {
  DnnObject plan;
  uint64_t workspaceBytes = 0;
};
/// In the library's own order; none where it has none for the graph. `device`: the properties of one that is not there, as text in the
/// library's form; empty: this thread's own.
Result<std::vector<DnnPlan>> plansFor(const Cudnn &dnn, Handle graph, const std::string &device = "");

} // namespace npar::engine::cuda
