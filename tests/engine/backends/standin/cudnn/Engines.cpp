// The library's calls about engines and plans: what there is for a graph, and its execution.
#include "tests/engine/backends/standin/Guest.h"
#include "tests/engine/backends/standin/cudnn/Graphs.h"

#include <algorithm>

#define NPAR_STANDIN_DNN_CALL extern "C" __attribute__((visibility("default")))

using namespace npar::standin;
using namespace npar::standin::dnn;

namespace {
using A = DnnAttribute;
using K = DnnDescriptor;

/// The fault of an engine, if it has one.
enum class Fault : int64_t { None, SaysThatItIsRestless, Restless, Blind };

/// A configuration, an engine and a plan hold what they are of: the graph, and which fault the engine has.
void setOf(Descriptor &descriptor, const DescriptorPointer &graph, Fault fault) {
  Descriptor::Attribute made{DnnType::Int64, std::vector<uint8_t>(sizeof fault), {graph}};
  std::memcpy(made.bytes.data(), &fault, sizeof fault);
  descriptor.attributes[A::HeuristicsResults] = std::move(made);
  descriptor.finished = true;
}
DescriptorPointer graphOf(const Descriptor &descriptor) { return descriptor.attributes.at(A::HeuristicsResults).others.front(); }
Fault faultOf(const Descriptor &descriptor) { return descriptor.value<Fault>(A::HeuristicsResults); }

std::vector<Fault> enginesFor(const Descriptor &heuristics) {
  DescriptorPointer graph = heuristics.other(A::HeuristicsGraph);
  Pattern pattern = patternOf(*graph);
  const Wishes &wishes = Everything::instance().wishes;
  if (pattern == Pattern::None || wishes.nothing)
    return {};
  if (heuristics.value<DnnMode>(A::HeuristicsMode) == DnnMode::Fallback)
    return {Fault::None};
  std::vector<Fault> all;
  if (pattern == Pattern::Gradient)
    all.push_back(Fault::SaysThatItIsRestless);
  if (wishes.restless)
    all.push_back(Fault::Restless);
  if (wishes.blind)
    all.push_back(Fault::Blind);
  all.push_back(Fault::None);
  return all;
}

template <typename Value> DnnCode give(const std::vector<Value> &found, int64_t asked, int64_t *count, void *values) {
  *count = static_cast<int64_t>(found.size());
  if (values && !found.empty())
    std::memcpy(values, found.data(), sizeof(Value) * static_cast<size_t>(std::min(asked, *count)));
  return DnnCode::Success;
}

/// One execution: bytes are found when the stream comes to it.
struct Run {
  DescriptorPointer graph;
  Fault fault;
  uint64_t turn, workspace, workspaceBytes;
  std::map<int64_t, uint64_t> places;
  std::map<int64_t, float> numbers; ///< of the host's, as they were

  /// Marks the workspace, so that another execution in it is noticed before this one has ended.
  Outcome mark(const FindBytes &find) const {
    uint8_t *bytes = find(workspace, workspaceBytes);
    if (!bytes)
      return {Code::IllegalAddress, "attention's workspace is no memory of the device"};
    for (uint64_t i = 0; i < workspaceBytes; ++i)
      bytes[i] = static_cast<uint8_t>(turn * 31 + i);
    return {};
  }
  Outcome compute(const FindBytes &find) const {
    uint8_t *own = find(workspace, workspaceBytes);
    for (uint64_t i = 0; own && i < workspaceBytes; ++i)
      if (own[i] != static_cast<uint8_t>(turn * 31 + i))
        return {Code::IllegalAddress, "attention's workspace was used by something else meanwhile"};
    std::map<int64_t, uint8_t *> found;
    for (const DescriptorPointer &tensor : tensorsInMemory(*graph)) {
      int64_t number = tensor->value<int64_t>(A::TensorNumber);
      if (tensor->value<bool>(A::TensorIsScalar))
        found[number] = reinterpret_cast<uint8_t *>(const_cast<float *>(&numbers.at(number)));
      else if (!(found[number] = find(places.at(number), bytesOf(*tensor))))
        return {Code::IllegalAddress, "an operand of attention, number " + std::to_string(number) + ", is no memory of the device"};
    }
    bool isRestless = fault == Fault::Restless || fault == Fault::SaysThatItIsRestless;
    execute(*graph, isRestless ? turn : 0, fault == Fault::Blind, [&](int64_t number) { return found.at(number); });
    return {};
  }
};
} // namespace

