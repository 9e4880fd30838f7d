// Describes tensors, operations, graphs and plans to cuDNN.
#include "engine/backends/cuda/library/CudnnGraph.h"

#include <utility>

namespace npar::engine::cuda {

DnnObject &DnnObject::operator=(DnnObject &&other) noexcept {
  std::swap(dnn, other.dnn);
  std::swap(handle, other.handle);
  return *this;
}

DnnObject::~DnnObject() {
  if (handle)
    dnn->call().forget(handle);
}

void DnnWriter::note(DnnCode code, const char *doing) {
  if (failed.ok())
    failed = dnn.check(code, std::string(doing) + " " + described + " for cuDNN");
}

DnnObject DnnWriter::make(DnnDescriptor type, const char *what) {
  Handle handle = nullptr;
  described = what;
  if (failed.ok())
    note(dnn.call().describe(type, &handle), "making");
  return DnnObject(dnn, failed.ok() ? handle : nullptr);
}

void DnnWriter::set(const DnnObject &object, DnnAttribute attribute, DnnType type, int64_t count, const void *values) {
  if (failed.ok())
    note(dnn.call().set(object.get(), attribute, type, count, values), "describing");
}

void DnnWriter::finish(const DnnObject &object) {
  if (failed.ok())
    note(dnn.call().finish(object.get()), "finishing");
}

int64_t DnnWriter::get(const DnnObject &object, DnnAttribute attribute, DnnType type, int64_t count, void *values) {
  int64_t found = 0;
  if (failed.ok())
    note(dnn.call().get(object.get(), attribute, type, count, &found, values), "reading");
  return failed.ok() ? found : 0;
}

DnnSizes denseStrides(const DnnSizes &sizes) { return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1}; }

CudnnGraph::Tensor CudnnGraph::tensor(int64_t number, DnnData type, const DnnSizes &sizes, const DnnSizes &strides, bool isPassing,
                                      bool isScalar) {
  DnnObject made = writer.make(DnnDescriptor::Tensor, "a tensor");
  int64_t alignment = isScalar ? sizeof(float) : 16;
  writer.set(made, DnnAttribute::TensorType, DnnType::Data, type);
  writer.set(made, DnnAttribute::TensorSizes, DnnType::Int64, static_cast<int64_t>(sizes.size()), sizes.data());
  writer.set(made, DnnAttribute::TensorStrides, DnnType::Int64, static_cast<int64_t>(strides.size()), strides.data());
  writer.set(made, DnnAttribute::TensorNumber, DnnType::Int64, number);
  writer.set(made, DnnAttribute::TensorAlignment, DnnType::Int64, alignment);
  writer.set(made, DnnAttribute::TensorIsPassing, DnnType::Boolean, isPassing);
  writer.set(made, DnnAttribute::TensorIsScalar, DnnType::Boolean, isScalar);
  writer.finish(made);
  objects.push_back(std::move(made));
  return objects.back().get();
}

CudnnGraph::Tensor CudnnGraph::inMemory(int64_t number, DnnData type, const DnnSizes &sizes, const DnnSizes &strides) {
  return tensor(number, type, sizes, strides, false, false);
}

CudnnGraph::Tensor CudnnGraph::scalar(int64_t number) { return tensor(number, DnnData::F32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true); }

CudnnGraph::Tensor CudnnGraph::passing(DnnData type, const DnnSizes &sizes, const DnnSizes &strides) {
  return tensor(nextPassing++, type, sizes, strides, true, false);
}

void CudnnGraph::operation(DnnObject &&object) {
  writer.finish(object);
  operations.push_back(object.get());
  objects.push_back(std::move(object));
}

void CudnnGraph::multiply(Tensor a, Tensor b, Tensor c) {
  DnnObject product = writer.make(DnnDescriptor::Product, "a matrix product");
  writer.set(product, DnnAttribute::ProductPrecision, DnnType::Data, DnnData::F32);
  writer.finish(product);
  DnnObject made = writer.make(DnnDescriptor::ProductOperation, "a matrix product's operands");
  writer.link(made, DnnAttribute::ProductOf, product.get());
  writer.link(made, DnnAttribute::ProductA, a);
  writer.link(made, DnnAttribute::ProductB, b);
  writer.link(made, DnnAttribute::ProductC, c);
  objects.push_back(std::move(product));
  operation(std::move(made));
}

void CudnnGraph::point(DnnPointwise mode, Tensor x, Tensor b, Tensor y, Tensor t, int64_t axis) {
  DnnObject pointwise = writer.make(DnnDescriptor::Pointwise, "an operation on elements");
  writer.set(pointwise, DnnAttribute::PointwiseMode, DnnType::Pointwise, mode);
  writer.set(pointwise, DnnAttribute::PointwisePrecision, DnnType::Data, DnnData::F32);
  if (axis >= 0)
    writer.set(pointwise, DnnAttribute::PointwiseAxis, DnnType::Int64, axis);
  writer.finish(pointwise);
  DnnObject made = writer.make(DnnDescriptor::PointwiseOperation, "the operands of an operation on elements");
  writer.link(made, DnnAttribute::PointwiseOf, pointwise.get());
  writer.link(made, DnnAttribute::PointwiseX, x);
  if (b)
    writer.link(made, DnnAttribute::PointwiseB, b);
  writer.link(made, DnnAttribute::PointwiseY, y);
  if (t)
    writer.link(made, DnnAttribute::PointwiseT, t);
  objects.push_back(std::move(pointwise));
  operation(std::move(made));
}

