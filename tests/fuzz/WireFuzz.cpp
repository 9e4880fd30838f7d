// Messages of other processes and flight records, as their FlatBuffers come from a network or a file. The first byte chooses the format,
// the rest is read. What is accepted must be the same after it is written and read again.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/checkpoint/SessionNews.h"
#include "engine/control/FlightReader.h"
#include "engine/control/Message.h"
#include "engine/job/Agreement.h"
#include "engine/job/Introduction.h"
#include "engine/job/SameFiles.h"
#include "engine/training/StepNote.h"
#include "tests/fuzz/MemoryFile.h"

#include <cstring>
#include <xxhash.h>

namespace npar::fuzz {

using namespace engine;

namespace {

using Bytes = std::vector<uint8_t>;

void readMessage(const Bytes &bytes) {
  std::optional<Message> message = decode(bytes.data(), bytes.size());
  if (!message)
    return;
  Bytes again = encode(*message);
  check(again.size() <= greatestMessage);
  std::optional<Message> read = decode(again.data(), again.size());
  check(read && encode(*read) == again);
}

void readRecord(const Bytes &bytes) {
  MemoryFile file(bytes.data(), bytes.size());
  Result<FlightLog> log = readFlight(file.path());
  check(log.ok() || !log.status().message().empty());
}

/// A record with a right header, these tables and one ring, which repeats the bytes of the tables.
void readTables(const Bytes &tables) {
  const size_t rings = flightRingsOffset(tables.size());
  Bytes bytes(rings + flightRingBytes);
  FlightHeader header{{}, tables.size(), XXH3_64bits(tables.data(), tables.size())};
  std::memcpy(header.magic, flightMagic, sizeof(flightMagic));
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::copy(tables.begin(), tables.end(), bytes.begin() + sizeof(header));
  for (size_t i = 0; i < flightRingBytes && !tables.empty(); ++i)
    bytes[rings + i] = tables[i % tables.size()];
  readRecord(bytes);
}

void readNews(const Bytes &bytes) {
  if (std::optional<SessionNews> news = unpackNews(bytes))
    check(unpackNews(pack(*news)).has_value());
}

void readIntroduction(const Bytes &bytes) {
  Result<job::Introduction> introduction = job::unpackIntroduction(bytes);
  if (introduction.ok())
    check(job::unpackIntroduction(job::pack(*introduction))->arguments == introduction->arguments);
}

void readNote(const Bytes &bytes) {
  training::StepNote note = training::unpackNote(bytes);
  check(training::unpackNote(training::pack(note)).rows.size() == note.rows.size());
}

void readVerdict(const Bytes &bytes) {
  job::Verdict verdict = job::unpackVerdict(bytes);
  check(job::pack(job::unpackVerdict(job::pack(verdict))) == job::pack(verdict));
}

void readFiles(const Bytes &bytes) {
  Result<std::vector<job::ReadFile>> files = job::unpackFiles(bytes);
  if (files.ok())
    check(job::unpackFiles(job::pack(*files))->size() == files->size());
}

} // namespace

void fuzzWire(const uint8_t *bytes, size_t size) {
  constexpr void (*readers[])(const Bytes &) = {readMessage,      readRecord, readTables,  readNews,
                                                readIntroduction, readNote,   readVerdict, readFiles};
  if (size > 0)
    readers[bytes[0] % std::size(readers)](Bytes(bytes + 1, bytes + size));
}

} // namespace npar::fuzz
