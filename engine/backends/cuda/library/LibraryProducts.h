// A program's matrix products by cuBLASLt: planned at load, with the algorithm and the workspace of each.
#pragma once

#include "engine/backends/cuda/driver/ThreadWork.h"
#include "engine/backends/cuda/library/ProductChoices.h"

#include <map>
#include <memory>
#include <mutex>

namespace npar::engine::cuda {

/// The largest workspace of an algorithm, in bytes, without its operands and copies of them.
constexpr uint64_t mostWorkspaceBytes = uint64_t{32} << 20;

/// Plans are made at load, by one thread; `start` may be called by all.
class LibraryProducts {
public:
  static Result<std::unique_ptr<LibraryProducts>> open(CudaDevice &device);
  /// Waits for what is under way.
  ~LibraryProducts();
  LibraryProducts(const LibraryProducts &) = delete;

  /// A plan for a shape, the same for equal ones; null where the library has no algorithm whose bits repeat, or (`onlyOwnBits`) none with
  /// those of npar's own kernel. `own` starts that one.
  struct Plan;
  Result<const Plan *> plan(const LibraryShape &shape, const OwnProduct &own, bool onlyOwnBits, const std::string &what);
  /// After the last plan.
  void saveChoices() { choices.save(); }

  /// Starts a plan in the work's stream. The workspace is the work's memory.
  void start(const Plan &plan, DevicePointer a, DevicePointer b, DevicePointer c, ThreadWork &work, const std::string &words);

  /// Bytes of workspace that the largest plan needs.
  uint64_t workspaceBytes() const { return mostBytes; }
  std::string version() const { return lt.version(); }
  const std::vector<std::string> &remarks() const { return choices.remarks(); }

private:
  LibraryProducts(const CudaDevice &device, const CublasLt &lt, Handle library, RowCopies copies);
  Result<std::optional<ProductChoice>> choose(const LibraryProduct &product, const OwnProduct &own, const std::string &what);

  const CudaDevice &device;
  const CublasLt &lt;
  Handle library;
  RowCopies copies;
  ProductChoices choices;
  std::map<std::string, std::unique_ptr<Plan>> plans; ///< by the words of shapes; null: none
  uint64_t mostBytes = 0;
};

struct LibraryProducts::Plan {
  std::unique_ptr<LibraryProduct> product;
  ProductChoice choice;
};

} // namespace npar::engine::cuda
