// Training data as tensors, checked whole before anything is trained.
#include "engine/data/TensorData.h"

#include "engine/checkpoint/StoredType.h"

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

constexpr uint64_t block = 1 << 16; ///< elements that are looked at together

template <typename T> T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Calls `use(index, value)` for every integer of these bytes until it returns false.
template <typename Use> void forIntegers(const StoredTensor &tensor, const std::vector<uint8_t> &bytes, Use use) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    for (uint64_t i = 0; i < bytes.size() / sizeof(T) && use(i, static_cast<int64_t>(load<T>(bytes.data() + i * sizeof(T)))); ++i)
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
  for (uint64_t first = 0; first < tensor.elements() && wrong == tensor.elements(); first += block) {
    Result<std::vector<uint8_t>> bytes = read(tensor, first, std::min(block, tensor.elements() - first));
    if (!bytes.ok())
      return bytes.status();
    forIntegers(tensor, *bytes, [&](uint64_t i, int64_t found) {
      if (!input.takes(found))
        return wrong = first + i, value = found, false;
      ++(input.ignore && found == *input.ignore ? ignored : counting);
      return true;
    });
  }
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
  for (uint64_t first = 0; first < elements; first += block) {
    Result<std::vector<float>> values = file->read<float>(tensor, first, std::min(block, elements - first));
    if (!values.ok())
      return values.status();
    for (uint64_t i = 0; i < values->size(); ++i)
      if (float value = (*values)[i]; !std::isfinite(value)) {
        std::string what = std::isnan(value) ? "NaN" : "infinity";
        uint64_t at = first + i;
        return Status::badInput("sample " + number(static_cast<int64_t>(at / sample)) + " of '" + path + "' has '" + input.name + "' " +
                                what + input.positionText(at % sample) + ": data must be finite");
      }
  }
  return {};
}

Result<std::vector<uint8_t>> TensorData::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const {
  uint64_t each = findStoredType(tensor.type)->bits / 8;
  std::vector<uint8_t> bytes(count * each);
  Status status = file->readBytes(tensor, first * each, bytes.size(), bytes.data());
  return status.ok() ? Result(std::move(bytes)) : status;
}

Status TensorData::intact() const {
  std::lock_guard<std::mutex> lock(failure->mutex);
  return failure->first;
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
  // The samples' values one after the other, by what turns the bytes of one sample into values.
  auto gather = [&](auto zero, auto convert) -> InputValues {
    std::vector<decltype(zero)> values(size * samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      Result<std::vector<uint8_t>> bytes = read(tensor, static_cast<uint64_t>(samples[i]) * size, size);
      if (bytes.ok())
        convert(*bytes, values.data() + i * size);
      else if (std::lock_guard<std::mutex> lock(failure->mutex); failure->first.ok())
        failure->first = bytes.status();
    }
    return values;
  };
  auto integers = [&](const std::vector<uint8_t> &bytes, auto *values) {
    forIntegers(tensor, bytes, [&](uint64_t i, int64_t value) {
      values[i] = static_cast<std::remove_reference_t<decltype(*values)>>(value);
      return true;
    });
  };
  if (input.type == ElementType::I32)
    return gather(int32_t{0}, integers);
  if (input.type == ElementType::U8)
    return gather(uint8_t{0}, integers);
  return gather(0.0f, [&](const std::vector<uint8_t> &bytes, float *values) { widen(tensor.type, bytes.data(), size, values); });
}

} // namespace npar::engine
