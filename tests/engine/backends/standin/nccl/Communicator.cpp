// Moves messages between the memories of devices, late and piece by piece.
#include "tests/engine/backends/standin/nccl/Communicator.h"

#include <algorithm>
#include <cstring>

namespace npar::standin::nccl {

namespace {
constexpr size_t headBytes = sizeof(uint64_t);

Uuid uuidOf(const Device &device) {
  Uuid uuid;
  cuDeviceGetUuid_v2(&uuid, device.number);
  return uuid;
}
} // namespace

Communicator::Communicator(const std::string &job, int processes, int process, Device &device, uint64_t seed)
    : owner(device), processes(processes), process(process), wires(std::make_shared<Wires>(job, processes, process)),
      random(seed * 977 + static_cast<uint64_t>(process)), denials(static_cast<int>(1 + random() % 8)) {
  if (wires->good())
    wires->enter(uuidOf(device));
  else
    fail(Result::SystemError, "there is no shared memory '" + job + "'");
  thread = std::thread([this] { run(); });
}

Communicator::Communicator(std::shared_ptr<Wires> parent, uint32_t number, int colour, Device &device, uint64_t seed)
    : owner(device), random(seed), denials(static_cast<int>(1 + random() % 8)) {
  known = [this, parent = std::move(parent), number, colour] {
    if (!parent->allHaveSplit(number))
      return false;
    findMembers(*parent, number, colour);
    return true;
  };
  thread = std::thread([this] { run(); });
}

void Communicator::findMembers(const Wires &parent, uint32_t number, int colour) {
  std::vector<std::pair<int, int>> members; // by key
  for (int i = 0; i < parent.size(); ++i)
    if (Wires::Choice choice = parent.choiceOf(number, i); choice.colour == colour)
      members.emplace_back(choice.key, i);
  std::sort(members.begin(), members.end());
  auto own = std::find_if(members.begin(), members.end(), [&](const auto &each) { return each.second == parent.self(); });
  std::string name = parent.nameOfMemory() + "-" + std::to_string(number) + "-" + std::to_string(colour);
  auto place = static_cast<int>(own - members.begin()), count = static_cast<int>(members.size());
  auto made = std::make_shared<Wires>(name, count, place);
  if (made->good())
    made->enter(uuidOf(owner));
  else
    fail(Result::SystemError, "there is no shared memory '" + name + "'");
  std::lock_guard<std::mutex> lock(mutex);
  processes = count, process = place, wires = std::move(made);
}

std::shared_ptr<Communicator> Communicator::split(int colour, int key, uint64_t seed) {
  std::lock_guard<std::mutex> lock(mutex);
  denials = static_cast<int>(1 + random() % 8);
  uint32_t number = splits++;
  wires->split(number, colour, key);
  return colour < 0 ? nullptr : std::make_shared<Communicator>(wires, number, colour, owner, seed * 977 + random());
}

bool Communicator::isBusy() const {
  std::lock_guard<std::mutex> lock(mutex);
  return !started.empty();
}

Communicator::~Communicator() {
  ending = true;
  thread.join();
}

void Communicator::fail(Result result, const std::string &why) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed != Result::Success)
    return;
  failed = result, message = why;
  std::fprintf(stderr, "stand-in for NCCL: process %d: %s\n", process, why.c_str());
}

Result Communicator::state() {
  std::lock_guard<std::mutex> lock(mutex);
  if (failed != Result::Success)
    return failed;
  if (!there || (final && !wires->allHaveLeft()) || denials > 0 || (splits > 0 && !wires->allHaveSplit(splits - 1))) {
    --denials;
    return Result::InProgress;
  }
  return Result::Success;
}

bool Communicator::settled() const {
  std::lock_guard<std::mutex> lock(mutex);
  return failed == Result::Success && there && denials <= 0 && !final && !aborted && (splits == 0 || wires->allHaveSplit(splits - 1));
}

Result Communicator::failure() const {
  std::lock_guard<std::mutex> lock(mutex);
  return failed;
}

