// Trainers: created, stepped with arrays of the host, stopped, freed.
#include "tools/api/Texts.h"
#include "tools/api/library/Trainer.h"

#include "engine/files/StreamHash.h"
#include "engine/job/Processes.h"
#include "engine/program/Words.h"
#include "engine/runtime/BorrowedArrays.h"
#include "engine/runtime/MemoryRoom.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/Arrays.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>

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

Status npar_trainer::checkAlone(const char *name, const char *instead) const {
  return memory->job ? Status::usage(std::string(name) + ": the trainer shares its ranks with other processes: " + instead) : Status();
}

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
                 .text(given.job, "job")
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
  if (given.job.len && textOf(given.job) != "env")
    return Status::usage("npar_trainer_options: job is '" + textOf(given.job) + "': env, or nothing for one process");
  options.seed = given.seed_given ? given.seed : program.seed();
  options.initialise = given.uninitialised == 0;
  if (given.timeout_seconds > 0)
    options.timeoutSeconds = given.timeout_seconds;
  options.onPhase = [&observer](const std::string &name) { observer.phase(name); };
  options.onRemark = [&observer](const std::string &sentence) { observer.remark(sentence); };
  return options;
}

/// Is there memory for the ranks of this host? Tells the observer how much they take.
Status takeRoom(npar_trainer &trainer, const npar_trainer_options &given) {
  engine::MemoryRequest need;
  need.programs = {trainer.memory->program};
  need.crew = trainer.processes().crew(given.threads, trainer.options.backend);
  TRY(std::string taken,
      engine::checkRoom(need, "reduce the size (micro = 1, a smaller batch, length, width or depth), or use fewer ranks"));
  trainer.observer.remark(taken);
  return {};
}

/// Opens the session of a trainer that has its job.
Status openSession(npar_trainer &trainer, const npar_trainer_options &given) {
  const program::ProgramPointer &program = trainer.memory->program;
  const Status room = takeRoom(trainer, given);
  if (LauncherJob *job = trainer.memory->job.get()) {
    trainer.order = job->oneCallAtATime();
    const std::string hash = files::hashText(program->data().data(), program->data().size());
    const bool evaluates = trainer.root().kind() == program::ProgramKind::Evaluation;
    TRY_STATUS(job->begin({evaluates ? "creates a trainer for evaluation" : "creates a trainer", room,
                           hash + " " + std::to_string(trainer.options.seed), "the compiled program or the seed",
                           "all processes of a job must have the same"}));
    trainer.number = job->countTrainer();
  } else {
    TRY_STATUS(room);
  }
  Result<std::unique_ptr<engine::Session>> made = trainer.processes().createSession(program, trainer.options);
  TRY_STATUS(trainer.processes().agree(made.status()));
  trainer.memory->session = std::move(*made);
  return {};
}

