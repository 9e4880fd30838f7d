// Trainers: created, stepped with arrays of the host, stopped, freed; their weights and checkpoints.
#include "tools/api/Origin.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Trainer.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Resume.h"
#include "engine/checkpoint/Weights.h"
#include "engine/files/OutputName.h"
#include "engine/job/Processes.h"
#include "engine/program/Words.h"
#include "engine/runtime/BorrowedArrays.h"
#include "engine/runtime/MemoryRoom.h"
#include "engine/training/RunCheckpoints.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/Arrays.h"
#include "tools/api/library/HostData.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <sys/stat.h>

using namespace npar;
using npar::api::withTrainer;
using npar::engine::Result;
using npar::engine::Status;

npar_step_result npar_trainer::resultOf(const engine::StepResult &result, int64_t step, double seconds) {
  last = result;
  named.clear();
  for (const engine::NamedLoss &loss : last.losses)
    named.push_back({api::strOf(loss.name), loss.value, loss.counted.value_or(-1)});
  npar_step_result told = {};
  told.struct_size = sizeof told;
  told.skipped = last.skipped;
  told.step = step;
  told.loss = last.loss, told.grad_norm = last.gradNorm, told.learning_rate = last.learningRate, told.loss_scale = last.lossScale;
  told.valid_tokens = last.validTokens.value_or(-1);
  told.seconds = seconds;
  told.loss_count = named.size(), told.losses = named.data();
  return told;
}

/// Identifies a folder by device and number, whatever path leads to it; nothing if it does not exist.
static std::optional<std::pair<uint64_t, uint64_t>> identityOf(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? std::optional(std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino)) : std::nullopt;
}

void npar_trainer::usesFolder(const std::string &path) { folder = identityOf(path); }

bool npar_trainer::hasUsedFolder(const std::string &path) const { return folder && folder == identityOf(path); }

namespace npar::api {

void release(npar_trainer *trainer) {
  if (--trainer->users == 0)
    delete trainer;
}

namespace {

Result<engine::SessionOptions> sessionOptions(const npar_trainer_options &given, const program::Program &program, HostObserver &observer) {
  engine::SessionOptions options;
  TRY_STATUS(Arguments("npar_trainer_options")
                 .whole(given.threads, "threads", 0, mostThreads)
                 .text(given.backend, "backend")
                 .text(given.products, "products")
                 .number(given.timeout_seconds, "timeout_seconds")
                 .status());
  options.threads = given.threads;
  if (given.backend.len)
    options.backend = textOf(given.backend);
  if (options.backend != "cpu" && options.backend != "cuda" && options.backend != "null")
    return Status::usage("npar_trainer_options: backend is '" + options.backend + "': cpu, cuda or null");
  if (given.products.len) {
    std::optional<program::ProductOrder> order = program::valueOf<program::ProductOrder>(textOf(given.products));
    if (!order)
      return Status::usage("npar_trainer_options: products is '" + textOf(given.products) + "': fastest, portable or pairs");
    options.productOrder = *order;
  }
  options.seed = given.seed_given ? given.seed : program.seed();
  options.initialise = given.uninitialised == 0;
  if (given.timeout_seconds > 0)
    options.timeoutSeconds = given.timeout_seconds;
  options.onPhase = [&observer](const std::string &name) { observer.phase(name); };
  options.onRemark = [&observer](const std::string &sentence) { observer.remark(sentence); };
  return options;
}

Status create(npar_program &program, const npar_trainer_options &given, npar_trainer **result) {
  auto trainer = std::make_unique<npar_trainer>(given.observer);
  trainer->memory = std::make_shared<TrainerMemory>();
  trainer->memory->program = program.program;
  trainer->request = program.request, trainer->origin = program.origin;
  const program::Program &root = program.program->root();
  trainer->shape = engine::BatchShape::of(root);
  TRY(trainer->options, sessionOptions(given, root, trainer->observer));
  engine::MemoryRequest need;
  need.programs = {program.program};
  need.crew = job::Processes().crew(given.threads, trainer->options.backend);
  TRY(std::string taken,
      engine::checkRoom(need, "reduce the size (micro = 1, a smaller batch, length, width or depth), or use fewer ranks"));
  trainer->observer.remark(taken);
  TRY(trainer->memory->session, engine::Session::create(program.program, trainer->options));
  trainer->options.onPhase = nullptr;
  *result = trainer.release();
  return {};
}

Result<std::vector<engine::NamedArray>> arraysOf(const npar_input *inputs, size_t count) {
  std::vector<engine::NamedArray> arrays;
  for (size_t i = 0; i < count; ++i) {
    TRY_STATUS(Arguments("npar_trainer_step").filled(inputs[i].name, "inputs[" + std::to_string(i) + "].name").status());
    std::string name = textOf(inputs[i].name);
    TRY(engine::BorrowedArray array, borrowedOf(inputs[i].array, "input '" + name + "'"));
    arrays.push_back({std::move(name), std::move(array)});
  }
  return arrays;
}

/// Continues from a checkpoint of the folder: the newest whose bytes are as they were written.
Status resume(npar_trainer &trainer, const std::string &folder) {
  uint64_t below = UINT64_MAX;
  while (true) {
    TRY(engine::NewestCheckpoint newest, engine::newestWhole(folder, below));
    for (const engine::SkippedCheckpoint &each : newest.skipped)
      trainer.observer.remark("'" + each.path + "' is skipped: " + each.why);
    const engine::Manifest &manifest = newest.store->manifest();
    if (manifest.seed != trainer.options.seed)
      return Status::badInput(newest.store->description() + " has seed " + std::to_string(manifest.seed) + ", but the trainer has seed " +
                              std::to_string(trainer.options.seed) + ": create it with the checkpoint's seed");
    TRY_STATUS(engine::fitsProgram(*newest.store, trainer.root()));
    bool damaged = false;
    Result<std::vector<std::string>> remarks = engine::resumeFrom(trainer.session(), trainer.root(), *newest.store, &damaged);
    if (!remarks.ok() && damaged) {
      trainer.observer.remark("'" + newest.store->folder() + "' is skipped: " + remarks.status().message());
      below = manifest.step;
      continue;
    }
    TRY_STATUS(remarks.status());
    for (const std::string &text : *remarks)
      trainer.observer.remark(text);
    trainer.done = static_cast<int64_t>(manifest.step);
    trainer.usesFolder(folder);
    return {};
  }
}

/// Usage for a result whose size was never set: a whole one could be longer than the caller's.
Status checkResultSize(uint32_t size) {
  return size >= offsetof(npar_step_result, step) && size <= largestOptions
             ? Status()
             : Status::usage("npar_step_result: struct_size is " + std::to_string(size) + "; set it to sizeof(npar_step_result)");
}

/// Writes one checkpoint, and waits for it. A folder with checkpoints that this trainer neither wrote nor resumed from is refused.
Status save(npar_trainer &trainer, const std::string &folder) {
  training::CheckpointPlan plan;
  plan.folder = folder, plan.resume = trainer.hasUsedFolder(folder);
  plan.seed = trainer.options.seed;
  training::RunCheckpoints checkpoints(std::move(plan), trainer.observer);
  TRY_STATUS(checkpoints.look());
  if (!trainer.origin.empty())
    checkpoints.keepModel(unpackOrigin(trainer.origin), trainer.weights);
  HostData data(trainer.shape);
  job::Processes alone;
  TRY_STATUS(checkpoints.goOn(trainer.root(), data, trainer.shape));
  TRY_STATUS(checkpoints.open(alone, trainer.session(), trainer.memory->program));
  TRY_STATUS(checkpoints.saveNow(trainer.done));
  trainer.usesFolder(folder);
  trainer.observer.tell(NPAR_EVENT_SAVED, checkpoints.newest());
  return {};
}

} // namespace
} // namespace npar::api