std::string Communicator::lastError() const {
  std::lock_guard<std::mutex> lock(mutex);
  return message;
}

bool Communicator::isFinal() const {
  std::lock_guard<std::mutex> lock(mutex);
  return final && wires && wires->allHaveLeft();
}

void Communicator::enqueue(Driver &driver, Stream &stream, Work work) {
  auto launch = std::make_shared<Launch>();
  static_cast<Work &>(*launch) = std::move(work);
  auto count = static_cast<size_t>(processes);
  for (size_t i = 0; i < launch->collectives.size(); ++i) {
    Collective &each = launch->collectives[i];
    size_t bytes = each.inputBytes(processes);
    each.received.resize(count);
    for (int peer = 0; peer < processes; ++peer)
      if (auto of = static_cast<uint32_t>(i + 1); peer != process) {
        each.received[static_cast<size_t>(peer)].resize(bytes);
        launch->messages.push_back({true, each.input, bytes, peer, 0, of});
        launch->messages.push_back({false, 0, bytes, peer, 0, of});
      }
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    denials = static_cast<int>(random() % 4);
  }
  // The target of a message is undefined from the beginning, whenever the message arrives.
  driver.enqueue(stream, [self = shared_from_this(), this, launch, &driver]() -> Outcome {
    auto wrong = [&](const char *what, uint64_t address) { return Outcome{Code::IllegalAddress, what + driver.memory.describe(address)}; };
    for (const Collective &each : launch->collectives) {
      size_t read = each.inputBytes(processes), written = each.outputBytes(processes);
      uint8_t *output = driver.memory.find(owner.number, each.output, written);
      if (!output || !driver.memory.find(owner.number, each.input, read))
        return wrong("a collective of NCCL uses ", output ? each.input : each.output);
      bool inPlace = each.kind == Kind::AllReduce && each.input == each.output;
      if (!inPlace && each.input < each.output + written && each.output < each.input + read)
        return {Code::IllegalAddress, "input and output of a collective of NCCL overlap"};
      if (!inPlace)
        std::memset(output, 0xF3, written);
    }
    for (Message &each : launch->messages) {
      uint8_t *bytes = memoryOf(*launch, each);
      if (!bytes)
        return wrong(each.sends ? "ncclSend reads " : "ncclRecv writes ", each.memory);
      if (!each.sends)
        std::memset(bytes, 0xF3, each.bytes);
    }
    std::lock_guard<std::mutex> lock(mutex);
    if (aborted)
      launch->ended = true;
    else
      started.push_back(launch);
    return {};
  });
  driver.enqueue(
      stream, [launch] { return launch->outcome; }, [launch] { return launch->ended.load(); });
}

uint64_t Communicator::headOf(const Launch &launch, const Message &message) const {
  if (message.of == 0)
    return message.bytes;
  const Collective &each = launch.collectives[message.of - 1];
  return message.bytes | static_cast<uint64_t>(each.kind) << 56 | static_cast<uint64_t>(each.type) << 48;
}

uint8_t *Communicator::memoryOf(Launch &launch, const Message &message) const {
  if (message.of != 0 && !message.sends)
    return launch.collectives[message.of - 1].received[static_cast<size_t>(message.peer)].data();
  return Driver::instance().memory.find(owner.number, message.memory, message.bytes);
}

void Communicator::finish(Launch &launch) const {
  const Memory &memory = Driver::instance().memory;
  for (const Collective &each : launch.collectives) {
    uint8_t *input = memory.find(owner.number, each.input, each.inputBytes(processes));
    uint8_t *output = memory.find(owner.number, each.output, each.outputBytes(processes));
    if (!input || !output) {
      launch.outcome = {Code::IllegalAddress, "a collective under way: " + memory.describe(output ? each.input : each.output)};
      return;
    }
    std::vector<const uint8_t *> inputs;
    for (const std::vector<uint8_t> &received : each.received)
      inputs.push_back(received.data());
    inputs[static_cast<size_t>(process)] = input;
    each.finish(inputs, process, output);
  }
}

