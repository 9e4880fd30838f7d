// Checks and executes graphs.
#include "tests/engine/backends/standin/cudnn/Graphs.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace npar::standin::dnn {

namespace {
using A = DnnAttribute;
using K = DnnDescriptor;
using Sizes = std::vector<int64_t>;

int64_t numberOf(const Descriptor &tensor) { return tensor.value<int64_t>(A::TensorNumber); }
bool isPassing(const Descriptor &tensor) { return tensor.value<bool>(A::TensorIsPassing); }
Sizes sizesOf(const Descriptor &tensor) { return tensor.list<int64_t>(A::TensorSizes); }

std::vector<DescriptorPointer> inputsOf(const Descriptor &operation) {
  std::vector<DescriptorPointer> inputs;
  for (A attribute : {A::ProductA, A::ProductB, A::PointwiseX, A::PointwiseB, A::PointwiseT, A::ReductionX, A::ReshapeX})
    if (operation.has(attribute))
      inputs.push_back(operation.other(attribute));
  return inputs;
}

DescriptorPointer outputOf(const Descriptor &operation) {
  for (A attribute : {A::ProductC, A::PointwiseY, A::ReductionY})
    if (operation.has(attribute))
      return operation.other(attribute);
  return operation.other(A::ReshapeY);
}

const std::vector<DescriptorPointer> &operationsOf(const Descriptor &graph) { return graph.attributes.at(A::GraphOperations).others; }
} // namespace

std::string whyNoGraph(const Descriptor &graph) {
  std::set<int64_t> written, read, inMemory, passing;
  for (const DescriptorPointer &operation : operationsOf(graph)) {
    for (const DescriptorPointer &input : inputsOf(*operation)) {
      int64_t number = numberOf(*input);
      (isPassing(*input) ? passing : inMemory).insert(number);
      if (isPassing(*input) && !written.count(number))
        return "tensor " + std::to_string(number) + " is read before it is written";
      read.insert(number);
    }
    DescriptorPointer output = outputOf(*operation);
    (isPassing(*output) ? passing : inMemory).insert(numberOf(*output));
    if (read.count(numberOf(*output)) || !written.insert(numberOf(*output)).second)
      return "tensor " + std::to_string(numberOf(*output)) + " is written twice, or after it was read";
  }
  for (int64_t number : passing)
    if (!read.count(number) || inMemory.count(number))
      return "tensor " + std::to_string(number) + " is written for nothing, or is two";
  return "";
}

/// cuDNN knows what it fuses by its pattern; here it is told by the numbers of operations, and whether lse is there.
Pattern patternOf(const Descriptor &graph) {
  std::map<K, int> counts;
  for (const DescriptorPointer &operation : operationsOf(graph))
    ++counts[operation->kind];
  if (counts[K::ProductOperation] == 2 && counts[K::ReductionOperation] == 2 && counts[K::ReshapeOperation] == 0)
    return Pattern::Forward;
  bool isGradient = counts[K::ProductOperation] == 5 && counts[K::ReshapeOperation] == 3;
  return isGradient && (counts[K::ReductionOperation] == 1 || counts[K::ReductionOperation] == 3) ? Pattern::Gradient : Pattern::None;
}

uint64_t workspaceOf(const Descriptor &graph) {
  uint64_t scores = 0;
  for (const DescriptorPointer &operation : operationsOf(graph))
    if (operation->kind == K::ReshapeOperation) {
      Sizes sizes = sizesOf(*outputOf(*operation));
      scores = std::max<uint64_t>(scores, static_cast<uint64_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]) * 2);
    }
  return scores + 256;
}

std::vector<DescriptorPointer> tensorsInMemory(const Descriptor &graph) {
  std::vector<DescriptorPointer> all;
  for (const DescriptorPointer &operation : operationsOf(graph)) {
    std::vector<DescriptorPointer> tensors = inputsOf(*operation);
    tensors.push_back(outputOf(*operation));
    for (const DescriptorPointer &tensor : tensors)
      if (!isPassing(*tensor))
        all.push_back(tensor);
  }
  return all;
}

uint64_t bytesOf(const Descriptor &tensor) {
  Sizes sizes = sizesOf(tensor), strides = tensor.list<int64_t>(A::TensorStrides);
  int64_t last = 0;
  for (size_t i = 0; i < 4; ++i)
    last += (sizes[i] - 1) * strides[i];
  return static_cast<uint64_t>(last + 1) * (tensor.value<DnnData>(A::TensorType) == DnnData::F32 ? 4 : 2);
}

