// Reserves addresses without memory for each file, and moves bytes by pread and pwrite: directly in whole blocks, or through the page
// cache.
#include "engine/backends/cpu/FileMemory.h"

#include "engine/files/FileFailure.h"
#include "engine/files/RandomName.h"
#include "engine/readable/HumanUnits.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <vector>

namespace npar::engine {
namespace {

/// Blocks of direct reads and writes: what disks and file systems accept.
constexpr uint64_t blockBytes = 4096;
/// The most that moves at once.
constexpr uint64_t chunkBytes = uint64_t(1) << 20;

uint64_t wholeBlocks(uint64_t bytes) { return (bytes + blockBytes - 1) / blockBytes * blockBytes; }

/// Memory of the thread for one chunk of blocks and its unaligned ends; kept for the next one.
uint8_t *chunkOfThread() {
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };
  static thread_local std::unique_ptr<uint8_t, Free> chunk(
      static_cast<uint8_t *>(std::aligned_alloc(blockBytes, chunkBytes + 2 * blockBytes)));
  return chunk.get();
}

/// Repeats `move`, which is pread or pwrite, until all bytes are moved. `what`: for an error, "read what the plan stores in".
template <typename Move, typename Byte>
Status moveAll(Move move, int file, Byte *bytes, uint64_t count, uint64_t offset, const char *what, const std::string &folder) {
  for (uint64_t done = 0; done < count;) {
    const ssize_t moved = move(file, bytes + done, count - done, static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR)
      continue;
    if (moved <= 0)
      return files::fileFailure(what, folder, moved == 0 ? EIO : errno);
    done += static_cast<uint64_t>(moved);
  }
  return {};
}

Status readAll(int file, uint8_t *target, uint64_t bytes, uint64_t offset, const std::string &folder) {
  return moveAll(::pread, file, target, bytes, offset, "read what the plan stores in", folder);
}

Status writeAll(int file, const uint8_t *source, uint64_t bytes, uint64_t offset, const std::string &folder) {
  return moveAll(::pwrite, file, source, bytes, offset, "write what the plan stores in", folder);
}

/// A new file without a name.
int openNameless(const std::string &folder, int flags) {
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
    return file;
  std::string path = folder + "/" + files::randomName();
  file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (file >= 0)
    ::unlink(path.c_str());
  return file;
}

Status noRoom(int file, const std::string &folder, uint64_t bytes, int error) {
  struct statvfs system;
  auto text = [](uint64_t count) { return readable::humanBytes(static_cast<double>(count)) + " (" + std::to_string(count) + " bytes)"; };
  std::string free = ::fstatvfs(file, &system) == 0 ? ", where " + text(uint64_t(system.f_bavail) * system.f_frsize) + " are free" : "";
  return Status::badInput("cannot take " + text(bytes) + " in folder '" + folder + "' for what the plan stores in files" + free + ": " +
                          std::strerror(error) + "\nnpar: help: name a folder on a disk with more room, or store less there");
}

} // namespace

FileMemory::~FileMemory() {
  for (const auto &[first, area] : areas)
    ::munmap(reinterpret_cast<void *>(first), wholeBlocks(area->bytes));
}

FileMemory::Place FileMemory::find(DeviceAddress memory) const {
  auto address = reinterpret_cast<uintptr_t>(memory.devicePointer());
  auto after = areas.upper_bound(address);
  if (after == areas.begin())
    return {};
  const auto &[first, area] = *std::prev(after);
  return address < first + area->bytes ? Place{area.get(), address - first} : Place{};
}

