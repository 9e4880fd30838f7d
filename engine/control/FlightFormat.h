// The format of the flight record's file, which preserves the last events of a killed process.
//
//   FlightHeader   written once, after everything else that is written once
//   tables         FlightTables.fbs: the process, its ranks, and of all sessions their names, groups and nodes
//   FlightLive     signs of life, and why the job ended
//   for each rank  FlightRing, then its entries, of all sessions
//
// The file is a shared mapping: the kernel keeps what was written when the process is killed, for whatever reason. A power loss loses it.
// FlightLive and the rings are structs of atomic numbers, not FlatBuffers: workers write them in place, without a lock, while the process
// may end between any two instructions.
#pragma once

#include "engine/control/FlightTables_generated.h"

#include <atomic>
#include <cstdint>

namespace npar::engine {

using wire::FlightNode, wire::FlightNodeKind;

/// The last character is the version of the format, FlightTables.fbs included.
constexpr char flightMagic[8] = {'N', 'P', 'A', 'R', 'F', 'L', 'T', '3'};
constexpr uint32_t flightRingEntries = 4096;
constexpr const char *flightSuffix = ".flight";

struct FlightHeader {
  char magic[8];
  uint64_t tablesBytes; ///< bytes of the tables, which follow this header
  uint64_t hash;        ///< XXH3-64 of the tables
};

struct FlightLive {
  static constexpr uint32_t verdictRoom = 16 << 10;
  std::atomic<int64_t> aliveAt;      ///< nanoseconds of the steady clock, at every beat of the control channel
  std::atomic<uint32_t> ended;       ///< 1: ended normally
  std::atomic<uint32_t> verdictSize; ///< set after the text
  char verdict[verdictRoom];         ///< FailureReport as JSON
};

struct alignas(64) FlightRing {
  int64_t rank;
  std::atomic<uint64_t> next; ///< number of events so far
};

enum class FlightEvent : uint16_t { Began, Ended, StepBegan, StepEnded, Failed };

template <typename Number> struct FlightEntryOf {
  Number number;        ///< from 1; 0 while the rest is written
  int64_t clock;        ///< nanoseconds of the steady clock
  int64_t round;        ///< number of the step among the steps of all sessions
  int64_t trainingStep; ///< its number in its session
  uint32_t node;        ///< number among the rank's nodes in all sessions; noFlightNode: the event has no node
  uint16_t session;
  uint16_t event; ///< FlightEvent
};
using FlightEntry = FlightEntryOf<std::atomic<uint64_t>>;
using PlainFlightEntry = FlightEntryOf<uint64_t>; ///< for readers, which copy it
static_assert(sizeof(FlightEntry) == sizeof(PlainFlightEntry));

constexpr uint32_t noFlightNode = ~uint32_t{0};
constexpr size_t flightRingBytes = sizeof(FlightRing) + flightRingEntries * sizeof(FlightEntry);
constexpr size_t longestFlightName = 400, longestFlightHost = 63; ///< bytes of texts in the tables
constexpr uint64_t greatestFlightTables = uint64_t{256} << 20;    ///< bytes

/// Offsets from the start of the file; multiples of 64.
constexpr uint64_t flightLiveOffset(uint64_t tablesBytes) { return (sizeof(FlightHeader) + tablesBytes + 63) / 64 * 64; }
constexpr uint64_t flightRingsOffset(uint64_t tablesBytes) { return (flightLiveOffset(tablesBytes) + sizeof(FlightLive) + 63) / 64 * 64; }

} // namespace npar::engine
