// Reads what a folder states, and lets all processes use the same names.
#include "tools/lib/trained/NamedModel.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/json/Json.h"
#include "engine/program/Words.h"
#include "engine/status/OptionNames.h"
#include "tools/lib/foreign/ImportConfig.h"

#include <filesystem>
#include <fmt/format.h>

namespace npar::trained {

using engine::Result;
using engine::Status;

namespace {

/// The command that runs programs of a kind.
const char *commandOf(program::ProgramKind kind) {
  switch (kind) {
  case program::ProgramKind::Training:
    return "run";
  case program::ProgramKind::Evaluation:
    return "eval";
  case program::ProgramKind::Generation:
    return "generate";
  }
  return "unknown";
}

bool isFolder(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

} // namespace

Result<NamedModel> nameModel(const models::ModelOptions &given, const std::string &weights, const std::vector<std::string> &parts,
                             program::ProgramKind kind, models::FileClaims &files, engine::Observer &observer) {
  NamedModel named{given, weights, parts, "", kind};
  named.options.kind = kind;
  if (isFolder(given.model)) {
    TRY(models::FolderModel folder, foreign::modelOfFolder(given.model, observer));
    named.folder = folder.folder;
    folder.select(named.options);
    if (named.weights.empty())
      named.weights = named.folder;
  } else if (named.weights.empty()) {
    return Status::usage("no weights: give the folder of a trained model, or a model and --weights FILE.safetensors");
  }
  bool compiled = named.options.isCompiled();
  if (compiled)
    named.options.kind = program::ProgramKind::Training; // it has no say any more, as no flag has
  else if (!named.options.plan)
    named.options.plan = "none";
  files.read("the model", named.options.file());
  files.read("--weights", named.weights);
  for (const std::string &part : named.parts)
    files.read("--weights-part", part);
  return named;
}

Status shareNames(job::Processes &processes, NamedModel &named) {
  auto find = [&]() -> Result<std::string> {
    std::string weights = named.weights;
    if (engine::isCheckpoint(weights)) {
      TRY(std::shared_ptr<const engine::CheckpointStore> store, engine::openCheckpointStore(weights));
      weights = store->folder();
    }
    std::vector<uint8_t> bytes = Json::to_cbor({named.options.model, named.folder, weights}); // paths may be no UTF-8
    return std::string(bytes.begin(), bytes.end());
  };
  TRY(std::string names, processes.decide(find));
  Json json = Json::from_cbor(names, /*strict=*/true, /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() != 3)
    return Status::internal("internal error: process 0 names no weights");
  named.options.model = json[0].get<std::string>(), named.folder = json[1].get<std::string>(), named.weights = json[2].get<std::string>();
  return {};
}

Result<models::ProgramPointer> loadOf(const NamedModel &named, models::FileClaims &files, engine::Observer &observer) {
  TRY(models::ProgramPointer loaded, models::loadModel(named.options, files, observer));
  if (program::ProgramKind kind = loaded->root().kind(); kind != named.kind)
    return Status::badInput(fmt::format("'{}' is compiled for {} (npar {}), not for npar {}\nnpar: help: compile it with {}",
                                        named.options.model, program::wordOf(kind), commandOf(kind), commandOf(named.kind),
                                        nameOf(engine::Option::Kind, commandOf(named.kind))));
  return loaded;
}

} // namespace npar::trained
