// Draws the progress bar.
#include "tools/npar/terminal/Progress.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace npar::driver {
namespace {

std::string clockText(double seconds) {
  auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 3600)
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

int columnsOfTerminal() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

} // namespace

std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

Progress::Progress(int64_t steps, std::string unit, bool shown, bool computes)
    : steps(steps), unit(std::move(unit)), shown(shown), computes(computes), terminal(isatty(STDERR_FILENO) != 0), start(Clock::now()),
      last(start) {}

void Progress::update(int64_t done, std::optional<double> loss, double perSecond, std::optional<double> epochsSoFar) {
  if (!shown)
    return;
  epochs = epochsSoFar;
  speed = speed > 0 ? 0.9 * speed + 0.1 * perSecond : perSecond;
  if (!terminal) {
    int64_t every = std::max<int64_t>(1, steps / 20);
    if (done == 1 || done == steps || done % every == 0)
      printLine(done, loss);
    return;
  }
  Clock::time_point now = Clock::now();
  if (drawn && done != steps && now - last < std::chrono::milliseconds(100))
    return;
  last = now;
  drawBar(done, loss);
}

std::string Progress::lossText(std::optional<double> loss) const {
  if (!computes)
    return "no arithmetic  ";
  return loss ? fmt::format("loss {:.4f}  ", *loss) : "";
}

std::string Progress::speedText() const {
  return fmt::format("{} {}/s{}", grouped(speed), unit, epochs ? fmt::format("  epoch {:.2f}", *epochs) : "");
}

void Progress::drawBar(int64_t done, std::optional<double> loss) {
  double spent = std::chrono::duration<double>(Clock::now() - start).count();
  double left = spent / static_cast<double>(done) * static_cast<double>(steps - done);
  std::string front = fmt::format("step {:>{}}/{} ", done, std::to_string(steps).size(), steps);
  std::string back =
      fmt::format(" {}{}  {} {}", lossText(loss), speedText(), done == steps ? "took" : "left", clockText(done == steps ? spent : left));
  int width = std::min(30, columnsOfTerminal() - static_cast<int>(front.size() + back.size()) - 3);
  std::string bar;
  if (width >= 5) {
    int full = static_cast<int>(static_cast<double>(width) * static_cast<double>(done) / static_cast<double>(steps));
    bar = "[" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(width - full), '.') + "]";
  }
  std::fprintf(stderr, "\r%s%s%s\x1b[K", front.c_str(), bar.c_str(), back.c_str());
  std::fflush(stderr);
  drawn = true;
}

void Progress::printLine(int64_t done, std::optional<double> loss) {
  std::fprintf(stderr, "step %lld/%lld  %s%s\n", static_cast<long long>(done), static_cast<long long>(steps), lossText(loss).c_str(),
               speedText().c_str());
}

void Progress::say(const std::string &line) {
  if (!shown)
    return;
  finish();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::finish() {
  if (drawn)
    std::fputc('\n', stderr);
  drawn = false;
}

} // namespace npar::driver
