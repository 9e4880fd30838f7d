// Runs the step graph once per training step as a oneTBB flow graph; communication is posted and never blocks a worker.
#include "engine/runtime/Executor.h"

#include "engine/program/Ranks.h"
#include "engine/runtime/Failure.h"
#include "engine/runtime/Operations.h"
#include "engine/runtime/VirtualTimeline.h"
#include "engine/runtime/Watchdog.h"

#include <algorithm>
#include <deque>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sstream>

namespace npar::engine {

using program::StepKind;
using tbb::flow::continue_msg;

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
  using Joint = tbb::flow::continue_node<continue_msg>;

  /// A communicating step is two nodes: `post` joins the predecessors and posts; the completion feeds the successors through `done`.
  /// In between the graph is told to wait though no task of it exists.
  struct Communication final : Completion {
    Communication(State &state, uint32_t node) : state(state), node(node), done(*state.flow) {}
    void completed(const Status &status) override { state.finishCommunication(*this, status); }
    State &state;
    uint32_t node;
    double begin = 0;
    tbb::flow::broadcast_node<continue_msg> done;
  };

  State(const program::Program &program, const StepGraph &graph, Backend &backend, Communicator &communicator, const Clock &clock,
        const ExecutorOptions &options)
      : program(program), graph(graph), backend(backend), communicator(communicator), clock(clock), options(options),
        control(tbb::global_control::max_allowed_parallelism, std::max<size_t>(options.threads, tbb::info::default_concurrency())),
        arena(options.threads, 1), announcer(arena, backend), operations(program, graph),
        failure(program, graph, size_t(program::worldOf(program))), watchdog(options.timeoutSeconds, progress, [this] { expire(); }) {
    backend.enterThread();
    arena.initialize();
    arena.execute([&] { build(); });
  }

  void build();
  void runNode(uint32_t index);
  void postNode(Communication &communication);
  void finishCommunication(Communication &communication, const Status &status);
  void fail(uint32_t node, const Status &status);
  void expire();
  void record(uint32_t node, double begin, double end);
  Status run(int64_t step);

  const program::Program &program;
  const StepGraph &graph;
  Backend &backend;
  Communicator &communicator;
  const Clock &clock;
  ExecutorOptions options;
  tbb::global_control control;
  tbb::task_arena arena;
  Announcer announcer;
  Operations operations;
  std::vector<int64_t> contexts; ///< one per rank and micro-batch, contextSize each
  size_t contextSize = 0;
  std::unique_ptr<tbb::flow::graph> flow; ///< made inside the arena, so that its tasks run there
  std::unique_ptr<tbb::flow::broadcast_node<continue_msg>> start;
  std::deque<Joint> nodes;
  std::deque<Communication> communications;
  std::vector<uint32_t> communicationOf; ///< node -> index, noIndex for the others
  VirtualTimeline timeline;              ///< when the backend does not compute
  double virtualOrigin = 0;
  std::vector<uint32_t> labelIds, laneIds; ///< in the trace: of labels, of nodes
  int64_t trainingStep = 0;
  std::atomic<uint64_t> progress{0};
  Failure failure;
  Watchdog watchdog;
};

void Executor::State::build() {
  flow = std::make_unique<tbb::flow::graph>();
  start = std::make_unique<tbb::flow::broadcast_node<continue_msg>>(*flow);
  communicationOf.assign(graph.nodes.size(), noIndex);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].communicates()) {
      communicationOf[i] = static_cast<uint32_t>(communications.size());
      Communication &communication = communications.emplace_back(*this, i);
      operations.at(i).completion = &communication;
      nodes.emplace_back(*flow, [this, &communication](const continue_msg &) { postNode(communication); });
    } else {
      nodes.emplace_back(*flow, [this, i](const continue_msg &) { runNode(i); });
    }
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.predecessorCount[i] == 0)
      tbb::flow::make_edge(*start, nodes[i]);
    for (uint32_t e = graph.firstSuccessor[i]; e < graph.firstSuccessor[i + 1]; ++e) {
      Joint &to = nodes[graph.successors[e]];
      if (communicationOf[i] == noIndex)
        tbb::flow::make_edge(nodes[i], to);
      else
        tbb::flow::make_edge(communications[communicationOf[i]].done, to);
    }
  }

  // Kernel contexts: {data step, micro index, seed, coordinates...}.
  size_t micros = static_cast<size_t>(std::max<int64_t>(program.micro_count(), 1)), world = size_t(program::worldOf(program));
  contextSize = 3 + program.mesh()->size();
  contexts.resize(world * micros * contextSize);
  for (size_t rank = 0; rank < world; ++rank) {
    std::vector<int64_t> coordinates = program::coordinatesOf(program, static_cast<int64_t>(rank));
    for (size_t micro = 0; micro < micros; ++micro) {
      int64_t *context = &contexts[(rank * micros + micro) * contextSize];
      context[1] = static_cast<int64_t>(micro), context[2] = static_cast<int64_t>(options.seed);
      std::copy(coordinates.begin(), coordinates.end(), context + 3);
    }
  }
  if (!backend.computes())
    timeline = planTimeline(graph, operations);
  if (options.trace)
    registerTrace(program, graph, operations, *options.trace, labelIds, laneIds);
}