namespace {
/// The values of a tensor, dense, in its own order.
struct Values {
  Sizes sizes;
  std::vector<float> at;
  size_t place(int64_t s, int64_t h, int64_t r, int64_t c) const {
    return static_cast<size_t>(((s * sizes[1] + h) * sizes[2] + r) * sizes[3] + c);
  }
  /// An element; a dimension of size 1 is broadcast.
  float spread(int64_t s, int64_t h, int64_t r, int64_t c) const {
    return at[place(sizes[0] == 1 ? 0 : s, sizes[1] == 1 ? 0 : h, sizes[2] == 1 ? 0 : r, sizes[3] == 1 ? 0 : c)];
  }
};

template <typename Each> void forAll(const Sizes &sizes, const Each &each) {
  for (int64_t s = 0; s < sizes[0]; ++s)
    for (int64_t h = 0; h < sizes[1]; ++h)
      for (int64_t r = 0; r < sizes[2]; ++r)
        for (int64_t c = 0; c < sizes[3]; ++c)
          each(s, h, r, c);
}

float rounded(float value, DnnData type) {
  return type == DnnData::BF16  ? static_cast<float>(engine::BFloat16(value))
         : type == DnnData::F16 ? static_cast<float>(engine::Float16(value))
                                : value;
}

class Execution {
public:
  Execution(uint64_t turn, bool blind, const FindTensor &find) : turn(turn), blind(blind), find(find) {}
  void run(const Descriptor &operation) {
    Values y{sizesOf(*outputOf(operation)), {}};
    y.at.resize(static_cast<size_t>(y.sizes[0] * y.sizes[1] * y.sizes[2] * y.sizes[3]));
    if (operation.kind == K::ProductOperation)
      multiply(operation, y);
    else if (operation.kind == K::PointwiseOperation)
      point(operation, y);
    else if (operation.kind == K::ReductionOperation)
      reduce(operation, y);
    else
      reshape(operation, y);
    write(*outputOf(operation), y);
  }

private:
  template <typename Each> void elements(const Descriptor &tensor, const Each &each) const {
    Sizes strides = tensor.list<int64_t>(A::TensorStrides);
    size_t next = 0;
    forAll(sizesOf(tensor), [&](int64_t s, int64_t h, int64_t r, int64_t c) {
      each(next++, static_cast<size_t>(s * strides[0] + h * strides[1] + r * strides[2] + c * strides[3]));
    });
  }

  Values read(const Descriptor &tensor) const {
    if (isPassing(tensor))
      return passed.at(numberOf(tensor));
    Values values{sizesOf(tensor), {}};
    const uint8_t *bytes = find(numberOf(tensor));
    DnnData type = tensor.value<DnnData>(A::TensorType);
    elements(tensor, [&](size_t, size_t at) {
      auto get = [&](auto value) {
        std::memcpy(&value, bytes + at * sizeof value, sizeof value);
        return static_cast<float>(value);
      };
      values.at.push_back(type == DnnData::F32 ? get(float()) : type == DnnData::BF16 ? get(engine::BFloat16()) : get(engine::Float16()));
    });
    return values;
  }

  void write(const Descriptor &tensor, Values &values) {
    DnnData type = tensor.value<DnnData>(A::TensorType);
    if (isPassing(tensor)) {
      for (float &value : values.at)
        value = rounded(value, type);
      passed[numberOf(tensor)] = std::move(values);
      return;
    }
    uint8_t *bytes = find(numberOf(tensor));
    elements(tensor, [&](size_t i, size_t at) {
      auto put = [&](auto value) { std::memcpy(bytes + at * sizeof value, &value, sizeof value); };
      if (type == DnnData::F32)
        put(values.at[i]);
      else if (type == DnnData::BF16)
        put(engine::BFloat16(values.at[i]));
      else
        put(engine::Float16(values.at[i]));
    });
  }

