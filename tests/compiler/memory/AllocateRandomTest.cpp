// A class with its memory computes what the fragments say, whatever legal order the steps run in: random classes are executed on values
// and, planned, in memory, where each cell holds a fingerprint of its contents.
#include "compiler/memory/AllocateFragment.h"
#include "compiler/memory/Colour.h"
#include "compiler/memory/OverlapCollectives.h"
#include "compiler/memory/TierCopies.h"
#include "engine/program/Steps.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace npar::memory {
namespace {

using program::Phase;
using program::StepKind;

uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  return a * 0xff51afd7ed558ccdull ^ (a >> 33);
}

/// Random fragments of one class with two or three variables, sends and receives; every action has a label of its own.
class RandomClass {
public:
  explicit RandomClass(uint32_t seed) : random(seed) {
    model.name = "random";
    micros = 1 + pick(4);
    for (uint32_t index = 0; index < 4; ++index) {
      VariableModel &variable = model.variables.emplace_back();
      variable.variable = index;
      variable.kind = index < 2 ? program::VariableKind::Parameter : program::VariableKind::Accumulator;
      variable.bytes = 64 * (1 + index % 2);
      variable.piece = std::make_unique<program::PieceT>();
      variable.piece->variable = index;
    }
    model.inputs.push_back({64, std::make_unique<program::InputT>()});
    bool split = pick(2);
    addFragment("F0", Phase::Forward);
    addFragment("B0", Phase::Backward);
    if (split)
      addFragment("W0", Phase::Weight);
    addFragment("U0", Phase::Update);
    addTasks(split);
  }
  ClassModel model;
  uint32_t micros;

private:
  std::mt19937 random;
  uint32_t nextEvent = 0, nextLabel = 0;
  std::vector<std::pair<std::string, uint64_t>> stashes;
  std::set<uint32_t> wasRead; ///< variables

  uint32_t pick(uint32_t count) { return random() % count; }