void Executor::State::record(uint32_t index, double begin, double end) {
  const StepNode &node = graph.nodes[index];
  if (!backend.computes())
    begin = virtualOrigin + timeline.begin[index], end = virtualOrigin + timeline.end[index];
  options.trace->record({node.rank, laneIds[index], labelIds[node.label], node.task, node.step, node.micro, trainingStep, begin, end});
}

void Executor::State::runNode(uint32_t index) {
  const StepNode &node = graph.nodes[index];
  progress.fetch_add(1, std::memory_order_relaxed);
  if (failure.happened() || node.joins())
    return;
  failure.began(index);
  double begin = options.trace ? clock.now() : 0;
  const DeviceAddress *buffers = graph.buffers.data() + node.firstBuffer;
  Status status;
  switch (node.kind) {
  case StepKind::Kernel: {
    const int64_t *context = &contexts[(size_t(node.rank) * size_t(program.micro_count()) + node.micro) * contextSize];
    status = backend.runKernel(node.payload, buffers, size_t(node.inputs) + node.outputs, context, node.bytes);
    break;
  }
  case StepKind::Matmul:
    status = backend.runMatmul(node.payload, buffers[0], buffers[1], buffers[2], node.outputs > 1 ? buffers[3] : DeviceAddress());
    break;
  case StepKind::Zero:
    backend.zero(buffers[0], node.firstBytes);
    break;
  case StepKind::Copy:
    backend.copy(buffers[1], buffers[0], node.firstBytes);
    break;
  default:
    break;
  }
  if (options.trace)
    record(index, begin, clock.now());
  if (!status.ok())
    fail(index, status);
}

void Executor::State::postNode(Communication &communication) {
  progress.fetch_add(1, std::memory_order_relaxed);
  if (failure.happened()) {
    communication.done.try_put(continue_msg());
    return;
  }
  failure.began(communication.node);
  communication.begin = options.trace ? clock.now() : 0;
  flow->reserve_wait();
  communicator.post(operations.at(communication.node));
}

void Executor::State::finishCommunication(Communication &communication, const Status &status) {
  progress.fetch_add(1, std::memory_order_relaxed);
  if (!status.ok()) {
    if (failure.happened())
      failure.interrupted(communication.node);
    else
      fail(communication.node, status);
  } else if (options.trace) {
    record(communication.node, communication.begin, clock.now());
  }
  communication.done.try_put(continue_msg());
  flow->release_wait();
}

void Executor::State::fail(uint32_t node, const Status &status) {
  if (failure.raise(node, status))
    communicator.abort(Status(status.code(), "stopped because another rank failed"));
  else
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
  watchdog.start();
  arena.execute([&] {
    start->try_put(continue_msg());
    flow->wait_for_all();
  });
  watchdog.stop();
  virtualOrigin += timeline.length;
  if (failure.happened())
    return failure.report();
  uint64_t expected = nodes.size() + communications.size();
  if (progress.load() - before != expected) {
    fail(noIndex, Status(Code::Internal, "the step graph ended after " + std::to_string(progress.load() - before) + " of " +
                                             std::to_string(expected) + " events"));
    return failure.report();
  }
  return {};
}

Executor::Executor(const program::Program &program, const StepGraph &graph, Backend &backend, Communicator &communicator,
                   const Clock &clock, const ExecutorOptions &options)
    : state(new State(program, graph, backend, communicator, clock, options)) {}

Executor::~Executor() = default;

Status Executor::run(int64_t step) { return state->run(step); }

} // namespace npar::engine