void Communicator::finalize() {
  std::lock_guard<std::mutex> lock(mutex);
  final = true;
}

void Communicator::abort() {
  aborted = true;
  std::lock_guard<std::mutex> nothingMoves(moving);
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &launch : started)
    launch->ended = true;
  started.clear();
}

bool Communicator::move(Launch &launch, Message &each) {
  uint8_t *bytes = memoryOf(launch, each);
  size_t before = each.moved;
  const uint64_t expected = headOf(launch, each);
  uint64_t head = expected;
  if (each.moved == 0) {
    if ((each.sends ? wires->room(each.peer) : wires->waiting(each.peer)) < headBytes)
      return false;
    uint8_t raw[headBytes];
    std::memcpy(raw, &head, headBytes);
    each.moved = each.sends ? wires->write(each.peer, raw, headBytes) : wires->read(each.peer, raw, headBytes);
    std::memcpy(&head, raw, headBytes);
  }
  if (head != expected) {
    constexpr uint64_t size = (uint64_t{1} << 48) - 1;
    std::string why = "process " + std::to_string(each.peer) + " sends " + std::to_string(head & size) + " bytes where " +
                      std::to_string(each.bytes) + " are received" + (head >> 48 == expected >> 48 ? "" : ", of another operation or type");
    fail(Result::InvalidUsage, why);
    launch.outcome = {Code::LaunchFailed, why};
  } else if (!bytes) {
    launch.outcome = {Code::IllegalAddress, "a message under way: " + Driver::instance().memory.describe(each.memory)};
  } else {
    size_t at = each.moved - headBytes, left = each.bytes - at;
    each.moved += each.sends ? wires->write(each.peer, bytes + at, left) : wires->read(each.peer, bytes + at, left);
  }
  return each.moved != before;
}

bool Communicator::progress() {
  std::lock_guard<std::mutex> moves(moving);
  if (aborted)
    return false;
  std::vector<std::shared_ptr<Launch>> list;
  {
    std::lock_guard<std::mutex> lock(mutex);
    list.assign(started.begin(), started.end());
  }
  bool any = false;
  std::vector<bool> busy(static_cast<size_t>(processes) * 2); // a direction in which an older message has not ended
  for (const auto &launch : list) {
    bool all = true;
    for (Message &each : launch->messages) {
      auto direction = static_cast<size_t>(each.peer * 2 + each.sends);
      if (each.moved == each.bytes + headBytes)
        continue;
      if (!busy[direction])
        any |= move(*launch, each);
      bool done = each.moved == each.bytes + headBytes;
      busy[direction] = busy[direction] || !done;
      all &= done;
      if (launch->outcome.code != Code::Success)
        break;
    }
    if (!all && launch->outcome.code == Code::Success)
      continue;
    if (launch->outcome.code == Code::Success)
      finish(*launch);
    std::lock_guard<std::mutex> lock(mutex);
    started.remove(launch);
    launch->ended = true;
    any = true;
  }
  return any;
}

void Communicator::run() {
  bool left = false;
  while (!ending) {
    bool any = false;
    if (known && known())
      known = nullptr;
    if (!there && !known && wires->good() && wires->allAreThere()) {
      std::string twice;
      for (int i = 0; i < processes; ++i)
        for (int j = 0; j < i; ++j)
          if (Uuid a = wires->deviceOf(i), b = wires->deviceOf(j); std::memcmp(&a, &b, sizeof a) == 0)
            twice = "Duplicate GPU detected : rank " + std::to_string(i) + " and rank " + std::to_string(j);
      if (!twice.empty())
        fail(Result::InvalidUsage, twice);
      std::lock_guard<std::mutex> lock(mutex);
      there = any = true;
    }
    if (there)
      any |= progress();
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (final && !left && started.empty())
        wires->leave(), left = true;
    }
    if (!any || random() % 64 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20 + random() % 200));
  }
}

} // namespace npar::standin::nccl
