// Allocates a class's memory: variables in the static region, fragments, slots of stash and boxes for every task, arena layout, statistics.
#include "compiler/memory/AllocateFragment.h"
#include "compiler/memory/Colour.h"
#include "compiler/memory/LendGradients.h"
#include "engine/program/Tiers.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace npar::memory {
namespace {

using program::Tier;
using program::VariableKind;

class ClassAllocator {
public:
  ClassAllocator(const ClassModel &model, const AllocationOptions &options, std::string &error)
      : model(model), options(options), error(error) {}

  std::unique_ptr<program::RankClassT> run() {
    result = std::make_unique<program::RankClassT>();
    result->name = model.name;
    result->stage = model.stage;
    for (auto [axis, value] : model.fixed) {
      result->fixed.push_back(std::make_unique<program::CoordinateT>());
      result->fixed.back()->axis = axis;
      result->fixed.back()->value = value;
    }
    placeVariables();
    placeInputs();
    placeResults();
    allocateFragments();
    if (!error.empty())
      return nullptr;
    if (runsOnce())
      lendGradients(model, shared, *result);
    layOutRegions();
    placeTasks();
    addReuseDependencies(*result);
    countMemory();
    return std::move(result);
  }

private:
  const ClassModel &model;
  const AllocationOptions &options;
  std::string &error;
  std::unique_ptr<program::RankClassT> result;
  SharedStorage shared;
  std::vector<uint32_t> pieceRegions; // of result->pieces
  uint64_t staticBytes = 0, inputBytes = 0, scratch = 0;
  std::map<uint32_t, std::vector<uint32_t>> slots; // region -> slot per task

