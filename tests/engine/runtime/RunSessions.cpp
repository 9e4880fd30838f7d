// npar_run_sessions PROGRAM.npx SESSIONS [in-turns] [by-order] [offset|queued] [steps=N]: trains a compiled program on random data in
// several sessions that share no memory, threads in place of processes, and prints what each says of it: the losses and the hash of the
// parameters.
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

} // namespace

int main(int count, char **arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: npar_run_sessions PROGRAM.npx SESSIONS [in-turns] [by-order] [offset|queued] [steps=N]\n");
    return 2;
  }
  SessionsOptions options;
  options.count = static_cast<size_t>(std::atoi(arguments[2]));
  options.local = options.count == 1;
  options.session.threads = 1, options.session.timeoutSeconds = 60;
  int64_t steps = 3;
  for (int i = 3; i < count; ++i) {
    std::string word = arguments[i];
    if (word == "in-turns")
      options.inTurns = true;
    else if (word == "by-order")
      options.bytes.matchByOrder = true;
    else if (word.rfind("steps=", 0) == 0)
      steps = std::atoi(word.c_str() + 6);
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
  for (int64_t step = 0; step < steps; ++step) {
    engine::Batch batch = data->batch(step);
    for (const engine::Status &status : sessions.step(batch, step))
      if (!status.ok())
        return fail(status);
    for (const engine::StepResult &result : sessions.results)
      std::printf("step %lld loss %.17g norm %.17g\n", static_cast<long long>(step), result.loss, result.gradNorm);
  }
  for (const std::string &hash : sessions.each([](engine::Session &session) { return session.parameterHash(); }))
    std::printf("hash %s\n", hash.c_str());
  return 0;
}
