// The communicating steps of a step graph as operations for a communicator, made once.
#include "engine/runtime/Operations.h"

#include "engine/program/Classes.h"
#include "engine/program/Describe.h"
#include "engine/program/Ranks.h"

namespace npar::engine {

using namespace program;

Operations::Operations(const Program &program, const StepGraph &graph) : place(graph.nodes.size(), noIndex) {
  // Groups by collective and first member: listed once per group, not once per rank, whose number of members may be as large as the world.
  std::map<std::pair<uint32_t, int64_t>, const std::vector<int64_t> *> known;
  auto keep = [&](std::vector<int64_t> members) { return &groups.emplace(members, members).first->second; };
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode &node = graph.nodes[i];
    if (!node.communicates())
      continue;
    Operation operation;
    operation.tag = i;
    operation.micro = node.micro;
    operation.step = node.kind;
    const std::vector<int64_t> *members = nullptr;
    if (node.kind == StepKind::Collective) {
      const Collective &collective = *program.collectives()->Get(node.payload);
      std::vector<int64_t> coordinates = coordinatesOf(program, node.rank);
      operation.member = static_cast<uint32_t>(memberAlong(program, coordinates, *collective.axes()));
      for (uint32_t axis : *collective.axes())
        coordinates[axis] = 0;
      int64_t first = rankAt(program, coordinates);
      const std::vector<int64_t> *&group = known[{node.payload, first}];
      if (!group)
        group = keep(groupOf(program, collective, first));
      members = group;
      operation.kind = collective.kind();
      operation.op = collective.op(), operation.type = collective.type(), operation.event = collective.event();
    } else {
      const Transfer &transfer = *program.transfers()->Get(node.payload);
      std::vector<int64_t> coordinates = coordinatesOf(program, node.rank);
      coordinates[transfer.axis()] = transfer.peer();
      int64_t peer = rankAt(program, coordinates), self = node.rank;
      bool send = node.kind == StepKind::Send;
      members = keep(send ? std::vector<int64_t>{self, peer} : std::vector<int64_t>{peer, self});
      operation.member = send ? 0 : 1;
      operation.type = transfer.type(), operation.event = transfer.event(), operation.count = transfer.count();
      if (send)
        operation.input = graph.buffers[node.firstBuffer];
      else
        operation.output = graph.buffers[node.firstBuffer];
    }
    operation.members = members->data();
    operation.memberCount = static_cast<uint32_t>(members->size());
    if (node.kind == StepKind::Collective)
      setParts(program, graph, node, operation);
    place[i] = static_cast<uint32_t>(operations.size());
    operations.push_back(operation);
  }
}

/// Geometry and buffers of each part, the last first, so that each can point to the next one.
void Operations::setParts(const Program &program, const StepGraph &graph, const StepNode &node, Operation &operation) {
  for (uint32_t part = node.outputs; part-- > 0;) {
    const Collective &collective = *program.collectives()->Get(node.payload + part);
    operation.count = collective.count();
    operation.outer = collective.outer(), operation.split = collective.split(), operation.inner = collective.inner();
    operation.middle = collective.middle(), operation.concat = collective.concat(), operation.concatFirst = collective.concat_first();
    operation.whole = collective.whole(), operation.shift = collective.shift(), operation.library = collective.library();
    operation.input = graph.buffers[node.firstBuffer + part], operation.output = graph.buffers[node.firstBuffer + node.inputs + part];
    operation.places = collective.places(), operation.entries = collective.entries(), operation.groups = collective.groups();
    if (operation.places > 0)
      operation.inputEnds = graph.buffers[node.firstBuffer + 1], operation.outputEnds = graph.buffers[node.firstBuffer + 2];
    if (part == 0)
      continue;
    parts.push_back(operation);
    operation.next = &parts.back();
  }
}

void registerTrace(const Program &program, const StepGraph &graph, const Operations &operations, Trace &trace,
                   std::vector<uint32_t> &labelIds, std::vector<uint32_t> &laneIds) {
  for (const Label *label : *program.labels()) {
    const SourcePlace *place = label->source();
    labelIds.push_back(
        trace.addLabel(label->text()->str(),
                       place ? place->file()->str() + ":" + std::to_string(place->line()) + ":" + std::to_string(place->column()) : ""));
  }
  for (const LocalRank &local : graph.ranks) {
    const RankClass &rankClass = *program.classes()->Get(classOf(program, local.rank));
    for (uint32_t task = 0; task < rankClass.tasks()->size(); ++task)
      trace.addTask(static_cast<uint32_t>(local.rank), task, describeTask(rankClass, task));
  }
  uint32_t compute = trace.addLane("compute");
  laneIds.assign(graph.nodes.size(), compute);
  std::map<std::pair<program::StepKind, uint32_t>, uint32_t> lanes; // by payload
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode &node = graph.nodes[i];
    if (!node.communicates())
      continue;
    auto [lane, fresh] = lanes.emplace(std::make_pair(node.kind, node.payload), 0);
    if (fresh) {
      std::string name = nameOf(operations.at(i));
      if (node.kind == StepKind::Collective) {
        name = "group";
        for (uint32_t axis : *program.collectives()->Get(node.payload)->axes())
          name += " " + program.mesh()->Get(axis)->name()->str();
      } else {
        const Transfer &transfer = *program.transfers()->Get(node.payload);
        name += (node.kind == StepKind::Send ? " to " : " from ") + program.mesh()->Get(transfer.axis())->name()->str() + " = " +
                std::to_string(transfer.peer());
      }
      lane->second = trace.addLane(name);
    }
    laneIds[i] = lane->second;
  }
}

} // namespace npar::engine