  void addFragment(const std::string &name, Phase phase) {
    FragmentModel fragment;
    fragment.name = name;
    fragment.phase = phase;
    uint32_t order = 0;
    auto define = [&](uint64_t bytes) -> ValueModel & {
      fragment.values.emplace_back();
      fragment.values.back().bytes = bytes;
      return fragment.values.back();
    };
    std::map<uint32_t, int> written;
    if (phase == Phase::Backward || phase == Phase::Weight)
      for (const auto &[slot, bytes] : stashes)
        if (pick(3))
          define(bytes).unstash = slot;
    for (int i = 0, count = 3 + pick(14); i < count; ++i) {
      ++order;
      uint32_t choice = pick(10);
      if (choice == 0) {
        uint32_t variable = pick(4);
        wasRead.insert(variable);
        ValueModel &value = define(model.variables[variable].bytes);
        value.variable = variable;
        value.readAt = order;
      } else if (choice == 1) {
        define(64).input = 0;
      } else if (choice == 2 && phase != Phase::Update) {
        Action &action = fragment.actions.emplace_back();
        action.kind = StepKind::Receive;
        action.order = order;
        action.label = nextLabel++;
        action.outputs = {static_cast<uint32_t>(fragment.values.size())};
        define(64 * (1 + pick(2))).event = nextEvent++;
      } else if (choice == 3 && !fragment.values.empty() && phase != Phase::Update) {
        Action &action = fragment.actions.emplace_back();
        action.kind = StepKind::Send;
        action.order = order;
        action.label = nextLabel++;
        action.inputs = {pick(fragment.values.size())};
        fragment.values[action.inputs[0]].sent.push_back(nextEvent++);
      } else if (choice == 4 && !fragment.values.empty()) {
        uint32_t of = pick(fragment.values.size());
        uint64_t bytes = fragment.values[of].bytes;
        define(bytes).alias = of;
      } else {
        Action action;
        action.order = order;
        action.label = nextLabel++;
        for (uint32_t input = 0; input < pick(4) && !fragment.values.empty(); ++input)
          action.inputs.push_back(pick(fragment.values.size()));
        for (uint32_t output = 0; output < 1 + pick(2); ++output) {
          uint64_t bytes = 64 * (1 + pick(2));
          for (uint32_t input = 0; input < action.inputs.size(); ++input)
            if (fragment.values[action.inputs[input]].bytes == bytes && pick(2))
              action.inplace.emplace_back(output, input);
          action.outputs.push_back(fragment.values.size());
          define(bytes);
        }
        if (phase == Phase::Update && pick(3) == 0) {
          action.kind = StepKind::Collective;
          action.free = true;
        } else if (pick(4) == 0 && action.outputs.size() == 1) {
          for (uint32_t value = 0; value + 1 < fragment.values.size(); ++value)
            if (fragment.values[value].bytes == fragment.values.back().bytes && pick(2)) {
              action.kind = StepKind::Matmul;
              action.accumulator = value;
              action.inplace.clear();
            }
        }
        fragment.actions.push_back(action);
      }
      if (!fragment.values.empty() && pick(3) == 0) {
        uint32_t value = pick(fragment.values.size()), variable = pick(4);
        // The allocation refuses two writes around a read of the old value; a pass never makes them. The backward of one micro-batch
        // writes accumulators that nothing has read yet.
        bool writes = phase == Phase::Update || (phase == Phase::Backward && micros == 1 && variable >= 2 && !wasRead.count(variable));
        if (fragment.values[value].bytes == model.variables[variable].bytes && written[variable]++ == 0 && writes)
          fragment.writes.push_back({variable, value, nextLabel++, ++order});
      }
      if ((phase == Phase::Forward || phase == Phase::Backward) && !fragment.values.empty() && pick(4) == 0) {
        uint32_t value = pick(fragment.values.size());
        if (fragment.values[value].stash.empty()) {
          fragment.values[value].stash = "s" + std::to_string(stashes.size());
          stashes.emplace_back(fragment.values[value].stash, fragment.values[value].bytes);
        }
      }
    }
    model.fragments.push_back(std::move(fragment));
  }

  /// Forwards ahead of backwards, and backwards of weight gradients, by a random distance.
  void addTasks(bool split) {
    uint32_t forward = 0, backward = 0, weight = 0;
    while (backward < micros || (split && weight < micros)) {
      if (forward < micros && (forward == backward || pick(2)))
        model.tasks.push_back({0, forward++, 0, 0});
      else if (backward < forward && (!split || weight == backward || pick(2)))
        model.tasks.push_back({1, backward++, 0, 0});
      else if (split && weight < backward)
        model.tasks.push_back({2, weight++, 0, 0});
    }
    model.tasks.push_back({split ? 3u : 2u, 0, 0, 0});
    for (size_t task = 1; task < model.tasks.size(); ++task) {
      const TaskModel &before = model.tasks[task - 1];
      model.tasks[task].overlaps =
          model.tasks[task].fragment == 1 && before.fragment == 0 && before.micro != model.tasks[task].micro && pick(2);
    }
  }
};

uint64_t fingerprint(uint32_t label, uint32_t micro, uint32_t output, const std::vector<uint64_t> &inputs) {
  uint64_t value = mix(mix(label + 1, micro), output);
  for (uint64_t input : inputs)
    value = mix(value, input);
  return value;
}

/// Reference results, computed on values instead of memory: the inputs of every action by (label, micro), and the variables at the end.
struct Expected {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> inputs;
  std::vector<uint64_t> variables;
};