  /// Multiplies in another order than npar: from the last product down, or in two rounded parts, so that the difference is visible.
  void multiply(const Descriptor &operation, Values &y) const {
    DescriptorPointer ofA = operation.other(A::ProductA), ofB = operation.other(A::ProductB);
    Values a = read(*ofA), b = read(*ofB);
    for (float &value : a.at)
      value = rounded(value, ofB->value<DnnData>(A::TensorType));
    int64_t k = a.sizes[3], group = a.sizes[1] / b.sizes[1], begin = static_cast<int64_t>(turn * 7919 % static_cast<uint64_t>(k));
    forAll(y.sizes, [&](int64_t s, int64_t h, int64_t r, int64_t c) {
      float parts[2] = {0, 0};
      for (int64_t i = k; i-- > 0;) {
        float &sum = parts[i < begin];
        sum = std::fma(a.at[a.place(s, h, r, i)], b.at[b.place(s, h / group, i, c)], sum);
      }
      if (begin > 0)
        parts[0] = rounded(parts[0], DnnData::F16), parts[1] = rounded(parts[1], DnnData::F16);
      y.at[y.place(s, h, r, c)] = parts[0] + parts[1];
    });
  }

  void point(const Descriptor &operation, Values &y) const {
    DescriptorPointer of = operation.other(A::PointwiseOf);
    auto mode = of->value<DnnPointwise>(A::PointwiseMode);
    int64_t axis = of->has(A::PointwiseAxis) ? of->value<int64_t>(A::PointwiseAxis) : 0;
    Values x = read(*operation.other(A::PointwiseX)), b, t;
    if (operation.has(A::PointwiseB))
      b = read(*operation.other(A::PointwiseB));
    if (operation.has(A::PointwiseT))
      t = read(*operation.other(A::PointwiseT));
    forAll(y.sizes, [&](int64_t s, int64_t h, int64_t r, int64_t c) {
      float one = x.spread(s, h, r, c), other = b.at.empty() ? 0 : b.spread(s, h, r, c), result = 0;
      switch (mode) {
      case DnnPointwise::Add:
        result = one + other;
        break;
      case DnnPointwise::Multiply:
        result = one * other;
        break;
      case DnnPointwise::Divide:
        result = one / other;
        break;
      case DnnPointwise::Subtract:
        result = one - other;
        break;
      case DnnPointwise::Exp:
        result = std::exp(one);
        break;
      case DnnPointwise::Log:
        result = std::log(one);
        break;
      case DnnPointwise::GreaterOrEqual:
        result = one >= other ? 1 : 0;
        break;
      case DnnPointwise::Index:
        result = static_cast<float>(axis == 2 ? r : c);
        break;
      case DnnPointwise::Select:
        result = t.spread(s, h, r, c) != 0 || blind ? one : other;
        break;
      }
      y.at[y.place(s, h, r, c)] = result;
    });
  }

  /// The heads of a group are neighbours.
  void reduce(const Descriptor &operation, Values &y) const {
    Values x = read(*operation.other(A::ReductionX));
    bool isMax = operation.other(A::ReductionOf)->value<DnnReduction>(A::ReductionOperator) == DnnReduction::Max;
    std::fill(y.at.begin(), y.at.end(), isMax ? -std::numeric_limits<float>::infinity() : 0.0f);
    forAll(x.sizes, [&](int64_t s, int64_t h, int64_t r, int64_t c) {
      int64_t columns = x.sizes[3], from = columns - 1 - c;
      float value = x.at[x.place(s, h, r, from)];
      float &into =
          y.at[y.place(y.sizes[0] == 1 ? 0 : s, h * y.sizes[1] / x.sizes[1], y.sizes[2] == 1 ? 0 : r, y.sizes[3] == 1 ? 0 : from)];
      into = isMax ? std::max(into, value) : into + value;
    });
  }

  void reshape(const Descriptor &operation, Values &y) const {
    Values x = read(*operation.other(A::ReshapeX));
    forAll(y.sizes, [&](int64_t s, int64_t h, int64_t r, int64_t c) { y.at[y.place(s, h, r, c)] = x.at[x.place(s, h, c, r)]; });
  }

  const uint64_t turn;
  const bool blind;
  const FindTensor &find;
  std::map<int64_t, Values> passed;
};
} // namespace

void execute(const Descriptor &graph, uint64_t turn, bool blind, const FindTensor &find) {
  Execution execution(turn, blind, find);
  for (const DescriptorPointer &operation : operationsOf(graph))
    execution.run(*operation);
}

} // namespace npar::standin::dnn
