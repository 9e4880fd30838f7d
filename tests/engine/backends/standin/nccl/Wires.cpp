// Rings of bytes in shared memory.
#include "tests/engine/backends/standin/nccl/Wires.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace npar::standin::nccl {

// A new file consists of zeros, which is the initial state of everything in it. It does not matter which process creates it.
Wires::Wires(std::string given, int processes, int process) : name(std::move(given)), processes(processes), process(process) {
  auto count = static_cast<size_t>(processes);
  memoryBytes = 4096 * count + sizeof(Ring) * count * count;
  int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0)
    return;
  if (::ftruncate(file, static_cast<off_t>(memoryBytes)) == 0)
    if (void *mapped = ::mmap(nullptr, memoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); mapped != MAP_FAILED)
      memory = mapped;
  ::close(file);
}

Wires::~Wires() {
  ::shm_unlink(name.c_str()); // the first that goes takes the name away, the memory goes with the last
  if (memory)
    ::munmap(memory, memoryBytes);
}

Wires::Ring &Wires::ring(int from, int to) const {
  auto *rings = reinterpret_cast<Ring *>(static_cast<uint8_t *>(memory) + 4096 * static_cast<size_t>(processes));
  return rings[from * processes + to];
}

void Wires::enter(const Uuid &device) {
  presence(process).device = device;
  presence(process).there.store(1);
}

void Wires::split(uint32_t number, int colour, int key) {
  presence(process).choices[number] = {colour, key};
  presence(process).splits.store(number + 1);
}

bool Wires::allHaveSplit(uint32_t number) const {
  for (int i = 0; i < processes; ++i)
    if (presence(i).splits.load() <= number)
      return false;
  return true;
}

Wires::Choice Wires::choiceOf(uint32_t number, int other) const { return presence(other).choices[number]; }

void Wires::leave() { presence(process).left.store(1); }

bool Wires::allAreThere() const {
  for (int i = 0; i < processes; ++i)
    if (!presence(i).there.load())
      return false;
  return true;
}

bool Wires::allHaveLeft() const {
  for (int i = 0; i < processes; ++i)
    if (!presence(i).left.load())
      return false;
  return true;
}

Uuid Wires::deviceOf(int other) const { return presence(other).device; }

size_t Wires::room(int to) const {
  const Ring &way = ring(process, to);
  return ringBytes - (way.written.load(std::memory_order_relaxed) - way.read.load(std::memory_order_acquire));
}

size_t Wires::waiting(int from) const {
  const Ring &way = ring(from, process);
  return way.written.load(std::memory_order_acquire) - way.read.load(std::memory_order_relaxed);
}

size_t Wires::write(int to, const uint8_t *bytes, size_t count) {
  Ring &way = ring(process, to);
  uint64_t written = way.written.load(std::memory_order_relaxed);
  count = std::min(count, room(to));
  for (size_t done = 0; done < count;) {
    size_t place = (written + done) % ringBytes, piece = std::min(count - done, ringBytes - place);
    std::memcpy(way.bytes + place, bytes + done, piece);
    done += piece;
  }
  way.written.store(written + count, std::memory_order_release);
  return count;
}

size_t Wires::read(int from, uint8_t *bytes, size_t count) {
  Ring &way = ring(from, process);
  uint64_t read = way.read.load(std::memory_order_relaxed);
  count = std::min(count, waiting(from));
  for (size_t done = 0; done < count;) {
    size_t place = (read + done) % ringBytes, piece = std::min(count - done, ringBytes - place);
    std::memcpy(bytes + done, way.bytes + place, piece);
    done += piece;
  }
  way.read.store(read + count, std::memory_order_release);
  return count;
}

} // namespace npar::standin::nccl
