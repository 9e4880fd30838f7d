// The model of a checkpoint is the text that lies in it: no other version of that text can take its place.
#include "tools/npar/model/FolderModel.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/PieceHash.h"
#include "engine/files/AtomicFile.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

using engine::Result;
using engine::Status;

static Status checkText(const std::string &folder, const engine::ManifestFile &text) {
  Result<std::string> path = program::pathInside(folder, text.name);
  if (!path.ok())
    return path.status();
  Result<std::vector<uint8_t>> bytes = program::readFile(*path, engine::ManifestFile::largestText);
  if (!bytes.ok())
    return bytes.status();
  if (bytes->size() == text.bytes && engine::hashText(bytes->data(), bytes->size()) == text.hash)
    return {};
  return Status::badInput("checkpoint '" + folder + "': file '" + text.name + "' was changed after it was written");
}

Outcome<FolderModel> modelOfCheckpoint(const std::string &folder) {
  Result<std::shared_ptr<const engine::CheckpointStore>> store = engine::openCheckpointStore(folder);
  if (!store.ok())
    return fail(store.status());
  const engine::ModelCall &call = (*store)->manifest().call;
  if (call.text.empty())
    return fail(Status::badInput((*store)->description() +
                                 " was written by a run of a compiled program and contains no model file: give the model"));
  for (const engine::ManifestFile &text : call.texts)
    if (Status status = checkText((*store)->folder(), text); !status.ok())
      return fail(status);
  FolderModel model;
  model.model = (*store)->folder() + "/model/" + call.text;
  model.settings = call.settings, model.config = call.config;
  model.folder = (*store)->folder();
  return model;
}

} // namespace npar::driver
