// Runs the step graph once per training step on the workers of a oneTBB arena; asynchronous work never blocks a worker.
#include "engine/runtime/Executor.h"

#include "engine/device/WorkOffers.h"
#include "engine/program/Describe.h"
#include "engine/program/Ranks.h"
#include "engine/program/RateWords.h"
#include "engine/runtime/ChainRunner.h"
#include "engine/runtime/Failure.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/StepChains.h"
#include "engine/runtime/VirtualTimeline.h"
#include "engine/runtime/Watchdog.h"
#include "engine/status/Thrown.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
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
  Announcer(tbb::task_arena &arena, Backend &backend) : tbb::task_scheduler_observer(arena), backend(backend) {
    made.give();
    observe(true);
  }
  ~Announcer() override {
    observe(false); // waits for workers that are in on_scheduler_entry
    entered.take();
  }
  NPAR_TAKES_OVER void on_scheduler_entry(bool) override {
    made.take();
    backend.enterThread();
    entered.give();
  }

private:
  Backend &backend;
  HandOver made, entered;
};

/// Raises the process's limit of threads for a session that wants more workers than oneTBB has by default, because its arena gets no more
/// than the limit. Null for other sessions: oneTBB applies the smallest limit that is set, so theirs could only lower that of a process
/// that embeds the engine.
std::unique_ptr<tbb::global_control> raisedLimit(int threads) {
  if (threads <= tbb::info::default_concurrency())
    return nullptr;
  constexpr auto limit = tbb::global_control::max_allowed_parallelism;
  return std::make_unique<tbb::global_control>(limit, std::max(static_cast<size_t>(threads), tbb::global_control::active_value(limit)));
}

} // namespace

struct Executor::State {
  /// A step whose completion reports that it is done, with all steps before it in its lane, and ends its chain.
  struct Started final : Completion {
    Started(State &state, uint32_t node) : state(state), node(node) {}
    void completed(const Status &status) override { state.finish(*this, status); }
    State &state;
    uint32_t node, first = node; ///< first: the first step since the previous completion in its lane
    double begin = 0;
  };

