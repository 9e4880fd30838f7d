// The library's calls about handles, descriptors and attributes: what may be set, of which type and how many of them.
#include "tests/engine/backends/standin/cudnn/Descriptors.h"

#include "tests/engine/backends/standin/Guest.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#define NPAR_STANDIN_DNN_CALL extern "C" __attribute__((visibility("default")))

namespace npar::standin {

Handle newHandle() {
  static std::atomic<uintptr_t> next{0x9000};
  return reinterpret_cast<Handle>(next += 0x10);
}

namespace dnn {

Wishes Wishes::fromEnvironment() {
  Wishes wishes;
  const char *text = std::getenv("NPAR_STANDIN_CUDNN");
  std::istringstream words(text ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "restless")
      wishes.restless = true;
    else if (word == "blind")
      wishes.blind = true;
    else if (word == "nothing")
      wishes.nothing = true;
    else if (word.rfind("version=", 0) == 0)
      wishes.version = static_cast<size_t>(std::atoll(word.c_str() + 8));
    else {
      std::fprintf(stderr, "stand-in for cuDNN: NPAR_STANDIN_CUDNN has '%s', which is none of restless, blind, nothing, version=N\n",
                   word.c_str());
      std::exit(2);
    }
  }
  return wishes;
}

Everything &Everything::instance() {
  static Everything all;
  return all;
}

Everything::~Everything() {
  const char *asked = std::getenv("NPAR_STANDIN_LEAKS");
  if (!asked || std::strcmp(asked, "1") != 0)
    return;
  for (auto [count, what] : {std::pair{libraries.all().size(), "handles"}, {descriptors.all().size(), "descriptors"}})
    if (count > 0)
      std::fprintf(stderr, "stand-in for cuDNN: not given back: %zu %s\n", count, what);
}

static thread_local std::string last;

DnnCode refuse(DnnCode code, const std::string &why) {
  last = why;
  if (Everything::instance().reasons.insert(why).second)
    std::fprintf(stderr, "stand-in for cuDNN: refused: %s\n", why.c_str());
  return code;
}

namespace {

/// An attribute of a kind of descriptor that can be set or read: `least` to `most` values of a type. `needed`: it must be set before the
/// descriptor is finished. `of`: the kind of descriptors that it takes (Handle: any).
struct Rule {
  DnnDescriptor kind;
  DnnAttribute attribute;
  DnnType type;
  int64_t least, most;
  bool needed, set;
  DnnDescriptor of = DnnDescriptor::Operands;
};
constexpr int64_t many = 64;
using K = DnnDescriptor;
using A = DnnAttribute;
using T = DnnType;
const Rule rules[] = {
    {K::Tensor, A::TensorType, T::Data, 1, 1, true, true},
    {K::Tensor, A::TensorSizes, T::Int64, 4, 4, true, true},
    {K::Tensor, A::TensorStrides, T::Int64, 4, 4, true, true},
    {K::Tensor, A::TensorNumber, T::Int64, 1, 1, true, true},
    {K::Tensor, A::TensorAlignment, T::Int64, 1, 1, true, true},
    {K::Tensor, A::TensorIsPassing, T::Boolean, 1, 1, true, true},
    {K::Tensor, A::TensorIsScalar, T::Boolean, 1, 1, true, true},
    {K::Product, A::ProductPrecision, T::Data, 1, 1, true, true},
    {K::ProductOperation, A::ProductOf, T::Descriptor, 1, 1, true, true, K::Product},
    {K::ProductOperation, A::ProductA, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::ProductOperation, A::ProductB, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::ProductOperation, A::ProductC, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::Pointwise, A::PointwiseMode, T::Pointwise, 1, 1, true, true},
    {K::Pointwise, A::PointwisePrecision, T::Data, 1, 1, true, true},
    {K::Pointwise, A::PointwiseAxis, T::Int64, 1, 1, false, true},
    {K::PointwiseOperation, A::PointwiseOf, T::Descriptor, 1, 1, true, true, K::Pointwise},
    {K::PointwiseOperation, A::PointwiseX, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::PointwiseOperation, A::PointwiseB, T::Descriptor, 1, 1, false, true, K::Tensor},
    {K::PointwiseOperation, A::PointwiseT, T::Descriptor, 1, 1, false, true, K::Tensor},
    {K::PointwiseOperation, A::PointwiseY, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::Reduction, A::ReductionOperator, T::Reduction, 1, 1, true, true},
    {K::Reduction, A::ReductionPrecision, T::Data, 1, 1, true, true},
    {K::ReductionOperation, A::ReductionOf, T::Descriptor, 1, 1, true, true, K::Reduction},
    {K::ReductionOperation, A::ReductionX, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::ReductionOperation, A::ReductionY, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::ReshapeOperation, A::ReshapeX, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::ReshapeOperation, A::ReshapeY, T::Descriptor, 1, 1, true, true, K::Tensor},
    {K::Graph, A::GraphLibrary, T::Handle, 1, 1, true, true},
    {K::Graph, A::GraphOperations, T::Descriptor, 1, many, true, true},
    {K::Heuristics, A::HeuristicsGraph, T::Descriptor, 1, 1, true, true, K::Graph},
    {K::Heuristics, A::HeuristicsMode, T::Mode, 1, 1, true, true},
    {K::Heuristics, A::HeuristicsResults, T::Descriptor, 0, many, false, false, K::EngineConfiguration},
    {K::EngineConfiguration, A::ConfigurationEngine, T::Descriptor, 1, 1, false, false, K::Engine},
    {K::Engine, A::EngineNotes, T::Note, 1, many, false, false},
    {K::Plan, A::PlanConfiguration, T::Descriptor, 1, 1, true, true, K::EngineConfiguration},
    {K::Plan, A::PlanWorkspaceBytes, T::Int64, 1, 1, false, false},
    {K::Operands, A::OperandNumbers, T::Int64, 1, many, true, true},
    {K::Operands, A::OperandPointers, T::Pointer, 1, many, true, true},
    {K::Operands, A::OperandWorkspace, T::Pointer, 1, 1, true, true},
};

const Rule *ruleOf(DnnDescriptor kind, DnnAttribute attribute) {
  for (const Rule &rule : rules)
    if (rule.kind == kind && rule.attribute == attribute)
      return &rule;
  return nullptr;
}

size_t sizeOf(DnnType type) {
  switch (type) {
  case DnnType::Boolean:
  case DnnType::Char:
    return 1;
  case DnnType::Data:
  case DnnType::Mode:
  case DnnType::Note:
  case DnnType::Pointwise:
  case DnnType::Reduction:
    return 4;
  case DnnType::Handle:
  case DnnType::Int64:
  case DnnType::Pointer:
  case DnnType::Descriptor:
    break;
  }
  return 8;
}

bool isOperation(DnnDescriptor kind) {
  return kind == K::ProductOperation || kind == K::PointwiseOperation || kind == K::ReductionOperation || kind == K::ReshapeOperation;
}

std::string number(long value) { return std::to_string(value); }

} // namespace
} // namespace dnn
} // namespace npar::standin

