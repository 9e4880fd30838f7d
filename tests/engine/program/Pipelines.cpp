// Builds pipelined programs step by step, with boxes for sent data, one scratch buffer, and task edges that order the reuse of memory.
#include "tests/engine/program/Pipelines.h"

#include "engine/program/Classes.h"
#include "tests/engine/program/Simulation.h"

#include <algorithm>

namespace npar::program {
namespace {

constexpr uint32_t dpAxis = 0, ppAxis = 1, cpAxis = 2, tpAxis = 3;

/// The steps of a task that fill and empty a box.
struct BoxUse {
  uint32_t region, fills, empties;
};

class Pipeline {
public:
  Pipeline(const PipelineShape &shape, const PipelineOrder &order)
      : shape(shape), order(order),
        program(emptyProgram({{"dp", shape.dp}, {"pp", shape.stages}, {"cp", shape.cp}, {"tp", shape.tp}}, shape.micros)) {}

  ProgramT run() {
    program.kernels.push_back(std::make_unique<KernelT>());
    program.kernels.back()->symbol = "k";
    reduceF = addAllReduce(program, {tpAxis}, 0, 16);
    reduceB = addAllReduce(program, {tpAxis}, 1, 16);
    exchange = addAllReduce(program, {cpAxis}, 2, 16);
    count = addAllReduce(program, {dpAxis, ppAxis, cpAxis, tpAxis}, 3, 16);
    norm = addAllReduce(program, {dpAxis, ppAxis, cpAxis, tpAxis}, 4, 16);
    reducePp = addAllReduce(program, {ppAxis}, 5, 16);
    reduceDpPp = addAllReduce(program, {dpAxis, ppAxis}, 6, 16);
    for (uint32_t stage = 0; stage < shape.stages; ++stage)
      for (uint32_t half = 0; half < shape.cp; ++half)
        addStage(stage, half);
    return std::move(program);
  }

private:
  const PipelineShape &shape;
  const PipelineOrder &order;
  ProgramT program;
  uint32_t reduceF, reduceB, exchange, count, norm, reducePp, reduceDpPp;
  RankClassT *rankClass = nullptr; // that is being made
  uint32_t stage = 0, scratch = 0, fragment = 0;
  std::vector<std::vector<BoxUse>> boxes; // by fragment

  static constexpr uint32_t actEvent = 1000, gradEvent = 2000, skipEvent = 3000, tiedEvent = 4000, ringEvent = 5000;

  uint32_t kernel(const std::vector<Span> &inputs, const std::vector<Span> &outputs, const std::vector<uint32_t> &after,
                  const char *label) {
    return addStep(program, *rankClass, fragment, StepKind::Kernel, 0, inputs, outputs, after, label);
  }
  uint32_t reduce(uint32_t payload, uint32_t after, const std::string &label) { return reduce(payload, after, label, {scratch, 0, 64}); }
  uint32_t reduce(uint32_t payload, uint32_t after, const std::string &label, Span place) {
    return addStep(program, *rankClass, fragment, StepKind::Collective, payload, {place}, {place}, {after}, label);
  }
  Span box(const std::string &name) {
    return {addRegion(*rankClass, name, 64, shape.slots ? std::min(shape.slots, shape.micros) : shape.micros), 0, 64};
  }
  uint32_t receive(uint32_t peer, uint32_t event, Span into, const char *label) {
    return addStep(program, *rankClass, fragment, StepKind::Receive, addTransfer(program, ppAxis, peer, event, 16), {}, {into}, {}, label);
  }
  uint32_t send(uint32_t peer, uint32_t event, Span from, uint32_t after, const char *label) {
    return addStep(program, *rankClass, fragment, StepKind::Send, addTransfer(program, ppAxis, peer, event, 16), {from}, {}, {after},
                   label);
  }
  void begin(const std::string &name, Phase phase) {
    fragment = addFragment(*rankClass, name, phase);
    boxes.emplace_back();
  }

  void addStage(uint32_t index, uint32_t half) {
    stage = index;
    std::string number = std::to_string(stage);
    rankClass = &addClass(program, "stage" + number + (shape.cp > 1 ? "." + std::to_string(half) : ""), {{ppAxis, stage}, {cpAxis, half}});
    rankClass->stage = stage;
    scratch = addRegion(*rankClass, "scratch", 64, 1);
    boxes.clear();
    prologue();
    forward("F" + number);
    uint32_t forwards = scratch;
    if (shape.overlaps)
      scratch = addRegion(*rankClass, "scratch of B", 64, 1);
    backward("B" + number);
    scratch = forwards;
    if (shape.splitBackward) {
      begin("W" + number, Phase::Backward);
      kernel({}, {{scratch, 0, 64}}, {}, "weight");
    }
    update();
    uint32_t updateFragment = fragment;
    addTask(*rankClass, 0, 0);
    for (const PipelineTask &task : order[stage])
      addPipelineTask(task.phase == 'F' ? 1 : task.phase == 'B' ? 2 : 3, task.micro);
    addTask(*rankClass, updateFragment, 0);
    addReuse();
  }

