// Reservations by mmap: one range of addresses without rights, and one of the same size that holds the bytes.
#include "tests/engine/backends/standin/Memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace npar::standin {

namespace {
constexpr uint64_t poisonLimit = uint64_t{256} << 20; ///< bytes of freed memory that keep their pattern

uint8_t *reserve(uint64_t bytes, int rights) {
  void *begin = ::mmap(nullptr, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    std::perror("stand-in for CUDA: no addresses for device memory");
    std::abort();
  }
  return static_cast<uint8_t *>(begin);
}

/// `bytes` begins a page, `size` is a multiple of one.
void fill(uint8_t *bytes, uint64_t size, uint16_t pattern) {
  std::fill_n(reinterpret_cast<uint64_t *>(bytes), size / 8, pattern * uint64_t{0x0001000100010001});
}
} // namespace

const Range *Ranges::find(uint64_t address, uint64_t size) const {
  auto after = std::upper_bound(sorted.begin(), sorted.end(), address, [](uint64_t a, const Range &range) { return a < range.begin; });
  if (after == sorted.begin())
    return nullptr;
  const Range &range = *--after;
  return address < range.end && size <= range.end - address ? &range : nullptr;
}

Memory::Memory(int devices, uint64_t bytesPerDevice)
    : bytesPerDevice(bytesPerDevice), used(static_cast<size_t>(devices)), cached(static_cast<size_t>(devices) + 1) {
  reserved = reinterpret_cast<uint64_t>(reserve(addressBytes, PROT_NONE));
  backing = reserve(addressBytes, PROT_NONE);
}

Memory::~Memory() {
  for (auto &[begin, range] : ranges)
    if (range.kind == Range::Kind::Pinned)
      ::munmap(range.bytes, range.end - range.begin);
  ::munmap(reinterpret_cast<void *>(reserved), addressBytes);
  ::munmap(backing, addressBytes);
}

uint64_t Memory::allocate(int device, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t &taken = used[static_cast<size_t>(device)];
  uint64_t pages = (256 + size + page - 1) / page * page;
  if (size == 0 || size > bytesPerDevice || pages > bytesPerDevice - std::min(taken, bytesPerDevice) || pages + page > addressBytes - next)
    return 0;
  uint64_t offset = next;
  if (::mprotect(backing + offset, pages, PROT_READ | PROT_WRITE) != 0)
    return 0;
  next += pages + page; // a guard
  taken += pages;
  fill(backing + offset, pages, fresh);
  uint64_t begin = reserved + offset + 256;
  ranges.emplace(begin, Range{begin, begin + size, backing + offset + 256, Range::Kind::Device, device});
  std::fill(cached.begin(), cached.end(), nullptr);
  return begin;
}

bool Memory::releaseLocked(std::map<uint64_t, Range>::iterator found) {
  const Range &range = found->second;
  uint64_t offset = range.begin - 256 - reserved, pages = (256 + (range.end - range.begin) + page - 1) / page * page;
  used[static_cast<size_t>(range.device)] -= pages;
  fill(backing + offset, pages, freed);
  poisoned.emplace_back(offset, pages);
  poisonedBytes += pages;
  while (poisonedBytes > poisonLimit) { // its rights stay: a kernel that runs may still look there
    auto [oldest, bytes] = poisoned.front();
    ::madvise(backing + oldest, bytes, MADV_DONTNEED);
    poisoned.pop_front();
    poisonedBytes -= bytes;
  }
  past.insert(*found);
  ranges.erase(found);
  std::fill(cached.begin(), cached.end(), nullptr);
  return true;
}

bool Memory::release(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = ranges.find(address);
  return found != ranges.end() && found->second.device >= 0 && releaseLocked(found);
}

void *Memory::allocatePinned(uint64_t size) {
  if (size == 0 || size > addressBytes)
    return nullptr;
  uint64_t pages = (size + page - 1) / page * page;
  void *bytes = ::mmap(nullptr, pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED)
    return nullptr;
  if (::mprotect(bytes, pages, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(bytes, pages + page);
    return nullptr;
  }
  fill(static_cast<uint8_t *>(bytes), pages, fresh);
  auto begin = reinterpret_cast<uint64_t>(bytes);
  std::lock_guard<std::mutex> lock(mutex);
  ranges.emplace(begin, Range{begin, begin + size, static_cast<uint8_t *>(bytes), Range::Kind::Pinned, -1});
  std::fill(cached.begin(), cached.end(), nullptr);
  return bytes;
}

bool Memory::releasePinned(void *begin) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = ranges.find(reinterpret_cast<uint64_t>(begin));
  if (found == ranges.end() || found->second.kind != Range::Kind::Pinned)
    return false;
  // The pages are removed, but their addresses stay reserved, so that later accesses fault.
  uint64_t pages = (found->second.end - found->second.begin + page - 1) / page * page;
  ::mmap(begin, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  past.insert(*found);
  ranges.erase(found);
  std::fill(cached.begin(), cached.end(), nullptr);
  return true;
}

bool Memory::registerHost(void *begin, uint64_t size) {
  auto first = reinterpret_cast<uint64_t>(begin);
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[address, range] : ranges)
    if (range.begin < first + size && first < range.end)
      return false;
  ranges.emplace(first, Range{first, first + size, static_cast<uint8_t *>(begin), Range::Kind::Registered, -1});
  std::fill(cached.begin(), cached.end(), nullptr);
  return true;
}

