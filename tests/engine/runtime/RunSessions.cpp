// npar_run_sessions PROGRAM.npx SESSIONS [in-turns] [by-order|processes|joined] [offset|queued|cuda [products=WORD] [gpus=N]] [graphs]
// [threads=N] [steps=N] [timeout=SECONDS]
// [checkpoint=DIR [every=N] [keep=N] [copy=DIR]]: trains a compiled program on random data in several sessions that share no memory,
// threads in place of processes, and prints each session's losses and hash of the parameters. With a folder of checkpoints it resumes from
// the newest or, with `copy`, writes that one to another folder, as its own plan keeps it.
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/CheckpointWriter.h"
#include "engine/checkpoint/Resume.h"
#include "engine/data/DataSource.h"
#include "tests/engine/runtime/Sessions.h"

#include <cstdio>
#include <cstdlib>

using namespace npar;
using namespace npar::testing;

namespace {

int fail(const engine::Status &status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return static_cast<int>(status.code());
}

/// Checkpoints as sessions write them together. Every call is made in all sessions at once.
class Checkpoints {
public:
  Checkpoints(Sessions &sessions, std::shared_ptr<const program::LoadedProgram> program, engine::CheckpointOptions options, int64_t every)
      : sessions(sessions), program(std::move(program)), options(std::move(options)), every(every) {}

  /// Sets `first` to the step to continue with.
  engine::Status open(int64_t &first) {
    writers.resize(sessions.sessions.size());
    engine::Status status = together([&](size_t i) {
      auto writer = engine::CheckpointWriter::open(*sessions.sessions[i], program, options);
      if (writer.ok())
        writers[i] = std::move(*writer);
      return writer.status();
    });
    if (!status.ok() || !engine::isCheckpoint(options.folder))
      return status;
    auto newest = engine::newestWhole(options.folder);
    if (!newest.ok())
      return newest.status();
    first = static_cast<int64_t>(newest->store->manifest().step);
    return together([&](size_t i) { return engine::resumeFrom(*sessions.sessions[i], program->root(), *newest->store).status(); });
  }
  /// After `done` steps.
  engine::Status afterStep(int64_t done, uint64_t seed, bool last) {
    engine::TrainingState state;
    state.step = static_cast<uint64_t>(done), state.seed = seed;
    bool saves = last || (every > 0 && done % every == 0);
    return together([&](size_t i) {
      engine::Status status = writers[i]->poll();
      if (status.ok() && saves)
        status = writers[i]->save(state);
      return status.ok() && last ? writers[i]->finish() : status;
    });
  }

private:
  template <typename Call> engine::Status together(Call call) {
    std::vector<engine::Status> statuses(sessions.sessions.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < statuses.size(); ++i)
      threads.emplace_back([&, i] { statuses[i] = call(i); });
    for (std::thread &thread : threads)
      thread.join();
    for (const engine::Status &status : statuses)
      if (!status.ok())
        return status;
    return {};
  }

  Sessions &sessions;
  std::shared_ptr<const program::LoadedProgram> program;
  engine::CheckpointOptions options;
  int64_t every;
  std::vector<std::unique_ptr<engine::CheckpointWriter>> writers;
};

} // namespace

int main(int count, char **arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: npar_run_sessions PROGRAM.npx SESSIONS [in-turns] [by-order|processes|joined] [offset|queued|cuda "
                         "[products=WORD] [gpus=N]] [graphs] [threads=N] [steps=N] [timeout=SECONDS] "
                         "[checkpoint=DIR [every=N] [keep=N] [copy=DIR]]\n");
    return 2;
  }
  SessionsOptions options;
  options.count = static_cast<size_t>(std::atoi(arguments[2]));
  options.local = options.count == 1;
  options.session.threads = 1, options.session.timeoutSeconds = 60;
  int64_t steps = 3, first = 0, every = 0;
  std::string copy;
  engine::CheckpointOptions saving;
  saving.retrySeconds = 0.01;
  saving.texts = {{"note.npar", "# This run used a compiled program.\n"}}; // tests the writing of a model's texts
  for (int i = 3; i < count; ++i) {
    std::string word = arguments[i];
    if (word == "in-turns")
      options.inTurns = true;
    else if (word == "by-order")
      options.bytes.matchByOrder = true;
    else if (word == "processes")
      options.processes = true;
    else if (word == "joined")
      options.processes = options.joined = true;
    else if (word == "graphs")
      options.session.record = true;
    else if (word.rfind("products=", 0) == 0)
      options.session.products = word.substr(9);
    else if (word.rfind("gpus=", 0) == 0)
      options.session.gpus = std::atoi(word.c_str() + 5);
    else if (word.rfind("threads=", 0) == 0)
      options.session.threads = std::atoi(word.c_str() + 8);
    else if (word.rfind("steps=", 0) == 0)
      steps = std::atoi(word.c_str() + 6);
    else if (word.rfind("timeout=", 0) == 0)
      options.session.timeoutSeconds = std::atof(word.c_str() + 8);
    else if (word.rfind("checkpoint=", 0) == 0)
      saving.folder = word.substr(11);
    else if (word.rfind("copy=", 0) == 0)
      copy = word.substr(5);
    else if (word.rfind("every=", 0) == 0)
      every = std::atoi(word.c_str() + 6);
    else if (word.rfind("keep=", 0) == 0)
      saving.keep = static_cast<uint64_t>(std::atoi(word.c_str() + 5));
    else
      options.memory = word;
  }
  auto program = program::LoadedProgram::fromFile(arguments[1]);
  if (!program.ok())
    return fail(program.status());
  options.session.seed = (*program)->root().seed();
  auto data = engine::DataSource::random(options.session.seed, engine::BatchShape::of((*program)->root()));
  Sessions sessions(*program, options);
  for (const engine::Status &status : sessions.opened)
    if (!status.ok())
      return fail(status);
  Checkpoints checkpoints(sessions, *program, saving, every);
  if (!saving.folder.empty())
    if (engine::Status status = checkpoints.open(first); !status.ok())
      return fail(status);
  if (!copy.empty()) {
    saving.folder = copy;
    Checkpoints again(sessions, *program, saving, 0);
    engine::Status status = again.open(first);
    return status.ok() ? fail(again.afterStep(first, options.session.seed, true)) : fail(status);
  }
  for (int64_t step = first; step < steps; ++step) {
    engine::Batch batch = data->batch(step);
    for (const engine::Status &status : sessions.step(batch, step))
      if (!status.ok())
        return fail(status);
    for (const engine::StepResult &result : sessions.results)
      std::printf("step %lld loss %.17g norm %.17g\n", static_cast<long long>(step), result.loss, result.gradNorm);
    if (!saving.folder.empty())
      if (engine::Status status = checkpoints.afterStep(step + 1, options.session.seed, step + 1 == steps); !status.ok())
        return fail(status);
  }
  for (const std::string &hash : sessions.each([](engine::Session &session) { return session.parameterHash(); }))
    std::printf("hash %s\n", hash.c_str());
  return 0;
}
