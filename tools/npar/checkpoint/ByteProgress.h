// Reports the progress of long passes over many bytes.
#pragma once

#include "engine/readable/HumanUnits.h"
#include "engine/show/View.h"
#include "tools/npar/terminal/Waiting.h"

#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <functional>

namespace npar::driver {

/// Reports each full percent. Any thread can call `add`.
class ByteProgress {
public:
  ByteProgress(std::string what, uint64_t total) : waiting(std::move(what)), total(total) {}
  void add(uint64_t bytes) {
    uint64_t before = done.fetch_add(bytes), after = before + bytes;
    if (total && percent(before) != percent(after))
      waiting.phase(fmt::format("{} %, {} of {}", percent(after), readable::humanBytes(static_cast<double>(after)),
                                readable::humanBytes(static_cast<double>(total))));
  }
  std::function<void(uint64_t)> adder() {
    return [this](uint64_t bytes) { add(bytes); };
  }

private:
  uint64_t percent(uint64_t bytes) const { return static_cast<uint64_t>(100.0 * static_cast<double>(bytes) / static_cast<double>(total)); }
  Waiting waiting;
  uint64_t total;
  std::atomic<uint64_t> done{0};
};

} // namespace npar::driver
