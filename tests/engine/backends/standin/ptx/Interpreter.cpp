// The loop over instructions, and what becomes of lanes that part.
#include "tests/engine/backends/standin/ptx/Interpreter.h"

#include "tests/engine/backends/standin/ptx/Warp.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace npar::standin::ptx {

Warp::Warp(LaunchState &launch)
    : launch(launch), file(static_cast<uint8_t *>(std::aligned_alloc(64, (launch.kernel->fileBytes + 127) / 64 * 64)), std::free),
      written(launch.kernel->slots), local(launch.kernel->localBytes * warpLanes) {}

void Warp::fail(Code code, const Instruction &instruction, int lane, const std::string &what) {
  if (launch.code != Code::Success)
    return;
  launch.code = code;
  launch.message = "kernel " + launch.kernel->name + ", line " + std::to_string(instruction.line) + ", warp " + std::to_string(number) +
                   ", lane " + std::to_string(lane) + ": " + what;
}

namespace {
void fillWithNaN(std::vector<uint8_t> &bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i % 2 ? Memory::fresh >> 8 : Memory::fresh & 255);
}

class BlockRunner {
public:
  BlockRunner(const Launch &launch, LaunchState &state) : launch(launch), state(state), kernel(*launch.kernel), random(launch.seed) {}
  void run();

private:
  void runBlock(const unsigned (&block)[3]);
  void fillConstants(Warp &warp);
  void begin(Warp &warp, unsigned number, const unsigned (&block)[3]);
  /// Runs until all lanes are at the barrier or have ended.
  void advance(Warp &warp);
  bool choose(Warp &warp, Group &chosen);
  void step(Warp &warp, Group &group);
  bool isReady(Warp &warp, const Instruction &instruction, uint32_t active);
  void gather(Warp &warp, Group &group, const Instruction &instruction, uint32_t active);
  unsigned threads() const { return launch.block[0] * launch.block[1] * launch.block[2]; }

  const Launch &launch;
  LaunchState &state;
  const Kernel &kernel;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Warp>> warps; ///< one for all, where no barrier makes them wait for one another
};

template <typename ValueOf> void fillSlot(Warp &warp, const Slot &slot, unsigned bytes, ValueOf valueOf) {
  warp.written[slot.number] = allLanes;
  for (unsigned lane = 0; lane < warpLanes; ++lane) {
    uint64_t value = valueOf(lane);
    std::memcpy(warp.at<uint8_t>(slot) + static_cast<size_t>(lane) * bytes, &value, bytes);
  }
}

void BlockRunner::fillConstants(Warp &warp) {
  for (const Constant &constant : kernel.constants)
    fillSlot(warp, constant.slot, constant.bytes, [&](unsigned) { return constant.value; });
}

void BlockRunner::begin(Warp &warp, unsigned number, const unsigned (&block)[3]) {
  warp.number = number;
  std::fill(warp.written.begin(), warp.written.end(), 0);
  for (const Constant &constant : kernel.constants)
    warp.written[constant.slot.number] = allLanes;
  for (const SpecialSlot &special : kernel.specials)
    fillSlot(warp, special.slot, 4, [&](unsigned lane) {
      unsigned thread = number * warpLanes + lane, which = static_cast<unsigned>(special.special);
      unsigned place[3] = {thread % launch.block[0], thread / launch.block[0] % launch.block[1],
                           thread / launch.block[0] / launch.block[1]};
      const unsigned *of[4] = {place, launch.block, block, launch.grid};
      return special.special == Special::Lane ? lane : special.special == Special::WarpNumber ? number : of[which / 3][which % 3];
    });
  fillWithNaN(warp.local);
  unsigned lanes = std::min(threads() - number * warpLanes, static_cast<unsigned>(warpLanes));
  warp.groups = {{0, lanes == warpLanes ? allLanes : (uint32_t{1} << lanes) - 1, Group::State::Runs}};
}

// False where lanes read a register that they never wrote.
bool BlockRunner::isReady(Warp &warp, const Instruction &instruction, uint32_t active) {
  uint32_t missing = 0;
  for (int i = 0; i < instruction.sources; ++i)
    missing |= ~warp.written[instruction.source[i].number];
  if ((missing & active) == 0)
    return true;
  warp.fail(Code::LaunchFailed, instruction, __builtin_ctz(missing & active), "a register is read that was never written");
  return false;
}

// Takes the group with the lowest instruction of those that run out of the list, and all that are at the same place, be it waiting.
bool BlockRunner::choose(Warp &warp, Group &chosen) {
  chosen = {};
  for (const Group &group : warp.groups)
    if (group.state == Group::State::Runs && (chosen.lanes == 0 || group.at < chosen.at))
      chosen = group;
  if (chosen.lanes == 0)
    return false;
  auto joins = [&](const Group &group) { return group.at == chosen.at && group.state != Group::State::AtBarrier; };
  for (const Group &group : warp.groups)
    if (joins(group))
      chosen.lanes |= group.lanes;
  warp.groups.erase(std::remove_if(warp.groups.begin(), warp.groups.end(), joins), warp.groups.end());
  return true;
}

// Lanes go on whose mask is complete; those that miss others wait here.
void BlockRunner::gather(Warp &warp, Group &group, const Instruction &instruction, uint32_t active) {
  const auto *masks = warp.at<uint32_t>(instruction.source[instruction.sources - 1]);
  uint32_t complete = 0;
  for (int lane = 0; lane < warpLanes; ++lane) {
    if ((active >> lane & 1) == 0)
      continue;
    if ((masks[lane] >> lane & 1) == 0)
      return warp.fail(Code::LaunchFailed, instruction, lane, "is not in the mask that it gives");
    complete |= static_cast<uint32_t>((masks[lane] & ~active) == 0) << lane;
  }
  if (complete != 0)
    instruction.run(instruction, warp, complete);
  for (int i = 0; i < instruction.targets; ++i)
    warp.written[instruction.target[i].number] |= complete;
  uint32_t waiting = active & ~complete;
  if (waiting != 0)
    warp.groups.push_back({group.at, waiting, Group::State::Waits});
  group.lanes &= ~waiting;
  ++group.at;
}

