// Which tokens of a token file are targets: a file with one byte per token.
#include "engine/data/MaskFile.h"

namespace npar::engine {

Result<std::shared_ptr<MaskFile>> MaskFile::open(const std::string &path, int64_t tokens) {
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read mask '" + path + "': " + why); };
  Result<program::MappedFile> mapped = program::MappedFile::open(path, "mask");
  if (!mapped.ok())
    return mapped.status();
  if (mapped->size() != static_cast<size_t>(tokens))
    return failure("it has " + std::to_string(mapped->size()) + " bytes, but the data has " + std::to_string(tokens) +
                   " tokens; it needs one byte per token");
  for (size_t i = 0; i < mapped->size(); ++i)
    if (mapped->data()[i] > 1)
      return failure("byte " + std::to_string(i) + " is " + std::to_string(mapped->data()[i]) +
                     "; 0 (not a target) and 1 (a target) are allowed");
  return std::shared_ptr<MaskFile>(new MaskFile(std::move(*mapped)));
}

} // namespace npar::engine
