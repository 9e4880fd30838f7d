// Opens and seals compiled programs: no byte of a file is used before header, length, hash, structure and meaning are checked.
#include "engine/program/Loader.h"
#include "engine/files/StreamHash.h"

#include "engine/program/ProgramHash.h"
#include "engine/tables/TableCheck.h"

#include <cstring>
#include <xxhash.h>

namespace npar::program {
namespace {

constexpr char magic[8] = {'N', 'P', 'A', 'R', 'N', 'P', 'X', '1'};
constexpr uint32_t formatVersion = 9;

/// The first bytes of a file, little-endian as on every machine that npar runs on.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t headerSize;
  uint64_t payloadLength;
  uint8_t hash[16];
  uint64_t padding;
};
static_assert(sizeof(Header) == LoadedProgram::headerBytes);

/// XXH3-128 over header (hash field zeroed) and payload, in canonical byte order.
XXH128_canonical_t hashOf(Header header, const uint8_t *payload, size_t size) {
  std::memset(header.hash, 0, sizeof(header.hash));
  files::StreamHash hash;
  hash.add(&header, sizeof(header));
  hash.add(payload, size);
  files::StreamHash::Digest digest = hash.digest();
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, {digest.low, digest.high});
  return canonical;
}

Status checkHeader(const std::vector<uint8_t> &bytes, const std::string &name) {
  std::string where = "'" + name + "': ";
  if (bytes.size() < sizeof(Header) || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0) {
    if (bytes.size() < sizeof(magic) || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0)
      return Status::badInput(where + "not a compiled program: it does not start with \"NPARNPX1\"");
    return Status::badInput(where + "truncated: " + std::to_string(bytes.size()) + " bytes, shorter than the header of " +
                            std::to_string(sizeof(Header)));
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != formatVersion)
    return Status::badInput(where + "format version " + std::to_string(header.version) + ", this npar reads version " +
                            std::to_string(formatVersion) + "; compile the model again with this npar");
  if (header.headerSize != sizeof(Header))
    return Status::badInput(where + "damaged: header size " + std::to_string(header.headerSize) + " instead of " +
                            std::to_string(sizeof(Header)));
  uint64_t payload = bytes.size() - sizeof(Header);
  if (header.payloadLength != payload)
    return Status::badInput(where + (payload < header.payloadLength ? "truncated: " : "longer than written: ") + std::to_string(payload) +
                            " bytes of payload, the header says " + std::to_string(header.payloadLength));
  XXH128_canonical_t hash = hashOf(header, bytes.data() + sizeof(Header), payload);
  if (std::memcmp(hash.digest, header.hash, sizeof(header.hash)) != 0)
    return Status::badInput(where + "damaged: its hash differs from the one in its header");
  return {};
}

} // namespace

/// The program, or why it is refused; `name` says whose it is.
static Result<std::shared_ptr<const LoadedProgram>> unlessRefused(Result<std::shared_ptr<const LoadedProgram>> program,
                                                                  const std::string &name) {
  if (!program.ok())
    return program;
  if (Status status = (*program)->status(); !status.ok())
    return Status(status.code(), "'" + name + "': " + status.message());
  return program;
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::fromTables(const ProgramT &tables) {
  return unlessRefused(std::shared_ptr<const LoadedProgram>(new LoadedProgram(packProgram(tables))), tables.model);
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::fromBytes(std::vector<uint8_t> bytes, const std::string &name) {
  return unlessRefused(examineBytes(std::move(bytes), name), name);
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::fromFile(const std::string &path) {
  return unlessRefused(examineFile(path), path);
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::examineBytes(std::vector<uint8_t> bytes, const std::string &name) {
  if (Status status = checkHeader(bytes, name); !status.ok())
    return status;
  // A hostile offset can multiply the number of tables, not of bytes, so accept no more tables than fit into the file without overlap.
  flatbuffers::uoffset_t most = static_cast<flatbuffers::uoffset_t>(std::max<size_t>(1024, bytes.size() / 4));
  flatbuffers::Verifier verifier(bytes.data() + headerBytes, bytes.size() - headerBytes, /*max_depth=*/16, most);
  auto isAligned = [&] {
    return tables::elementsAreAligned(*flatbuffers::GetRoot<flatbuffers::Table>(bytes.data() + headerBytes), *ProgramTypeTable());
  };
  if (!VerifyProgramBuffer(verifier) || !isAligned())
    return Status::badInput("'" + name + "': damaged: not a well-formed program");
  return std::shared_ptr<const LoadedProgram>(new LoadedProgram(std::move(bytes)));
}

Result<std::shared_ptr<const LoadedProgram>> LoadedProgram::examineFile(const std::string &path) {
  Result<std::vector<uint8_t>> bytes = files::readFile(path);
  if (!bytes.ok())
    return bytes.status();
  return examineBytes(std::move(*bytes), path);
}

uint64_t hashOf(const LoadedProgram &program) {
  Header header;
  std::memcpy(&header, program.data().data(), sizeof(header));
  uint64_t half;
  std::memcpy(&half, header.hash, sizeof(half));
  return half;
}

std::vector<uint8_t> sealProgram(const uint8_t *payload, size_t size) {
  Header header = {};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = formatVersion;
  header.headerSize = sizeof(Header);
  header.payloadLength = size;
  XXH128_canonical_t hash = hashOf(header, payload, size);
  std::memcpy(header.hash, hash.digest, sizeof(header.hash));
  std::vector<uint8_t> bytes(sizeof(Header) + size);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), payload, size);
  return bytes;
}

std::vector<uint8_t> packProgram(const ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  FinishProgramBuffer(builder, Program::Pack(builder, &program));
  return sealProgram(builder.GetBufferPointer(), builder.GetSize());
}

} // namespace npar::program
