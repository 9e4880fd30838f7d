// Copies the file: one that shrinks meanwhile is an error and no more.
#include "engine/text/ReadFile.h"

#include "engine/files/RangeFile.h"

namespace npar::engine {

Status tokenizerFailure(const std::string &path, const std::string &why) {
  return Status::badInput("cannot read tokenizer '" + path + "': " + why);
}

Result<std::string> readTokenizerFile(const std::string &path) {
  constexpr uint64_t most = uint64_t{256} << 20;
  Result<files::RangeFile> file = files::RangeFile::open(path, "tokenizer");
  if (!file.ok())
    return file.status();
  if (file->size() > most)
    return tokenizerFailure(path, "it has " + std::to_string(file->size()) + " bytes, more than " + std::to_string(most));
  std::string bytes(file->size(), '\0');
  if (Status status = file->read(0, bytes.size(), bytes.data()); !status.ok())
    return status;
  return bytes;
}

} // namespace npar::engine