Result<DeviceAddress> FileMemory::allocate(const std::string &folder, uint64_t bytes) {
  auto area = std::make_unique<Area>();
  area->bytes = bytes, area->folder = folder;
  int file = openNameless(folder, O_DIRECT);
  area->direct = file >= 0;
  if (file < 0 && errno == EINVAL) // no direct reads and writes here
    file = openNameless(folder, 0);
  if (file < 0)
    return Status::badInput("cannot make a file in folder '" + folder + "', in which the plan stores values: " + std::strerror(errno) +
                            (errno == ENOENT ? "\nnpar: help: make the folder, or name another one" : ""));
  area->file = files::Descriptor(file);
  if (int error = ::posix_fallocate(file, 0, static_cast<off_t>(wholeBlocks(bytes))))
    return noRoom(file, folder, bytes, error);
  void *addresses = ::mmap(nullptr, wholeBlocks(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED)
    return Status::runFailed("cannot reserve addresses for " + std::to_string(bytes) + " bytes in files");
  areas[reinterpret_cast<uintptr_t>(addresses)] = std::move(area);
  return DeviceAddress(addresses);
}

void FileMemory::release(DeviceAddress memory) {
  auto found = areas.find(reinterpret_cast<uintptr_t>(memory.devicePointer()));
  if (found == areas.end())
    return;
  ::munmap(memory.devicePointer(), wholeBlocks(found->second->bytes));
  areas.erase(found);
}

void FileMemory::fail(const Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (first.ok())
    first = status;
  failed = true;
}

Status FileMemory::intact() const {
  if (!failed)
    return {};
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

Status FileMemory::readDirect(const Area &area, uint8_t *target, uint64_t offset, uint64_t bytes) const {
  uint8_t *chunk = chunkOfThread();
  if (!chunk)
    return Status::runFailed("not enough memory");
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t begin = (offset + done) / blockBytes * blockBytes, skip = offset + done - begin;
    const uint64_t count = std::min(bytes - done, chunkBytes);
    TRY_STATUS(readAll(area.file.get(), chunk, wholeBlocks(skip + count), begin, area.folder));
    std::memcpy(target + done, chunk + skip, count);
    done += count;
  }
  return {};
}

/// Blocks that are written in part are read before.
Status FileMemory::writeDirect(Area &area, const uint8_t *source, uint64_t offset, uint64_t bytes) const {
  uint8_t *chunk = chunkOfThread();
  if (!chunk)
    return Status::runFailed("not enough memory");
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t begin = (offset + done) / blockBytes * blockBytes, skip = offset + done - begin;
    const uint64_t count = std::min(bytes - done, chunkBytes - skip), end = wholeBlocks(skip + count);
    const bool partly = skip > 0 || skip + count < end;
    std::unique_lock<std::mutex> lock(area.ends, std::defer_lock);
    if (partly) {
      lock.lock();
      TRY_STATUS(readAll(area.file.get(), chunk, blockBytes, begin, area.folder));
      if (end > blockBytes)
        TRY_STATUS(readAll(area.file.get(), chunk + end - blockBytes, blockBytes, begin + end - blockBytes, area.folder));
    }
    std::memcpy(chunk + skip, source + done, count);
    TRY_STATUS(writeAll(area.file.get(), chunk, end, begin, area.folder));
    done += count;
  }
  return {};
}

void FileMemory::read(void *target, DeviceAddress source, uint64_t bytes) {
  const auto [area, offset] = find(source);
  auto *to = static_cast<uint8_t *>(target);
  Status status = area->direct ? readDirect(*area, to, offset, bytes) : readAll(area->file.get(), to, bytes, offset, area->folder);
  if (!status.ok())
    fail(status);
}

void FileMemory::write(DeviceAddress target, const void *source, uint64_t bytes) {
  const auto [area, offset] = find(target);
  auto *from = static_cast<const uint8_t *>(source);
  Status status = area->direct ? writeDirect(*area, from, offset, bytes) : writeAll(area->file.get(), from, bytes, offset, area->folder);
  if (!status.ok())
    fail(status);
}

void FileMemory::zero(DeviceAddress target, uint64_t bytes) {
  const std::vector<uint8_t> zeros(std::min(bytes, chunkBytes));
  for (uint64_t done = 0; done < bytes; done += zeros.size())
    write(target + done, zeros.data(), std::min<uint64_t>(bytes - done, zeros.size()));
}

} // namespace npar::engine