Expected runOnValues(const ClassModel &model) {
  Expected expected;
  for (uint32_t index = 0; index < model.variables.size(); ++index)
    expected.variables.push_back(1000 + index);
  std::map<std::pair<std::string, uint32_t>, uint64_t> stash;
  for (const TaskModel &task : model.tasks) {
    const FragmentModel &fragment = model.fragments[task.fragment];
    std::vector<uint64_t> values(fragment.values.size());
    // Reads, writes and actions in their order.
    std::map<std::pair<uint32_t, int>, std::function<void()>> program;
    for (uint32_t index = 0; index < fragment.values.size(); ++index) {
      const ValueModel &value = fragment.values[index];
      if (value.variable != none)
        program[{value.readAt, 0}] = [&, index] { values[index] = expected.variables[fragment.values[index].variable]; };
      else if (value.input != none)
        values[index] = mix(77, task.micro);
      else if (!value.unstash.empty())
        values[index] = stash[{value.unstash, task.micro}];
    }
    auto resolve = [&](uint32_t value) {
      while (fragment.values[value].alias != none)
        value = fragment.values[value].alias;
      return value;
    };
    for (const Action &action : fragment.actions)
      program[{action.order, 1}] = [&] {
        std::vector<uint64_t> inputs;
        for (uint32_t input : action.inputs)
          inputs.push_back(values[resolve(input)]);
        if (action.accumulator != none)
          inputs.push_back(values[resolve(action.accumulator)]);
        expected.inputs[{action.label, task.micro}] = inputs;
        for (uint32_t output = 0; output < action.outputs.size(); ++output)
          values[action.outputs[output]] = fingerprint(action.label, task.micro, output, inputs);
      };
    for (const Write &write : fragment.writes)
      program[{write.order, 2}] = [&] { expected.variables[write.variable] = values[resolve(write.value)]; };
    for (auto &[when, run] : program)
      run();
    for (uint32_t index = 0; index < fragment.values.size(); ++index)
      if (!fragment.values[index].stash.empty())
        stash[{fragment.values[index].stash, task.micro}] = values[resolve(index)];
  }
  return expected;
}