using namespace npar::standin;
using namespace npar::standin::dnn;

NPAR_STANDIN_DNN_CALL size_t cudnnGetVersion() { return Everything::instance().wishes.version; }

NPAR_STANDIN_DNN_CALL const char *cudnnGetErrorString(DnnCode code) {
  return code == DnnCode::Success ? "CUDNN_STATUS_SUCCESS"
         : code == notSupported   ? "CUDNN_STATUS_NOT_SUPPORTED"
         : code == badParameter   ? "CUDNN_STATUS_BAD_PARAM"
                                  : "CUDNN_STATUS_EXECUTION_FAILED";
}

NPAR_STANDIN_DNN_CALL void cudnnGetLastErrorString(char *message, size_t size) { std::snprintf(message, size, "%s", last.c_str()); }

NPAR_STANDIN_DNN_CALL DnnCode cudnnCreate(Handle *library) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  int device = nparStandinDevice();
  if (!library || device < 0)
    return refuse(badParameter, "a handle is made without a device that is the thread's");
  *library = all.libraries.add(std::make_shared<Library>(Library{device, nullptr}));
  return DnnCode::Success;
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnDestroy(Handle library) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.libraries.remove(library) ? DnnCode::Success : refuse(badParameter, "a handle is destroyed that is none, or twice");
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnSetStream(Handle handle, Handle stream) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::shared_ptr<Library> library = all.libraries.find(handle);
  if (!library || !stream)
    return refuse(badParameter, "a stream is given to a handle that is none, or none to a handle");
  library->stream = stream;
  return DnnCode::Success;
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnBackendCreateDescriptor(DnnDescriptor kind, Handle *descriptor) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  bool known = false;
  for (const Rule &rule : rules)
    known |= rule.kind == kind;
  if (!known || !descriptor)
    return refuse(notSupported, "a descriptor of kind " + number(static_cast<long>(kind)) + " is made, which the stand-in has not");
  *descriptor = all.descriptors.add(std::make_shared<Descriptor>(Descriptor{kind, false, {}}));
  return DnnCode::Success;
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnBackendDestroyDescriptor(Handle descriptor) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.descriptors.remove(descriptor) ? DnnCode::Success : refuse(badParameter, "a descriptor is destroyed that is none, or twice");
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnBackendSetAttribute(Handle handle, DnnAttribute attribute, DnnType type, int64_t count,
                                                       const void *values) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  DescriptorPointer descriptor = all.descriptors.find(handle);
  if (!descriptor || descriptor->finished)
    return refuse(badParameter, "an attribute is set of what is no descriptor, or was finished");
  std::string what =
      "attribute " + number(static_cast<long>(attribute)) + " of a descriptor of kind " + number(static_cast<long>(descriptor->kind));
  const Rule *rule = ruleOf(descriptor->kind, attribute);
  if (!rule || !rule->set)
    return refuse(notSupported, what + " is set, which it has not");
  if (rule->type != type || count < rule->least || count > rule->most || !values)
    return refuse(badParameter, what + " is set to " + number(count) + " values of type " + number(static_cast<long>(type)));
  if (descriptor->has(attribute))
    return refuse(badParameter, what + " is set twice");
  size_t bytes = sizeOf(type) * static_cast<size_t>(count);
  Descriptor::Attribute made{type, std::vector<uint8_t>(bytes), {}};
  std::memcpy(made.bytes.data(), values, bytes);
  for (int64_t i = 0; type == T::Descriptor && i < count; ++i) {
    DescriptorPointer other = all.descriptors.find(static_cast<Handle const *>(values)[i]);
    bool fits = other && (attribute == A::GraphOperations ? isOperation(other->kind) : other->kind == rule->of);
    if (!fits || !other->finished)
      return refuse(badParameter, what + " is set to what is no descriptor of its kind, or was not finished");
    made.others.push_back(other);
  }
  if (type == T::Handle && !all.libraries.find(*static_cast<Handle const *>(values)))
    return refuse(badParameter, what + " is set to what is no handle");
  descriptor->attributes.emplace(attribute, std::move(made));
  return DnnCode::Success;
}

NPAR_STANDIN_DNN_CALL DnnCode cudnnBackendFinalize(Handle handle) {
  Everything &all = Everything::instance();
  std::lock_guard<std::mutex> lock(all.mutex);
  DescriptorPointer descriptor = all.descriptors.find(handle);
  if (!descriptor || descriptor->finished)
    return refuse(badParameter, "what is no descriptor is finished, or one twice");
  std::string what = "a descriptor of kind " + number(static_cast<long>(descriptor->kind));
  for (const Rule &rule : rules)
    if (rule.kind == descriptor->kind && rule.needed && !descriptor->has(rule.attribute))
      return refuse(badParameter, what + " is finished without its attribute " + number(static_cast<long>(rule.attribute)));
  if (std::string why = whyNot(*descriptor); !why.empty())
    return refuse(descriptor->kind == K::Plan ? notSupported : badParameter, what + ": " + why);
  descriptor->finished = true;
  return DnnCode::Success;
}