  void prologue() {
    begin("P", Phase::Prologue);
    uint32_t zero = addStep(program, *rankClass, fragment, StepKind::Zero, 0, {}, {{scratch, 0, 64}}, {}, "zero");
    if (shape.count)
      reduce(count, zero, "count");
  }

  void forward(const std::string &name) {
    begin(name, Phase::Forward);
    std::vector<Span> arrived;
    std::vector<uint32_t> receives, inboxes;
    auto arrive = [&](uint32_t from, uint32_t event, const char *label) {
      arrived.push_back(box("inbox" + std::to_string(event)));
      receives.push_back(receive(from, event, arrived.back(), label));
      inboxes.push_back(arrived.back().region);
    };
    if (stage > 0)
      arrive(stage - 1, actEvent + stage - 1, "recv act");
    for (uint32_t i = 0; i < shape.skips.size(); ++i)
      if (shape.skips[i].second == stage)
        arrive(shape.skips[i].first, skipEvent + i, "recv skip");
    uint32_t first = kernel(arrived, {{scratch, 0, 64}}, receives, "forward"), last = first;
    for (uint32_t i = 0; i < receives.size(); ++i)
      boxes.back().push_back({inboxes[i], receives[i], first});
    if (shape.tpReductions)
      last = reduce(reduceF, last, "reduce F");
    if (shape.cpReductions)
      last = reduce(exchange, last, "exchange");
    depart(stage + 1 < shape.stages ? std::optional<uint32_t>(stage + 1) : std::nullopt, actEvent + stage, last, "close F", "send act",
           true);
  }

  void backward(const std::string &name) {
    begin(name, Phase::Backward);
    std::vector<Span> arrived;
    std::vector<uint32_t> receives;
    if (stage + 1 < shape.stages) {
      arrived.push_back(box("inbox grad"));
      receives.push_back(receive(stage + 1, gradEvent + stage, arrived.back(), "recv grad"));
    }
    uint32_t last = kernel(arrived, {{scratch, 0, 64}}, receives, "backward");
    if (!receives.empty())
      boxes.back().push_back({arrived[0].region, receives[0], last});
    if (shape.tpReductions)
      last = reduce(reduceB, last, "reduce B");
    depart(stage > 0 ? std::optional<uint32_t>(stage - 1) : std::nullopt, gradEvent + stage - 1, last, "close B", "send grad", false);
  }

  /// The result to the next stage, and in F the skips that begin here.
  void depart(std::optional<uint32_t> next, uint32_t event, uint32_t after, const char *label, const char *sendLabel, bool skips) {
    struct Departure {
      uint32_t peer, event;
      Span from;
      const char *label;
    };
    std::vector<Departure> departures;
    if (next)
      departures.push_back({*next, event, box("outbox" + std::to_string(event)), sendLabel});
    for (uint32_t i = 0; skips && i < shape.skips.size(); ++i)
      if (shape.skips[i].first == stage)
        departures.push_back({shape.skips[i].second, skipEvent + i, box("outbox" + std::to_string(skipEvent + i)), "send skip"});
    std::vector<Span> outboxes;
    for (const Departure &departure : departures)
      outboxes.push_back(departure.from);
    uint32_t close = kernel({{scratch, 0, 64}}, outboxes, {after}, label);
    for (const Departure &departure : departures)
      boxes.back().push_back({departure.from.region, close, send(departure.peer, departure.event, departure.from, close, departure.label)});
  }

  void update() {
    begin("U" + std::to_string(stage), Phase::Update);
    uint32_t last = kernel({}, {{scratch, 0, 64}}, {}, "gather");
    auto swap = [&](uint32_t to, uint32_t sendEvent, uint32_t from, uint32_t receiveEvent, const std::string &name) {
      Span out = {addRegion(*rankClass, "outbox " + name, 64, 1), 0, 64}, in = {addRegion(*rankClass, "inbox " + name, 64, 1), 0, 64};
      uint32_t make = kernel({{scratch, 0, 64}}, {out}, {last}, ("make " + name).c_str());
      send(to, sendEvent, out, make, ("send " + name).c_str());
      uint32_t arrives = receive(from, receiveEvent, in, ("recv " + name).c_str());
      last = kernel({in}, {{scratch, 0, 64}}, {make, arrives}, ("take " + name).c_str());
    };
    uint32_t end = shape.stages - 1;
    if (shape.tied && (stage == 0 || stage == end))
      swap(end - stage, tiedEvent + stage, end - stage, tiedEvent + end - stage, "tied");
    if (shape.ring)
      swap((stage + 1) % shape.stages, ringEvent + stage, (stage + end) % shape.stages, ringEvent + (stage + end) % shape.stages, "ring");
    std::vector<uint32_t> ends = {last};
    if (shape.groups) { // in either order, as far as the data goes
      Span other = {addRegion(*rankClass, "other", 64, 1), 0, 64};
      ends = {reduce(reducePp, last, "reduce pp"), reduce(reduceDpPp, kernel({}, {other}, {last}, "gather other"), "reduce dp pp", other)};
    }
    if (shape.norm)
      ends.push_back(reduce(norm, ends[0], "norm"));
    kernel({{scratch, 0, 64}}, {{0, 0, 64}}, ends, "update");
  }

