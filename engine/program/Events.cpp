// Checks that communication agrees between classes: no send without its receive, no member of a collective that does something else.
#include "engine/program/Checks.h"
#include "engine/program/ClassMesh.h"
#include "engine/program/Describe.h"
#include "engine/program/Steps.h"
#include "engine/program/Words.h"

#include <map>
#include <tuple>

namespace npar::program {
namespace {

struct Instance {
  const RankClass *rankClass;
  uint32_t task, step, payload, parts;
};

template <typename Visit> void forEachInstance(const Program &program, StepKind kind, Visit visit) {
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass *rankClass = program.classes()->Get(index);
    for (uint32_t task = 0; task < rankClass->tasks()->size(); ++task) {
      const auto *steps = rankClass->fragments()->Get(rankClass->tasks()->Get(task)->fragment())->steps();
      for (uint32_t step = 0; step < steps->size(); ++step)
        if (steps->Get(step)->kind() == kind)
          visit(index, Instance{rankClass, task, step, steps->Get(step)->payload(), partsOf(*steps->Get(step))});
    }
  }
}

std::string describe(const Program &program, const Instance &instance) {
  return describeStep(program, *instance.rankClass, instance.task, instance.step);
}

uint32_t microOf(const Instance &instance) { return instance.rankClass->tasks()->Get(instance.task)->micro(); }

/// The first difference between two members of a group, in words; empty when they agree.
std::string difference(const Collective &left, const Collective &right) {
  if (left.kind() != right.kind())
    return std::string("kind ") + wordOf(left.kind()) + " and " + wordOf(right.kind());
  if (left.op() != right.op())
    return std::string("operator ") + wordOf(left.op()) + " and " + wordOf(right.op());
  if (left.type() != right.type())
    return std::string("type ") + wordOf(left.type()) + " and " + wordOf(right.type());
  if (left.count() != right.count())
    return "count " + std::to_string(left.count()) + " and " + std::to_string(right.count());
  if (left.outer() != right.outer() || left.split() != right.split() || left.inner() != right.inner() || left.middle() != right.middle() ||
      left.concat() != right.concat() || left.concat_first() != right.concat_first() || left.whole() != right.whole())
    return "the shape of the gathered or scattered dimension";
  if (left.places() != right.places() || left.entries() != right.entries() || left.groups() != right.groups())
    return "the pieces of rows";
  if (left.shift() != right.shift())
    return "shift " + std::to_string(left.shift()) + " and " + std::to_string(right.shift());
  if (std::vector<uint32_t>(left.axes()->begin(), left.axes()->end()) != std::vector<uint32_t>(right.axes()->begin(), right.axes()->end()))
    return "mesh axes";
  if (left.library() != right.library())
    return "whether a library may add it up";
  return "";
}

} // namespace

std::string checkTransfers(const Program &program) {
  // Sender class, event, micro-batch.
  using Key = std::tuple<int64_t, uint32_t, uint32_t>;
  ClassMesh mesh(program);
  std::map<Key, Instance> sends;
  std::string wrong;
  auto report = [&](const std::string &message) {
    if (wrong.empty())
      wrong = message;
  };
  forEachInstance(program, StepKind::Send, [&](uint32_t index, const Instance &send) {
    const Transfer *transfer = program.transfers()->Get(send.payload);
    int64_t own = mesh.coordinate(index, transfer->axis());
    if (own < 0)
      return report(describe(program, send) + " sends along a mesh axis that its class does not fix");
    if (own == transfer->peer())
      return report(describe(program, send) + " sends to itself");
    if (!sends.emplace(Key(index, transfer->event(), microOf(send)), send).second)
      return report(describe(program, send) + " sends event " + std::to_string(transfer->event()) + " a second time");
  });
  forEachInstance(program, StepKind::Receive, [&](uint32_t index, const Instance &receive) {
    const Transfer *transfer = program.transfers()->Get(receive.payload);
    int64_t own = mesh.coordinate(index, transfer->axis());
    if (own < 0)
      return report(describe(program, receive) + " receives along a mesh axis that its class does not fix");
    int64_t sender = mesh.neighbour(index, transfer->axis(), transfer->peer());
    auto found = sends.find(Key(sender, transfer->event(), microOf(receive)));
    std::string axis = program.mesh()->Get(transfer->axis())->name()->str();
    if (found == sends.end())
      return report(describe(program, receive) + " waits for event " + std::to_string(transfer->event()) + " of micro-batch " +
                    std::to_string(microOf(receive)) + " from " + axis + " = " + std::to_string(transfer->peer()) +
                    ", which never sends it");
    const Transfer *sent = program.transfers()->Get(found->second.payload);
    if (sent->axis() != transfer->axis() || sent->peer() != own)
      return report(describe(program, found->second) + " sends to " + program.mesh()->Get(sent->axis())->name()->str() + " = " +
                    std::to_string(sent->peer()) + ", but " + describe(program, receive) + " at " + axis + " = " + std::to_string(own) +
                    " receives it");
    if (sent->count() != transfer->count() || sent->type() != transfer->type())
      return report(describe(program, found->second) + " sends " + std::to_string(sent->count()) + " " + wordOf(sent->type()) + ", but " +
                    describe(program, receive) + " receives " + std::to_string(transfer->count()) + " " + wordOf(transfer->type()));
    sends.erase(found);
  });
  if (wrong.empty() && !sends.empty())
    wrong = describe(program, sends.begin()->second) + " has no receive";
  return wrong;
}

std::string checkCollectives(const Program &program) {
  // Class, event, micro-batch.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Instance> instances;
  std::string wrong;
  forEachInstance(program, StepKind::Collective, [&](uint32_t index, const Instance &instance) {
    const Collective *collective = program.collectives()->Get(instance.payload);
    if (!instances.emplace(std::make_tuple(index, collective->event(), microOf(instance)), instance).second && wrong.empty())
      wrong = describe(program, instance) + " runs event " + std::to_string(collective->event()) + " a second time";
  });
  if (!wrong.empty())
    return wrong;
  // All are compared with the first member of their group, and the first looks for all: time grows with instances, not with pairs.
  ClassMesh mesh(program);
  for (const auto &[key, instance] : instances) {
    auto [index, event, micro] = key;
    const Collective *collective = program.collectives()->Get(instance.payload);
    uint32_t first = mesh.firstMember(index, *collective);
    for (uint32_t member : first == index ? mesh.members(index, *collective) : std::vector<uint32_t>{first}) {
      auto found = instances.find({member, event, micro});
      if (found == instances.end())
        return describe(program, instance) + " waits for " + program.classes()->Get(member)->name()->str() + " (" +
               describeRanks(program, *program.classes()->Get(member)) + "), which never joins event " + std::to_string(event);
      std::string differs = instance.parts == found->second.parts
                                ? ""
                                : "parts " + std::to_string(instance.parts) + " and " + std::to_string(found->second.parts);
      for (uint32_t part = 0; differs.empty() && part < instance.parts; ++part)
        differs =
            difference(*program.collectives()->Get(instance.payload + part), *program.collectives()->Get(found->second.payload + part));
      if (!differs.empty())
        return describe(program, instance) + " and " + describe(program, found->second) + " disagree: " + differs;
    }
  }
  return "";
}

} // namespace npar::program
