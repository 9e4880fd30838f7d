// Plans and starts a program's matrix products by cuBLASLt.
#include "engine/backends/cuda/library/LibraryProducts.h"

#include <algorithm>

namespace npar::engine::cuda {

LibraryProducts::LibraryProducts(const CudaDevice &device, const CublasLt &lt, Handle library, RowCopies copies)
    : device(device), lt(lt), library(library), copies(copies), choices(device.identity().name, lt.version()) {}

Result<std::unique_ptr<LibraryProducts>> LibraryProducts::open(CudaDevice &device) {
  Result<const CublasLt *> lt = CublasLt::open();
  if (!lt.ok())
    return Status::badInput(lt.status().message() + "; --cuda-products own does not need it");
  device.enter();
  Result<RowCopies> copies = RowCopies::load(device);
  if (!copies.ok())
    return copies.status();
  Handle library = nullptr;
  if (Status status = (*lt)->check((*lt)->call().create(&library), device.label() + ": opening cuBLASLt"); !status.ok())
    return status;
  return std::unique_ptr<LibraryProducts>(new LibraryProducts(device, **lt, library, *copies));
}

LibraryProducts::~LibraryProducts() {
  device.enter();
  device.cuda().call().contextSynchronize();
  plans.clear();
  lt.call().destroy(library);
}

/// A choice that was kept, or one that is made now.
Result<std::optional<ProductChoice>> LibraryProducts::choose(const LibraryProduct &product, const OwnProduct &own,
                                                             const std::string &what) {
  std::string words = product.words();
  uint64_t most = mostWorkspaceBytes + product.copiedBytes();
  if (const ProductChoice *kept = choices.find(words);
      kept && kept->workspaceBytes <= most && product.takes(kept->algorithm, kept->workspaceBytes))
    return std::optional(*kept);
  Result<std::optional<ProductChoice>> made = tryProduct(device, product, own, most, what);
  if (made.ok() && made->has_value())
    choices.add(words, **made);
  return made;
}

Result<const LibraryProducts::Plan *> LibraryProducts::plan(const LibraryShape &shape, const OwnProduct &own, bool onlyOwnBits,
                                                            const std::string &what) {
  auto [found, isNew] = plans.try_emplace(shape.words());
  if (!isNew)
    return static_cast<const Plan *>(found->second.get());
  device.enter();
  Result<std::unique_ptr<LibraryProduct>> product = LibraryProduct::make(lt, library, shape, copies);
  if (!product.ok())
    return product.status();
  Result<std::optional<ProductChoice>> choice = choose(**product, own, what);
  if (!choice.ok())
    return choice.status();
  if (*choice && ((*choice)->ownBits || !onlyOwnBits)) {
    found->second = std::make_unique<Plan>(Plan{std::move(*product), **choice});
    mostBytes = std::max(mostBytes, (*choice)->workspaceBytes);
  }
  return static_cast<const Plan *>(found->second.get());
}

void LibraryProducts::start(const Plan &plan, DevicePointer a, DevicePointer b, DevicePointer c, ThreadWork &work,
                            const std::string &words) {
  Handle stream = work.begin();
  uint64_t bytes = plan.choice.workspaceBytes;
  DevicePointer workspace = bytes > 0 ? work.deviceRoom() : 0;
  if (!stream || (bytes > 0 && !workspace))
    return; // `whenDone` says why
  LtCode code = plan.product->start(plan.choice.algorithm, a, b, c, workspace, bytes, stream);
  if (code != LtCode::Success)
    work.note(lt.check(code, device.label() + ": starting " + words + " by cuBLASLt"));
}

} // namespace npar::engine::cuda
