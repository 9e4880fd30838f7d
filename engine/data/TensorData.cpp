// Training data as tensors, checked whole before anything is trained.
#include "engine/data/TensorData.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace npar::engine {

using program::ElementType;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// Types of tensors that an input of this type takes.
const std::vector<std::string> &typesFor(ElementType type) {
  static const std::vector<std::string> integers = {"I32", "I64", "U8"}, floats = {"F32", "BF16", "F16"};
  return type == ElementType::F32 ? floats : integers;
}

template <typename T> T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Calls `use(index, value)` for `length` integers from `first` on until it returns false.
template <typename Use> void forIntegers(const StoredTensor &tensor, const uint8_t *bytes, uint64_t first, uint64_t length, Use use) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t i = first; i < first + length && use(i, static_cast<int64_t>(load<T>(bytes + i * sizeof(T)))); ++i)
      ;
  };
  if (tensor.type == "I64")
    run(int64_t{0});
  else if (tensor.type == "I32")
    run(int32_t{0});
  else
    run(uint8_t{0});
}

} // namespace

Result<TensorData> TensorData::open(const std::string &path, const BatchShape &shape) {
  Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(path, "data");
  if (!file.ok())
    return file.status();
  TensorData data(path, *file, shape);
  if (Status status = data.findTensors(); !status.ok())
    return status;
  for (size_t i = 0; i < shape.inputs.size(); ++i)
    if (Status status = data.checkValues(shape.inputs[i], data.tensors[i]); !status.ok())
      return status;
  return data;
}

Status TensorData::findTensors() {
  for (const InputShape &input : shape.inputs) {
    auto found = file->tensors().find(input.name);
    if (found == file->tensors().end())
      return Status::badInput("data '" + path + "' has no tensor '" + input.name +
                              "'; it needs one for each input of the model: " + shape.names());
    if (Status status = checkShape(input, found->second); !status.ok())
      return status;
    tensors.push_back(found->second);
  }
  if (count < shape.rows)
    return Status::badInput("data '" + path + "' has " + number(count) + (count == 1 ? " sample" : " samples") + ", but a batch takes " +
                            number(shape.rows) + " and would repeat them; make the batch smaller, or give more samples");
  for (const auto &[name, tensor] : file->tensors())
    if (std::none_of(shape.inputs.begin(), shape.inputs.end(), [&, &name = name](const InputShape &input) { return input.name == name; }))
      worthKnowing.push_back("tensor " + quotedName(name) + " of '" + path + "' is no input of the model: it is not used");
  return {};
}

Status TensorData::checkShape(const InputShape &input, const StoredTensor &tensor) {
  std::string which = "tensor '" + input.name + "' of '" + path + "' is " + tensor.type + " " + shapeText(tensor.shape);
  const std::vector<std::string> &types = typesFor(input.type);
  if (std::find(types.begin(), types.end(), tensor.type) == types.end()) {
    std::string list;
    for (const std::string &type : types)
      list += (list.empty() ? "" : &type == &types.back() ? " and " : ", ") + type;
    return Status::badInput(which + ", but the input is " + typeName(input.type) + ", which takes " + list);
  }
  std::vector<int64_t> sample(input.shape.begin() + 1, input.shape.end());
  if (tensor.shape.empty() || !std::equal(tensor.shape.begin() + 1, tensor.shape.end(), sample.begin(), sample.end())) {
    std::string wanted = "[samples";
    for (size_t i = 0; i < sample.size(); ++i)
      wanted += ", " + input.axes[i + 1] + " " + number(sample[i]);
    return Status::badInput(which + ", but the input takes " + wanted + "]");
  }
  if (&input == &shape.inputs.front())
    count = tensor.shape[0];
  if (tensor.shape[0] != count)
    return Status::badInput(which + ": " + number(tensor.shape[0]) + " samples, tensor '" + shape.inputs.front().name + "' has " +
                            number(count));
  return {};
}

Status TensorData::checkValues(const InputShape &input, const StoredTensor &tensor) {
  return input.isInteger() ? checkIntegers(input, tensor) : checkFloats(input, tensor);
}

Status TensorData::checkIntegers(const InputShape &input, const StoredTensor &tensor) {
  uint64_t sample = input.elementsOfSample(), wrong = tensor.elements();
  int64_t value = 0, ignored = 0, counting = 0;
  forIntegers(tensor, file->bytes(tensor), 0, tensor.elements(), [&](uint64_t i, int64_t found) {
    if (!input.takes(found))
      return wrong = i, value = found, false;
    ++(input.ignore && found == *input.ignore ? ignored : counting);
    return true;
  });
  if (wrong < tensor.elements())
    return Status::badInput("sample " + number(static_cast<int64_t>(wrong / sample)) + " of '" + path + "' has '" + input.name + "' " +
                            number(value) + input.positionText(wrong % sample) + ", but " + input.rangeText());
  if (ignored && !counting)
    return Status::badInput("every target of '" + path + "', tensor '" + input.name + "', is " + number(*input.ignore) +
                            ", which the model ignores: there is nothing to train on");
  if (ignored)
    worthKnowing.push_back("the model ignores targets of value " + number(*input.ignore) + ": " + number(ignored) + " of " +
                           number(ignored + counting) + " in tensor '" + input.name + "' of '" + path + "'");
  return {};
}

Status TensorData::checkFloats(const InputShape &input, const StoredTensor &tensor) const {
  uint64_t sample = input.elementsOfSample(), elements = tensor.elements();
  constexpr uint64_t part = 1 << 16;
  for (uint64_t first = 0; first < elements; first += part) {
    std::vector<float> values = file->read<float>(tensor, first, std::min(part, elements - first));
    for (uint64_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i])) {
        std::string what = std::isnan(values[i]) ? "NaN" : "infinity";
        uint64_t at = first + i;
        return Status::badInput("sample " + number(static_cast<int64_t>(at / sample)) + " of '" + path + "' has '" + input.name + "' " +
                                what + input.positionText(at % sample) + ": data must be finite");
      }
  }
  return {};
}

Batch TensorData::batch(const std::vector<int64_t> &samples) const {
  Batch result;
  for (size_t i = 0; i < shape.inputs.size(); ++i)
    result.push_back(valuesOf(i, samples));
  return result;
}

InputValues TensorData::valuesOf(size_t index, const std::vector<int64_t> &samples) const {
  const InputShape &input = shape.inputs[index];
  const StoredTensor &tensor = tensors[index];
  uint64_t size = input.elementsOfSample();
  auto integers = [&](auto zero) -> InputValues {
    std::vector<decltype(zero)> values;
    values.reserve(size * samples.size());
    for (int64_t sample : samples)
      forIntegers(tensor, file->bytes(tensor), static_cast<uint64_t>(sample) * size, size, [&](uint64_t, int64_t value) {
        values.push_back(static_cast<decltype(zero)>(value));
        return true;
      });
    return values;
  };
  if (input.type == ElementType::I32)
    return integers(int32_t{0});
  if (input.type == ElementType::U8)
    return integers(uint8_t{0});
  std::vector<float> values;
  values.reserve(size * samples.size());
  for (int64_t sample : samples) {
    std::vector<float> part = file->read<float>(tensor, static_cast<uint64_t>(sample) * size, size);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

} // namespace npar::engine
