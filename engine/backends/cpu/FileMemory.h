// Memory in files: ranges of addresses that stand for the bytes of files, for state that neither the device nor the host has room for.
#pragma once

#include "engine/device/DeviceAddress.h"
#include "engine/files/Descriptor.h"
#include "engine/status/Status.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace npar::engine {

/// Each allocation is a file without a name, which disappears with the process. Its addresses can be added to and compared, and only this
/// class may use them: the processor cannot read there. Reads and writes bypass the page cache where the file system allows it. They may
/// come from several threads, except that two writes must not overlap. `allocate` and `release` must run alone.
class FileMemory {
public:
  FileMemory() = default;
  FileMemory(const FileMemory &) = delete;
  ~FileMemory();

  /// `bytes` zeroed bytes in a file in `folder`, whose disk space is taken at once. An error with both numbers if there is too little.
  Result<DeviceAddress> allocate(const std::string &folder, uint64_t bytes);
  void release(DeviceAddress memory);
  bool holds(DeviceAddress memory) const { return !areas.empty() && find(memory).area; }
  void read(void *target, DeviceAddress source, uint64_t bytes);
  void write(DeviceAddress target, const void *source, uint64_t bytes);
  void zero(DeviceAddress target, uint64_t bytes);
  /// The first error of a read or write.
  Status intact() const;

private:
  struct Area {
    uint64_t bytes = 0;
    files::Descriptor file;
    bool direct = false;  ///< whole blocks only, from and to aligned memory
    std::string folder;
    std::mutex ends = {}; ///< of writes that begin or end inside of a block
  };
  struct Place {
    Area *area = nullptr; ///< null: no file
    uint64_t offset = 0;
  };
  Place find(DeviceAddress memory) const;
  void fail(const Status &status);
  Status readDirect(const Area &area, uint8_t *target, uint64_t offset, uint64_t bytes) const;
  Status writeDirect(Area &area, const uint8_t *source, uint64_t offset, uint64_t bytes) const;

  std::map<uintptr_t, std::unique_ptr<Area>> areas; ///< by first address
  std::atomic<bool> failed{false};
  mutable std::mutex mutex; ///< of `first`
  Status first;
};

} // namespace npar::engine
