// Compares model and checkpoint tensor by tensor, verifies, then fills the variables range by range.
#include "engine/checkpoint/Resume.h"

#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/SessionNews.h"
#include "engine/program/Words.h"
#include "engine/safetensors/Safetensors.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace npar::engine {

using namespace program;

namespace {

/// The counters of fp16. They get initial values if a checkpoint of another type has none, and are ignored if the program does not need
/// them.
bool isCounter(const ManifestTensor &tensor) { return tensor.kind == "state" && tensor.of.empty(); }

/// The engine's type for a stored floating-point type.
std::optional<ElementType> elementType(const std::string &type) {
  const StoredType *stored = findStoredType(type);
  return stored && stored->floating ? stored->element : std::nullopt;
}

std::map<std::string, const ManifestTensor *> byName(const Manifest &manifest) {
  std::map<std::string, const ManifestTensor *> result;
  for (const ManifestTensor &tensor : manifest.tensors)
    result[tensor.name] = &tensor;
  return result;
}

/// Returns true if a tensor is the state of a parameter that is frozen in `all`, which therefore has no such state.
template <typename Tensors> bool isOfFrozen(const ManifestTensor &tensor, const Tensors &all) {
  if (tensor.kind != "state" || tensor.of.empty())
    return false;
  auto parameter = all.find(tensor.of);
  return parameter != all.end() && parameter->second->slot == frozenSlot;
}

/// The program's tensors by name.
std::map<std::string, const ManifestTensor *> byName(const std::vector<CheckpointTensor> &tensors) {
  std::map<std::string, const ManifestTensor *> result;
  for (const CheckpointTensor &each : tensors)
    result[each.tensor.name] = &each.tensor;
  return result;
}

/// One value for a variable of one element.
ElementSource constant(double value) {
  return {ElementType::F64, [value](uint64_t, uint64_t, uint8_t *bytes) {
            std::memcpy(bytes, &value, sizeof(value));
            return Status();
          }};
}

} // namespace

Status fitsProgram(const CheckpointStore &store, const Program &program) {
  auto differs = [&](const std::string &why) { return Status::badInput(store.description() + " belongs to another model: " + why); };
  std::map<std::string, const ManifestTensor *> there = byName(store.manifest());
  const std::map<std::string, const ManifestTensor *> stored = there;
  std::vector<CheckpointTensor> tensors = checkpointTensors(program);
  const std::map<std::string, const ManifestTensor *> here = byName(tensors);
  for (const CheckpointTensor &each : tensors) {
    const ManifestTensor &own = each.tensor;
    auto found = there.find(own.name);
    if (found == there.end() && (isCounter(own) || isOfFrozen(own, stored)))
      continue;
    if (found == there.end())
      return differs("it has no tensor '" + own.name + "', which has shape " + shapeText(own.stored) + " here" +
                     (own.kind == "state" ? " and is the optimizer's (" + own.slot + ")" : ""));
    if (found->second->stored != own.stored)
      return differs("tensor '" + own.name + "' has shape " + shapeText(found->second->stored) + " there and " + shapeText(own.stored) +
                     " here");
    if (!elementType(found->second->type))
      return differs("tensor '" + own.name + "' is of type " + found->second->type + ", which no variable here takes");
    there.erase(found);
  }
  for (const ManifestTensor &tensor : store.manifest().tensors) // in the checkpoint's order
    if (there.count(tensor.name) && !isCounter(tensor) && !isOfFrozen(tensor, here))
      return differs("tensor " + files::quotedName(tensor.name) + " of shape " + shapeText(tensor.stored) + " is there and not here");
  return {};
}

/// All sessions compare hashes, each those of another share of the pieces; what one of them finds all of them return.
static Status verifyTogether(const Session &session, const Program &program, const CheckpointStore &store, bool *damaged) {
  int64_t first = session.ranks().front();
  auto *bytes = reinterpret_cast<const uint8_t *>(&first);
  const std::vector<uint8_t> introduced(bytes, bytes + sizeof(first));
  Result<std::vector<std::vector<uint8_t>>> sessions = session.gather(introduced);
  if (!sessions.ok())
    return sessions.status();
  auto number = static_cast<uint64_t>(std::find(sessions->begin(), sessions->end(), introduced) - sessions->begin());
  SessionNews own;
  own.failure = fitsProgram(store, program);
  if (own.failure.ok()) {
    own.failure = store.verify(number, sessions->size());
    own.state = own.failure.ok() ? SaveState::Working : SaveState::Failed;
  }
  Result<std::vector<SessionNews>> all = shareNews(session, own);
  if (!all.ok())
    return all.status();
  for (const SessionNews &each : *all)
    if (!each.failure.ok()) {
      if (damaged)
        *damaged = each.state == SaveState::Failed;
      return each.failure;
    }
  return {};
}

