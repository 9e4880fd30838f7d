// The ways between the processes of a communicator: rings of bytes in memory that all of them map, by which processes of one machine, or
// threads that stand for them, reach each other.
#pragma once

#include "tests/engine/backends/standin/CudaAbi.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace npar::standin::nccl {

class Wires {
public:
  /// Opens the memory of this name. The first process creates it.
  Wires(std::string name, int processes, int process);
  ~Wires();
  Wires(const Wires &) = delete;

  bool good() const { return memory != nullptr; }
  /// Says that this process is there, and what its device is.
  void enter(const Uuid &device);
  bool allAreThere() const;
  Uuid deviceOf(int process) const;
  /// Says into which group this process goes in the split of that number, which begin at 0 and follow each other; and in which place.
  void split(uint32_t number, int colour, int key);
  bool allHaveSplit(uint32_t number) const;
  struct Choice {
    int colour, key;
  };
  Choice choiceOf(uint32_t number, int process) const;
  static constexpr uint32_t mostSplits = 256;
  const std::string &nameOfMemory() const { return name; }
  int size() const { return processes; }
  int self() const { return process; }
  /// Says that this process has no more to give.
  void leave();
  bool allHaveLeft() const;

  /// Number of bytes that can be written to, or read from, a process now.
  size_t room(int to) const;
  size_t waiting(int from) const;
  /// Writes as many of the bytes as fit, and returns their number.
  size_t write(int to, const uint8_t *bytes, size_t count);
  /// Reads the bytes that have arrived, at most `count`, and returns their number.
  size_t read(int from, uint8_t *bytes, size_t count);

private:
  static constexpr size_t ringBytes = size_t{1} << 16;
  struct Presence {
    std::atomic<uint32_t> there, left, splits;
    Uuid device;
    Choice choices[mostSplits];
  };
  static_assert(sizeof(Presence) <= 4096);
  struct Ring {
    std::atomic<uint64_t> written, read;
    uint8_t bytes[ringBytes];
  };
  Presence &presence(int process) const { return static_cast<Presence *>(memory)[process]; }
  Ring &ring(int from, int to) const;

  std::string name;
  int processes, process;
  size_t memoryBytes = 0;
  void *memory = nullptr;
};

} // namespace npar::standin::nccl