bool Memory::unregisterHost(void *begin) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = ranges.find(reinterpret_cast<uint64_t>(begin));
  if (found == ranges.end() || found->second.kind != Range::Kind::Registered)
    return false;
  ranges.erase(found);
  std::fill(cached.begin(), cached.end(), nullptr);
  return true;
}

std::shared_ptr<const Ranges> Memory::rangesOf(int device) const {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const Ranges> &made = cached[static_cast<size_t>(device + 1)];
  if (!made) {
    std::vector<Range> sorted;
    for (auto &[begin, range] : ranges)
      if (device < 0 || range.device < 0 || range.device == device || peers.count({device, range.device}) > 0)
        sorted.push_back(range);
    made = std::make_shared<const Ranges>(std::move(sorted));
  }
  return made;
}

uint8_t *Memory::find(int device, uint64_t address, uint64_t size) const {
  std::shared_ptr<const Ranges> known = rangesOf(device);
  const Range *range = known->find(address, size);
  return range ? range->bytes + (address - range->begin) : nullptr;
}

uint8_t *Memory::findOwn(int device, uint64_t address, uint64_t size) const {
  std::shared_ptr<const Ranges> known = rangesOf(device);
  const Range *range = known->find(address, size);
  return range && range->device == device ? range->bytes + (address - range->begin) : nullptr;
}

bool Memory::reach(int device, int other) {
  std::lock_guard<std::mutex> lock(mutex);
  std::fill(cached.begin(), cached.end(), nullptr);
  return peers.insert({device, other}).second;
}

void Memory::forgetPeers(int device) {
  std::lock_guard<std::mutex> lock(mutex);
  std::fill(cached.begin(), cached.end(), nullptr);
  for (auto next = peers.begin(); next != peers.end();)
    next = next->first == device || next->second == device ? peers.erase(next) : std::next(next);
}

bool Memory::isPinned(const void *begin, uint64_t size) const {
  std::shared_ptr<const Ranges> known = rangesOf(-1);
  const Range *range = known->find(reinterpret_cast<uint64_t>(begin), size);
  return range && range->device < 0;
}

uint64_t Memory::free(int device) const {
  std::lock_guard<std::mutex> lock(mutex);
  return bytesPerDevice - used[static_cast<size_t>(device)];
}

std::vector<std::string> Memory::left(int device) const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> lines;
  for (auto &[begin, range] : ranges) {
    if (range.device != device || range.kind == Range::Kind::Module)
      continue;
    std::string bytes = std::to_string(range.end - range.begin) + " bytes of ";
    lines.push_back(device < 0 ? bytes + "page-locked memory" : bytes + "device " + std::to_string(device) + "'s memory");
  }
  return lines;
}

void Memory::giveToModule(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  ranges.at(address).kind = Range::Kind::Module;
}

void Memory::releaseAll(int device) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto next = ranges.begin(); next != ranges.end();) {
    auto found = next++;
    if (found->second.device == device)
      releaseLocked(found);
  }
}

std::string Memory::describe(uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto before = [&](const std::map<uint64_t, Range> &all) {
    auto after = all.upper_bound(address);
    return after == all.begin() ? nullptr : &std::prev(after)->second;
  };
  const Range *live = before(ranges), *dead = before(past);
  char text[160];
  if (live && address < live->end)
    std::snprintf(text, sizeof text, "byte %llu of %llu that %s", static_cast<unsigned long long>(address - live->begin),
                  static_cast<unsigned long long>(live->end - live->begin), live->device < 0 ? "the host has" : "a device has");
  else if (dead && address < dead->end)
    std::snprintf(text, sizeof text, "byte %llu of %llu that were freed", static_cast<unsigned long long>(address - dead->begin),
                  static_cast<unsigned long long>(dead->end - dead->begin));
  else if (live && address - live->end < (uint64_t{1} << 20))
    std::snprintf(text, sizeof text, "%llu bytes after an allocation of %llu", static_cast<unsigned long long>(address - live->end),
                  static_cast<unsigned long long>(live->end - live->begin));
  else
    std::snprintf(text, sizeof text, "no memory at all");
  return text;
}

} // namespace npar::standin
