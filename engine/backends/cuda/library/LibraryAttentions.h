// A program's attentions by cuDNN: planned at load, with a handle of the library's for each lane.
#pragma once

#include "engine/backends/cuda/driver/ThreadWork.h"
#include "engine/backends/cuda/library/AttentionTrial.h"

#include <map>
#include <memory>
#include <mutex>

namespace npar::engine::cuda {

/// Plans are made at load, by one thread; `start` may be called by all.
class LibraryAttentions {
public:
  static Result<std::unique_ptr<LibraryAttentions>> open(const CudaDevice &device);
  /// Waits for what is under way.
  ~LibraryAttentions();
  LibraryAttentions(const LibraryAttentions &) = delete;

  struct Plan;
  /// The same for equal shapes. BadInput says why there is none: "has no plan whose bits repeat".
  Result<const Plan *> plan(const LibraryAttentionShape &shape, const OwnAttention &own, const std::string &what);
  /// Opens a handle of the library for each lane. Call it after the last plan.
  Status prepare(uint32_t lanes);
  /// Starts a plan in the work's stream. The workspace is the work's memory.
  void start(const Plan &plan, const std::vector<DevicePointer> &operands, ThreadWork &work, const std::string &words);
  /// Bytes of workspace that the largest plan needs.
  uint64_t workspaceBytes() const { return mostBytes; }
  std::string version() const { return dnn.version(); }

private:
  LibraryAttentions(const CudaDevice &device, const Cudnn &dnn) : device(device), dnn(dnn) {}
  Result<std::unique_ptr<Plan>> make(const LibraryAttentionShape &shape, const OwnAttention &own, const std::string &what);
  Status addHandle();
  Handle handleOf(ThreadWork &work);

  const CudaDevice &device;
  const Cudnn &dnn;
  Handle library = nullptr;                                   ///< of what is done at load
  std::map<std::string, Result<std::unique_ptr<Plan>>> plans; ///< by the words of shapes
  uint64_t mostBytes = 0;
  std::mutex mutex; ///< of the next two
  std::vector<Handle> handles;
  std::map<const ThreadWork *, Handle> taken;
};

struct LibraryAttentions::Plan {
  LibraryAttentionShape shape;
  std::unique_ptr<CudnnGraph> graph; ///< that the plan refers to
  DnnPlan plan;
};

} // namespace npar::engine::cuda
