// Processes of a job for tests: groups over a network of queues, and a failure channel between threads.
#include "tests/engine/comm/process/QueueProcesses.h"

namespace npar::testing {

using namespace engine;

class ThreadFailures::Channel final : public FailureChannel {
public:
  Channel(ThreadFailures &owner, size_t process) : owner(owner), process(process) {}
  void tell(const Status &status) override { owner.tell(process, -1, status); }
  void accuse(int64_t rank, const Status &status) override { owner.tell(process, rank, status); }
  void listen(const void *, std::function<void(const Status &)> told) override {
    std::unique_lock<std::mutex> lock(owner.mutex);
    owner.wake.wait(lock, [&] { return !calling; });
    listener = std::move(told);
    heard = false;
    owner.wake.notify_all();
  }

  ThreadFailures &owner;
  size_t process;
  std::function<void(const Status &)> listener;
  bool heard = false, calling = false;
};

ThreadFailures::ThreadFailures(size_t processes) {
  for (size_t process = 0; process < processes; ++process)
    channels.push_back(std::make_unique<Channel>(*this, process));
  thread = std::thread([this] { run(); });
}

ThreadFailures::~ThreadFailures() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  thread.join();
}

FailureChannel &ThreadFailures::of(size_t process) { return *channels[process]; }

ThreadFailures::Told ThreadFailures::first() const {
  std::lock_guard<std::mutex> lock(mutex);
  return told;
}

void ThreadFailures::tell(size_t process, int64_t accused, const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (told.process < 0)
    told = {status, static_cast<int64_t>(process), accused};
  wake.notify_all();
}

void ThreadFailures::run() {
  std::unique_lock<std::mutex> lock(mutex);
  auto waiting = [&]() -> Channel * {
    for (const std::unique_ptr<Channel> &channel : channels)
      if (told.process >= 0 && channel->listener && !channel->heard && static_cast<int64_t>(channel->process) != told.process)
        return channel.get();
    return nullptr;
  };
  while (!stopping) {
    Channel *channel = waiting();
    if (!channel) {
      wake.wait(lock);
      continue;
    }
    channel->heard = channel->calling = true;
    auto listener = channel->listener;
    Status status = told.status;
    lock.unlock();
    listener(status);
    lock.lock();
    channel->calling = false;
    wake.notify_all();
  }
}

QueueProcesses::QueueProcesses(size_t count, QueueOptions options)
    : network(std::make_shared<QueueNetwork>(count, options)), failures(count), groups(count) {
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < count; ++process)
    threads.emplace_back([&, process] { groups[process] = *ProcessGroup::open(QueueNetwork::transport(network, process)); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace npar::testing
