// Ends the process although its main thread is stuck.
#include "tools/npar/job/HardExit.h"

#include "engine/control/ThreadWithoutAborts.h"

#include <chrono>
#include <unistd.h>

namespace npar::driver {

HardExit::HardExit(std::function<void()> lastWords)
    : lastWords(std::move(lastWords)), thread(engine::threadWithoutAborts([this] { run(); })) {}

HardExit::~HardExit() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    quitting = true;
  }
  wake.notify_all();
  thread.join();
}

void HardExit::arm(double seconds, int code) {
  std::lock_guard<std::mutex> lock(mutex);
  if (armed)
    return;
  armed = true, this->seconds = seconds, this->code = code;
  wake.notify_all();
}

void HardExit::run() {
  std::unique_lock<std::mutex> lock(mutex);
  wake.wait(lock, [this] { return armed || quitting; });
  if (wake.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return quitting; }))
    return;
  // Last words may want a lock that a stuck thread holds: they get a moment, then silence.
  constexpr auto patience = std::chrono::milliseconds(200);
  std::thread([this] {
    if (lastWords)
      lastWords();
    ::_exit(code);
  }).detach();
  std::this_thread::sleep_for(patience);
  ::_exit(code);
}

} // namespace npar::driver