void CudnnGraph::reduce(DnnReduction op, Tensor x, Tensor y) {
  DnnObject reduction = writer.make(DnnDescriptor::Reduction, "a reduction");
  writer.set(reduction, DnnAttribute::ReductionOperator, DnnType::Reduction, op);
  writer.set(reduction, DnnAttribute::ReductionPrecision, DnnType::Data, DnnData::F32);
  writer.finish(reduction);
  DnnObject made = writer.make(DnnDescriptor::ReductionOperation, "a reduction's operands");
  writer.link(made, DnnAttribute::ReductionOf, reduction.get());
  writer.link(made, DnnAttribute::ReductionX, x);
  writer.link(made, DnnAttribute::ReductionY, y);
  objects.push_back(std::move(reduction));
  operation(std::move(made));
}

void CudnnGraph::reshape(Tensor x, Tensor y) {
  DnnObject made = writer.make(DnnDescriptor::ReshapeOperation, "a change of order");
  writer.link(made, DnnAttribute::ReshapeX, x);
  writer.link(made, DnnAttribute::ReshapeY, y);
  operation(std::move(made));
}

Result<Handle> CudnnGraph::finish(Handle library) {
  DnnObject graph = writer.make(DnnDescriptor::Graph, "a graph");
  if (library)
    writer.set(graph, DnnAttribute::GraphLibrary, DnnType::Handle, library);
  writer.set(graph, DnnAttribute::GraphOperations, DnnType::Descriptor, static_cast<int64_t>(operations.size()), operations.data());
  writer.finish(graph);
  objects.push_back(std::move(graph));
  if (!writer.status().ok())
    return writer.status();
  return objects.back().get();
}

namespace {
/// Returns the library's proposals for a graph, best first.
std::vector<DnnObject> proposals(DnnWriter &writer, Handle graph, DnnMode mode, const DnnObject &device) {
  DnnObject heuristics = writer.make(DnnDescriptor::Heuristics, "a search for ways to execute a graph");
  writer.link(heuristics, DnnAttribute::HeuristicsGraph, graph);
  writer.set(heuristics, DnnAttribute::HeuristicsMode, DnnType::Mode, mode);
  if (device.get())
    writer.link(heuristics, DnnAttribute::HeuristicsDevice, device.get());
  writer.finish(heuristics);
  int64_t count = writer.get(heuristics, DnnAttribute::HeuristicsResults, DnnType::Descriptor, 0, nullptr);
  std::vector<DnnObject> all;
  std::vector<Handle> handles;
  for (int64_t i = 0; i < count; ++i) {
    all.push_back(writer.make(DnnDescriptor::EngineConfiguration, "a way to execute a graph"));
    handles.push_back(all.back().get());
  }
  if (count > 0)
    count = writer.get(heuristics, DnnAttribute::HeuristicsResults, DnnType::Descriptor, count, handles.data());
  all.resize(static_cast<size_t>(writer.status().ok() ? count : 0));
  return all;
}

bool repeats(DnnWriter &writer, const DnnObject &configuration) {
  DnnObject engine = writer.make(DnnDescriptor::Engine, "an engine");
  Handle handle = engine.get();
  writer.get(configuration, DnnAttribute::ConfigurationEngine, DnnType::Descriptor, 1, &handle);
  DnnNote notes[static_cast<size_t>(DnnNote::Count)];
  int64_t count = writer.get(engine, DnnAttribute::EngineNotes, DnnType::Note, static_cast<int64_t>(DnnNote::Count), notes);
  for (int64_t i = 0; i < count; ++i)
    if (notes[i] == DnnNote::Restless)
      return false;
  return true;
}
} // namespace

Result<std::vector<DnnPlan>> plansFor(const Cudnn &dnn, Handle graph, const std::string &device) {
  DnnWriter writer(dnn);
  DnnObject properties;
  if (!device.empty()) {
    properties = writer.make(DnnDescriptor::Device, "a device");
    writer.set(properties, DnnAttribute::DeviceText, DnnType::Char, static_cast<int64_t>(device.size()), device.data());
    writer.finish(properties);
  }
  std::vector<DnnPlan> plans;
  for (DnnMode mode : {DnnMode::A, DnnMode::Fallback}) {
    for (const DnnObject &configuration : proposals(writer, graph, mode, properties)) {
      if (!repeats(writer, configuration))
        continue;
      DnnWriter own(dnn); // it may refuse: then there is one way less
      DnnPlan made{own.make(DnnDescriptor::Plan, "a plan"), 0};
      own.link(made.plan, DnnAttribute::PlanConfiguration, configuration.get());
      if (properties.get())
        own.link(made.plan, DnnAttribute::PlanDevice, properties.get());
      own.finish(made.plan);
      int64_t bytes = 0;
      own.get(made.plan, DnnAttribute::PlanWorkspaceBytes, DnnType::Int64, 1, &bytes);
      made.workspaceBytes = static_cast<uint64_t>(bytes);
      if (own.status().ok())
        plans.push_back(std::move(made));
    }
    if (!plans.empty())
      break;
  }
  if (!writer.status().ok())
    return writer.status();
  return plans;
}

} // namespace npar::engine::cuda
