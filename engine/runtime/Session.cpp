// A loaded program with its arenas, ready to run training steps: puts the engine's parts together.
#include "engine/runtime/Session.h"
#include "engine/files/StreamHash.h"

#include "engine/backends/Backends.h"
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/comm/ordered/OrderedCommunicator.h"
#include "engine/device/ParallelFor.h"
#include "engine/numbers/Convert.h"
#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Precision.h"
#include "engine/program/ProgramHash.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/Arenas.h"
#include "engine/runtime/CommunicationPlan.h"
#include "engine/runtime/Executor.h"
#include "engine/runtime/FirstAccess.h"
#include "engine/runtime/Initialize.h"
#include "engine/runtime/Inputs.h"
#include "engine/runtime/Results.h"
#include "engine/runtime/SessionMap.h"
#include "engine/runtime/SessionParts.h"
#include "engine/runtime/StepOutputs.h"
#include "engine/runtime/Variables.h"
#include "engine/runtime/WorkerCount.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <oneapi/tbb/task_arena.h>
#include <type_traits>
#include <xxhash.h>

namespace npar::engine {

using namespace program;

namespace {

class LocalSession final : public Session {
public:
  LocalSession(std::shared_ptr<const LoadedProgram> loaded, const SessionOptions &options, SessionParts parts)
      : loaded(std::move(loaded)), program(this->loaded->root()), options(options), parts(std::move(parts)) {}

  Status open();
  Result<StepResult> step(const Batch &batch, int64_t step) override;
  Status setRun(const RunLength &length) override;
  Result<std::vector<double>> read(const std::string &variable) const override { return readAs<double>(variable); }
  Status visit(const std::string &variable, const std::function<void(const double *values, size_t count)> &take) const override;
  Result<std::vector<float>> readFloat(const std::string &variable) const override { return readAs<float>(variable); }
  Status write(const std::string &variable, const std::vector<double> &values) override { return writeAll(variable, values); }
  Status writeFloat(const std::string &variable, const std::vector<float> &values) override { return writeAll(variable, values); }
  Status writeFrom(const std::string &variable, const ElementSource &source) override;
  Status initialise(const std::string &parameter) override;
  Result<std::vector<HostPiece>> hostPieces(const std::string &variable) const override;
  Status readPieces(const std::vector<OwnedPiece> &pieces, uint8_t *bytes) const override;
  Result<std::vector<ElementsHash>> hashPieces(const std::vector<OwnedPiece> &pieces) const override;
  std::vector<int64_t> ranks() const override;
  std::optional<ProductOrder> productOrder() const override { return order; }
  std::vector<int64_t> rows() const override { return inputs.rows(); }
  void abandon(const Status &status) override { broken = stopAll(status); }
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const override;
  Result<std::vector<double>> readResult(const std::string &result, uint64_t first, uint64_t count) const override {
    return computes() ? results->read(result, first, count) : Result<std::vector<double>>(std::vector<double>(count));
  }
  std::string parameterHash() const override;
  std::string stateHash() const override;
  std::vector<ArenaUse> arenaUse() const override;

private:
  bool computes() const { return parts.backend->computes(); }
  bool isAlone() const { return static_cast<int64_t>(arenas->all().size()) == worldOf(program); }
  Status openParts();
  Result<ProductOrder> chosenOrder() const;
  Status openRanks();
  Status takeMemory(const std::vector<int64_t> &ranks);
  Status buildGraph(std::vector<uint32_t> sessionOf);
  void begin(const char *phase) const;
  Status initialiseParameters();
  /// Hashes all parameters that are states of the model, or those that are not.
  std::string hashOfParameters(bool states) const;
  /// The values that a variable begins with; of a master those of its parameter, not rounded.
  Status initialiseOne(uint32_t variable);
  template <typename T> Result<std::vector<T>> readAs(const std::string &name) const;
  template <typename T> Status writeAll(const std::string &name, const std::vector<T> &values);

