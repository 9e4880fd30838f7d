// Checks weights and memory before a session allocates any.
#include "tools/lib/trained/TrainedModel.h"

#include "engine/checkpoint/OtherSettings.h"
#include "engine/checkpoint/Parts.h"
#include "engine/checkpoint/Weights.h"
#include "engine/runtime/MemoryRoom.h"

#include <fmt/format.h>
#include <utility>

namespace npar::trained {

using engine::Result;
using engine::Status;
using models::ProgramPointer;

namespace {

/// Opens the weights. Reports weights of another model, or too little memory, before any memory is allocated.
Result<engine::Weights> openWeights(const job::Processes &processes, const ProgramPointer &program, const NamedModel &named,
                                    const StartOptions &start, int threads, engine::Observer &observer) {
  TRY(std::shared_ptr<const engine::TensorStore> base, engine::openTensorStore(named.weights));
  TRY(std::shared_ptr<const engine::TensorStore> store, engine::withParts(program->root(), std::move(base), named.parts));
  TRY(engine::Weights weights, engine::Weights::match(program->root(), store));
  if (size_t fresh = weights.names().fresh.size(); fresh > 0)
    return Status::badInput(fmt::format("'{}' lacks {} of the model's parameters (fresh), so they are untrained", named.weights, fresh));
  engine::MemoryRequest request;
  request.programs = {program}, request.crew = processes.crew(threads, start.session.backend);
  request.ranks = processes.ranksOnHost(program->root());
  const char *one = named.kind == program::ProgramKind::Generation ? "--batch 1" : "--set batch=1";
  TRY(std::string taken,
      engine::checkRoom(request, fmt::format("take less at once ({}, a smaller length), or a plan of several ranks", one)));
  if (!start.quiet)
    observer.remark(taken);
  return weights;
}

Status load(const engine::Weights &weights, engine::Session &session) {
  TRY_STATUS(weights.checkValues());
  return weights.apply(session);
}

engine::SessionOptions optionsFor(const program::Program &program, const StartOptions &start, int threads) {
  engine::SessionOptions options = start.session;
  options.threads = threads;
  options.seed = program.seed();
  options.initialise = false; // all parameters are loaded
  return options;
}

} // namespace

Result<TrainedModel> startWith(job::Processes &processes, ProgramPointer program, const NamedModel &named, const StartOptions &start,
                               const std::vector<ProgramPointer> &guests, engine::Observer &observer) {
  Result<int> threads = processes.threads(start.threads);
  TRY_STATUS(processes.agree(threads.status()));
  Result<engine::Weights> weights = openWeights(processes, program, named, start, *threads, observer);
  TRY_STATUS(processes.agree(weights.status()));
  engine::Activity activity(observer, "setting up");
  engine::SessionOptions options = optionsFor(program->root(), start, *threads);
  options.guests = guests;
  options.onPhase = [&](const std::string &name) { activity.phase(name); };
  if (!start.quiet)
    options.onRemark = [&observer](const std::string &sentence) { observer.remark(sentence); };
  TRY(std::unique_ptr<engine::Session> session, processes.createSession(program, options));
  activity.phase("loading the weights");
  std::optional<engine::GivenSettings> given = named.folder.empty() && !start.quiet ? named.options.given() : std::nullopt;
  if (std::string others = given ? engine::otherSettings(named.weights, *given) : ""; !others.empty())
    observer.remark(fmt::format("warning: the settings differ from those when '{}' was written: {}", named.weights, others));
  TRY_STATUS(processes.agree(load(*weights, *session)));
  return TrainedModel{std::move(program), std::move(session)};
}

Result<TrainedModel> startIn(job::Processes &processes, const TrainedModel &host, ProgramPointer program, const StartOptions &start) {
  TRY(int threads, processes.threads(start.threads));
  engine::SessionOptions options = optionsFor(program->root(), start, threads);
  options.host = host.session.get();
  TRY(std::unique_ptr<engine::Session> session, processes.createSession(program, options));
  return TrainedModel{std::move(program), std::move(session)};
}

} // namespace npar::trained