Status create(npar_program &program, const npar_trainer_options &given, npar_trainer **result) {
  auto trainer = std::make_unique<npar_trainer>(given.observer);
  trainer->memory = std::make_shared<TrainerMemory>();
  trainer->memory->program = program.program;
  trainer->request = program.request, trainer->origin = program.origin;
  const program::Program &root = program.program->root();
  trainer->shape = engine::BatchShape::of(root);
  TRY(trainer->options, sessionOptions(given, root, trainer->observer));
  if (given.job.len) {
    TRY(trainer->memory->job, LauncherJob::join(trainer->options.timeoutSeconds, trainer->observer));
  }
  TRY_STATUS(guarded(*trainer, [&](npar_trainer &own) { return openSession(own, given); }));
  trainer->options.onPhase = nullptr;
  trainer->order = {};
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

Result<engine::Batch> batchOf(const engine::BatchShape &shape, const npar_input *inputs, size_t count) {
  TRY(std::vector<engine::NamedArray> arrays, arraysOf(inputs, count));
  TRY(engine::Batch batch, engine::batchFrom(shape, arrays));
  TRY_STATUS(engine::checkBatch(shape, batch));
  return batch;
}

/// Hash of all values of a batch.
std::string hashOf(const engine::Batch &batch) {
  std::string hashes;
  for (const engine::InputValues &values : batch)
    std::visit([&](const auto &list) { hashes += files::hashText(list.data(), list.size() * sizeof list[0]); }, values);
  return files::hashText(hashes.data(), hashes.size());
}

/// Marks the positions of a batch that count in the loss: those whose target the program does not ignore.
engine::CountedBatch countedOf(const npar_trainer &trainer, engine::Batch batch) {
  const uint64_t positions = training::Evaluation::elementsOfSample(*trainer.root().results()->Get(0));
  engine::CountedBatch counted;
  counted.samples = trainer.shape.rows;
  counted.counts.assign(static_cast<size_t>(trainer.shape.rows) * positions, 1);
  for (size_t i = 0; i < batch.size(); ++i) {
    const engine::InputShape &input = trainer.shape.inputs[i];
    if (!input.ignore || input.elementsOfSample() != positions)
      continue;
    std::visit(
        [&](const auto &targets) {
          for (size_t each = 0; each < targets.size(); ++each)
            if (static_cast<double>(targets[each]) == static_cast<double>(*input.ignore))
              counted.counts[each] = 0;
        },
        batch[i]);
  }
  counted.batch = std::move(batch);
  return counted;
}

/// Adds the measures of the step that is done to those since the last report, and its losses to its result.
Status addMeasures(npar_trainer &trainer, engine::Batch batch, engine::StepResult &result) {
  if (trainer.root().kind() != program::ProgramKind::Evaluation || !trainer.root().results() || trainer.root().results()->size() == 0)
    return {};
  if (!trainer.evaluation)
    trainer.evaluation = std::make_unique<training::Evaluation>(trainer.root()), trainer.evaluated = 0;
  const engine::CountedBatch counted = countedOf(trainer, std::move(batch));
  training::Evaluation own(trainer.root());
  TRY_STATUS(own.add(trainer.session(), counted));
  result.loss = own.loss();
  for (const training::Measured &each : own.measures())
    if (each.kind == program::MeasureKind::Loss && !each.name.empty())
      result.losses.push_back({each.name, each.sum.value().value_or(0), each.sum.counted()});
  trainer.evaluated += trainer.shape.rows;
  return trainer.evaluation->add(trainer.session(), counted);
}

/// Usage for a result whose size was never set: a whole one could be longer than the caller's.
Status checkResultSize(uint32_t size) {
  return size >= offsetof(npar_step_result, step) && size <= largestOptions
             ? Status()
             : Status::usage("npar_step_result: struct_size is " + std::to_string(size) + "; set it to sizeof(npar_step_result)");
}

/// The batch of a step that may begin.
Result<engine::Batch> checkedBatch(npar_trainer &trainer, const npar_input *inputs, size_t count, const npar_step_result *result) {
  if (trainer.takesStop())
    return Status::stopped("the step");
  TRY_STATUS(Arguments("npar_trainer_step").array(inputs, count, "inputs").status());
  if (result)
    TRY_STATUS(checkResultSize(result->struct_size));
  return batchOf(trainer.shape, inputs, count);
}

Result<engine::StepResult> stepOf(npar_trainer &trainer, Result<engine::Batch> batch) {
  TRY_STATUS(trainer.begin({"takes step " + std::to_string(trainer.done),
                            {},
                            batch.ok() && trainer.isShared() ? hashOf(*batch) : "",
                            "the batch",
                            "every process must pass the whole global batch"},
                           batch.status()));
  Result<engine::StepResult> result = trainer.session().step(*batch, trainer.done);
  TRY_STATUS(trainer.causeOf(result.status()));
  TRY_STATUS(addMeasures(trainer, std::move(*batch), *result));
  return result;
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
    auto begun = std::chrono::steady_clock::now();
    TRY(engine::StepResult done, api::stepOf(own, api::checkedBatch(own, inputs, count, result)));
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

npar_code npar_trainer_set_length(npar_trainer *trainer, int64_t steps, double steps_per_epoch, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_set_length", error, [&](npar_trainer &own) -> Status {
    engine::RunLength length;
    if (steps > 0)
      length.steps = static_cast<double>(steps);
    if (steps_per_epoch > 0)
      length.stepsPerEpoch = steps_per_epoch;
    Status refusal = api::Arguments("npar_trainer_set_length").whole(steps, "steps").number(steps_per_epoch, "steps_per_epoch").status();
    if (refusal.ok())
      refusal = engine::checkRates(own.root(), length);
    TRY_STATUS(own.begin({fmt::format("sets the length of its run to {} steps, with {} in an epoch", steps, steps_per_epoch)}, refusal));
    return own.session().setRun(length);
  });
}
}
