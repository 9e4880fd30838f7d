// Introduces a fault into a correct program and renews its hash (alter WHAT IN.npx OUT.npx), for tests of `npar verify`. The compiler never
// writes such programs, and files damaged in other ways fail the hash check before any other check runs.
#include "engine/files/AtomicFile.h"
#include "engine/program/Loader.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

using namespace npar;
using namespace npar::program;

namespace {

/// The first step of a kind in a class; null if the class has none.
Step *firstStep(RankClassT &rankClass, StepKind kind) {
  for (auto &fragment : rankClass.fragments)
    for (Step &step : fragment->steps)
      if (step.kind() == kind)
        return &step;
  return nullptr;
}

/// An operand refers to a memory region that does not exist.
bool breakOperand(ProgramT &program) {
  Operand &operand = program.classes.front()->fragments.back()->operands.front();
  operand = Operand(1000000, 0, operand.offset(), operand.bytes());
  return true;
}

/// The last stage waits for a message that no rank sends.
bool retagReceive(ProgramT &program) {
  Step *receive = firstStep(*program.classes.back(), StepKind::Receive);
  if (receive)
    program.transfers[receive->payload()]->event = 1000000;
  return receive;
}

/// The first stage computes a maximum in a collective in which the rest of its group computes a sum.
bool disagree(ProgramT &program) {
  for (auto &fragment : program.classes.front()->fragments)
    for (Step &step : fragment->steps) {
      if (step.kind() != StepKind::Collective)
        continue;
      auto own = std::make_unique<CollectiveT>(*program.collectives[step.payload()]);
      bool joinsStages = std::any_of(own->axes.begin(), own->axes.end(), [&](uint32_t axis) { return program.mesh[axis]->name == "pp"; });
      if (!joinsStages)
        continue;
      own->op = own->op == ReduceOp::Sum ? ReduceOp::Max : ReduceOp::Sum;
      step.mutate_payload(static_cast<uint32_t>(program.collectives.size()));
      program.collectives.push_back(std::move(own));
      return true;
    }
  return false;
}

/// A class starts its first communication last, while its peers still start theirs in the original order.
bool reorder(ProgramT &program) {
  auto &order = program.classes.front()->communication_order;
  std::rotate(order.begin(), order.begin() + 1, order.end());
  return order.size() > 1;
}

/// No rank owns any piece of the first variable.
bool disown(ProgramT &program) {
  for (auto &rankClass : program.classes)
    for (auto &piece : rankClass->pieces)
      if (piece->variable == 0)
        piece->owner = false;
  return true;
}

/// Drops the dependencies between tasks, so that different tasks may use an inbox or outbox at the same time.
bool forgetReuse(ProgramT &program) {
  bool had = false;
  for (auto &rankClass : program.classes) {
    had |= !rankClass->task_dependencies.empty();
    rankClass->task_dependencies.clear();
  }
  return had;
}

/// Every sum over ranks becomes a maximum: all ranks agree on a wrong result.
bool reduceByMaximum(ProgramT &program) {
  bool had = false;
  for (auto &collective : program.collectives)
    if (collective->kind == CollectiveKind::AllReduce && collective->op == ReduceOp::Sum) {
      collective->op = ReduceOp::Max;
      had = true;
    }
  return had;
}

/// The loss scale of fp16 starts so high that the first gradients overflow. Not wrong, but real training rarely gets there.
bool raiseLossScale(ProgramT &program) {
  for (auto &variable : program.variables)
    if (variable->slot == "loss_scale") {
      variable->deviation = 0x1p34;
      return true;
    }
  return false;
}

/// Adds control characters to names that would clear a terminal and reverse the direction of its text.
bool obeyed(ProgramT &program) {
  const std::string text = "\x1b[2J\x7f\u009b31m\u202e";
  program.model += text, program.plan += text;
  program.checkpoint.clear(); // it has the parameters' old names
  for (auto &variable : program.variables)
    variable->name += text;
  return true;
}

struct Alteration {
  std::string_view name;
  bool (*apply)(ProgramT &program);
};

constexpr Alteration alterations[] = {{"operand", breakOperand},    {"event", retagReceive},   {"operator", disagree},
                                      {"order", reorder},           {"owner", disown},         {"reuse", forgetReuse},
                                      {"maximum", reduceByMaximum}, {"scale", raiseLossScale}, {"terminal", obeyed}};

} // namespace

int main(int count, char **words) {
  auto fail = [](const std::string &message) {
    std::cerr << "alter: " << message << '\n';
    return 1;
  };
  if (count != 4)
    return fail("usage: alter WHAT IN.npx OUT.npx");
  auto loaded = LoadedProgram::fromFile(words[2]);
  if (!loaded.ok())
    return fail(loaded.status().message());
  ProgramT program;
  (*loaded)->root().UnPackTo(&program);
  for (const Alteration &alteration : alterations)
    if (alteration.name == words[1]) {
      if (!alteration.apply(program))
        return fail("this program has nothing to alter so");
      std::vector<uint8_t> bytes = packProgram(program);
      auto written = files::writeFileAtomically(words[3], bytes.data(), bytes.size());
      return written.ok() ? 0 : fail(written.message());
    }
  return fail(std::string("cannot alter '") + words[1] + "'");
}
