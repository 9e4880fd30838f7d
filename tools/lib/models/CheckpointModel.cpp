// The model of a checkpoint is the text stored in it; another version of that text cannot replace it.
#include "tools/lib/models/FolderModel.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/StreamHash.h"

namespace npar::models {

using engine::Result;
using engine::Status;

static Status checkText(const std::string &folder, const engine::ManifestFile &text) {
  Result<std::string> path = files::pathInside(folder, text.name);
  if (!path.ok())
    return path.status();
  Result<std::vector<uint8_t>> bytes = files::readFile(*path, engine::ManifestFile::largestText);
  if (!bytes.ok())
    return bytes.status();
  if (bytes->size() == text.bytes && files::hashText(bytes->data(), bytes->size()) == text.hash)
    return {};
  return Status::badInput("checkpoint '" + folder + "': file '" + text.name + "' was changed after it was written");
}

void FolderModel::select(ModelOptions &options) const {
  options.model = model;
  options.settings.insert(options.settings.begin(), settings.begin(), settings.end());
  if (!config.empty() && !options.config)
    options.config = config;
  if (!train.empty() && !options.train)
    options.train = train;
}

Result<FolderModel> modelOfCheckpoint(const std::string &folder) {
  Result<std::shared_ptr<const engine::CheckpointStore>> store = engine::openCheckpointStore(folder);
  if (!store.ok())
    return store.status();
  const engine::ModelCall &call = (*store)->manifest().call;
  if (call.text.empty())
    return Status::badInput((*store)->description() +
                            " was written by a run of a compiled program and contains no model file: give the model");
  for (const engine::ManifestFile &text : call.texts)
    TRY_STATUS(checkText((*store)->folder(), text));
  FolderModel model;
  model.model = (*store)->folder() + "/model/" + call.text;
  model.settings = call.settings, model.config = call.config, model.train = call.train;
  for (const std::string &setting : call.others)
    if (setting.rfind("data=", 0) == 0) // the data block, of several
      model.settings.push_back(setting);
  model.folder = (*store)->folder();
  return model;
}

} // namespace npar::models
