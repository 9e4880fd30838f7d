#include "engine/data/IdxFile.h"

#include "engine/data/NumberText.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <zlib.h>

namespace npar::engine {
namespace {

constexpr size_t longestHeader = 4 + 4 * 4;
constexpr uint64_t mostExpansion = 1032; ///< bytes that deflate makes of one

Status idxFailure(const std::string &path, const std::string &why) {
  return Status::badInput("cannot read IDX file '" + path + "': " + why);
}

/// Unpacks a gzip file piece by piece. One file may have several members.
class Unpacker {
public:
  Unpacker(const files::RangeFile &file, const std::string &path) : file(file), path(path) {
    good = inflateInit2(&stream, 15 + 16) == Z_OK; // with the header of gzip
  }
  ~Unpacker() { inflateEnd(&stream); }
  Unpacker(const Unpacker &) = delete;

  /// Fills `to` as far as the file goes; returns the number of bytes.
  Result<size_t> next(uint8_t *to, size_t size) {
    size_t had = 0;
    while (had < size && !ended) {
      if (stream.avail_in == 0 && place < file.size()) {
        size_t piece = std::min<uint64_t>(packed.size(), file.size() - place);
        if (Status status = file.read(place, piece, packed.data()); !status.ok())
          return status;
        place += piece, stream.next_in = packed.data(), stream.avail_in = static_cast<uInt>(piece);
      }
      auto room = static_cast<uInt>(std::min<size_t>(size - had, 1 << 30));
      stream.next_out = to + had, stream.avail_out = room;
      int result = good ? inflate(&stream, Z_NO_FLUSH) : Z_MEM_ERROR;
      had += room - stream.avail_out;
      bool isOver = stream.avail_in == 0 && place == file.size();
      if (result == Z_MEM_ERROR)
        return Status::runFailed("not enough memory");
      if (result == Z_STREAM_END)
        ended = isOver || inflateReset(&stream) != Z_OK;
      else if (result == Z_BUF_ERROR && isOver)
        return idxFailure(path, "its gzip data end too early");
      else if (result != Z_OK && result != Z_BUF_ERROR)
        return idxFailure(path, std::string("its gzip data are damaged: ") + (stream.msg ? stream.msg : "unknown method"));
    }
    return had;
  }

private:
  const files::RangeFile &file;
  const std::string &path;
  z_stream stream = {};
  std::vector<uint8_t> packed = std::vector<uint8_t>(1 << 16);
  uint64_t place = 0;
  bool good = false, ended = false;
};

std::string timesText(const std::vector<int64_t> &dimensions) {
  std::string text;
  for (int64_t size : dimensions)
    text += (text.empty() ? "" : " x ") + number(size);
  return text;
}

} // namespace

Status IdxFile::readHeader(const std::string &path, const std::vector<uint8_t> &bytes, uint64_t most) {
  if (bytes.size() < 4)
    return idxFailure(path, "it has " + number(static_cast<int64_t>(bytes.size())) + " bytes, fewer than the 4 at its beginning");
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] == 0) {
    char begin[16];
    std::snprintf(begin, sizeof(begin), "%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    return idxFailure(path, std::string("it begins with the bytes ") + begin + "; an IDX file of bytes begins with 00 00 08");
  }
  if (bytes[2] != 8)
    return idxFailure(path, "its elements have the type " + number(bytes[2]) + "; npar reads type 8, unsigned bytes");
  size_t rank = bytes[3];
  if (rank < 1 || rank > 4)
    return idxFailure(path, "it has " + number(bytes[3]) + " dimensions; npar reads 1 to 4, samples first");
  if (bytes.size() < 4 + 4 * rank)
    return idxFailure(path, "it ends within its " + number(bytes[3]) + " dimensions");
  uint64_t elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    const uint8_t *at = bytes.data() + 4 + 4 * i;
    uint64_t size = uint64_t{at[0]} << 24 | uint64_t{at[1]} << 16 | uint64_t{at[2]} << 8 | at[3];
    dimensions.push_back(static_cast<int64_t>(size));
    uint64_t counted = i == 0 ? std::max<uint64_t>(1, size) : size; // without samples, too, one must be possible
    elements = counted != 0 && elements > most / counted ? most + 1 : elements * counted;
    if (i > 0)
      each *= size;
  }
  for (size_t i = 1; i < rank; ++i)
    if (dimensions[i] == 0)
      return idxFailure(path, "its samples are empty: it has " + timesText(dimensions) + " elements");
  return elements > most ? idxFailure(path, "it ends too early: its dimensions say " + timesText(dimensions) +
                                                " elements, but it can have " + number(static_cast<int64_t>(most)) + " at most")
                         : Status();
}

Result<std::shared_ptr<IdxFile>> IdxFile::open(const std::string &path) {
  Result<files::RangeFile> file = files::RangeFile::open(path, "IDX file");
  if (!file.ok())
    return file.status();
  std::shared_ptr<IdxFile> result(new IdxFile);
  std::vector<uint8_t> begin(std::min<uint64_t>(longestHeader, file->size()));
  if (Status status = file->read(0, begin.size(), begin.data()); !status.ok())
    return status;
  if (begin.size() < 2 || begin[0] != 0x1F || begin[1] != 0x8B) {
    if (Status status = result->readHeader(path, begin, file->size()); !status.ok())
      return status;
    uint64_t size = 4 + 4 * result->dimensions.size() + static_cast<uint64_t>(result->samples()) * result->each;
    if (file->size() != size)
      return idxFailure(path, "it has " + std::to_string(file->size()) + " bytes, but " + timesText(result->dimensions) +
                                  " elements and their header take " + std::to_string(size));
    result->file = std::make_unique<files::RangeFile>(std::move(*file));
    return result;
  }
  Unpacker unpacker(*file, path);
  begin.clear();
  auto more = [&](size_t size) -> Status {
    size_t before = begin.size();
    begin.resize(before + size);
    Result<size_t> got = unpacker.next(begin.data() + before, size);
    if (!got.ok())
      return got.status();
    begin.resize(before + *got);
    return {};
  };
  if (Status status = more(4); !status.ok())
    return status;
  if (Status status = more(begin.size() == 4 ? 4 * std::min<size_t>(begin[3], 4) : 0); !status.ok())
    return status;
  if (Status status = result->readHeader(path, begin, file->size() * mostExpansion); !status.ok())
    return status;
  result->unpacked.resize(static_cast<size_t>(result->samples()) * result->each);
  uint8_t further = 0;
  Result<size_t> got = unpacker.next(result->unpacked.data(), result->unpacked.size());
  if (!got.ok())
    return got.status();
  Result<size_t> rest = *got == result->unpacked.size() ? unpacker.next(&further, 1) : Result<size_t>(size_t{0});
  if (!rest.ok())
    return rest.status();
  if (*got != result->unpacked.size() || *rest != 0)
    return idxFailure(path, "it has " + (*rest ? "more than " + std::to_string(*got) : std::to_string(*got)) +
                                " elements, but its dimensions say " + timesText(result->dimensions));
  return result;
}

Status IdxFile::read(int64_t sample, uint8_t *bytes) const {
  uint64_t offset = static_cast<uint64_t>(sample) * each;
  if (file)
    return file->read(4 + 4 * dimensions.size() + offset, each, bytes);
  std::memcpy(bytes, unpacked.data() + offset, each);
  return {};
}

} // namespace npar::engine
