// Runs random operations on ranks in several processes and once more in one process: both give the same bits.
#include "tests/engine/comm/process/RandomOperations.h"

#include "engine/comm/local/Exchange.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>

namespace npar::testing {

using namespace engine;
using program::CollectiveKind;
using program::ElementType;
using program::ReduceOp;
using program::StepKind;

namespace {

using Random = std::mt19937_64;

uint64_t draw(Random &random, uint64_t least, uint64_t most) { return least + random() % (most - least + 1); }

/// One part of an operation, with the elements of each member's input and output.
struct Part {
  Operation sizes;
  uint64_t inputs = 0, outputs = 0;
};

struct Drawn {
  std::vector<int64_t> members;
  std::vector<Part> parts;
  bool inPlace = false;
};

/// Small, with a few large enough to go in many pieces; of an operation that has a part for each of n members, a member's largest side.
uint64_t drawLength(Random &random, uint64_t n) {
  uint64_t chance = draw(random, 0, 99);
  return chance < 3 ? draw(random, 50000, 300000) / n : chance < 20 ? draw(random, 100, 5000) : draw(random, 1, 60);
}

void drawSizes(Random &random, uint64_t n, Part &part) {
  Operation &sizes = part.sizes;
  bool whole = sizes.transfers() || sizes.kind == CollectiveKind::AllReduce || sizes.kind == CollectiveKind::Permute;
  uint64_t length = drawLength(random, whole ? 1 : n), factor = length > 60 ? 1 : 4;
  sizes.outer = draw(random, 1, factor), sizes.inner = draw(random, 1, factor), sizes.split = length;
  bool shares = draw(random, 0, 3) == 0;
  if (whole) {
    sizes.outer = sizes.inner = sizes.split = 1;
    sizes.count = part.inputs = part.outputs = length;
    sizes.shift = static_cast<uint32_t>(draw(random, 0, n - 1));
  } else if (sizes.kind == CollectiveKind::AllGather) {
    sizes.whole = shares ? draw(random, 1, n * sizes.split) : 0;
    part.inputs = sizes.outer * sizes.split * sizes.inner;
    part.outputs = sizes.outer * (sizes.whole ? sizes.whole : n * sizes.split) * sizes.inner;
  } else if (sizes.kind == CollectiveKind::ReduceScatter) {
    if (shares)
      sizes.outer = sizes.inner = 1, sizes.whole = draw(random, 1, n * sizes.split);
    part.outputs = sizes.outer * sizes.split * sizes.inner;
    part.inputs = shares ? sizes.whole : n * part.outputs;
  } else {
    uint64_t times = factor == 1 ? 1 : 3;
    sizes.middle = draw(random, 1, times), sizes.concat = draw(random, 1, times), sizes.concatFirst = draw(random, 0, 1) == 1;
    part.inputs = part.outputs = n * sizes.outer * sizes.split * sizes.middle * sizes.concat * sizes.inner;
  }
  sizes.count = part.inputs;
}

Drawn drawOperation(Random &random, int64_t world, uint32_t event) {
  Drawn drawn;
  Operation operation;
  bool transfer = draw(random, 0, 5) == 0;
  uint64_t n = transfer ? 2 : draw(random, 2, static_cast<uint64_t>(world));
  for (int64_t rank = 0; rank < world; ++rank)
    drawn.members.push_back(rank);
  std::shuffle(drawn.members.begin(), drawn.members.end(), random);
  drawn.members.resize(n);
  if (!transfer)
    std::sort(drawn.members.begin(), drawn.members.end());
  operation.step = transfer ? StepKind::Send : StepKind::Collective;
  operation.kind = static_cast<CollectiveKind>(draw(random, 0, 4));
  operation.op = static_cast<ReduceOp>(draw(random, 0, 2));
  constexpr ElementType types[] = {ElementType::F32, ElementType::F64, ElementType::I32, ElementType::BF16, ElementType::F16};
  operation.type = types[draw(random, 0, 4)];
  operation.event = event / 2, operation.micro = event % 2;
  drawn.inPlace = !transfer && operation.kind == CollectiveKind::AllReduce && draw(random, 0, 1) == 1;
  for (uint64_t i = 0, parts = transfer ? 1 : draw(random, 0, 4) == 0 ? draw(random, 2, 5) : 1; i < parts; ++i) {
    Part &part = drawn.parts.emplace_back();
    part.sizes = operation;
    drawSizes(random, n, part);
  }
  return drawn;
}

/// Values of which sums depend on the order of addition, of any type, from a member's number and the place.
std::vector<uint8_t> inputOf(const Part &part, uint64_t seed, int64_t rank) {
  std::vector<uint8_t> bytes(part.inputs * program::sizeOf(part.sizes.type));
  uint64_t state = seed * 77 + static_cast<uint64_t>(rank) + 1;
  auto next = [&] {
    state = state * uint64_t{6364136223846793005} + 1442695040888963407u;
    return state >> 33;
  };
  for (uint64_t i = 0; i < part.inputs; ++i) {
    double value = (static_cast<double>(next() % 20001) - 10000) * (next() % 3 == 0 ? 1e-4 : 1);
    auto put = [&](auto element) { std::memcpy(&bytes[i * sizeof(element)], &element, sizeof(element)); };
    if (part.sizes.type == ElementType::F32)
      put(static_cast<float>(value));
    else if (part.sizes.type == ElementType::F64)
      put(value);
    else if (part.sizes.type == ElementType::I32)
      put(static_cast<int32_t>(value));
    else
      put(static_cast<uint16_t>((next() & 0x8FFF) | 0x3000)); // finite in both kinds
  }
  return bytes;
}

struct Ended final : Completion {
  void completed(const Status &given) override {
    std::lock_guard<std::mutex> lock(mutex);
    status = given;
    done = true;
    wake.notify_all();
  }
  bool wait() {
    std::unique_lock<std::mutex> lock(mutex);
    return wake.wait_for(lock, std::chrono::seconds(30), [&] { return done; });
  }
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  Status status;
};

/// Empty, or the first error.
std::string waitFor(const std::vector<Operation *> &operations) {
  std::string wrong;
  for (Operation *operation : operations) {
    auto &end = *static_cast<Ended *>(operation->completion);
    if (!end.wait())
      std::abort(); // its memory cannot be given back
    if (wrong.empty())
      wrong = end.status.message();
    end.done = false;
  }
  return wrong;
}

/// Members' operations with their memory.
class Members {
public:
  Members(Backend &backend, const Drawn &drawn, uint64_t seed) : backend(backend), drawn(drawn), seed(seed) {}
  ~Members() {
    for (const auto &[memory, bytes] : all)
      backend.release(memory, bytes);
  }
  Operation &add(uint32_t member) {
    std::deque<Operation> &parts = operations.emplace_back();
    for (const Part &part : drawn.parts) {
      Operation &operation = parts.emplace_back(part.sizes);
      operation.members = drawn.members.data(), operation.memberCount = static_cast<uint32_t>(drawn.members.size());
      operation.member = member;
      if (operation.transfers())
        operation.step = member == 0 ? StepKind::Send : StepKind::Receive;
      std::vector<uint8_t> input = inputOf(part, seed + parts.size(), operation.rank());
      std::vector<uint8_t> before(outputBytes(part), 0xA5);
      operation.input = memoryOf(input);
      operation.output = drawn.inPlace ? operation.input : memoryOf(before);
    }
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      parts[i].next = &parts[i + 1];
    return parts.front();
  }
  /// The members' current outputs; a sender has none.
  std::vector<uint8_t> outputs(size_t place) {
    std::vector<uint8_t> all;
    for (size_t i = 0; i < drawn.parts.size(); ++i) {
      const Operation &operation = operations[place][i];
      if (operation.step == StepKind::Send)
        continue;
      std::vector<uint8_t> bytes(outputBytes(drawn.parts[i]));
      backend.copyOut(bytes.data(), operation.output, bytes.size());
      (void)waitUntilDone(backend);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }
  std::deque<std::deque<Operation>> operations; ///< by the order they were added in, and part

private:
  uint64_t outputBytes(const Part &part) const { return part.outputs * program::sizeOf(part.sizes.type); }
  DeviceAddress memoryOf(const std::vector<uint8_t> &bytes) {
    Result<DeviceAddress> taken = backend.allocate(bytes.size());
    if (!taken.ok()) {
      std::fprintf(stderr, "%s\n", taken.status().message().c_str());
      std::abort();
    }
    DeviceAddress memory = *taken;
    backend.copyIn(memory, bytes.data(), bytes.size());
    (void)waitUntilDone(backend);
    all.emplace_back(memory, bytes.size());
    return memory;
  }
  Backend &backend;
  const Drawn &drawn;
  uint64_t seed;
  std::vector<std::pair<DeviceAddress, uint64_t>> all;
};

/// Every process has a rank at least; how many more is drawn.
CommunicationPlan drawPlan(Random &random, uint32_t process, uint32_t processes, int64_t world) {
  CommunicationPlan plan;
  for (int64_t rank = 0; rank < world; ++rank)
    plan.sessionOf.push_back(static_cast<uint32_t>(rank < processes ? rank : draw(random, 0, processes - 1)));
  std::shuffle(plan.sessionOf.begin(), plan.sessionOf.end(), random);
  for (int64_t rank = 0; rank < world; ++rank)
    if (plan.sessionOf[static_cast<size_t>(rank)] == process)
      plan.ranks.push_back(rank);
  return plan;
}

std::string described(const Drawn &drawn, size_t number) {
  const Operation &first = drawn.parts.front().sizes;
  return "operation " + std::to_string(number) + " (" + nameOf(first) + ", " + std::to_string(drawn.members.size()) + " members, " +
         std::to_string(drawn.parts.size()) + " parts, count " + std::to_string(first.count) + ")";
}

} // namespace

std::string whatDiffersAtRandom(Communicator &communicator, Backend &backend, uint32_t process, uint32_t processes,
                                const RandomOptions &options) {
  Random random(options.seed), own(options.seed * 1000 + process); // the same in all processes; of this one
  CommunicationPlan plan = drawPlan(random, process, processes, options.world);
  if (Status status = communicator.prepare(plan); !status.ok())
    return status.message();
  for (size_t begun = 0; begun < options.operations; begun += options.atOnce) {
    std::deque<Drawn> drawn;
    std::deque<Members> here, alone;
    std::deque<Ended> ends;
    std::vector<Operation *> posts;
    for (size_t i = 0; i < options.atOnce; ++i) {
      drawn.push_back(drawOperation(random, options.world, static_cast<uint32_t>(begun + i)));
      here.emplace_back(backend, drawn.back(), options.seed + begun + i);
      alone.emplace_back(backend, drawn.back(), options.seed + begun + i);
      std::vector<Operation> all;
      for (uint32_t member = 0; member < drawn.back().members.size(); ++member) {
        all.push_back(alone.back().add(member));
        if (plan.sessionOf[static_cast<size_t>(drawn.back().members[member])] != process)
          continue;
        Operation &operation = here.back().add(member);
        operation.completion = &ends.emplace_back();
        posts.push_back(&operation);
      }
      Status status = moveData(backend, all);
      if (status.ok())
        status = waitUntilDone(backend);
      if (!status.ok())
        return status.message();
    }
    // Again, as in the next training step; what works in place has other inputs then.
    for (bool again : {false, true}) {
      posts.erase(std::remove_if(posts.begin(), posts.end(), [&](Operation *each) { return again && each->input == each->output; }),
                  posts.end());
      if (!communicator.needsOrder())
        std::shuffle(posts.begin(), posts.end(), own);
      for (Operation *operation : posts)
        communicator.post(*operation);
      if (std::string wrong = waitFor(posts); !wrong.empty())
        return wrong;
    }
    for (size_t i = 0; i < drawn.size(); ++i)
      for (size_t place = 0; place < here[i].operations.size(); ++place)
        if (uint32_t member = here[i].operations[place].front().member; here[i].outputs(place) != alone[i].outputs(member))
          return described(drawn[i], begun + i) + " gives member " + std::to_string(member) + " other bits than in one process";
  }
  return "";
}

} // namespace npar::testing
