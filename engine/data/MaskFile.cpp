// Reads the targets of a token file from a file with one byte per token.
#include "engine/data/MaskFile.h"

#include <algorithm>
#include <vector>

namespace npar::engine {

Result<std::shared_ptr<MaskFile>> MaskFile::open(const std::string &path, int64_t tokens) {
  Result<files::RangeFile> file = files::RangeFile::open(path, "mask");
  if (!file.ok())
    return file.status();
  if (file->size() != static_cast<uint64_t>(tokens))
    return Status::badInput("cannot read mask '" + path + "': it has " + std::to_string(file->size()) + " bytes, but the data has " +
                            std::to_string(tokens) + " tokens; it needs one byte per token");
  std::shared_ptr<MaskFile> mask(new MaskFile(std::move(*file)));
  constexpr int64_t block = 1 << 18;
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min(block, tokens)));
  for (int64_t first = 0; first < tokens; first += block)
    if (Status status = mask->read(first, std::min(block, tokens - first), bytes.data()); !status.ok())
      return status;
  return mask;
}

Status MaskFile::read(int64_t first, int64_t number, uint8_t *targets) const {
  if (Status status = file.read(static_cast<uint64_t>(first), static_cast<size_t>(number), targets); !status.ok())
    return status;
  const uint8_t *end = targets + number, *wrong = std::find_if(targets, targets + number, [](uint8_t byte) { return byte > 1; });
  return wrong == end ? Status()
                      : Status::badInput("cannot read " + file.description() + ": byte " + std::to_string(first + (wrong - targets)) +
                                         " is " + std::to_string(*wrong) + "; 0 (not a target) and 1 (a target) are allowed");
}

} // namespace npar::engine
