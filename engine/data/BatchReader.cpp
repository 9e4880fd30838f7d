// One thread, one queue of two batches.
#include "engine/data/BatchReader.h"

#include <chrono>

namespace npar::engine {

BatchReader::BatchReader(const DataSource &source, int64_t first, int64_t end)
    : source(source), thread([this, first, end] { readAll(first, end); }) {}

BatchReader::~BatchReader() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopped = true;
  }
  changed.notify_all();
  thread.join();
}

void BatchReader::readAll(int64_t first, int64_t end) {
  for (int64_t step = first; step < end; ++step) {
    Read read{source.batch(step), source.intact()};
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return stopped || ready.size() < ahead; });
    if (stopped)
      return;
    ready.push_back(std::move(read));
    changed.notify_all();
  }
}

BatchReader::Read BatchReader::next() {
  std::unique_lock<std::mutex> lock(mutex);
  auto begin = std::chrono::steady_clock::now();
  bool late = ready.empty();
  changed.wait(lock, [this] { return !ready.empty(); });
  Read read = std::move(ready.front());
  ready.pop_front();
  changed.notify_all();
  if (late && begun)
    secondsWaited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  begun = true;
  return read;
}

} // namespace npar::engine
