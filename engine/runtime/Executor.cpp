// Runs the step graph once per training step on the workers of a oneTBB arena; what goes on elsewhere never blocks a worker.
#include "engine/runtime/Executor.h"

#include "engine/device/WorkOffers.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/ChainRunner.h"
#include "engine/runtime/Failure.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/VirtualTimeline.h"
#include "engine/runtime/Watchdog.h"

#include <algorithm>
#include <deque>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sstream>

namespace npar::engine {

using program::StepKind;

namespace {

/// Tells the backend of every worker before it runs a step.
class Announcer final : public tbb::task_scheduler_observer {
public:
  Announcer(tbb::task_arena &arena, Backend &backend) : tbb::task_scheduler_observer(arena), backend(backend) { observe(true); }
  ~Announcer() override { observe(false); }
  void on_scheduler_entry(bool) override { backend.enterThread(); }

private:
  Backend &backend;
};

} // namespace

struct Executor::State {
  /// A step that goes on after the worker has left it (communication; all work of an asynchronous backend). It ends its chain, which is
  /// released by the completion.
  struct Started final : Completion {
    Started(State &state, uint32_t node) : state(state), node(node) {}
    void completed(const Status &status) override { state.finish(*this, status); }
    State &state;
    uint32_t node, chain = 0;
    double begin = 0;
  };

  State(const program::Program &program, const StepGraph &graph, Operations &operations, Backend &backend, Communicator &communicator,
        const Clock &clock, const ExecutorOptions &options)
      : program(program), graph(graph), operations(operations), backend(backend), communicator(communicator), clock(clock),
        options(options),
        control(tbb::global_control::max_allowed_parallelism, std::max<size_t>(options.threads, tbb::info::default_concurrency())),
        arena(options.threads, 1), announcer(arena, backend), failure(program, graph),
        watchdog(options.timeoutSeconds, progress, [this] { expire(); }) {
    backend.enterThread();
    arena.initialize();
    build();
    if (options.observer)
      options.observer->opened(program, graph, operations, communicator);
  }
  ~State() {
    if (options.observer)
      options.observer->closed();
  }

  void build();
  std::vector<uint32_t> numberChains();
  void fillContexts();
  const int64_t *contextOf(const StepNode &node) const {
    return &contexts[(size_t(node.local) * size_t(program.micro_count()) + node.micro) * contextSize];
  }
  bool endsElsewhere(const StepNode &node) const { return node.communicates() || (backend.asynchronous() && !node.joins()); }
  Status startWork(const StepNode &node);
  bool runChain(uint32_t chain);
  void runNode(uint32_t index);
  bool startNode(Started &started);
  void finish(Started &started, const Status &status);
  void fail(uint32_t node, const Status &status);
  void expire();
  void record(uint32_t node, double begin, double end);
  Status run(int64_t step);

  const program::Program &program;
  const StepGraph &graph;
  Operations &operations;
  Backend &backend;
  Communicator &communicator;
  const Clock &clock;
  ExecutorOptions options;
  tbb::global_control control;
  tbb::task_arena arena;
  Announcer announcer;
  std::vector<int64_t> contexts; ///< one per rank of the session and micro-batch, contextSize each
  size_t contextSize = 0;
  std::vector<uint32_t> heads; ///< of each chain, the step that it begins with
  std::vector<uint32_t> next;  ///< by step: see chainsOf
  std::unique_ptr<ChainRunner> runner;
  std::deque<Started> startedNodes;
  std::vector<uint32_t> startedOf; ///< by node: its place in startedNodes; noIndex where the worker stays to the end
  VirtualTimeline timeline;        ///< when the backend does not compute
  double virtualOrigin = 0;
  std::vector<uint32_t> labelIds, laneIds; ///< in the trace: of labels, of nodes
  int64_t trainingStep = 0;
  std::atomic<uint64_t> progress{0};
  Failure failure;
  Watchdog watchdog;
};

void Executor::State::build() {
  size_t count = graph.nodes.size();
  startedOf.assign(count, noIndex);
  std::vector<bool> detaches(count);
  for (uint32_t i = 0; i < count; ++i)
    if (endsElsewhere(graph.nodes[i])) {
      detaches[i] = true;
      startedOf[i] = static_cast<uint32_t>(startedNodes.size());
      Started &started = startedNodes.emplace_back(*this, i);
      if (graph.nodes[i].communicates())
        operations.at(i).completion = &started;
    }
  next = chainsOf(graph, detaches);
  std::vector<uint32_t> chainOf = numberChains();
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t e = graph.firstSuccessor[i]; next[i] == noIndex && e < graph.firstSuccessor[i + 1]; ++e)
      edges.emplace_back(chainOf[i], chainOf[graph.successors[e]]);
  runner = std::make_unique<ChainRunner>(arena, uint32_t(heads.size()), edges, [this](uint32_t chain) { return runChain(chain); });
  fillContexts();
  if (!backend.computes())
    timeline = planTimeline(graph, operations);
  if (options.trace)
    registerTrace(program, graph, operations, *options.trace, labelIds, laneIds);
}