/// Runs the class in a random order that its dependencies allow and compares what every step reads.
void runInMemory(const ClassModel &model, const program::RankClassT &rankClass, const Expected &expected, std::mt19937 &random) {
  struct Node {
    uint32_t task, step;
    int waits = 0;
    std::vector<uint32_t> next;
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> first, chain; // chain: per task, the node that ends its compute steps
  auto edge = [&](uint32_t from, uint32_t to) {
    nodes[from].next.push_back(to);
    ++nodes[to].waits;
  };
  for (uint32_t task = 0; task < rankClass.tasks.size(); ++task) {
    const program::FragmentT &fragment = *rankClass.fragments[rankClass.tasks[task].fragment()];
    first.push_back(nodes.size());
    for (uint32_t step = 0; step <= fragment.steps.size(); ++step)
      nodes.push_back({task, step, 0, {}});
    chain.push_back(nodes.size() - 1);
    for (uint32_t step = 0; step < fragment.steps.size(); ++step) {
      const program::Step &facts = fragment.steps[step];
      for (uint32_t i = 0; i < facts.dependency_count(); ++i)
        edge(first[task] + fragment.dependencies[facts.first_dependency() + i], first[task] + step);
      if (!program::isAsync(facts)) {
        edge(first[task] + step, chain[task]);
        if (uint32_t after = task - model.tasks[task].overlaps; after > 0)
          edge(chain[after - 1], first[task] + step);
      }
    }
    if (task > 0)
      edge(chain[task - 1], chain[task]);
  }
  for (const program::TaskDependency &wait : rankClass.task_dependencies)
    edge(first[wait.on_task()] + wait.on_step(), first[wait.task()] + wait.step());

  std::vector<uint64_t> memory((rankClass.arena_bytes + rankClass.host_bytes + rankClass.file_bytes) / 64 + 1, 0);
  for (uint32_t index = 0; index < model.variables.size(); ++index)
    for (const auto &piece : rankClass.pieces)
      if (piece->variable == index)
        for (uint64_t cell = 0; cell < model.variables[index].bytes / 64; ++cell)
          memory[piece->offset / 64 + cell] = 1000 + index;
  for (uint32_t task = 0; task < rankClass.tasks.size(); ++task)
    memory[rankClass.bases[rankClass.tasks[task].first_base() + inputRegion] / 64] =
        rankClass.regions[inputRegion]->bytes ? mix(77, rankClass.tasks[task].micro()) : 0;

  std::vector<uint32_t> ready;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (nodes[node].waits == 0)
      ready.push_back(node);
  size_t done = 0;
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    uint32_t node = ready.back();
    ready.pop_back();
    ++done;
    const program::Task &task = rankClass.tasks[nodes[node].task];
    const program::FragmentT &fragment = *rankClass.fragments[task.fragment()];
    if (nodes[node].step < fragment.steps.size()) {
      const program::Step &step = fragment.steps[nodes[node].step];
      auto cells = [&](uint32_t operand) {
        const program::Operand &place = fragment.operands[step.first_operand() + operand];
        uint64_t at = rankClass.bases[task.first_base() + place.region()] + place.offset();
        return std::make_pair(at / 64, at / 64 + (place.bytes() + 63) / 64);
      };
      // All cells of an operand hold one fingerprint.
      auto load = [&](uint32_t operand) {
        auto [begin, end] = cells(operand);
        for (uint64_t cell = begin; cell < end; ++cell)
          EXPECT_EQ(memory[cell], memory[begin]);
        return memory[begin];
      };
      std::vector<uint64_t> inputs;
      for (uint32_t i = 0; i < step.inputs(); ++i)
        inputs.push_back(load(i));
      bool copy = step.kind() == StepKind::Copy;
      if (!copy) {
        auto wanted = expected.inputs.find({step.label(), task.micro()});
        ASSERT_NE(wanted, expected.inputs.end());
        if (wanted->second.size() > inputs.size())
          inputs.push_back(load(step.inputs())); // accumulates into its output
        EXPECT_EQ(inputs, wanted->second) << model.fragments[task.fragment()].name << " step " << nodes[node].step;
      }
      for (uint32_t i = 0; i < step.outputs(); ++i) {
        auto [begin, end] = cells(step.inputs() + i);
        uint64_t value = copy ? inputs[0] : fingerprint(step.label(), task.micro(), i, inputs);
        std::fill(memory.begin() + begin, memory.begin() + end, value);
      }
    }
    for (uint32_t next : nodes[node].next)
      if (--nodes[next].waits == 0)
        ready.push_back(next);
  }
  EXPECT_EQ(done, nodes.size());
  // An accumulator that a collective works on in place has done its duty.
  std::set<uint32_t> consumed;
  for (const FragmentModel &fragment : model.fragments)
    for (const Action &action : fragment.actions)
      for (auto [output, input] : action.inplace)
        for (uint32_t value = action.inputs[input]; action.kind == StepKind::Collective; value = fragment.values[value].alias) {
          if (fragment.values[value].variable != none &&
              model.variables[fragment.values[value].variable].kind == program::VariableKind::Accumulator)
            consumed.insert(fragment.values[value].variable);
          if (fragment.values[value].alias == none)
            break;
        }
  for (const auto &piece : rankClass.pieces)
    if (!consumed.count(piece->variable)) {
      EXPECT_EQ(memory[piece->offset / 64], expected.variables[piece->variable]);
    }
}

TEST(Allocate, ComputesWhatTheFragmentsSayInAnyOrder) {
  size_t accepted = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomClass example(seed);
    AllocationOptions options;
    options.microCount = example.micros;
    options.spareSlots = seed % 3;
    std::string error;
    auto rankClass = allocateClass(example.model, options, error);
    if (!rankClass) // old and new value of a variable at the same time: refused, not miscompiled
      continue;
    ++accepted;
    Expected expected = runOnValues(example.model);
    std::mt19937 random(seed);
    for (int round = 0; round < 3; ++round)
      runInMemory(example.model, *rankClass, expected, random);
    if (HasFailure())
      return;
  }
  EXPECT_GT(accepted, 1400u);
}