// Runs a group, which is not in the list, until another one may have to go first or come along.
void BlockRunner::step(Warp &warp, Group &group) {
  uint32_t stop = ~uint32_t{0};
  for (const Group &other : warp.groups)
    if (other.state != Group::State::AtBarrier && other.at > group.at)
      stop = std::min(stop, other.at);
  while (state.code == Code::Success && group.lanes != 0 && group.at < stop) {
    const Instruction &instruction = kernel.code[group.at];
    uint32_t active = group.lanes;
    if (instruction.guarded) {
      uint32_t condition = warp.predicate(instruction.guard), unknown = ~warp.written[instruction.guard.number] & active;
      if (unknown != 0)
        return warp.fail(Code::LaunchFailed, instruction, __builtin_ctz(unknown), "a predicate is read that was never written");
      active &= instruction.guardNegated ? ~condition : condition;
    }
    state.laneInstructions += static_cast<uint64_t>(__builtin_popcount(group.lanes));
    switch (instruction.kind) {
    case Instruction::Kind::Plain:
      if (active == 0)
        break;
      if (!isReady(warp, instruction, active))
        return;
      instruction.run(instruction, warp, active);
      for (int i = 0; i < instruction.targets; ++i)
        warp.written[instruction.target[i].number] |= active;
      break;
    case Instruction::Kind::Copy: {
      uint32_t known = allLanes;
      for (int i = 0; i < instruction.sources; ++i)
        known &= warp.written[instruction.source[i].number];
      instruction.run(instruction, warp, active);
      for (int i = 0; i < instruction.targets; ++i) {
        uint32_t &written = warp.written[instruction.target[i].number];
        written = (written & ~active) | (known & active);
      }
      break;
    }
    case Instruction::Kind::Gather:
      if (!isReady(warp, instruction, active))
        return;
      gather(warp, group, instruction, active);
      if (!warp.groups.empty())
        return;
      continue;
    case Instruction::Kind::Barrier:
      if (active != 0)
        warp.groups.push_back({group.at + 1, active, Group::State::AtBarrier});
      group.lanes &= ~active;
      break;
    case Instruction::Kind::Branch:
      if (active == group.lanes) {
        group.at = instruction.branch;
      } else {
        if (active != 0)
          warp.groups.push_back({instruction.branch, active, Group::State::Runs});
        group.lanes &= ~active;
        ++group.at;
      }
      if (!warp.groups.empty())
        return;
      continue;
    case Instruction::Kind::Exit:
      group.lanes &= ~active;
      break;
    }
    ++group.at;
  }
}

void BlockRunner::advance(Warp &warp) {
  Group group;
  while (state.code == Code::Success && choose(warp, group)) {
    step(warp, group);
    if (group.lanes != 0)
      warp.groups.push_back(group);
  }
  for (const Group &left : warp.groups)
    if (left.state == Group::State::Waits)
      warp.fail(Code::LaunchFailed, kernel.code[left.at], __builtin_ctz(left.lanes), "waits for lanes of its mask that never come");
}

void BlockRunner::runBlock(const unsigned (&block)[3]) {
  unsigned count = (threads() + warpLanes - 1) / warpLanes;
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0);
  fillWithNaN(state.shared);
  if (!kernel.hasBarrier) {
    std::shuffle(order.begin(), order.end(), random);
    for (unsigned number : order) {
      begin(*warps[0], number, block);
      advance(*warps[0]);
    }
    return;
  }
  for (unsigned number : order)
    begin(*warps[number], number, block);
  bool goesOn = true;
  while (goesOn && state.code == Code::Success) {
    std::shuffle(order.begin(), order.end(), random);
    for (unsigned number : order)
      advance(*warps[number]);
    goesOn = false;
    for (auto &warp : warps)
      for (Group &group : warp->groups) { // all are at the barrier
        group.state = Group::State::Runs;
        goesOn = true;
      }
  }
}

void BlockRunner::run() {
  unsigned count = kernel.hasBarrier ? (threads() + warpLanes - 1) / warpLanes : 1;
  for (unsigned i = 0; i < count; ++i) {
    warps.push_back(std::make_unique<Warp>(state));
    fillConstants(*warps.back());
  }
  std::vector<uint32_t> order(static_cast<size_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2]);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (uint32_t number : order) {
    if (state.code != Code::Success)
      return;
    const unsigned block[3] = {number % launch.grid[0], number / launch.grid[0] % launch.grid[1], number / launch.grid[0] / launch.grid[1]};
    runBlock(block);
  }
}
} // namespace

Outcome run(const Launch &launch, const Memory &memory, int device, uint64_t *laneInstructions) {
  std::shared_ptr<const Ranges> ranges = memory.rangesOf(device);
  LaunchState state;
  state.kernel = launch.kernel;
  state.ranges = ranges.get();
  state.memory = &memory;
  state.parameters = launch.parameters;
  state.lastRange.resize(launch.kernel->code.size());
  state.shared.resize(launch.kernel->sharedBytes + launch.dynamicSharedBytes);
  BlockRunner(launch, state).run();
  if (laneInstructions)
    *laneInstructions += state.laneInstructions;
  return {state.code, state.message};
}

} // namespace npar::standin::ptx
