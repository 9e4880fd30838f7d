// Gathers bytes of processes that were forked from one, or of threads, through memory that they share: stands for a process group.
#pragma once

#include "engine/control/Join.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace npar::testing {

class SharedGather {
public:
  explicit SharedGather(uint32_t processes) : processes(processes) {
    void *memory = ::mmap(nullptr, sizeof(Slot) * rounds * processes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    slots = static_cast<Slot *>(memory);
    for (size_t i = 0; i < rounds * processes; ++i)
      new (&slots[i]) Slot();
  }
  ~SharedGather() { ::munmap(slots, sizeof(Slot) * rounds * processes); }

  engine::GatherBytes of(uint32_t process) {
    return [this, process, round = size_t{0}](const std::vector<uint8_t> &own) mutable { return gather(process, round++, own); };
  }

private:
  static constexpr size_t rounds = 64;
  struct Slot {
    std::atomic<uint32_t> filled{0};
    uint32_t size = 0;
    uint8_t bytes[4096] = {};
  };

  engine::Result<std::vector<std::vector<uint8_t>>> gather(uint32_t process, size_t round, const std::vector<uint8_t> &own) {
    Slot *row = slots + round * processes;
    row[process].size = static_cast<uint32_t>(own.size());
    std::copy(own.begin(), own.end(), row[process].bytes);
    row[process].filled = 1;
    std::vector<std::vector<uint8_t>> all;
    for (uint32_t other = 0; other < processes; ++other) {
      for (int waited = 0; !row[other].filled; ++waited) {
        if (waited > 20000)
          return engine::Status(engine::Code::Timeout, "process " + std::to_string(other) + " does not come");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      all.emplace_back(row[other].bytes, row[other].bytes + row[other].size);
    }
    return all;
  }

  uint32_t processes;
  Slot *slots;
};

} // namespace npar::testing