  State(const program::Program &program, const StepGraph &graph, Operations &operations, Backend &backend, Communicator &communicator,
        const Clock &clock, const ExecutorOptions &options)
      : program(program), graph(graph), operations(operations), backend(backend), communicator(communicator), clock(clock),
        options(options), raised(raisedLimit(options.threads)), arena(options.threads, 1), announcer(arena, backend),
        failure(program, graph), watchdog(options.timeoutSeconds, progress, [this] { expire(); }) {
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
  void fillContexts();
  void setRunWords(const std::vector<double> &words);
  const int64_t *contextOf(const StepNode &node) const {
    return &contexts[(size_t(node.local) * size_t(program.micro_count()) + node.micro) * contextSize];
  }
  bool began(uint32_t index);
  void gatherGroups();
  Status startWork(const StepNode &node);
  Status startGroup(uint32_t first);
  /// The last of the steps that are started together with this one.
  uint32_t endOfGroup(uint32_t first) const;
  bool runChain(uint32_t chain);
  void runNode(uint32_t index);
  void startLane(uint32_t chain);
  Status record(uint32_t chain);
  bool startNode(Started &started);
  void finish(Started &started, const Status &status);
  void release(const Started &started);
  Status failureOf(const Started &started, const Status &status) const;
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
  std::unique_ptr<tbb::global_control> raised; ///< may be null; set before the arena, whose slots it allows
  tbb::task_arena arena;
  Announcer announcer;
  std::vector<int64_t> contexts; ///< one per rank of the session and micro-batch, contextSize each
  size_t contextSize = 0;
  StepChains chains;
  std::vector<DeviceAddress> groupBuffers; ///< consecutive buffers of steps that are started together
  std::vector<size_t> firstGroupBuffer;    ///< by step, the first of each group
  std::vector<uint32_t> recordings;        ///< recording in its lane, by chain; noIndex: none
  bool records = false;                    ///< this step may record, because everything has run once
  std::unique_ptr<ChainRunner> runner;
  std::deque<Started> startedNodes;
  std::vector<uint32_t> startedOf; ///< by node: its place in startedNodes; noIndex if it has no completion
  VirtualTimeline timeline;        ///< used when the backend does not compute
  double virtualOrigin = 0;
  std::vector<uint32_t> labelIds, laneIds; ///< ids in the trace, of labels and of nodes
  int64_t trainingStep = 0, runs = 0;
  std::atomic<uint64_t> progress{0};
  Failure failure;
  Watchdog watchdog;
};

void Executor::State::build() {
  size_t count = graph.nodes.size();
  LaneCut cut = options.trace ? LaneCut::Steps : options.record ? LaneCut::Communication : LaneCut::Tasks;
  chains = backend.asynchronous() ? laneChains(program, graph, cut) : workerChains(graph);
  startedOf.assign(count, noIndex);
  for (uint32_t i = 0; i < count; ++i)
    if (chains.releases[i] != noIndex) {
      startedOf[i] = static_cast<uint32_t>(startedNodes.size());
      Started &started = startedNodes.emplace_back(*this, i);
      if (graph.nodes[i].communicates())
        operations.at(i).completion = &started;
    }
  gatherGroups();
  recordings.assign(chains.heads.size(), noIndex);
  runner = std::make_unique<ChainRunner>(arena, chains.count, chains.edges, [this](uint32_t chain) { return runChain(chain); });
  fillContexts();
  if (!backend.computes())
    timeline = planTimeline(graph, operations);
  if (options.trace)
    registerTrace(program, graph, operations, *options.trace, labelIds, laneIds);
}

void Executor::State::gatherGroups() {
  firstGroupBuffer.assign(graph.nodes.size(), 0);
  for (uint32_t first = 0; first < graph.nodes.size(); ++first) {
    if (chains.together[first] == 1)
      continue;
    firstGroupBuffer[first] = groupBuffers.size();
    uint32_t index = first;
    for (uint32_t i = 0; i < chains.together[first]; ++i, index = chains.next[index]) {
      const StepNode &node = graph.nodes[index];
      auto begin = graph.buffers.begin() + node.firstBuffer;
      groupBuffers.insert(groupBuffers.end(), begin, begin + node.inputs + node.outputs);
    }
  }
}

uint32_t Executor::State::endOfGroup(uint32_t first) const {
  uint32_t last = first;
  for (uint32_t i = 1; i < chains.together[first]; ++i)
    last = chains.next[last];
  return last;
}

/// Contexts of kernels and attention: see program::contextWordsOf.
void Executor::State::fillContexts() {
  size_t micros = static_cast<size_t>(std::max<int64_t>(program.micro_count(), 1));
  contextSize = program::contextWordsOf(program);
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

void Executor::State::setRunWords(const std::vector<double> &words) {
  const size_t first = contextSize - words.size();
  for (size_t context = 0; context < contexts.size(); context += contextSize)
    std::memcpy(&contexts[context + first], words.data(), words.size() * sizeof(double));
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
    return node.inputs > 2 ? backend.runGrouped(node.payload, buffers)
                           : backend.runMatmul(node.payload, buffers[0], buffers[1], buffers[2]);
  case StepKind::Attention:
    return backend.runAttention(node.payload, buffers, size_t(node.inputs) + node.outputs, contextOf(node));
  case StepKind::Zero:
    backend.zero(buffers[0], node.firstBytes);
    return {};
  case StepKind::Copy:
    backend.copy(buffers[1], buffers[0], node.firstBytes);
    return backend.intact();
  case StepKind::Collective:
  case StepKind::Send:
  case StepKind::Receive:
    break; // the communicator's
  }
  return Status(Code::Internal, "this step is no work for a backend");
}

Status Executor::State::startGroup(uint32_t first) {
  const StepNode &node = graph.nodes[first];
  uint32_t count = chains.together[first];
  if (count == 1)
    return startWork(node);
  return backend.runKernels(node.payload, groupBuffers.data() + firstGroupBuffer[first], size_t(node.inputs) + node.outputs, count,
                            contextOf(node), node.bytes * count);
}

/// False where it has ended in a completion, or will.
bool Executor::State::runChain(uint32_t chain) {
  if (chain >= chains.heads.size())
    return false; // a completion ends it
  uint32_t head = chains.heads[chain];
  if (backend.asynchronous() && !graph.nodes[head].communicates()) {
    startLane(chain);
    return true;
  }
  for (uint32_t index = head; index != noIndex; index = chains.next[index]) {
    if (startedOf[index] != noIndex)
      return startNode(startedNodes[startedOf[index]]);
    runNode(index);
  }
  return true;
}

/// False: there is nothing to be done for it, or nothing any more.
bool Executor::State::began(uint32_t index) {
  progress.fetch_add(1, std::memory_order_relaxed);
  if (failure.happened() || graph.nodes[index].joins())
    return false;
  failure.began(index);
  if (options.observer)
    options.observer->began(index);
  return true;
}

void Executor::State::runNode(uint32_t index) {
  if (!began(index))
    return;
  double begin = options.trace ? clock.now() : 0;
  const uint64_t offers = WorkOffers::ofThisThread();
  Status status = startWork(graph.nodes[index]);
  if (WorkOffers::ofThisThread() != offers)
    runner->keepAwake();
  if (options.trace)
    record(index, begin, clock.now());
  if (!status.ok())
    fail(index, status);
}

/// Starts all steps of a lane's piece, one by one or from its recording. A completion reports the end of the piece.
void Executor::State::startLane(uint32_t chain) {
  const uint32_t head = chains.heads[chain];
  backend.enterLane(graph.nodes[head].local);
  double begin = options.trace ? clock.now() : 0;
  if (records && recordings[chain] == noIndex && !failure.happened())
    if (Status status = record(chain); !status.ok())
      fail(head, status);
  uint32_t last = head;
  for (uint32_t first = head; first != noIndex; first = chains.next[last]) {
    last = endOfGroup(first);
    bool starts = began(first);
    for (uint32_t index = first; index != last;)
      starts &= began(index = chains.next[index]);
    if (starts && recordings[chain] == noIndex)
      if (Status status = startGroup(first); !status.ok())
        fail(first, status);
  }
  if (recordings[chain] != noIndex && !failure.happened())
    backend.replay(recordings[chain]);
  if (startedOf[last] != noIndex) {
    Started &started = startedNodes[startedOf[last]];
    started.begin = begin, started.first = head;
    if (failure.happened())
      release(started);
    else
      backend.whenDone(started);
  }
  backend.enterLane(noLane);
}

/// A single step is started as quickly by itself.
Status Executor::State::record(uint32_t chain) {
  uint32_t works = 0;
  for (uint32_t index = chains.heads[chain]; index != noIndex; index = chains.next[index])
    works += !graph.nodes[index].joins();
  if (works < 2)
    return {};
  backend.beginRecording();
  Status status;
  for (uint32_t first = chains.heads[chain]; first != noIndex && status.ok(); first = chains.next[endOfGroup(first)])
    if (!graph.nodes[first].joins())
      status = startGroup(first);
  Result<uint32_t> recording = backend.endRecording();
  if (status.ok() && !recording.ok())
    status = recording.status();
  if (status.ok())
    recordings[chain] = *recording;
  return status;
}

/// True where it has ended already, false where `finish` will be called.
bool Executor::State::startNode(Started &started) {
  if (!began(started.node))
    return true;
  started.begin = options.trace ? clock.now() : 0;
  communicator.post(operations.at(started.node));
  return false;
}

void Executor::State::finish(Started &started, const Status &status) {
  bool joins = graph.nodes[started.node].joins();
  if (!status.ok())
    fail(started.node, failureOf(started, status));
  else if (options.trace && !joins)
    record(started.node, started.begin, clock.now());
  if (options.observer && status.ok() && !joins)
    options.observer->ended(started.node);
  release(started);
}

void Executor::State::release(const Started &started) {
  progress.fetch_add(1, std::memory_order_relaxed);
  runner->release(chains.releases[started.node]);
}

/// A device says of a lane's piece only that it failed.
Status Executor::State::failureOf(const Started &started, const Status &status) const {
  if (started.first == started.node)
    return status;
  return Status(status.code(), status.message() + "; all steps up to this one had been started, from " +
                                   describeNode(program, graph.nodes[started.first]) + " on");
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
  std::string text = "no progress for " + seconds.str() + " s in " + program::describeStepOf(program, trainingStep);
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
    text += "; no rank waits for another: a kernel hangs, or a completion was lost";
  fail(noIndex, Status(Code::Timeout, text));
}

Status Executor::State::run(int64_t step) {
  if (failure.happened())
    return failure.report();
  trainingStep = step;
  for (size_t at = 0; at < contexts.size(); at += contextSize)
    contexts[at] = step;
  records = options.record && backend.canRecord() && runs > 0;
  uint64_t before = progress.load();
  if (options.observer)
    options.observer->stepBegan(step);
  watchdog.start();
  try {
    arena.execute([&] { runner->run(); });
  } catch (...) { // memory that the system refuses: the chains that are left cannot run any more
    fail(noIndex, statusOfThrown());
  }
  watchdog.stop();
  if (options.observer && !failure.happened())
    options.observer->stepEnded();
  virtualOrigin += timeline.length;
  if (failure.happened())
    return failure.report();
  ++runs;
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

void Executor::setRunWords(const std::vector<double> &words) { state->setRunWords(words); }

Status Executor::run(int64_t step) { return state->run(step); }

} // namespace npar::engine
