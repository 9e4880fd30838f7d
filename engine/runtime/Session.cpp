// A loaded program with its arenas, ready to run training steps: puts the engine's parts together.
#include "engine/runtime/Session.h"

#include "engine/backends/Backends.h"
#include "engine/comm/local/LocalCommunicator.h"
#include "engine/program/Classes.h"
#include "engine/program/Masters.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/Arenas.h"
#include "engine/runtime/Executor.h"
#include "engine/runtime/Initialize.h"
#include "engine/runtime/Inputs.h"
#include "engine/runtime/SessionParts.h"
#include "engine/runtime/Variables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <xxhash.h>

namespace npar::engine {

using namespace program;

namespace {

enum OutputIndex { Loss, GradNorm, LearningRate, LossScale, ValidTokens, outputCount };
constexpr const char *outputNames[outputCount] = {"loss", "grad_norm", "lr", "loss_scale", "valid_tokens"};

class LocalSession final : public Session {
public:
  LocalSession(std::shared_ptr<const LoadedProgram> loaded, const SessionOptions &options, SessionParts parts)
      : loaded(std::move(loaded)), program(this->loaded->root()), options(options), parts(std::move(parts)) {}

  Status open();
  Result<StepResult> step(const Batch &batch, int64_t step) override;
  Result<std::vector<double>> read(const std::string &variable) const override { return readAs<double>(variable); }
  Result<std::vector<float>> readFloat(const std::string &variable) const override { return readAs<float>(variable); }
  Status write(const std::string &variable, const std::vector<double> &values) override { return writeFrom(variable, values); }
  Status writeFloat(const std::string &variable, const std::vector<float> &values) override { return writeFrom(variable, values); }
  std::string parameterHash() const override;
  std::vector<ArenaUse> arenaUse() const override;

private:
  bool computes() const { return parts.backend->computes(); }
  Status initialiseParameters();
  /// `to` gets the initial values of `from`, in T.
  template <typename T> Status initialise(uint32_t from, uint32_t to);
  template <typename T> Result<std::vector<T>> readAs(const std::string &name) const;
  template <typename T> Status writeFrom(const std::string &name, const std::vector<T> &values);

  Result<StepResult> readOutputs();
  /// Where a scalar of a step lies, in the first rank that has it; null: the program does not report it.
  DeviceAddress findOutput(const std::string &name) const;

