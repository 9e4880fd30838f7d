// Checks a complete descriptor of the stand-in for errors.
#include "tests/engine/backends/standin/cudnn/Descriptors.h"
#include "tests/engine/backends/standin/cudnn/Graphs.h"

namespace npar::standin::dnn {

namespace {
using A = DnnAttribute;
using K = DnnDescriptor;
using Sizes = std::vector<int64_t>;

Sizes sizesOf(const DescriptorPointer &tensor) { return tensor->list<int64_t>(A::TensorSizes); }
DnnData typeOf(const DescriptorPointer &tensor) { return tensor->value<DnnData>(A::TensorType); }
bool isOf16Bits(DnnData type) { return type == DnnData::BF16 || type == DnnData::F16; }

std::string whyNoTensor(const Descriptor &tensor) {
  Sizes sizes = tensor.list<int64_t>(A::TensorSizes), strides = tensor.list<int64_t>(A::TensorStrides);
  bool isPassing = tensor.value<bool>(A::TensorIsPassing), isScalar = tensor.value<bool>(A::TensorIsScalar), isOne = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    isOne &= sizes[i] == 1;
    if (sizes[i] < 1 || strides[i] < 1)
      return "a size or a stride is not positive";
  }
  if (strides[3] != 1 && strides[2] != 1)
    return "neither rows nor columns have neighbours in memory";
  DnnData type = tensor.value<DnnData>(A::TensorType);
  int64_t alignment = tensor.value<int64_t>(A::TensorAlignment);
  if (isScalar && (!isOne || isPassing || type != DnnData::F32 || alignment % 4 != 0))
    return "a number of the host's is more than one float";
  if (!isScalar && alignment != 16)
    return "it is aligned to " + std::to_string(alignment) + " bytes, not to 16";
  for (size_t i = 0; i < 3; ++i) // vectors of 16 bytes
    if (!isPassing && isOf16Bits(type) && sizes[i] > 1 && strides[i] != 1 && strides[i] % 8 != 0)
      return "a stride is no multiple of 16 bytes";
  return isPassing || type == DnnData::F32 || isOf16Bits(type) ? "" : "it is in memory and has no floating-point type";
}

std::string whyNoProduct(const Descriptor &operation) {
  DescriptorPointer a = operation.other(A::ProductA), b = operation.other(A::ProductB), c = operation.other(A::ProductC);
  Sizes sa = sizesOf(a), sb = sizesOf(b), sc = sizesOf(c);
  if (operation.other(A::ProductOf)->value<DnnData>(A::ProductPrecision) != DnnData::F32)
    return "sums have another type than float32";
  if (sa[3] != sb[2] || sc[2] != sa[2] || sc[3] != sb[3] || sa[0] != sb[0] || sc[0] != sa[0] || sc[1] != sa[1] || sa[1] % sb[1] != 0)
    return "the sizes of a product do not fit";
  return isOf16Bits(typeOf(b)) && (isOf16Bits(typeOf(a)) || a->value<bool>(A::TensorIsPassing)) ? "" : "a factor is not of 16 bits";
}

std::string whyNoPointwise(const Descriptor &operation) {
  DescriptorPointer of = operation.other(A::PointwiseOf), x = operation.other(A::PointwiseX), y = operation.other(A::PointwiseY);
  auto mode = of->value<DnnPointwise>(A::PointwiseMode);
  bool isIndex = mode == DnnPointwise::Index, isSelect = mode == DnnPointwise::Select;
  bool isUnary = isIndex || mode == DnnPointwise::Exp || mode == DnnPointwise::Log;
  if (of->has(A::PointwiseAxis) != isIndex || operation.has(A::PointwiseB) == isUnary || operation.has(A::PointwiseT) != isSelect)
    return "an operation on elements has an operand or an axis too many or too few";
  std::vector<DescriptorPointer> inputs = {x};
  for (A attribute : {A::PointwiseB, A::PointwiseT})
    if (operation.has(attribute))
      inputs.push_back(operation.other(attribute));
  for (const DescriptorPointer &input : inputs)
    for (size_t i = 0; i < 4; ++i)
      if (sizesOf(input)[i] != 1 && sizesOf(input)[i] != sizesOf(y)[i])
        return "the sizes of an operation on elements do not fit";
  if ((mode == DnnPointwise::GreaterOrEqual) != (typeOf(y) == DnnData::Boolean) || isIndex != (typeOf(y) == DnnData::I32))
    return "an operation on elements has a result of another type";
  return !isSelect || typeOf(inputs[2]) == DnnData::Boolean ? "" : "the selecting tensor has another type than boolean";
}

std::string whyNoReduction(const Descriptor &operation) {
  Sizes x = sizesOf(operation.other(A::ReductionX)), y = sizesOf(operation.other(A::ReductionY));
  for (size_t i = 0; i < 4; ++i)
    if (x[i] % y[i] != 0 || (x[i] != y[i] && y[i] != 1 && i != 1))
      return "the sizes of a reduction do not fit";
  return "";
}

std::string whyNoReshape(const Descriptor &operation) {
  DescriptorPointer x = operation.other(A::ReshapeX), y = operation.other(A::ReshapeY);
  Sizes ofX = sizesOf(x), ofY = sizesOf(y), strides = x->list<int64_t>(A::TensorStrides), turned = y->list<int64_t>(A::TensorStrides);
  std::swap(ofX[2], ofX[3]), std::swap(strides[2], strides[3]);
  return ofX == ofY && strides == turned ? "" : "a change of order is none of rows and columns";
}
} // namespace

std::string whyNot(const Descriptor &descriptor) {
  switch (descriptor.kind) {
  case K::Tensor:
    return whyNoTensor(descriptor);
  case K::ProductOperation:
    return whyNoProduct(descriptor);
  case K::PointwiseOperation:
    return whyNoPointwise(descriptor);
  case K::ReductionOperation:
    return whyNoReduction(descriptor);
  case K::ReshapeOperation:
    return whyNoReshape(descriptor);
  case K::Graph:
    return whyNoGraph(descriptor);
  case K::Operands:
    return descriptor.list<int64_t>(A::OperandNumbers).size() == descriptor.list<void *>(A::OperandPointers).size()
               ? ""
               : "there are not as many places as numbers";
  case K::Product:
  case K::Pointwise:
  case K::Reduction:
  case K::Heuristics:
  case K::Plan:
  case K::Engine:
  case K::EngineConfiguration:
  case K::Device:
    break;
  }
  return "";
}

} // namespace npar::standin::dnn
