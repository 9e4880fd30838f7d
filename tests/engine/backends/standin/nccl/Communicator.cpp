// Moves messages between the memories of devices, late and piece by piece.
#include "tests/engine/backends/standin/nccl/Communicator.h"

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
    : owner(device), processes(processes), process(process), wires(job, processes, process),
      random(seed * 977 + static_cast<uint64_t>(process)), denials(static_cast<int>(1 + random() % 8)) {
  if (wires.good())
    wires.enter(uuidOf(device));
  else
    fail(Result::SystemError, "there is no shared memory '" + job + "'");
  thread = std::thread([this] { run(); });
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
  if (!there || (final && !wires.allHaveLeft()) || denials > 0) {
    --denials;
    return Result::InProgress;
  }
  return Result::Success;
}

bool Communicator::settled() const {
  std::lock_guard<std::mutex> lock(mutex);
  return failed == Result::Success && there && denials <= 0 && !final && !aborted;
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
  return final && wires.allHaveLeft();
}

void Communicator::enqueue(Driver &driver, Stream &stream, std::vector<Message> messages) {
  auto launch = std::make_shared<Launch>();
  launch->messages = std::move(messages);
  {
    std::lock_guard<std::mutex> lock(mutex);
    denials = static_cast<int>(random() % 4);
  }
  // What is received into holds nothing of use from the beginning, whenever it comes.
  driver.enqueue(stream, [self = shared_from_this(), this, launch, &driver]() -> Outcome {
    for (Message &each : launch->messages) {
      uint8_t *bytes = driver.memory.find(owner.number, each.memory, each.bytes);
      if (!bytes)
        return {Code::IllegalAddress,
                std::string(each.sends ? "ncclSend reads " : "ncclRecv writes ") + driver.memory.describe(each.memory)};
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
  uint8_t *bytes = Driver::instance().memory.find(owner.number, each.memory, each.bytes);
  size_t before = each.moved;
  uint64_t head = each.bytes;
  if (each.moved == 0) {
    if ((each.sends ? wires.room(each.peer) : wires.waiting(each.peer)) < headBytes)
      return false;
    uint8_t raw[headBytes];
    std::memcpy(raw, &head, headBytes);
    each.moved = each.sends ? wires.write(each.peer, raw, headBytes) : wires.read(each.peer, raw, headBytes);
    std::memcpy(&head, raw, headBytes);
  }
  if (head != each.bytes) {
    std::string why = "process " + std::to_string(each.peer) + " sends " + std::to_string(head) + " bytes where " +
                      std::to_string(each.bytes) + " are received";
    fail(Result::InvalidUsage, why);
    launch.outcome = {Code::LaunchFailed, why};
  } else if (!bytes) {
    launch.outcome = {Code::IllegalAddress, "a message under way: " + Driver::instance().memory.describe(each.memory)};
  } else {
    size_t at = each.moved - headBytes, left = each.bytes - at;
    each.moved += each.sends ? wires.write(each.peer, bytes + at, left) : wires.read(each.peer, bytes + at, left);
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
    if (!there && wires.good() && wires.allAreThere()) {
      std::string twice;
      for (int i = 0; i < processes; ++i)
        for (int j = 0; j < i; ++j)
          if (Uuid a = wires.deviceOf(i), b = wires.deviceOf(j); std::memcmp(&a, &b, sizeof a) == 0)
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
        wires.leave(), left = true;
    }
    if (!any || random() % 64 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20 + random() % 200));
  }
}

} // namespace npar::standin::nccl
