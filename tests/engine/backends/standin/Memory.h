// Memory of devices and pinned memory of the host: the bytes and the owner of an address.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace npar::standin {

/// Addresses [begin, end) that a device may use, and their bytes.
struct Range {
  enum class Kind { Device, Module, Pinned, Registered };
  uint64_t begin, end;
  uint8_t *bytes; ///< of `begin`
  Kind kind;
  int device; ///< whose memory it is; -1: the host's
};

/// Ranges in ascending order, as they were when it was made.
class Ranges {
public:
  explicit Ranges(std::vector<Range> sorted) : sorted(std::move(sorted)) {}
  /// The range that holds all of [address, address + size), or null.
  const Range *find(uint64_t address, uint64_t size) const;

private:
  std::vector<Range> sorted;
};

/// All memory that devices can see. A device address is a number inside a reservation that is not readable; its bytes are in another
/// mapping. No address is used twice, so freed memory is never mistaken for new memory. Any thread may call any function.
class Memory {
public:
  Memory(int devices, uint64_t bytesPerDevice);
  ~Memory();
  Memory(const Memory &) = delete;

  /// Memory of a device, its bytes NaN in every type and negative as integers, aligned to 256 bytes and not to 512. 0: there is not enough.
  uint64_t allocate(int device, uint64_t size);
  /// Poisons memory and takes it back; false if nothing begins there.
  bool release(uint64_t address);
  /// Page-locked memory of the host's, or null.
  void *allocatePinned(uint64_t size);
  bool releasePinned(void *begin);
  /// Makes the host's own memory page-locked; false if a part of it is.
  bool registerHost(void *begin, uint64_t size);
  bool unregisterHost(void *begin);

  /// Gives a device access to another one's memory; false if it has it.
  bool reach(int device, int other);
  /// Takes back what a device reaches, and access to it.
  void forgetPeers(int device);

  /// What is there now and this device may use: its own memory, that of devices it reaches, and the host's page-locked memory. -1: every
  /// device's.
  std::shared_ptr<const Ranges> rangesOf(int device) const;
  /// The bytes of [address, address + size) where all of it is one allocation that the device may use, else null.
  uint8_t *find(int device, uint64_t address, uint64_t size) const;
  /// Does what `find` does, but only for the device's own memory.
  uint8_t *findOwn(int device, uint64_t address, uint64_t size) const;
  /// Returns true if these bytes are page-locked memory of the host.
  bool isPinned(const void *begin, uint64_t size) const;
  bool isDevice(uint64_t address) const { return address >= reserved && address < reserved + addressBytes; }

  uint64_t total() const { return bytesPerDevice; }
  uint64_t free(int device) const;
  /// One line per allocation that a device, or for -1 the host, has left; a module's variables are the module's.
  std::vector<std::string> left(int device) const;
  /// Says that an allocation is a variable of a module.
  void giveToModule(uint64_t address);
  /// Frees what a device has left.
  void releaseAll(int device);
  /// A word about an address for a message: "12 bytes after an allocation of 64 bytes", "freed", ...
  std::string describe(uint64_t address) const;

  static constexpr uint16_t fresh = 0xFFF5, freed = 0xFFFB; ///< halves of the pattern: NaN as f64, f32, bf16 and f16

private:
  static constexpr uint64_t addressBytes = uint64_t{1} << 40, page = 4096;

  bool releaseLocked(std::map<uint64_t, Range>::iterator found);

  mutable std::mutex mutex;
  std::map<uint64_t, Range> ranges, past; ///< by first address; what was freed
  uint64_t reserved = 0;                  ///< first address of the reservation, which is not readable
  uint8_t *backing = nullptr;             ///< its bytes
  uint64_t next = 0;                      ///< the offset of the next allocation
  uint64_t bytesPerDevice;
  std::vector<uint64_t> used;                         ///< by device
  std::deque<std::pair<uint64_t, uint64_t>> poisoned; ///< offsets and bytes of freed memory that still holds its pattern
  uint64_t poisonedBytes = 0;
  std::set<std::pair<int, int>> peers;                       ///< devices, and those that they reach
  mutable std::vector<std::shared_ptr<const Ranges>> cached; ///< by device + 1; null: built again at the next use
};

} // namespace npar::standin