extern "C" {

npar_code npar_trainer_create(npar_program *program, const npar_trainer_options *options, npar_trainer **trainer, npar_error **error) {
  return api::fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(program, "npar_trainer_create", "program"));
    TRY_STATUS(api::needs(trainer, "npar_trainer_create", "trainer"));
    TRY(npar_trainer_options given, api::optionsOf(options, "npar_trainer_options"));
    return api::create(*program, given, trainer);
  });
}

void npar_trainer_free(npar_trainer *trainer) {
  if (!trainer)
    return;
  trainer->stop.requested = true; // a run in progress ends after its step
  api::release(trainer);
}

void npar_trainer_stop(npar_trainer *trainer) {
  if (trainer)
    trainer->stop.requested = true;
}

int64_t npar_trainer_steps(const npar_trainer *trainer) { return trainer ? trainer->done : 0; }

npar_code npar_trainer_step(npar_trainer *trainer, const npar_input *inputs, size_t count, npar_step_result *result, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_step", error, [&](npar_trainer &own) -> Status {
    if (own.takesStop())
      return Status::stopped("the step");
    TRY_STATUS(api::Arguments("npar_trainer_step").array(inputs, count, "inputs").status());
    if (result)
      TRY_STATUS(api::checkResultSize(result->struct_size));
    TRY(std::vector<engine::NamedArray> arrays, api::arraysOf(inputs, count));
    TRY(engine::Batch batch, engine::batchFrom(own.shape, arrays));
    TRY_STATUS(engine::checkBatch(own.shape, batch));
    auto begun = std::chrono::steady_clock::now();
    TRY(engine::StepResult done, own.session().step(batch, own.done));
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    npar_step_result told = own.resultOf(done, own.done++, seconds);
    if (result) {
      uint32_t size = result->struct_size;
      std::memcpy(result, &told, std::min<size_t>(size, sizeof told));
      result->struct_size = size;
    }
    return {};
  });
}

npar_code npar_trainer_load_weights(npar_trainer *trainer, npar_str path, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_load_weights", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_load_weights").filled(path, "path").status());
    TRY(engine::UnstoredParameters unstored, engine::loadWeights(own.session(), own.root(), api::textOf(path)));
    own.weights = api::textOf(path);
    if (std::string text = unstored.text(api::textOf(path)); !text.empty())
      own.observer.remark(text);
    return {};
  });
}

npar_code npar_trainer_save_weights(npar_trainer *trainer, npar_str path, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_save_weights", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_save_weights").filled(path, "path").status());
    TRY_STATUS(files::checkSafetensorsName("npar_trainer_save_weights", api::textOf(path)));
    return engine::saveWeights(own.session(), own.root(), api::textOf(path));
  });
}

npar_code npar_trainer_save(npar_trainer *trainer, npar_str folder, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_save", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_save").filled(folder, "folder").status());
    return api::save(own, api::textOf(folder));
  });
}

npar_code npar_trainer_resume(npar_trainer *trainer, npar_str folder, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_resume", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_resume").filled(folder, "folder").status());
    return api::resume(own, api::textOf(folder));
  });
}

npar_code npar_trainer_hash(npar_trainer *trainer, char hash[33], npar_error **error) {
  return withTrainer(trainer, "npar_trainer_hash", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::needs(hash, "npar_trainer_hash", "hash"));
    std::string text = own.session().parameterHash();
    std::memcpy(hash, text.c_str(), std::min<size_t>(text.size(), 32));
    hash[std::min<size_t>(text.size(), 32)] = 0;
    return {};
  });
}
}