/// By step: the chain that it belongs to.
std::vector<uint32_t> Executor::State::numberChains() {
  std::vector<bool> follows(next.size());
  for (uint32_t follower : next)
    if (follower != noIndex)
      follows[follower] = true;
  std::vector<uint32_t> chainOf(next.size());
  for (uint32_t head = 0; head < next.size(); ++head) {
    if (follows[head])
      continue;
    auto chain = static_cast<uint32_t>(heads.size());
    heads.push_back(head);
    for (uint32_t i = head; i != noIndex; i = next[i]) {
      chainOf[i] = chain;
      if (startedOf[i] != noIndex)
        startedNodes[startedOf[i]].chain = chain;
    }
  }
  return chainOf;
}

/// Contexts of kernels and attention: {data step, micro index, seed, coordinates...}.
void Executor::State::fillContexts() {
  size_t micros = static_cast<size_t>(std::max<int64_t>(program.micro_count(), 1));
  contextSize = 3 + program.mesh()->size();
  contexts.resize(graph.ranks.size() * micros * contextSize);
  for (size_t local = 0; local < graph.ranks.size(); ++local) {
    std::vector<int64_t> coordinates = program::coordinatesOf(program, graph.ranks[local].rank);
    for (size_t micro = 0; micro < micros; ++micro) {
      int64_t *context = &contexts[(local * micros + micro) * contextSize];
      context[1] = static_cast<int64_t>(micro), context[2] = static_cast<int64_t>(options.seed);
      std::copy(coordinates.begin(), coordinates.end(), context + 3);
    }
  }
}

void Executor::State::record(uint32_t index, double begin, double end) {
  const StepNode &node = graph.nodes[index];
  if (!backend.computes())
    begin = virtualOrigin + timeline.begin[index], end = virtualOrigin + timeline.end[index];
  options.trace->record({node.rank, laneIds[index], labelIds[node.label], node.task, node.step, node.micro, trainingStep, begin, end});
}

Status Executor::State::startWork(const StepNode &node) {
  const DeviceAddress *buffers = graph.buffers.data() + node.firstBuffer;
  switch (node.kind) {
  case StepKind::Kernel:
    return backend.runKernel(node.payload, buffers, size_t(node.inputs) + node.outputs, contextOf(node), node.bytes);
  case StepKind::Matmul:
    return backend.runMatmul(node.payload, buffers[0], buffers[1], buffers[2]);
  case StepKind::Attention:
    return backend.runAttention(node.payload, buffers, size_t(node.inputs) + node.outputs, contextOf(node));
  case StepKind::Zero:
    backend.zero(buffers[0], node.firstBytes);
    return {};
  case StepKind::Copy:
    backend.copy(buffers[1], buffers[0], node.firstBytes);
    return {};
  case StepKind::Collective:
  case StepKind::Send:
  case StepKind::Receive:
    break; // the communicator's
  }
  return Status(Code::Internal, "this step is no work for a backend");
}

bool Executor::State::runChain(uint32_t chain) {
  for (uint32_t index = heads[chain]; index != noIndex; index = next[index]) {
    if (startedOf[index] != noIndex)
      return startNode(startedNodes[startedOf[index]]);
    runNode(index);
  }
  return true;
}

