// Opens a file, and reads of its tensors what is asked for.
#include "engine/safetensors/Safetensors.h"

#include "engine/numbers/Convert.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace npar::engine {

namespace {

template <typename Stored, typename T> void widenAs(const uint8_t *bytes, uint64_t count, T *values) {
  for (uint64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, bytes + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<T>(static_cast<Widened<Stored>>(value));
  }
}

/// Returns true for the first eight bytes of a ZIP archive or of a pickle, as torch.save writes them. As the length of a header they would
/// be too large.
bool isOfPytorch(const uint8_t *bytes) {
  const uint8_t archive[] = {'P', 'K', 3, 4}, pickle[] = {0x80, 2, 0x8a, 0x0a};
  const bool isLong = bytes[4] != 0;
  return isLong && (std::equal(archive, archive + 4, bytes) || std::equal(pickle, pickle + 4, bytes));
}

} // namespace

template <typename T> void widen(const std::string &type, const uint8_t *bytes, uint64_t count, T *values) {
  withType(*findStoredType(type)->element, [&](auto stored) { widenAs<decltype(stored)>(bytes, count, values); });
}

template void widen(const std::string &type, const uint8_t *bytes, uint64_t count, float *values);
template void widen(const std::string &type, const uint8_t *bytes, uint64_t count, double *values);

Status SafetensorsFile::readBytes(const StoredTensor &tensor, uint64_t offset, uint64_t size, void *bytes) const {
  Status status = file.read(data + tensor.begin + offset, size, bytes);
  if (status.ok())
    return {};
  std::string which;
  for (const auto &[name, each] : table)
    if (each.begin == tensor.begin && each.end == tensor.end)
      which = name;
  return Status(status.code(), status.message() + " (reading tensor " + quotedName(which) + ")");
}

template <typename T> Result<std::vector<T>> SafetensorsFile::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const {
  uint64_t each = findStoredType(tensor.type)->bits / 8;
  std::vector<uint8_t> bytes(count * each);
  if (Status status = readBytes(tensor, first * each, bytes.size(), bytes.data()); !status.ok())
    return status;
  std::vector<T> values(count);
  widen(tensor.type, bytes.data(), count, values.data());
  return values;
}

template Result<std::vector<float>> SafetensorsFile::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;
template Result<std::vector<double>> SafetensorsFile::read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;

bool SafetensorsFile::isFloating(const std::string &type) {
  const StoredType *found = findStoredType(type);
  return found && found->floating;
}

Result<bool> SafetensorsFile::hasOwnHeader() const {
  std::vector<std::pair<std::string, StoredTensor>> tensors(table.begin(), table.end());
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second.begin, a.second.end) < std::pair(b.second.begin, b.second.end);
  });
  std::string own = safetensorsHeader(tensors), there(data, '\0');
  if (own.size() != there.size())
    return false;
  Status status = file.read(0, there.size(), there.data());
  return status.ok() ? Result<bool>(own == there) : status;
}

Result<std::shared_ptr<SafetensorsFile>> SafetensorsFile::open(const std::string &path, const std::string &what) {
  Result<files::RangeFile> opened = files::RangeFile::open(path, what);
  if (!opened.ok())
    return opened.status();
  std::shared_ptr<SafetensorsFile> result(new SafetensorsFile(std::move(*opened)));
  const files::RangeFile &file = result->file;
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read " + file.description() + ": " + why); };
  uint64_t length = file.size();
  if (length < 8)
    return failure("its " + std::to_string(length) + " bytes are too few for a safetensors file");
  uint8_t prefix[8];
  if (Status status = file.read(0, sizeof(prefix), prefix); !status.ok())
    return status;
  if (isOfPytorch(prefix))
    return failure("it is a file of torch.save, whose Python objects npar does not load; convert it:\n  python3 -c \"import torch; "
                   "from safetensors.torch import save_file; save_file(torch.load('" +
                   path + "', weights_only=True), '" + std::filesystem::path(path).replace_extension(".safetensors").string() + "')\"");
  uint64_t header = 0;
  for (size_t i = 0; i < sizeof(prefix); ++i)
    header |= uint64_t{prefix[i]} << (8 * i);
  if (header > length - 8)
    return failure("it claims a header of " + std::to_string(header) + " bytes, but has " + std::to_string(length) +
                   " bytes in total: not a safetensors file, or truncated");
  if (header > largestSafetensorsHeader)
    return failure("it claims a header of " + std::to_string(header) + " bytes; the format allows " +
                   std::to_string(largestSafetensorsHeader));
  std::string text(header, '\0');
  if (Status status = file.read(8, header, text.data()); !status.ok())
    return status;
  Result<SafetensorsHeader> parsed = parseSafetensorsHeader(text.data(), header, length - 8 - header);
  if (!parsed.ok())
    return failure(parsed.status().message());
  result->table = std::move(parsed->tensors);
  result->words = std::move(parsed->metadata);
  result->data = 8 + header;
  return result;
}

} // namespace npar::engine
