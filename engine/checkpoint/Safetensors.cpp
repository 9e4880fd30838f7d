// The safetensors file format: an 8-byte header length, a JSON header, raw little-endian tensors. Files are not trusted.
#include "engine/checkpoint/Safetensors.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

namespace {

constexpr uint64_t largestHeader = 100'000'000; // the format's own limit

template <typename T> T load(const uint8_t *p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

} // namespace

template <typename T> std::vector<T> SafetensorsFile::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const {
  std::vector<T> values(count);
  const uint8_t *p = data + tensor.begin + first * ((tensor.end - tensor.begin) / std::max<uint64_t>(1, tensor.elements()));
  if (tensor.type == "F32")
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(load<float>(p + 4 * i));
  else if (tensor.type == "F64")
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(load<double>(p + 8 * i));
  else if (tensor.type == "BF16")
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(static_cast<float>(load<program::BFloat16>(p + 2 * i)));
  else
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(static_cast<float>(load<program::Float16>(p + 2 * i)));
  return values;
}

template std::vector<float> SafetensorsFile::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;
template std::vector<double> SafetensorsFile::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;

bool SafetensorsFile::isFloating(const std::string &type) { return type == "F32" || type == "F64" || type == "F16" || type == "BF16"; }

Result<std::shared_ptr<SafetensorsFile>> SafetensorsFile::open(const std::string &path, const std::string &what) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read " + what + " '" + path + "': " + why); };
  Result<program::MappedFile> mapped = program::MappedFile::open(path, what);
  if (!mapped.ok())
    return mapped.status();
  std::shared_ptr<SafetensorsFile> result(new SafetensorsFile(std::move(*mapped)));
  const uint8_t *bytes = result->file.data();
  size_t length = result->file.size();
  if (length < 8)
    return failure("its " + std::to_string(length) + " bytes are too few for a safetensors file");
  uint64_t header = load<uint64_t>(bytes);
  if (header > largestHeader || header > length - 8)
    return failure("it claims a header of " + std::to_string(header) + " bytes, but has " + std::to_string(length) +
                   " bytes in all: no safetensors file, or cut short");
  auto table = parseSafetensorsHeader(reinterpret_cast<const char *>(bytes) + 8, header, length - 8 - header);
  if (!table.ok())
    return failure(table.status().message());
  result->table = std::move(*table);
  result->data = bytes + 8 + header;
  return result;
}

} // namespace npar::engine