  /// Tells the other sessions, which cannot continue without this one; returns `status`.
  Status stopAll(const Status &status);

  std::shared_ptr<const LoadedProgram> loaded;
  const Program &program;
  SessionOptions options;
  SessionParts parts;
  std::optional<ProductOrder> order;
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<Arenas> arenas;
  std::unique_ptr<Variables> variables;
  std::unique_ptr<Results> results;
  Inputs inputs;
  std::unique_ptr<StepOutputs> outputs;
  StepGraph graph;
  std::unique_ptr<Operations> operations;
  std::unique_ptr<Executor> executor;
  std::vector<uint32_t> accumulators; ///< zeroed here: those that need it of a program that brings no prologue
  bool knowsRun = false;              ///< setRun was called, or the program does not need it
  Status broken;                      ///< why no further step is possible, though the executor is well
};

void LocalSession::begin(const char *phase) const {
  if (options.onPhase)
    options.onPhase(phase);
}

Status LocalSession::open() {
  if (Status status = openParts(); !status.ok())
    return status;
  Status status = openRanks();
  if (!status.ok())
    communicator->abort(status); // other sessions need not wait for this one
  return status;
}

Status LocalSession::openParts() {
  options.threads = workerCount(options.threads);
  if (!parts.clock)
    parts.clock = std::make_shared<SystemClock>();
  if (!parts.backend) {
    int64_t ranks = options.ranks.empty() ? worldOf(program) : static_cast<int64_t>(options.ranks.size());
    Spread spread = spreadOf(ranks, options.threads);
    spread.process = options.process, spread.processes = options.processes, spread.devices = options.gpus;
    if (multipliesBf16(program)) {
      TRY(order, chosenOrder());
    }
    TRY(parts.backend, createBackend(options.backend, spread, options.products, options.attention, order.value_or(ProductOrder::Portable)));
  }
  communicator = parts.communicator ? parts.communicator(*parts.backend) : std::make_shared<LocalCommunicator>(*parts.backend);
  if (communicator->needsOrder())
    communicator = std::make_shared<OrderedCommunicator>(communicator);
  return {};
}

Result<ProductOrder> LocalSession::chosenOrder() const {
  ProductOrder asked = options.productOrder;
  for (ProductOrder next : {program.products(), options.fastestOrder})
    asked = asked == ProductOrder::Fastest ? next : asked;
  return engine::productOrder(options.backend, asked);
}

Status LocalSession::openRanks() {
  if (Status status = loaded->status(); !status.ok())
    return status;
  Result<std::vector<int64_t>> ranks = localRanks(program, options.ranks);
  if (!ranks.ok())
    return ranks.status();
  begin("loading its kernels");
  if (Status status = parts.backend->load(program); !status.ok())
    return status;
  for (const std::string &remark : parts.backend->remarks())
    if (options.onRemark)
      options.onRemark(remark);
  Result<std::vector<uint32_t>> sessionOf =
      mapSessions(*loaded, *ranks, options.seed, parts.backend->name(), *communicator, options.timeoutSeconds);
  if (!sessionOf.ok())
    return sessionOf.status();

  begin("taking memory");
  arenas = std::make_unique<Arenas>(*parts.backend);
  if (Status status = parts.backend->prepareLanes(arenas->devicesOf(ranks->size())); !status.ok())
    return status;
  if (Status status = takeMemory(*ranks); !status.ok())
    return status;
  if (Status status = checkWorkers(options.threads); !status.ok())
    return status;
  GatherBytes gatherAll;
  if (!isAlone())
    gatherAll = [this](const std::vector<uint8_t> &own) { return communicator->gather(own, options.timeoutSeconds); };
  variables = std::make_unique<Variables>(program, arenas->all(), *parts.backend, gatherAll);
  results = std::make_unique<Results>(program, arenas->all(), *parts.backend, gatherAll);
  outputs = std::make_unique<StepOutputs>(*loaded, arenas->all(), *parts.backend, std::move(gatherAll));
  inputs = Inputs(program, arenas->all());

  begin("building the graph of steps");
  if (Status status = buildGraph(std::move(*sessionOf)); !status.ok())
    return status;
  knowsRun = !needsRunLength(program);
  if (options.run && !knowsRun)
    TRY_STATUS(setRun(*options.run));
  begin("initialising the parameters");
  return computes() ? initialiseParameters() : Status();
}

Status LocalSession::takeMemory(const std::vector<int64_t> &ranks) {
  if (!options.host) {
    std::vector<const Program *> guests;
    for (const auto &guest : options.guests)
      guests.push_back(&guest->root());
    Status status = arenas->allocate(program, ranks, guests);
    if (status.ok() && options.onRemark && parts.backend->asynchronous())
      options.onRemark(arenas->placement());
    return status;
  }
  auto *host = dynamic_cast<const LocalSession *>(options.host);
  if (!host)
    return Status(Code::Internal, "a session has a host that has no arenas");
  if (std::string why = whyApart(host->program, program); !why.empty())
    return Status(Code::Internal, "a program cannot run in the memory of another: " + why);
  return arenas->share(*host->arenas, program, ranks);
}

Status LocalSession::buildGraph(std::vector<uint32_t> sessionOf) {
  graph = expandProgram(program, arenas->all());
  operations = std::make_unique<Operations>(program, graph);
  CommunicationPlan plan = planCommunication(program, graph, *operations, std::move(sessionOf), communicator->needsOrder());
  plan.program = hashOf(*loaded);
  if (Status status = communicator->prepare(plan); !status.ok())
    return status;
  executor = std::make_unique<Executor>(
      program, graph, *operations, *parts.backend, *communicator, *parts.clock,
      ExecutorOptions{options.threads, options.seed, options.timeoutSeconds, options.trace, options.record, parts.observer});
  bool prologue = false;
  for (const RankClass *rankClass : *program.classes())
    for (const Task *task : *rankClass->tasks())
      prologue |= rankClass->fragments()->Get(task->fragment())->phase() == Phase::Prologue;
  if (!prologue)
    accumulators = accumulatorsToZero(program);
  return {};
}

/// The initial values of a variable, as T.
template <typename T> static ElementSource initialSource(const Variable &variable, uint64_t seed) {
  return {elementTypeOf<T>(), [&variable, seed](uint64_t first, uint64_t count, uint8_t *elements) {
            initialValues(variable, seed, first, count, reinterpret_cast<T *>(elements));
            return Status();
          }};
}

Status LocalSession::initialiseParameters() {
  tbb::task_arena workers(options.threads);
  return workers.execute([&]() -> Status {
    for (uint32_t i = 0; i < program.variables()->size(); ++i) {
      const Variable &variable = *program.variables()->Get(i);
      bool drawn = variable.kind() == VariableKind::Parameter || isMaster(variable);
      // Everything else begins with the zeros of the arena.
      if (drawn ? options.initialise : variable.init() == InitKind::Constant)
        if (Status status = initialiseOne(i); !status.ok())
          return status;
    }
    return {};
  });
}

Status LocalSession::initialiseOne(uint32_t index) {
  const Variable &variable = *program.variables()->Get(index);
  const Variable &of = isMaster(variable) ? *program.variables()->Get(static_cast<uint32_t>(variable.of())) : variable;
  return variables->write({index},
                          isWide(variable.type()) ? initialSource<double>(of, options.seed) : initialSource<float>(of, options.seed));
}

Status LocalSession::initialise(const std::string &parameter) {
  Result<uint32_t> variable = variables->find(parameter);
  if (!variable.ok())
    return variable.status();
  if (!computes())
    return {};
  tbb::task_arena workers(options.threads);
  return workers.execute([&]() -> Status {
    Status status = initialiseOne(*variable);
    int64_t master = masterOf(program, *variable);
    return status.ok() && master >= 0 ? initialiseOne(static_cast<uint32_t>(master)) : status;
  });
}

Status LocalSession::setRun(const RunLength &length) {
  TRY(std::vector<double> words, runWords(program, length));
  executor->setRunWords(words);
  knowsRun = true;
  return {};
}

Result<StepResult> LocalSession::step(const Batch &batch, int64_t step) {
  if (!broken.ok())
    return broken;
  if (!knowsRun) // the same in all sessions
    return Status::badInput("the learning rate has lengths in epochs or shares of the run, which a single step does not know\n"
                            "npar: help: write its lengths in steps, or train on files");
  if (computes()) {
    if (Status status = inputs.fill(*parts.backend, batch); !status.ok())
      return stopAll(status);
    for (uint32_t accumulator : accumulators)
      variables->zero(accumulator);
    if (Status status = waitUntilDone(*parts.backend); !status.ok())
      return stopAll(status);
  }
  auto inStep = [&](const Status &status) {
    return Status(status.code(), program::describeStepOf(program, step) + ": " + status.message());
  };
  communicator->beginStep(step);
  if (Status status = executor->run(step); !status.ok())
    return inStep(status);
  Result<StepResult> result = outputs->read(step, options.note);
  return result.ok() ? result : stopAll(inStep(result.status()));
}

Status LocalSession::stopAll(const Status &status) {
  if (!isAlone()) {
    communicator->abort(status);
    broken = status;
  }
  return status;
}

Status LocalSession::visit(const std::string &name, const std::function<void(const double *values, size_t count)> &take) const {
  Result<uint32_t> variable = variables->find(name);
  if (!variable.ok())
    return variable.status();
  return computes() ? variables->visit(*variable, take) : Status();
}

template <typename T> Result<std::vector<T>> LocalSession::readAs(const std::string &name) const {
  Result<uint32_t> variable = variables->find(name);
  if (!variable.ok())
    return variable.status();
  if (!computes())
    return std::vector<T>(variables->elements(*variable), T(0));
  std::vector<T> values;
  if (Status status = variables->read(*variable, values); !status.ok())
    return status;
  return values;
}

template <typename T> Status LocalSession::writeAll(const std::string &name, const std::vector<T> &values) {
  Result<uint32_t> variable = variables->find(name);
  if (!variable.ok())
    return variable.status();
  if (values.size() != variables->elements(*variable))
    return Status::badInput("variable '" + name + "' has " + std::to_string(variables->elements(*variable)) + " elements, " +
                            std::to_string(values.size()) + " were given");
  return writeFrom(name, {elementTypeOf<T>(), [&](uint64_t first, uint64_t count, uint8_t *elements) {
                            std::memcpy(elements, &values[first], count * sizeof(T));
                            return Status();
                          }});
}

Status LocalSession::writeFrom(const std::string &name, const ElementSource &source) {
  Result<uint32_t> variable = variables->find(name);
  if (!variable.ok())
    return variable.status();
  if (!computes())
    return {};
  std::vector<uint32_t> written = {*variable};
  if (int64_t master = masterOf(program, *variable); master >= 0)
    written.push_back(static_cast<uint32_t>(master));
  tbb::task_arena workers(options.threads);
  return workers.execute([&] { return variables->write(written, source); });
}

Result<std::vector<HostPiece>> LocalSession::hostPieces(const std::string &variable) const {
  TRY(uint32_t index, variables->find(variable));
  return variables->hostPieces(index);
}

Status LocalSession::readPieces(const std::vector<OwnedPiece> &pieces, uint8_t *bytes) const {
  std::vector<uint64_t> places; // in `bytes`
  uint64_t size = 0;
  for (const OwnedPiece &piece : pieces) {
    places.push_back(size);
    size += piece.elements() * sizeOf(program.variables()->Get(piece.variable)->type());
  }
  std::vector<Status> results(pieces.size());
  tbb::task_arena workers(options.threads);
  workers.execute([&] {
    parallelFor(pieces.size(), [&](uint64_t i) {
      parts.backend->enterThread();
      results[i] = variables->readPiece(pieces[i].variable, pieces[i].rank, bytes + places[i]);
    });
  });
  auto failed = std::find_if(results.begin(), results.end(), [](const Status &status) { return !status.ok(); });
  return failed == results.end() ? Status() : *failed;
}

Result<std::vector<ElementsHash>> LocalSession::hashPieces(const std::vector<OwnedPiece> &pieces) const {
  std::vector<ElementsHash> hashes(pieces.size());
  if (!computes())
    return hashes;
  std::vector<Status> results(pieces.size());
  tbb::task_arena workers(options.threads);
  workers.execute([&] {
    parallelFor(pieces.size(), [&](uint64_t i) {
      parts.backend->enterThread();
      files::StreamHash hash;
      results[i] =
          variables->visitPiece(pieces[i].variable, pieces[i].rank, [&](const uint8_t *bytes, size_t count) { hash.add(bytes, count); });
      files::StreamHash::Digest digest = hash.digest();
      hashes[i] = {digest.high, digest.low};
    });
  });
  auto failed = std::find_if(results.begin(), results.end(), [](const Status &status) { return !status.ok(); });
  return failed == results.end() ? Result<std::vector<ElementsHash>>(std::move(hashes)) : *failed;
}

std::vector<int64_t> LocalSession::ranks() const {
  std::vector<int64_t> result;
  for (const LocalRank &rank : arenas->all())
    result.push_back(rank.rank);
  return result;
}

Result<std::vector<std::vector<uint8_t>>> LocalSession::gather(const std::vector<uint8_t> &own) const {
  if (isAlone())
    return std::vector<std::vector<uint8_t>>{own};
  return communicator->gather(own, options.timeoutSeconds);
}

std::string LocalSession::hashOfParameters(bool states) const {
  files::StreamHash hash;
  for (uint32_t i = 0; i < program.variables()->size() && computes(); ++i)
    if (const Variable &variable = *program.variables()->Get(i);
        variable.kind() == VariableKind::Parameter && isModelState(variable) == states) {
      int64_t master = masterOf(program, i);
      Status status = variables->visitBytes(master >= 0 ? static_cast<uint32_t>(master) : i,
                                            [&](const uint8_t *bytes, size_t count) { hash.add(bytes, count); });
      if (!status.ok())
        return "";
    }
  return hash.text();
}

std::string LocalSession::parameterHash() const { return hashOfParameters(false); }

std::string LocalSession::stateHash() const {
  bool any =
      std::any_of(program.variables()->begin(), program.variables()->end(), [](const Variable *each) { return isModelState(*each); });
  return any ? hashOfParameters(true) : "";
}

std::vector<ArenaUse> LocalSession::arenaUse() const {
  std::vector<uint64_t> marks;
  for (const RankClass *rankClass : *program.classes())
    marks.push_back(highWaterMark(program, *rankClass));
  std::vector<ArenaUse> uses;
  for (const LocalRank &local : arenas->all()) {
    uint32_t rankClass = classOf(program, local.rank);
    uses.push_back({local.rank, program.classes()->Get(rankClass)->arena_bytes(), marks[rankClass]});
  }
  return uses;
}

} // namespace

Result<std::unique_ptr<Session>> createSession(std::shared_ptr<const LoadedProgram> program, const SessionOptions &options,
                                               SessionParts parts) {
  auto session = std::make_unique<LocalSession>(std::move(program), options, std::move(parts));
  if (Status status = session->open(); !status.ok())
    return status;
  return std::unique_ptr<Session>(std::move(session));
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const LoadedProgram> program, const SessionOptions &options) {
  return createSession(std::move(program), options, {});
}

} // namespace npar::engine