  void addPipelineTask(uint32_t index, uint32_t micro) {
    std::map<uint32_t, uint32_t> slots;
    for (uint32_t region = 0; region < rankClass->regions.size(); ++region)
      if (uint32_t count = rankClass->regions[region]->slots; count > 1)
        slots[region] = micro % count;
    addTask(*rankClass, index, micro, slots);
  }

  /// Makes each step that refills a slot of a box wait for the step that emptied it before.
  void addReuse() {
    std::map<uint64_t, std::pair<uint32_t, uint32_t>> emptied; // by slot: task, step
    for (uint32_t task = 0; task < rankClass->tasks.size(); ++task)
      for (const BoxUse &use : boxes[rankClass->tasks[task].fragment()]) {
        uint64_t slot = rankClass->bases[rankClass->tasks[task].first_base() + use.region];
        if (auto before = emptied.find(slot); before != emptied.end())
          rankClass->task_dependencies.emplace_back(task, use.fills, before->second.first, before->second.second);
        emptied[slot] = {task, use.empties};
      }
  }
};

} // namespace

PipelineOrder oneForwardOneBackward(const PipelineShape &shape) {
  PipelineOrder order(shape.stages);
  for (uint32_t stage = 0; stage < shape.stages; ++stage) {
    uint32_t ahead = std::min(shape.stages - stage, shape.micros);
    for (uint32_t i = 0; i < shape.micros + ahead; ++i) {
      if (i < shape.micros)
        order[stage].push_back({'F', i});
      if (i + 1 >= ahead && i + 1 - ahead < shape.micros) {
        order[stage].push_back({'B', i + 1 - ahead});
        if (shape.splitBackward)
          order[stage].push_back({'W', i + 1 - ahead});
      }
    }
  }
  return order;
}

PipelineOrder drawOrder(const PipelineShape &shape, std::mt19937 &chance) {
  PipelineOrder order(shape.stages);
  using Flags = std::vector<std::vector<bool>>;
  Flags forward(shape.stages, std::vector<bool>(shape.micros)), backward = forward, weight = forward;
  size_t wanted = size_t(shape.stages) * shape.micros * (shape.splitBackward ? 3 : 2);
  for (size_t made = 0; made < wanted;) {
    uint32_t stage = chance() % shape.stages, micro = chance() % shape.micros;
    char phase = "FBW"[chance() % (shape.splitBackward ? 3 : 2)];
    bool last = stage + 1 == shape.stages;
    Flags &done = phase == 'F' ? forward : phase == 'B' ? backward : weight;
    bool ready = phase == 'F'   ? stage == 0 || forward[stage - 1][micro]
                 : phase == 'B' ? forward[stage][micro] && (last || backward[stage + 1][micro])
                                : backward[stage][micro];
    if (!ready || done[stage][micro])
      continue;
    done[stage][micro] = true;
    order[stage].push_back({phase, micro});
    ++made;
  }
  return order;
}

ProgramT buildPipeline(const PipelineShape &shape, const PipelineOrder &order) { return Pipeline(shape, order).run(); }

bool orderBySimulation(ProgramT &program, std::mt19937 &chance) {
  Packed packed(program);
  Simulated outcome = simulate(packed.root(), chance, /*inOrder=*/false);
  if (outcome.fate != Fate::Ends)
    return false;
  for (uint32_t index = 0; index < program.classes.size(); ++index) // of the rank at coordinate 0 of all other axes
    program.classes[index]->communication_order = outcome.completed[ranksOf(packed.root(), *packed.root().classes()->Get(index))[0]];
  return true;
}

ProgramT goodPipeline(const PipelineShape &shape) {
  ProgramT program = buildPipeline(shape, oneForwardOneBackward(shape));
  finishProgram(program);
  return program;
}

std::optional<CommunicationRef> findStep(const ProgramT &program, uint32_t rankClass, const std::string &label, uint32_t micro) {
  const RankClassT &owner = *program.classes[rankClass];
  for (uint32_t task = 0; task < owner.tasks.size(); ++task)
    if (owner.tasks[task].micro() == micro) {
      const auto &steps = owner.fragments[owner.tasks[task].fragment()]->steps;
      for (uint32_t step = 0; step < steps.size(); ++step)
        if (program.labels[steps[step].label()]->text == label)
          return CommunicationRef(task, step);
    }
  return std::nullopt;
}

std::string textOf(const ProgramT &program, uint32_t rankClass, const CommunicationRef &step) {
  const RankClassT &owner = *program.classes[rankClass];
  const Task &task = owner.tasks[step.task()];
  const FragmentT &fragment = *owner.fragments[task.fragment()];
  bool repeats = fragment.phase != Phase::Prologue && fragment.phase != Phase::Update;
  return "task " + fragment.name + (repeats ? ":" + std::to_string(task.micro()) : "") + " step " + std::to_string(step.step()) + " \"" +
         program.labels[fragment.steps[step.step()].label()]->text + "\"";
}

} // namespace npar::program
