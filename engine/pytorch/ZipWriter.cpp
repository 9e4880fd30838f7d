// The structures of the ZIP format, after PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3.
#include "engine/pytorch/ZipWriter.h"

#include <zlib.h>

namespace npar::engine {

namespace {

constexpr uint16_t version = 45;          ///< of the format, which ZIP64 needs
constexpr uint16_t checksumFollows = 0x8; ///< flag: the checksum is after the bytes
constexpr uint16_t noTime = 0, firstDate = 0x21;
constexpr uint32_t elsewhere32 = UINT32_MAX; ///< a field whose value is in the ZIP64 part
constexpr uint16_t elsewhere16 = UINT16_MAX, zip64Part = 1, paddingPart = 0x4246;

template <typename T> void field(std::string &bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}

/// The fields that a local header and an entry of the directory share: flags, method, time, date, checksum, sizes, length of the name.
void addShared(std::string &bytes, const std::string &name, uint32_t checksum) {
  field(bytes, version);
  field(bytes, checksumFollows);
  field(bytes, uint16_t{0}); // stored
  field(bytes, noTime), field(bytes, firstDate);
  field(bytes, checksum);
  field(bytes, elsewhere32), field(bytes, elsewhere32);
  field(bytes, static_cast<uint16_t>(name.size()));
}

} // namespace

Result<ZipWriter> ZipWriter::create(const std::string &path) {
  Result<files::OutputFile> file = files::OutputFile::create(path);
  return file.ok() ? Result<ZipWriter>(ZipWriter(std::move(*file))) : file.status();
}

Status ZipWriter::put(const std::string &bytes) {
  Status status = file.write(at, bytes.data(), bytes.size());
  at += bytes.size();
  return status;
}

Status ZipWriter::begin(const std::string &name, uint64_t size) {
  if (Status status = end(); !status.ok())
    return status;
  entries.push_back({name, size, at, 0});
  constexpr uint64_t fixed = 30, zip64Bytes = 20, paddingHead = 4;
  const uint64_t unpadded = at + fixed + name.size() + zip64Bytes + paddingHead;
  const uint64_t padding = (alignment - unpadded % alignment) % alignment;
  std::string header;
  field(header, uint32_t{0x04034b50});
  addShared(header, name, 0);
  field(header, static_cast<uint16_t>(zip64Bytes + paddingHead + padding));
  header += name;
  field(header, zip64Part), field(header, uint16_t{16});
  field(header, size), field(header, size);
  field(header, paddingPart), field(header, static_cast<uint16_t>(padding));
  header.append(padding, '\0');
  open = true, done = 0;
  return put(header);
}

Status ZipWriter::append(const void *bytes, size_t size) {
  if (size > missing())
    return Status(Code::Internal, "cannot write " + std::to_string(size) + " bytes to '" + entries.back().name + "' in '" + name() +
                                      "', which lacks " + std::to_string(missing()));
  Entry &entry = entries.back();
  entry.checksum = static_cast<uint32_t>(crc32_z(entry.checksum, static_cast<const Bytef *>(bytes), size));
  Status status = file.write(at, bytes, size);
  at += size, done += size;
  return status;
}

Status ZipWriter::end() {
  if (!open)
    return {};
  if (missing() > 0)
    return Status(Code::Internal, "cannot write '" + name() + "': '" + entries.back().name + "' got " + std::to_string(done) + " of its " +
                                      std::to_string(entries.back().size) + " bytes");
  open = false;
  std::string descriptor;
  field(descriptor, uint32_t{0x08074b50});
  field(descriptor, entries.back().checksum);
  field(descriptor, entries.back().size), field(descriptor, entries.back().size);
  return put(descriptor);
}

Status ZipWriter::add(const std::string &name, const std::string &content) {
  Status status = begin(name, content.size());
  if (status.ok())
    status = append(content.data(), content.size());
  return status.ok() ? end() : status;
}

Status ZipWriter::commit() {
  if (Status status = end(); !status.ok())
    return status;
  const uint64_t directory = at;
  for (const Entry &entry : entries) {
    std::string header;
    field(header, uint32_t{0x02014b50});
    field(header, version);
    addShared(header, entry.name, entry.checksum);
    field(header, uint16_t{28}); // ZIP64 part
    field(header, uint16_t{0});  // comment
    field(header, uint16_t{0});  // disk
    field(header, uint16_t{0});  // internal attributes
    field(header, uint32_t{0});  // external attributes
    field(header, elsewhere32);  // place
    header += entry.name;
    field(header, zip64Part), field(header, uint16_t{24});
    field(header, entry.size), field(header, entry.size), field(header, entry.place);
    if (Status status = put(header); !status.ok())
      return status;
  }
  const uint64_t end64 = at, count = entries.size();
  std::string tail;
  field(tail, uint32_t{0x06064b50});
  field(tail, uint64_t{44}); // bytes of this record that follow
  field(tail, version), field(tail, version);
  field(tail, uint32_t{0}), field(tail, uint32_t{0}); // disks
  field(tail, count), field(tail, count);
  field(tail, end64 - directory), field(tail, directory);
  field(tail, uint32_t{0x07064b50}); // locator
  field(tail, uint32_t{0});
  field(tail, end64);
  field(tail, uint32_t{1}); // disks in total
  field(tail, uint32_t{0x06054b50});
  field(tail, uint16_t{0}), field(tail, uint16_t{0}); // disks
  field(tail, elsewhere16), field(tail, elsewhere16);
  field(tail, elsewhere32), field(tail, elsewhere32);
  field(tail, uint16_t{0}); // comment
  if (Status status = put(tail); !status.ok())
    return status;
  return file.commit();
}

} // namespace npar::engine