  /// Parameters, states, accumulators, outputs, each group together and in the program's order, whatever uses them first: programs that
  /// have the same of them have them at the same places. Each tier has a region of its own.
  void placeVariables() {
    shared.variables.assign(model.variables.size(), 0);
    shared.variableRegions.assign(model.variables.size(), staticRegion);
    for (const VariableModel &variable : model.variables)
      shared.kinds.push_back(variable.kind), shared.tiers.push_back(variable.tier);
    std::vector<uint32_t> ordered(model.variables.size());
    std::iota(ordered.begin(), ordered.end(), 0);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](uint32_t a, uint32_t b) { return model.variables[a].variable < model.variables[b].variable; });
    for (VariableKind kind : program::EnumValuesVariableKind())
      for (uint32_t index : ordered) {
        const VariableModel &variable = model.variables[index];
        if (variable.kind != kind)
          continue;
        uint32_t region = shared.variableRegions[index] = regionOf(variable.tier);
        constexpr uint64_t block = 4096; // of files, so that no two variables share one
        uint64_t &bytes = region == staticRegion ? staticBytes : shared.regions[region - firstShared].bytes;
        if (variable.tier == Tier::File)
          bytes = (bytes + block - 1) / block * block;
        shared.variables[index] = bytes;
        result->pieces.push_back(std::make_unique<program::PieceT>(*variable.piece));
        result->pieces.back()->offset = bytes; // in its region, until the regions have their places
        if (kind == VariableKind::Output)
          listOutputs(variable, bytes);
        bytes += aligned(variable.bytes);
        pieceRegions.push_back(region);
      }
  }

  /// The region of the variables in a tier.
  uint32_t regionOf(Tier tier) {
    if (tier == Tier::Device)
      return staticRegion;
    auto known = std::find_if(shared.regions.begin(), shared.regions.end(),
                              [&](const SharedRegion &region) { return region.use == RegionUse::Variables && region.tier == tier; });
    if (known == shared.regions.end())
      known = shared.regions.insert(known, {program::wordOf(tier), 0, RegionUse::Variables, tier});
    return firstShared + static_cast<uint32_t>(known - shared.regions.begin());
  }

  void placeInputs() {
    for (const InputModel &input : model.inputs) {
      shared.inputs.push_back(inputBytes);
      result->inputs.push_back(std::make_unique<program::InputT>(*input.input));
      result->inputs.back()->region = inputRegion;
      result->inputs.back()->offset = inputBytes;
      inputBytes += aligned(input.bytes);
    }
  }

  void placeResults() {
    if (model.results.empty())
      return;
    uint32_t region = firstShared + static_cast<uint32_t>(shared.regions.size());
    shared.regions.push_back({"result", 0, RegionUse::Lasting});
    for (const ResultModel &each : model.results) {
      uint64_t &bytes = shared.regions.back().bytes;
      shared.results.push_back({region, bytes, each.bytes});
      result->results.push_back(std::make_unique<program::ResultBufferT>(*each.result));
      result->results.back()->region = region;
      result->results.back()->offset = bytes;
      bytes += aligned(each.bytes);
    }
  }

  /// Names a stash after the fragment that keeps its values and those that use them.
  void nameStashes() {
    std::map<std::string, std::string> users; // slot -> names of fragments
    for (const FragmentModel &fragment : model.fragments) {
      std::set<std::string> used;
      for (const ValueModel &value : fragment.values)
        if (!value.unstash.empty() && used.insert(value.unstash).second) {
          users[value.unstash] += "_" + fragment.name;
          ++shared.users[value.unstash];
        }
    }
    for (const FragmentModel &fragment : model.fragments) {
      auto rootOf = [&](uint32_t value) {
        while (fragment.values[value].alias != none)
          value = fragment.values[value].alias;
        return value;
      };
      std::set<uint32_t> sent;
      for (uint32_t value = 0; value < fragment.values.size(); ++value)
        if (!fragment.values[value].sent.empty())
          sent.insert(rootOf(value));
      for (uint32_t value = 0; value < fragment.values.size(); ++value)
        if (const std::string &slot = fragment.values[value].stash; !slot.empty()) {
          bool onHost = fragment.values[rootOf(value)].tier == Tier::Host;
          shared.keepers[slot] = (onHost ? "host_stash_" : "stash_") + fragment.name + users[slot];
          if (sent.count(rootOf(value))) // the message counts as a user, so that no later step reuses the bytes and has to wait for it
            ++shared.users[slot];
        }
    }
  }

  /// Allocates each fragment after those that keep values for it.
  void allocateFragments() {
    nameStashes();
    result->fragments.resize(model.fragments.size());
    std::set<std::string> open; // slots that fragments still to come will keep
    for (const FragmentModel &fragment : model.fragments)
      for (const ValueModel &value : fragment.values)
        if (!value.stash.empty())
          open.insert(value.stash);
    auto waits = [&](const FragmentModel &fragment) {
      return std::any_of(fragment.values.begin(), fragment.values.end(),
                         [&](const ValueModel &value) { return open.count(value.unstash) > 0; });
    };
    for (size_t done = 0; done < model.fragments.size(); ++done) {
      uint32_t next = none;
      for (uint32_t index = 0; index < model.fragments.size() && next == none; ++index)
        if (!result->fragments[index] && !waits(model.fragments[index]))
          next = index;
      if (next == none) {
        error = "fragments of '" + model.name + "' keep values for each other in a cycle";
        return;
      }
      const FragmentModel &fragment = model.fragments[next];
      FragmentMemory memory = allocateFragment(fragment, shared, error);
      result->fragments[next] = std::move(memory.fragment);
      scratch = std::max(scratch, memory.scratch);
      for (const ValueModel &value : fragment.values)
        open.erase(value.stash);
    }
  }

  /// Returns whether every fragment has exactly one task, so that what a task writes is not overwritten by another run of it.
  bool runsOnce() const {
    std::vector<uint32_t> tasks(model.fragments.size(), 0);
    for (const TaskModel &task : model.tasks)
      ++tasks[task.fragment];
    return options.microCount == 1 && std::all_of(tasks.begin(), tasks.end(), [](uint32_t count) { return count == 1; });
  }

  /// The tasks of each micro-batch that touch a region, as intervals over the class's task order; sorted by first task. Tasks that overlap
  /// have the interval of both.
  std::vector<Interval> instancesOf(uint32_t region, std::vector<uint32_t> &micros) {
    std::set<uint32_t> users;
    for (uint32_t index = 0; index < result->fragments.size(); ++index)
      for (const program::Operand &operand : result->fragments[index]->operands)
        if (operand.region() == region)
          users.insert(index);
    std::map<uint32_t, Interval> byMicro;
    for (uint32_t task = 0; task < model.tasks.size(); ++task)
      if (users.count(model.tasks[task].fragment)) {
        uint32_t begins = task - model.tasks[task].overlaps;
        uint32_t ends = task + (task + 1 < model.tasks.size() && model.tasks[task + 1].overlaps);
        auto [entry, isNew] = byMicro.emplace(model.tasks[task].micro, Interval{begins, ends, 0});
        entry->second.first = std::min<int64_t>(entry->second.first, begins);
        entry->second.last = std::max<int64_t>(entry->second.last, ends);
      }
    std::vector<std::pair<Interval, uint32_t>> sorted;
    for (auto [micro, interval] : byMicro)
      sorted.emplace_back(interval, micro);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.first.first < b.first.first; });
    std::vector<Interval> instances;
    for (auto [interval, micro] : sorted) {
      instances.push_back(interval);
      micros.push_back(micro);
    }
    return instances;
  }

  /// The region begins at the end of those of its tier.
  void addRegion(const std::string &name, uint64_t bytes, uint32_t slotCount, Tier tier = Tier::Device) {
    result->regions.push_back(std::make_unique<program::RegionT>());
    program::RegionT &region = *result->regions.back();
    region.name = name;
    region.bytes = bytes;
    region.slots = slotCount;
    region.tier = tier;
    uint64_t &end = tier == Tier::Device ? result->arena_bytes : tier == Tier::Host ? result->host_bytes : result->file_bytes;
    region.offset = end;
    end += bytes * slotCount;
  }

  /// A slot for each micro-batch.
  void addPerMicro(const std::string &name, uint64_t bytes) {
    std::vector<uint32_t> &slotOf = slots[static_cast<uint32_t>(result->regions.size())];
    for (const TaskModel &task : model.tasks)
      slotOf.push_back(task.micro);
    addRegion(name, bytes, options.microCount);
  }

  /// Slots by colouring the instances' intervals; a slot per task that the instance covers.
  void addColoured(const SharedRegion &what, uint32_t spare) {
    uint32_t region = static_cast<uint32_t>(result->regions.size());
    std::vector<uint32_t> micros;
    std::vector<Interval> instances = instancesOf(region, micros);
    uint32_t most = std::max<uint32_t>(1, static_cast<uint32_t>(instances.size()));
    uint32_t count = std::min(most, std::max<uint32_t>(1, peakOf(instances)) + spare);
    std::vector<uint32_t> assigned = assignSlots(instances, count);
    std::vector<uint32_t> &slotOf = slots[region];
    slotOf.assign(model.tasks.size(), 0);
    for (uint32_t i = 0; i < instances.size(); ++i)
      for (int64_t task = instances[i].first; task <= instances[i].last; ++task)
        if (model.tasks[task].micro == micros[i])
          slotOf[task] = assigned[i];
    addRegion(what.name, what.bytes, count, what.tier);
  }

  /// A task that overlaps the one before it needs scratch of its own.
  void addScratch(const std::string &name, uint64_t bytes, Tier tier = Tier::Device) {
    bool isShared = std::any_of(model.tasks.begin(), model.tasks.end(), [](const TaskModel &task) { return task.overlaps; });
    std::vector<uint32_t> &slotOf = slots[static_cast<uint32_t>(result->regions.size())];
    for (const TaskModel &task : model.tasks)
      slotOf.push_back(task.overlaps);
    addRegion(name, bytes, isShared ? 2 : 1, tier);
  }

  void layOutRegions() {
    addRegion("static", staticBytes, 1);
    addScratch("scratch", scratch);
    addPerMicro("input", inputBytes);
    for (const SharedRegion &region : shared.regions)
      switch (region.use) {
      case RegionUse::Lasting:
        addPerMicro(region.name, region.bytes);
        break;
      case RegionUse::Kept: // a stash that messages are sent from may be what they wait for, too
        addColoured(region, options.spareSlots / 2);
        break;
      case RegionUse::Box:
        addColoured(region, options.spareSlots);
        break;
      case RegionUse::Variables:
        addRegion(region.name, region.bytes, 1, region.tier);
        break;
      case RegionUse::Scratch:
        addScratch(region.name, region.bytes, region.tier);
        break;
      }
    const program::TierBytes tiers = program::tierBytesOf(*result);
    for (auto &region : result->regions)
      region->offset += program::firstOf(tiers, region->tier);
    for (size_t i = 0; i < result->pieces.size(); ++i)
      result->pieces[i]->offset += result->regions[pieceRegions[i]]->offset;
  }

  void placeTasks() {
    for (uint32_t index = 0; index < model.tasks.size(); ++index) {
      const TaskModel &task = model.tasks[index];
      result->tasks.emplace_back(task.fragment, task.micro, static_cast<uint32_t>(result->bases.size()), task.overlaps, task.begin,
                                 task.end);
      for (uint32_t region = 0; region < result->regions.size(); ++region) {
        auto slot = slots.find(region);
        const program::RegionT &facts = *result->regions[region];
        result->bases.push_back(facts.offset + (slot == slots.end() ? 0 : slot->second[index] * facts.bytes));
      }
    }
  }

  /// A number under its name, a list under its name and the place of each of its numbers.
  void listOutputs(const VariableModel &variable, uint64_t offset) {
    bool isList = !variable.piece->dimensions.empty();
    for (uint64_t i = 0, count = variable.bytes / sizeof(double); i < count; ++i) {
      result->outputs.push_back(std::make_unique<program::OutputT>());
      result->outputs.back()->name = variable.output + (isList ? "." + std::to_string(i) : "");
      result->outputs.back()->offset = offset + i * sizeof(double);
    }
  }

  /// Every byte of the arena counts once: what is no variable is activation. Other tiers do not count.
  void countMemory() {
    for (const VariableModel &variable : model.variables) {
      uint64_t bytes = variable.tier == Tier::Device ? aligned(variable.bytes) : 0;
      switch (variable.kind) {
      case VariableKind::Parameter:
        result->parameter_bytes += bytes;
        break;
      case VariableKind::State:
        result->optimizer_bytes += bytes;
        break;
      case VariableKind::Accumulator:
        result->gradient_bytes += bytes;
        break;
      case VariableKind::Output: // an activation
        break;
      }
    }
    result->activation_bytes = result->arena_bytes - result->parameter_bytes - result->optimizer_bytes - result->gradient_bytes;
  }
};

} // namespace

std::unique_ptr<program::RankClassT> allocateClass(const ClassModel &model, const AllocationOptions &options, std::string &error) {
  return ClassAllocator(model, options, error).run();
}

} // namespace npar::memory
