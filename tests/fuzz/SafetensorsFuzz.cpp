// A file that the reader accepts must be consistent, be readable in every range, and be written back unchanged by the writer.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "engine/safetensors/Safetensors.h"

#include <algorithm>

namespace npar::fuzz {

using namespace engine;

namespace {} // namespace

void fuzzSafetensors(const uint8_t *bytes, size_t size) {
  MemoryFile memory(bytes, size);
  auto file = SafetensorsFile::open(memory.path());
  if (!file.ok())
    return check(!file.status().message().empty());
  std::vector<std::pair<std::string, StoredTensor>> tensors((*file)->tensors().begin(), (*file)->tensors().end());
  uint64_t sum = 0;
  for (const auto &[name, tensor] : tensors) {
    Result<uint64_t> whole = bytesOfTensor(tensor.type, tensor.shape);
    check(whole.ok() && *whole == tensor.end - tensor.begin && tensor.end <= size);
    sum += *whole;
    std::vector<uint8_t> content(*whole);
    check((*file)->readBytes(tensor, 0, content.size(), content.data()).ok());
    if (SafetensorsFile::isFloating(tensor.type))
      check((*file)->read<double>(tensor)->size() == tensor.elements());
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second.begin, a.second.end) < std::pair(b.second.begin, b.second.end);
  });
  std::string header = safetensorsHeader(tensors, (*file)->metadata());
  auto again = parseSafetensorsHeader(header.data() + 8, header.size() - 8, sum);
  check(again.ok() && again->tensors.size() == tensors.size() && again->metadata == (*file)->metadata());
  for (const auto &[name, tensor] : again->tensors)
    check(tensor.begin == (*file)->tensors().at(name).begin && tensor.shape == (*file)->tensors().at(name).shape);
}

} // namespace npar::fuzz
