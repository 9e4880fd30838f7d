// Makes a wrong program of a good one and seals it again (alter WHAT IN.npx OUT.npx), so that `npar verify` has something to find: no
// compiler writes such files, and damaged ones are refused by their hash before any check.
#include "engine/files/AtomicFile.h"
#include "engine/program/Loader.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

using namespace npar::program;

namespace {

/// The first step of a kind in a class; null when it has none.
Step *firstStep(RankClassT &rankClass, StepKind kind) {
  for (auto &fragment : rankClass.fragments)
    for (Step &step : fragment->steps)
      if (step.kind() == kind)
        return &step;
  return nullptr;
}

/// An operand lies in a region that is not there.
bool breakOperand(ProgramT &program) {
  Operand &operand = program.classes.front()->fragments.back()->operands.front();
  operand = Operand(1000000, 0, operand.offset(), operand.bytes());
  return true;
}

/// The last stage waits for a message that nobody sends.
bool retagReceive(ProgramT &program) {
  Step *receive = firstStep(*program.classes.back(), StepKind::Receive);
  if (receive)
    program.transfers[receive->payload()]->event = 1000000;
  return receive;
}

/// The first stage takes the maximum where the others of its group take the sum.
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

/// A class issues its first communication last: its peers wait for what comes after it.
bool reorder(ProgramT &program) {
  auto &order = program.classes.front()->communication_order;
  std::rotate(order.begin(), order.begin() + 1, order.end());
  return order.size() > 1;
}

/// Nobody owns the first variable.
bool disown(ProgramT &program) {
  for (auto &rankClass : program.classes)
    for (auto &piece : rankClass->pieces)
      if (piece->variable == 0)
        piece->owner = false;
  return true;
}

/// Steps of different tasks may use an inbox or outbox at the same time.
bool forgetReuse(ProgramT &program) {
  bool had = false;
  for (auto &rankClass : program.classes) {
    had |= !rankClass->task_dependencies.empty();
    rankClass->task_dependencies.clear();
  }
  return had;
}

/// Every sum between ranks becomes a maximum: all agree, and all is wrong.
bool reduceByMaximum(ProgramT &program) {
  bool had = false;
  for (auto &collective : program.collectives)
    if (collective->kind == CollectiveKind::AllReduce && collective->op == ReduceOp::Sum) {
      collective->op = ReduceOp::Max;
      had = true;
    }
  return had;
}

/// fp16's loss scale begins so high that the first gradients overflow. This program is not wrong, but would take long to come to.
bool raiseLossScale(ProgramT &program) {
  for (auto &variable : program.variables)
    if (variable->slot == "loss_scale") {
      variable->deviation = 0x1p34;
      return true;
    }
  return false;
}

/// Names that would clear a terminal and turn its lines around.
bool obeyed(ProgramT &program) {
  const std::string text = "\x1b[2J\x7f\u009b31m\u202e";
  program.model += text, program.plan += text;
  program.checkpoint.clear(); // which names parameters as they were
  for (auto &variable : program.variables)
    variable->name += text;
  return true;
}

struct Alteration {
  std::string_view name;
  bool (*apply)(ProgramT &program);
};

constexpr Alteration alterations[] = {{"operand", breakOperand},    {"event", retagReceive},  {"operator", disagree},
                                      {"order", reorder},           {"owner", disown},        {"reuse", forgetReuse},
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
      auto written = writeFileAtomically(words[3], bytes.data(), bytes.size());
      return written.ok() ? 0 : fail(written.message());
    }
  return fail(std::string("cannot alter '") + words[1] + "'");
}