void Executor::State::runNode(uint32_t index) {
  const StepNode &node = graph.nodes[index];
  progress.fetch_add(1, std::memory_order_relaxed);
  if (failure.happened() || node.joins())
    return;
  failure.began(index);
  if (options.observer)
    options.observer->began(index);
  double begin = options.trace ? clock.now() : 0;
  const uint64_t offers = WorkOffers::ofThisThread();
  Status status = startWork(node);
  if (WorkOffers::ofThisThread() != offers)
    runner->keepAwake();
  if (options.trace)
    record(index, begin, clock.now());
  if (!status.ok())
    fail(index, status);
}

/// True where it has ended already, false where `finish` will be called.
bool Executor::State::startNode(Started &started) {
  const StepNode &node = graph.nodes[started.node];
  progress.fetch_add(1, std::memory_order_relaxed);
  if (failure.happened())
    return true;
  failure.began(started.node);
  if (options.observer)
    options.observer->began(started.node);
  started.begin = options.trace ? clock.now() : 0;
  if (node.communicates())
    communicator.post(operations.at(started.node));
  else if (Status status = startWork(node); !status.ok())
    finish(started, status);
  else
    backend.whenDone(started);
  return false;
}

void Executor::State::finish(Started &started, const Status &status) {
  progress.fetch_add(1, std::memory_order_relaxed);
  if (!status.ok())
    fail(started.node, status);
  else if (options.trace)
    record(started.node, started.begin, clock.now());
  if (options.observer && status.ok())
    options.observer->ended(started.node);
  runner->release(started.chain);
}

/// The first cause stops every rank of this session, and of the others. A communicating node may be cut off by another session's cause,
/// which then is this one's too.
void Executor::State::fail(uint32_t node, const Status &status) {
  bool communicates = node != noIndex && graph.nodes[node].communicates();
  Status elsewhere = communicates ? communicator.abortedElsewhere() : Status();
  bool cause = elsewhere.ok(), first = cause ? failure.raise(node, status) : failure.raise(noIndex, elsewhere);
  if (first && cause && options.observer)
    options.observer->failed(node);
  if (first)
    communicator.abort(failure.reason());
  if (node != noIndex && !(first && cause))
    failure.interrupted(node);
}

void Executor::State::expire() {
  std::ostringstream seconds;
  seconds << options.timeoutSeconds;
  std::string text = "no progress for " + seconds.str() + " s in training step " + std::to_string(trainingStep);
  std::vector<PendingOperation> pending = communicator.pending();
  std::sort(pending.begin(), pending.end(), [](const auto &a, const auto &b) { return a.tag < b.tag; });
  size_t listed = 0;
  for (const PendingOperation &operation : pending) {
    if (listed++ == 64) {
      text += "\n  ... and " + std::to_string(pending.size() - 64) + " more";
      break;
    }
    text += "\n  " + describeNode(program, graph.nodes[operation.tag]) + " waits for rank";
    for (size_t i = 0; i < operation.missing.size(); ++i)
      text += (i ? ", " : operation.missing.size() > 1 ? "s " : " ") + std::to_string(operation.missing[i]);
  }
  if (pending.empty())
    text += "; no rank waits for another: a kernel does not end, or a completion was lost";
  fail(noIndex, Status(Code::Timeout, text));
}

Status Executor::State::run(int64_t step) {
  if (failure.happened())
    return failure.report();
  trainingStep = step;
  for (size_t at = 0; at < contexts.size(); at += contextSize)
    contexts[at] = step;
  uint64_t before = progress.load();
  if (options.observer)
    options.observer->stepBegan(step);
  watchdog.start();
  arena.execute([&] { runner->run(); });
  watchdog.stop();
  if (options.observer && !failure.happened())
    options.observer->stepEnded();
  virtualOrigin += timeline.length;
  if (failure.happened())
    return failure.report();
  uint64_t expected = graph.nodes.size() + startedNodes.size();
  if (progress.load() - before != expected) {
    fail(noIndex, Status(Code::Internal, "the step graph ended after " + std::to_string(progress.load() - before) + " of " +
                                             std::to_string(expected) + " events"));
    return failure.report();
  }
  return {};
}

Executor::Executor(const program::Program &program, const StepGraph &graph, Operations &operations, Backend &backend,
                   Communicator &communicator, const Clock &clock, const ExecutorOptions &options)
    : state(new State(program, graph, operations, backend, communicator, clock, options)) {}

Executor::~Executor() = default;

Status Executor::run(int64_t step) { return state->run(step); }

} // namespace npar::engine