/// Gives the variables other tiers, and some of them the kind of states.
void storeElsewhere(ClassModel &model, std::mt19937 &random) {
  for (VariableModel &variable : model.variables)
    if (variable.kind == program::VariableKind::Parameter) {
      variable.tier = program::EnumValuesTier()[random() % 3];
      variable.kind = random() % 2 ? program::VariableKind::Parameter : program::VariableKind::State;
    }
}

/// Files are touched by copies alone, the host's memory also by kernels of the update, all of whose operands are there.
void checkTiers(const program::RankClassT &rankClass) {
  for (const auto &fragment : rankClass.fragments)
    for (const program::Step &step : fragment->steps)
      if (step.kind() != StepKind::Copy) {
        std::set<program::Tier> tiers;
        for (uint32_t i = 0; i < uint32_t(step.inputs()) + step.outputs(); ++i)
          tiers.insert(rankClass.regions[fragment->operands[step.first_operand() + i].region()]->tier);
        EXPECT_LE(tiers.size(), 1u);
        if (tiers.count(program::Tier::Host)) {
          EXPECT_EQ(fragment->phase, Phase::Update);
          EXPECT_EQ(step.kind(), StepKind::Kernel);
        }
        EXPECT_FALSE(tiers.count(program::Tier::File));
      }
}

TEST(Allocate, ComputesTheSameFromOtherTiers) {
  size_t accepted = 0, onHost = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    RandomClass example(seed);
    AllocationOptions options;
    options.microCount = example.micros;
    std::string error;
    if (!allocateClass(example.model, options, error))
      continue;
    Expected expected = runOnValues(example.model);
    storeElsewhere(example.model, random);
    addTierCopies(example.model, {1, 0, 1, 0, 0}, [](const std::string &, uint32_t like) { return like; });
    auto rankClass = allocateClass(example.model, options, error);
    if (!rankClass)
      continue;
    ++accepted;
    checkTiers(*rankClass);
    for (const auto &region : rankClass->regions)
      onHost += region->name == "host_scratch";
    for (int round = 0; round < 3; ++round)
      runInMemory(example.model, *rankClass, expected, random);
    if (HasFailure())
      return;
  }
  EXPECT_GT(accepted, 1400u);
  EXPECT_GT(onHost, 300u);
}

/// Some of a class's kernels become collectives, and all steps take time.
void addCollectives(ClassModel &model, std::mt19937 &random) {
  for (FragmentModel &fragment : model.fragments)
    for (Action &action : fragment.actions) {
      action.seconds = 1 + random() % 3;
      if (action.kind == StepKind::Kernel && random() % 4 == 0) {
        action.kind = StepKind::Collective;
        action.inplace.clear();
      }
    }
}

TEST(Allocate, ComputesTheSameWithOverlappedCollectives) {
  size_t accepted = 0, moved = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    RandomClass example(seed);
    addCollectives(example.model, random);
    AllocationOptions options;
    options.microCount = example.micros;
    std::string error;
    if (!allocateClass(example.model, options, error))
      continue;
    Expected expected = runOnValues(example.model);
    std::vector<uint32_t> before, after;
    auto labels = [&](std::vector<uint32_t> &into) {
      for (const FragmentModel &fragment : example.model.fragments)
        for (const Action &action : fragment.actions)
          into.push_back(action.label);
    };
    labels(before);
    overlapCollectives(example.model);
    labels(after);
    moved += before != after;
    EXPECT_EQ(runOnValues(example.model).inputs, expected.inputs);
    auto rankClass = allocateClass(example.model, options, error);
    if (!rankClass)
      continue;
    ++accepted;
    runInMemory(example.model, *rankClass, expected, random);
    if (HasFailure())
      return;
  }
  EXPECT_GT(accepted, 1400u);
  EXPECT_GT(moved, 300u);
}

} // namespace
} // namespace npar::memory
