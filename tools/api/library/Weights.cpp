// The parameters of a trainer as a whole: loaded from files, saved to one, hashed.
#include "engine/checkpoint/Weights.h"

#include "engine/files/Fingerprint.h"
#include "engine/files/OutputName.h"
#include "engine/files/StreamHash.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/Trainer.h"

#include <algorithm>
#include <cstring>

using namespace npar;
using npar::api::withTrainer;
using npar::engine::Result;
using npar::engine::Status;

namespace npar::api {
namespace {

/// Begins the loading of checked weights. All processes must read the same bytes, each from its own file system.
Status beginLoading(npar_trainer &trainer, const std::string &path, const Result<engine::Weights> &weights) {
  const std::string what = "the content of '" + path + "'";
  job::Call call{"loads weights from '" + path + "'", {}, "", what, "all processes must read the same weights"};
  if (!weights.ok() || !trainer.isShared())
    return trainer.begin(std::move(call), weights.status());
  files::StreamHash hash;
  for (const std::string &file : weights->store().paths()) {
    Result<files::Fingerprint> print = files::fingerprintOf(file, files::FingerprintKind::Full, 0);
    if (!print.ok())
      return trainer.begin(std::move(call), print.status());
    for (const files::Fingerprint::Part &part : print->parts)
      hash.add(part.hash.data(), part.hash.size());
  }
  call.hash = hash.text();
  return trainer.begin(std::move(call));
}

} // namespace
} // namespace npar::api

extern "C" {

npar_code npar_trainer_load_weights(npar_trainer *trainer, npar_str path, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_load_weights", error, [&](npar_trainer &own) -> Status {
    if (Status empty = api::Arguments("npar_trainer_load_weights").filled(path, "path").status(); !empty.ok())
      return api::beginLoading(own, "", empty);
    bool begun = false;
    Result<engine::UnstoredParameters> loaded =
        engine::loadWeights(own.session(), own.root(), api::textOf(path), {}, {}, [&](const Result<engine::Weights> &weights) {
          Status status = api::beginLoading(own, api::textOf(path), weights);
          begun = status.ok();
          return status;
        });
    TRY_STATUS(begun ? own.end(loaded.status(), /*changes=*/true) : loaded.status());
    own.weights = api::textOf(path);
    if (std::string text = loaded->text(api::textOf(path)); !text.empty())
      own.observer.remark(text);
    return {};
  });
}

npar_code npar_trainer_save_weights(npar_trainer *trainer, npar_str path, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_save_weights", error, [&](npar_trainer &own) -> Status {
    Status refusal = api::Arguments("npar_trainer_save_weights").filled(path, "path").status();
    if (refusal.ok())
      refusal = files::checkSafetensorsName("npar_trainer_save_weights", api::textOf(path));
    TRY_STATUS(own.begin({"saves its weights to '" + api::textOf(path) + "'"}, refusal));
    const bool writes = own.processes().isFirst();
    return own.end(engine::saveWeights(own.session(), own.root(), writes ? api::textOf(path) : ""), /*changes=*/false);
  });
}

npar_code npar_trainer_hash(npar_trainer *trainer, char hash[33], npar_error **error) {
  return withTrainer(trainer, "npar_trainer_hash", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(own.begin({"hashes the parameters"}, api::needs(hash, "npar_trainer_hash", "hash")));
    std::string text = own.session().parameterHash();
    if (text.empty())
      return own.causeOf(Status::runFailed("the parameters of all ranks cannot be read"));
    std::memcpy(hash, text.c_str(), std::min<size_t>(text.size(), 32));
    hash[std::min<size_t>(text.size(), 32)] = 0;
    return {};
  });
}
}