/// Describes the differences between a checkpoint and a program of another type.
static std::vector<std::string> remarksOn(const Manifest &manifest, const Program &program, std::optional<ProductOrder> order) {
  std::vector<std::string> remarks;
  if (order && !manifest.products.empty() && manifest.products != wordOf(*order))
    remarks.push_back("the checkpoint was trained with products of bf16 in the " + manifest.products + " order, this run adds in the " +
                      wordOf(*order) + " order: results agree with those of an uninterrupted run within rounding");
  bool counts = findState(program, "good_steps") >= 0;
  if (counts && !manifest.lossScale)
    remarks.push_back("the checkpoint has no loss scale, because its type is " + manifest.compute +
                      ": the scale starts at its initial value");
  if (!counts && manifest.rateSteps != manifest.step)
    remarks.push_back("the learning rate continues at step " + std::to_string(manifest.step) + ": the checkpoint counted " +
                      std::to_string(manifest.rateSteps) + " steps, excluding those that fp16 skipped");
  std::map<std::string, const ManifestTensor *> there = byName(manifest);
  auto narrowed = [&](const CheckpointTensor &each) {
    auto stored = there.find(each.tensor.name);
    return stored != there.end() && bytesOfType(stored->second->type) > bytesOfType(each.tensor.type);
  };
  std::vector<CheckpointTensor> tensors = checkpointTensors(program);
  std::vector<std::string> thawed, frozen; // trained here alone, there alone
  for (const CheckpointTensor &each : tensors)
    if (auto stored = there.find(each.tensor.name); each.tensor.kind == "parameter" && stored != there.end())
      if ((each.tensor.slot == frozenSlot) != (stored->second->slot == frozenSlot))
        (each.tensor.slot == frozenSlot ? frozen : thawed).push_back(each.tensor.name);
  auto counted = [](const std::vector<std::string> &names) {
    return std::to_string(names.size()) + (names.size() == 1 ? " parameter" : " parameters") + ", first '" + names.front() + "',";
  };
  if (!thawed.empty())
    remarks.push_back("the checkpoint was written with " + counted(thawed) + " frozen: their optimizer state starts at zero");
  if (!frozen.empty())
    remarks.push_back("the checkpoint was written while " + counted(frozen) +
                      " were trained; they are now frozen, and their optimizer state is discarded");
  if (auto tensor = std::find_if(tensors.begin(), tensors.end(), narrowed); tensor != tensors.end())
    remarks.push_back("values of the checkpoint are rounded to a narrower type, '" + tensor->tensor.name + "' first");
  return remarks;
}

Result<std::vector<std::string>> resumeFrom(Session &session, const Program &program, const CheckpointStore &store, bool *damaged) {
  if (damaged)
    *damaged = false;
  if (Status status = verifyTogether(session, program, store, damaged); !status.ok())
    return status;
  const Manifest &manifest = store.manifest();
  std::map<std::string, const ManifestTensor *> there = byName(manifest);
  for (const CheckpointTensor &each : checkpointTensors(program)) {
    std::string variable = program.variables()->Get(each.written)->name()->str();
    auto found = there.find(each.tensor.name);
    Status status;
    if (found != there.end())
      status = session.writeFrom(variable, {*elementType(found->second->type), [&](uint64_t first, uint64_t count, uint8_t *bytes) {
                                              return store.read(each.tensor.name, first, count, bytes);
                                            }});
    else if (each.tensor.slot == "good_steps")
      status = session.writeFrom(variable, constant(static_cast<double>(manifest.rateSteps)));
    if (!status.ok())
      return status;
  }
  return remarksOn(manifest, program, session.productOrder());
}

} // namespace npar::engine