NPAR_STANDIN_DNN_CALL DnnCode cudnnBackendGetAttribute(Handle handle, DnnAttribute attribute, DnnType type, int64_t asked, int64_t *count,
                                                       void *values) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  DescriptorPointer descriptor = all.descriptors.find(handle);
  if (!descriptor || !descriptor->finished || !count || (asked > 0 && !values))
    return refuse(badParameter, "an attribute is read of what is no descriptor, or was not finished");
  if (attribute == A::EngineNotes && type == DnnType::Note && descriptor->kind == K::Engine)
    return give(faultOf(*descriptor) == Fault::SaysThatItIsRestless ? std::vector{DnnNote::Restless} : std::vector<DnnNote>(), asked, count,
                values);
  if (attribute == A::PlanWorkspaceBytes && type == DnnType::Int64 && descriptor->kind == K::Plan)
    return give(std::vector{static_cast<int64_t>(workspaceOf(*graphOf(*descriptor->other(A::PlanConfiguration))))}, asked, count, values);
  bool isSearch = attribute == A::HeuristicsResults && descriptor->kind == K::Heuristics;
  bool isEngine = attribute == A::ConfigurationEngine && descriptor->kind == K::EngineConfiguration;
  if (type != DnnType::Descriptor || (!isSearch && !isEngine))
    return refuse(notSupported, "attribute " + std::to_string(static_cast<int>(attribute)) + " is read, which there is not");
  std::vector<Fault> engines = isSearch ? enginesFor(*descriptor) : std::vector{faultOf(*descriptor)};
  DescriptorPointer graph = isSearch ? descriptor->other(A::HeuristicsGraph) : graphOf(*descriptor);
  *count = static_cast<int64_t>(engines.size());
  for (int64_t i = 0; i < std::min(asked, *count); ++i) {
    DescriptorPointer into = all.descriptors.find(static_cast<Handle *>(values)[i]);
    if (!into || into->finished || into->kind != (isSearch ? K::EngineConfiguration : K::Engine))
      return refuse(badParameter, "there is no new descriptor for what is read");
    setOf(*into, graph, engines[static_cast<size_t>(i)]);
  }
  *count = asked > 0 ? std::min(asked, *count) : *count;
  return DnnCode::Success;
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnBackendExecute(Handle libraryHandle, Handle planHandle, Handle operandsHandle) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  static uint64_t turn = 0;
  std::shared_ptr<Library> library = all.libraries.find(libraryHandle);
  DescriptorPointer plan = all.descriptors.find(planHandle), operands = all.descriptors.find(operandsHandle);
  if (!library || !plan || plan->kind != K::Plan || !plan->finished || !operands || operands->kind != K::Operands || !operands->finished)
    return refuse(badParameter, "what is executed is no handle, plan and operands that were finished");
  if (library->device != nparStandinDevice() || !library->stream)
    return refuse(badParameter, "the handle belongs to another device than the thread's, or has no stream");
  DescriptorPointer configuration = plan->other(A::PlanConfiguration), graph = graphOf(*configuration);
  Run run{graph, faultOf(*configuration), ++turn, operands->value<uint64_t>(A::OperandWorkspace), workspaceOf(*graph), {}, {}};
  std::vector<int64_t> numbers = operands->list<int64_t>(A::OperandNumbers);
  std::vector<uint64_t> places = operands->list<uint64_t>(A::OperandPointers);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!run.places.emplace(numbers[i], places[i]).second)
      return refuse(badParameter, "operand " + std::to_string(numbers[i]) + " is given twice");
  size_t used = 0;
  std::set<int64_t> seen;
  for (const DescriptorPointer &tensor : tensorsInMemory(*graph)) {
    int64_t number = tensor->value<int64_t>(A::TensorNumber);
    auto found = run.places.find(number);
    bool isScalar = tensor->value<bool>(A::TensorIsScalar);
    if (found == run.places.end() || found->second == 0 || (!isScalar && found->second % 16 != 0))
      return refuse(badParameter, "operand " + std::to_string(number) + " is missing or misaligned");
    if (isScalar)
      run.numbers[number] = *reinterpret_cast<const float *>(found->second);
    used += seen.insert(number).second ? 1 : 0;
  }
  if (used != run.places.size() || run.workspace % 16 != 0)
    return refuse(badParameter, "an operand is given that the graph has not, or the workspace is misaligned");
  Code code = nparStandinEnqueue(library->stream, [run](const FindBytes &find) { return run.mark(find); });
  if (code == Code::Success)
    code = nparStandinEnqueue(library->stream, [run](const FindBytes &find) { return run.compute(find); });
  return code == Code::Success ? DnnCode::Success : executionFailed;
}
