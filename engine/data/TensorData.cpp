// Training data as tensors, checked completely before training.
#include "engine/data/TensorData.h"

#include "engine/data/NumberText.h"
#include "engine/program/Words.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace npar::engine {

using program::ElementType;

namespace {

/// Types of tensors that an input of this type takes.
const std::vector<std::string> &typesFor(ElementType type) {
  static const std::vector<std::string> integers = {"I32", "I64", "U8"}, floats = [] {
    std::vector<std::string> words;
    for (const program::ElementRow &row : program::elementRows)
      if (program::isFloating(row.type) && !program::isWide(row.type))
        words.push_back(row.storedWord);
    return words;
  }();
  return program::isFloating(type) ? floats : integers;
}

constexpr uint64_t block = 1 << 16; ///< elements that are checked together

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

Result<TensorData> TensorData::open(const std::vector<TensorPlace> &places, const BatchShape &shape) {
  TensorData data(places, shape);
  Status status = data.openFiles();
  if (status.ok())
    status = data.findTensors();
  for (size_t i = 0; i < shape.inputs.size() && status.ok(); ++i)
    status = data.checkValues(i);
  return status.ok() ? Result(std::move(data)) : status;
}

Status TensorData::openFiles() {
  for (size_t i = 0; i < places.size(); ++i) {
    size_t same = 0;
    while (places[same].path != places[i].path)
      ++same;
    if (same < i) {
      files.push_back(files[same]);
      continue;
    }
    Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(places[i].path, "data");
    if (!file.ok())
      return file.status();
    files.push_back(*file);
  }
  return {};
}

Status TensorData::findTensors() {
  for (size_t i = 0; i < places.size(); ++i) {
    auto found = files[i]->tensors().find(places[i].tensor);
    if (found == files[i]->tensors().end())
      return Status::badInput("data '" + places[i].path + "' has no tensor '" + places[i].tensor + "'" +
                              (places[i].tensor == shape.inputs[i].name ? "; it needs one for each input of the model: " + shape.names()
                                                                        : ", which input '" + shape.inputs[i].name + "' takes"));
    if (Status status = checkShape(i, found->second); !status.ok())
      return status;
    tensors.push_back(found->second);
  }
  remarkUnused();
  return {};
}

void TensorData::remarkUnused() {
  std::set<std::string> looked;
  for (size_t i = 0; i < places.size(); ++i)
    if (looked.insert(places[i].path).second)
      for (const auto &[name, tensor] : files[i]->tensors())
        if (std::none_of(places.begin(), places.end(),
                         [&, &name = name](const TensorPlace &place) { return place.tensor == name && place.path == places[i].path; }))
          worthKnowing.push_back("tensor " + quotedName(name) + " of '" + places[i].path + "' is not an input of the model and is ignored");
}

Status TensorData::checkShape(size_t index, const StoredTensor &tensor) {
  const InputShape &input = shape.inputs[index];
  const TensorPlace &place = places[index], &first = places.front();
  std::string which = "tensor '" + place.tensor + "' of '" + place.path + "' is " + tensor.type + " " + shapeText(tensor.shape);
  const std::vector<std::string> &types = typesFor(input.type);
  if (std::find(types.begin(), types.end(), tensor.type) == types.end()) {
    std::string list;
    for (const std::string &type : types)
      list += (list.empty() ? "" : &type == &types.back() ? " and " : ", ") + type;
    return Status::badInput(which + ", but the input is " + program::wordOf(input.type) + ", which takes " + list);
  }
  std::vector<int64_t> sample(input.shape.begin() + 1, input.shape.end());
  if (tensor.shape.empty() || !std::equal(tensor.shape.begin() + 1, tensor.shape.end(), sample.begin(), sample.end())) {
    std::string wanted = "[samples";
    for (size_t i = 0; i < sample.size(); ++i)
      wanted += ", " + input.axes[i + 1] + " " + number(sample[i]);
    return Status::badInput(which + ", but the input takes " + wanted + "]");
  }
  if (index == 0)
    count = tensor.shape[0];
  if (tensor.shape[0] != count)
    return Status::badInput(which + ": " + number(tensor.shape[0]) + " samples, tensor '" + first.tensor + "'" +
                            (first.path == place.path ? "" : " of '" + first.path + "'") + " has " + number(count));
  return {};
}

Status TensorData::checkValues(size_t index) { return shape.inputs[index].isInteger() ? checkIntegers(index) : checkFloats(index); }

Status TensorData::checkIntegers(size_t index) {
  const InputShape &input = shape.inputs[index];
  const StoredTensor &tensor = tensors[index];
  const std::string &path = places[index].path;
  uint64_t sample = input.elementsOfSample(), wrong = tensor.elements();
  int64_t value = 0, ignored = 0, counting = 0;
  for (uint64_t first = 0; first < tensor.elements() && wrong == tensor.elements(); first += block) {
    Result<std::vector<uint8_t>> bytes = read(index, first, std::min(block, tensor.elements() - first));
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
    return Status::badInput("all targets of '" + path + "', tensor '" + input.name + "', is " + number(*input.ignore) +
                            ", which the model ignores: there is nothing to train on");
  if (ignored)
    worthKnowing.push_back("the model ignores targets of value " + number(*input.ignore) + ": " + number(ignored) + " of " +
                           number(ignored + counting) + " in tensor '" + input.name + "' of '" + path + "'");
  return {};
}

Status TensorData::checkFloats(size_t index) const {
  const InputShape &input = shape.inputs[index];
  const StoredTensor &tensor = tensors[index];
  uint64_t sample = input.elementsOfSample(), elements = tensor.elements();
  for (uint64_t first = 0; first < elements; first += block) {
    Result<std::vector<float>> values = files[index]->read<float>(tensor, first, std::min(block, elements - first));
    if (!values.ok())
      return values.status();
    for (uint64_t i = 0; i < values->size(); ++i)
      if (float value = (*values)[i]; !std::isfinite(value)) {
        std::string what = std::isnan(value) ? "NaN" : "infinity";
        uint64_t at = first + i;
        return Status::badInput("sample " + number(static_cast<int64_t>(at / sample)) + " of '" + places[index].path + "' has '" +
                                input.name + "' " + what + input.positionText(at % sample) + ": all values must be finite");
      }
  }
  return {};
}

Result<std::vector<uint8_t>> TensorData::read(size_t index, uint64_t first, uint64_t count) const {
  const StoredTensor &tensor = tensors[index];
  uint64_t each = findStoredType(tensor.type)->bits / 8;
  std::vector<uint8_t> bytes(count * each);
  Status status = files[index]->readBytes(tensor, first * each, bytes.size(), bytes.data());
  return status.ok() ? Result(std::move(bytes)) : status;
}

Status TensorData::write(int64_t sample, Batch &batch, size_t row) const {
  for (size_t i = 0; i < batch.size(); ++i)
    TRY_STATUS(writeInput(i, static_cast<uint64_t>(sample), batch[i], row));
  return {};
}

Status TensorData::writeInput(size_t index, uint64_t sample, InputValues &lists, size_t row) const {
  uint64_t size = shape.inputs[index].elementsOfSample();
  TRY(std::vector<uint8_t> bytes, read(index, sample * size, size));
  std::visit(
      [&](auto &list) {
        auto *values = rowOf(list, shape.inputs[index], row);
        using T = std::remove_reference_t<decltype(*values)>;
        if constexpr (std::is_same_v<T, float>)
          widen(tensors[index].type, bytes.data(), size, values);
        else
          forIntegers(tensors[index], bytes, [&](uint64_t i, int64_t value) { return values[i] = static_cast<T>(value), true; });
      },
      lists);
  return {};
}

std::string TensorSamples::description() const {
  return "'" + data.path() + "' has " + number(samples()) + (samples() == 1 ? " sample" : " samples");
}

} // namespace npar::engine