  std::shared_ptr<const LoadedProgram> loaded;
  const Program &program;
  SessionOptions options;
  SessionParts parts;
  std::shared_ptr<Communicator> communicator;
  std::unique_ptr<Arenas> arenas;
  std::unique_ptr<Variables> variables;
  Inputs inputs;
  std::vector<DeviceAddress> outputs; ///< by `outputNames`
  StepGraph graph;
  std::unique_ptr<Executor> executor;
  std::vector<uint32_t> accumulators; ///< zeroed here when the program brings no prologue
};

Status LocalSession::open() {
  auto begin = [this](const char *phase) {
    if (options.onPhase)
      options.onPhase(phase);
  };
  if (Status status = loaded->status(); !status.ok())
    return status;
  begin("loading its kernels");
  if (options.threads <= 0)
    options.threads = tbb::info::default_concurrency();
  int64_t world = worldOf(program);
  if (!parts.backend) {
    Result<std::unique_ptr<Backend>> backend =
        createBackend(options.backend, {options.threads, options.threads > 1 && world < 2 * options.threads});
    if (!backend.ok())
      return backend.status();
    parts.backend = std::move(*backend);
  }
  if (Status status = parts.backend->load(program); !status.ok())
    return status;
  communicator = parts.communicator ? parts.communicator(*parts.backend) : std::make_shared<LocalCommunicator>(*parts.backend);
  if (!parts.clock)
    parts.clock = std::make_shared<SystemClock>();

  begin("taking memory");
  arenas = std::make_unique<Arenas>(*parts.backend);
  if (Status status = arenas->allocate(program); !status.ok())
    return status;
  variables = std::make_unique<Variables>(program, arenas->all(), *parts.backend);
  inputs = Inputs(program, arenas->all());
  if (computes())
    for (const char *name : outputNames)
      outputs.push_back(findOutput(name));

  begin("building the graph of steps");
  graph = expandProgram(program, arenas->all());
  executor = std::make_unique<Executor>(program, graph, *parts.backend, *communicator, *parts.clock,
                                        ExecutorOptions{options.threads, options.seed, options.timeoutSeconds, options.trace});
  bool prologue = false;
  for (const RankClass *rankClass : *program.classes())
    for (const Task *task : *rankClass->tasks())
      prologue |= rankClass->fragments()->Get(task->fragment())->phase() == Phase::Prologue;
  for (uint32_t i = 0; i < program.variables()->size() && !prologue; ++i)
    if (program.variables()->Get(i)->kind() == VariableKind::Accumulator)
      accumulators.push_back(i);
  begin("initialising the parameters");
  return computes() ? initialiseParameters() : Status();
}

template <typename T> Status LocalSession::initialise(uint32_t from, uint32_t to) {
  constexpr uint64_t part = 1 << 16;
  uint64_t count = variables->elements(from);
  std::vector<T> values(count);
  tbb::parallel_for(uint64_t{0}, (count + part - 1) / part, [&](uint64_t i) {
    initialValues(*program.variables()->Get(from), options.seed, i * part, std::min(part, count - i * part), &values[i * part]);
  });
  return variables->write(to, values.data());
}

Status LocalSession::initialiseParameters() {
  tbb::task_arena workers(options.threads);
  return workers.execute([&]() -> Status {
    for (uint32_t i = 0; i < program.variables()->size(); ++i) {
      const Variable &variable = *program.variables()->Get(i);
      bool master = isMaster(variable);
      // Everything else begins with the zeros of the arena.
      if (variable.kind() != VariableKind::Parameter && !master && variable.init() != InitKind::Constant)
        continue;
      uint32_t from = master ? static_cast<uint32_t>(variable.of()) : i;
      Status status = variable.type() == ElementType::F64 ? initialise<double>(from, i) : initialise<float>(from, i);
      if (!status.ok())
        return status;
    }
    return {};
  });
}

Result<StepResult> LocalSession::step(const Batch &batch, int64_t step) {
  if (computes()) {
    if (Status status = inputs.fill(*parts.backend, batch); !status.ok())
      return status;
    for (uint32_t accumulator : accumulators)
      variables->zero(accumulator);
    if (Status status = waitUntilDone(*parts.backend); !status.ok())
      return status;
  }
  if (Status status = executor->run(step); !status.ok())
    return Status(status.code(), "training step " + std::to_string(step) + ": " + status.message());
  return computes() ? readOutputs() : StepResult();
}

Result<StepResult> LocalSession::readOutputs() {
  double values[outputCount] = {};
  for (int i = 0; i < outputCount; ++i)
    if (outputs[i])
      parts.backend->copyOut(&values[i], outputs[i], sizeof(double));
  if (Status status = waitUntilDone(*parts.backend); !status.ok())
    return status;
  for (double &value : values)
    if (std::isnan(value)) // which sign it has depends on the processor and means nothing
      value = std::numeric_limits<double>::quiet_NaN();
  StepResult result = {values[Loss], values[GradNorm], values[LearningRate], values[LossScale], !std::isfinite(values[GradNorm])};
  if (outputs[ValidTokens])
    result.validTokens = static_cast<int64_t>(values[ValidTokens]);
  return result;
}

DeviceAddress LocalSession::findOutput(const std::string &name) const {
  for (const LocalRank &rank : arenas->all())
    for (const Output *output : *program.classes()->Get(classOf(program, rank.rank))->outputs())
      if (output->name()->str() == name)
        return rank.arena + output->offset();
  return {};
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

template <typename T> Status LocalSession::writeFrom(const std::string &name, const std::vector<T> &values) {
  Result<uint32_t> variable = variables->find(name);
  if (!variable.ok())
    return variable.status();
  if (values.size() != variables->elements(*variable))
    return Status::badInput("variable '" + name + "' has " + std::to_string(variables->elements(*variable)) + " elements, " +
                            std::to_string(values.size()) + " were given");
  if (!computes())
    return {};
  if (Status status = variables->write(*variable, values.data()); !status.ok())
    return status;
  int64_t master = masterOf(program, *variable);
  return master >= 0 ? variables->write(static_cast<uint32_t>(master), values.data()) : Status();
}

std::string LocalSession::parameterHash() const {
  XXH3_state_t *state = XXH3_createState();
  XXH3_128bits_reset(state);
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < program.variables()->size() && computes(); ++i)
    if (program.variables()->Get(i)->kind() == VariableKind::Parameter) {
      int64_t master = masterOf(program, i);
      if (variables->readBytes(master >= 0 ? static_cast<uint32_t>(master) : i, bytes).ok())
        XXH3_128bits_update(state, bytes.data(), bytes.size());
    }
  XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

std::vector<ArenaUse> LocalSession::arenaUse() const {
  std::vector<uint64_t> marks;
  for (const RankClass *rankClass : *program.classes())
    marks.push_back(highWaterMark(program, *rankClass));
  std::vector<ArenaUse> uses;
  for (int64_t rank = 0; rank < worldOf(program); ++rank) {
    uint32_t rankClass = classOf(program, rank);
    uses.push_back({rank, program.classes()->Get(rankClass)->arena_bytes(), marks[rankClass]});
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
