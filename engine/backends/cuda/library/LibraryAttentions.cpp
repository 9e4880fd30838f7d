// Plans and starts a program's attentions by cuDNN.
#include "engine/backends/cuda/library/LibraryAttentions.h"

#include <algorithm>

namespace npar::engine::cuda {

Result<std::unique_ptr<LibraryAttentions>> LibraryAttentions::open(const CudaDevice &device) {
  Result<const Cudnn *> dnn = Cudnn::open();
  if (!dnn.ok())
    return Status::badInput(dnn.status().message() + "; --cuda-attention own does not need it");
  std::unique_ptr<LibraryAttentions> made(new LibraryAttentions(device, **dnn));
  device.enter();
  if (Status status = (*dnn)->check((*dnn)->call().create(&made->library), device.label() + ": opening cuDNN"); !status.ok())
    return status;
  return made;
}

LibraryAttentions::~LibraryAttentions() {
  device.enter();
  device.cuda().call().contextSynchronize();
  plans.clear();
  for (Handle handle : handles)
    dnn.call().destroy(handle);
  if (library)
    dnn.call().destroy(library);
}

Result<std::unique_ptr<LibraryAttentions::Plan>> LibraryAttentions::make(const LibraryAttentionShape &shape, const OwnAttention &own,
                                                                         const std::string &what) {
  auto made = std::make_unique<Plan>(Plan{shape, std::make_unique<CudnnGraph>(dnn), {}});
  Result<Handle> graph = describeAttention(*made->graph, shape, library);
  Result<std::vector<DnnPlan>> found = graph.ok() ? plansFor(dnn, *graph) : graph.status();
  if (!found.ok())
    return Status::badInput("is refused by cuDNN: " + found.status().message());
  size_t all = found->size();
  found->erase(std::remove_if(found->begin(), found->end(),
                              [&](const DnnPlan &plan) { return cuda::workspaceBytes(shape, plan) > mostAttentionWorkspace; }),
               found->end());
  if (found->empty() && all > 0)
    return Status::badInput("has no plan with a workspace below " + std::to_string(mostAttentionWorkspace) + " bytes");
  Result<size_t> chosen = tryAttention(device, dnn, library, shape, *found, own, what);
  if (!chosen.ok())
    return chosen.status();
  if (*chosen == found->size())
    return Status::badInput(all == 0 ? "has no plan" : "has no plan whose bits repeat and whose values are close to npar's own");
  made->plan = std::move((*found)[*chosen]);
  return made;
}

Result<const LibraryAttentions::Plan *> LibraryAttentions::plan(const LibraryAttentionShape &shape, const OwnAttention &own,
                                                                const std::string &what) {
  std::string words = shape.words();
  auto found = plans.find(words);
  if (found == plans.end()) {
    device.enter();
    found = plans.emplace(words, make(shape, own, what)).first;
  }
  if (!found->second.ok())
    return found->second.status();
  const Plan *plan = found->second->get();
  mostBytes = std::max(mostBytes, cuda::workspaceBytes(shape, plan->plan));
  return plan;
}

Status LibraryAttentions::addHandle() {
  Handle made = nullptr;
  if (Status status = dnn.check(dnn.call().create(&made), device.label() + ": opening cuDNN"); !status.ok())
    return status;
  handles.push_back(made);
  return {};
}

Status LibraryAttentions::prepare(uint32_t lanes) {
  bool isUsed = std::any_of(plans.begin(), plans.end(), [](const auto &plan) { return plan.second.ok(); });
  device.enter();
  for (uint32_t i = 0; isUsed && i < lanes; ++i)
    if (Status status = addHandle(); !status.ok())
      return status;
  return {};
}

/// The stream's own; made now where more come than were expected. Null: that failed and is noted.
Handle LibraryAttentions::handleOf(ThreadWork &work) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [found, isNew] = taken.try_emplace(&work);
  if (isNew && taken.size() > handles.size())
    if (Status status = addHandle(); !status.ok()) {
      work.note(status);
      taken.erase(found);
      return nullptr;
    }
  if (isNew)
    found->second = handles[taken.size() - 1];
  return found->second;
}

void LibraryAttentions::start(const Plan &plan, const std::vector<DevicePointer> &operands, ThreadWork &work, const std::string &words) {
  Handle stream = work.begin(), own = stream ? handleOf(work) : nullptr;
  DevicePointer workspace = mostBytes > 0 ? work.deviceRoom() : 0;
  if (!own || (mostBytes > 0 && !workspace))
    return; // `whenDone` says why
  DnnCode code = dnn.call().setStream(own, stream);
  if (code == DnnCode::Success)
    code = executeAttention(dnn, own, plan.shape, plan.plan, {operands, workspace});
  if (code != DnnCode::Success)
    work.note(dnn.check(code, device.label() + ": starting " + words + " by cuDNN"));
}

} // namespace npar::engine::cuda
