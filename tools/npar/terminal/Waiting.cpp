// Wakes now and then, and prints the state of the work.
#include "tools/npar/terminal/Waiting.h"

#include "engine/readable/Printable.h"

#include <atomic>
#include <cstdio>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace npar::driver {

using readable::printable;

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 2s, everyLine = 10s;
constexpr auto everyDrawing = 200ms;

std::atomic<bool> silent{false};
std::atomic<Waiting *> speaker{nullptr};

} // namespace

Waiting::Waiting(std::string what) : what(std::move(what)), terminal(isatty(STDERR_FILENO) != 0), begun(Clock::now()), last(begun) {
  if (silent)
    return;
  if (!speaker.compare_exchange_strong(outer, this)) {
    before = outer->phase(this->what);
    return;
  }
  try {
    thread = std::thread([this] { watch(); });
  } catch (const std::system_error &) { // what is waited for needs no sign of life
    speaker = nullptr;
  }
}

Waiting::~Waiting() {
  if (outer)
    outer->phase(before);
  if (!thread.joinable())
    return;
  speaker = nullptr;
  {
    std::lock_guard<std::mutex> guard(mutex);
    over = true;
  }
  wake.notify_one();
  thread.join();
  if (drawn)
    std::fputs("\r\x1b[K", stderr);
}

std::string Waiting::phase(const std::string &name) {
  if (outer)
    return outer->phase(what + ": " + name);
  std::lock_guard<std::mutex> guard(mutex);
  changed |= name != current;
  return std::exchange(current, name);
}

void Waiting::silence() { silent = true; }

void Waiting::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  if (wake.wait_for(lock, patience, [this] { return over; }))
    return;
  do {
    Clock::time_point now = Clock::now();
    if (terminal || last == begun || (changed && now - last >= patience) || now - last >= everyLine) {
      last = now;
      changed = false;
      show(std::chrono::duration<double>(now - begun).count());
    }
  } while (!wake.wait_for(lock, everyDrawing, [this] { return over; }));
}

void Waiting::show(double seconds) {
  std::string line = printable(fmt::format("npar: {}{}{}, {:.0f} s", what, current.empty() ? "" : ": ", current, seconds));
  if (terminal)
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  drawn = terminal;
}

} // namespace npar::driver
