// Opening a checkpoint compares manifest and headers. This compares the texts and the bytes of the pieces, and finds other files.
#include "engine/checkpoint/VerifyCheckpoint.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/Folders.h"
#include "engine/files/StreamHash.h"

#include <set>

namespace npar::engine {

static Status verifyTexts(const CheckpointStore &checkpoint) {
  for (const ManifestFile &file : checkpoint.manifest().call.texts) {
    std::string where = checkpoint.description() + ": file '" + file.name + "'";
    Result<std::vector<uint8_t>> bytes = files::readFile(checkpoint.folder() + "/" + file.name, ManifestFile::largestText);
    if (!bytes.ok())
      return Status::badInput(where + ": " + bytes.status().message());
    if (bytes->size() != file.bytes)
      return Status::badInput(where + " has " + std::to_string(bytes->size()) + " bytes, its manifest says " + std::to_string(file.bytes));
    if (files::hashText(bytes->data(), bytes->size()) != file.hash)
      return Status::badInput(where + ": its bytes were changed after they were written");
  }
  return {};
}

Result<CheckpointVerified> verifyCheckpoint(const std::string &folder, const std::function<void(uint64_t)> &progress) {
  Result<std::shared_ptr<const CheckpointStore>> checkpoint = openCheckpointStore(folder);
  if (!checkpoint.ok())
    return checkpoint.status();
  const Manifest &manifest = (*checkpoint)->manifest();
  if (Status status = verifyTexts(**checkpoint); !status.ok())
    return status;
  if (Status status = (*checkpoint)->verify(0, 1, progress); !status.ok())
    return status;
  CheckpointVerified result;
  result.tensors = manifest.tensors.size(), result.files = manifest.files.size();
  for (const ManifestTensor &tensor : manifest.tensors)
    result.pieces += tensor.pieces.size(), result.bytes += tensor.elements() * bytesOfType(tensor.type);
  std::set<std::string> known = {Manifest::fileName};
  if (!manifest.call.texts.empty())
    known.insert("model");
  for (const ManifestFile &file : manifest.files)
    known.insert(file.name);
  Result<std::vector<std::string>> names = files::namesIn(folder);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names)
    if (!known.count(name))
      result.other.push_back(name);
  return result;
}

} // namespace npar::engine
