// Takes requests one after the other, the text that changed last first.
#include "tools/npar/lsp/Worker.h"

#include <chrono>

namespace npar::driver {

namespace {
constexpr auto pause = std::chrono::milliseconds(60); // between two keys there is no need to begin
}

Worker::Worker(std::function<void(lsp::Analysis)> publish, std::function<void()> idle)
    : publish(std::move(publish)), idle(std::move(idle)), thread([this] { run(); }) {}

Worker::~Worker() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
    for (auto &[path, generation] : generations)
      ++generation;
  }
  changed.notify_all();
  thread.join();
}

void Worker::ask(lsp::AnalysisRequest request) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++generations[request.path];
    last = request.path;
    waiting[request.path] = std::move(request);
  }
  changed.notify_all();
}

void Worker::drop(const std::string &path) {
  std::lock_guard<std::mutex> lock(mutex);
  ++generations[path];
  waiting.erase(path);
  rested.notify_all();
}

bool Worker::isIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  return !busy && waiting.empty();
}

void Worker::waitUntilIdle() {
  std::unique_lock<std::mutex> lock(mutex);
  rested.wait(lock, [&] { return !busy && waiting.empty(); });
}

void Worker::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !waiting.empty(); });
    if (ends)
      return;
    busy = true;
    for (uint64_t seen = 0, now = generations[last]; seen != now && !ends; now = generations[last]) {
      seen = now;
      changed.wait_for(lock, pause, [&] { return ends || generations[last] != seen; });
    }
    auto next = waiting.find(last);
    if (next == waiting.end())
      next = waiting.begin();
    if (next != waiting.end() && !ends) {
      lsp::AnalysisRequest request = std::move(next->second);
      waiting.erase(next);
      uint64_t generation = generations[request.path];
      lock.unlock();
      auto stops = [&] {
        std::lock_guard<std::mutex> held(mutex);
        return ends || generations[request.path] != generation;
      };
      lsp::analyse(request, stops, publish);
      lock.lock();
    }
    busy = false;
    rested.notify_all();
    if (waiting.empty() && !ends) {
      lock.unlock();
      idle();
      lock.lock();
    }
  }
}

} // namespace npar::driver
