// The format of the flight record's file, which preserves the last events of a killed process.
//
//   FlightHeader   written once, after everything else that is written once; its hash covers itself and the tables
//   tables         the ranks, and for each session its names, groups and the nodes of its ranks (FlightRecord.cpp writes them,
//                  FlightReader.cpp reads them)
//   FlightLive     signs of life, and why the job ended
//   for each rank  FlightRing, then its entries, of all sessions
//
// The file is a shared mapping: the kernel keeps what was written when the process is killed, for whatever reason. A power loss loses it.
#pragma once

#include <atomic>
#include <cstdint>

namespace npar::engine {

constexpr char flightMagic[8] = {'N', 'P', 'A', 'R', 'F', 'L', 'T', '2'};
constexpr uint32_t flightRingEntries = 4096;
constexpr const char *flightSuffix = ".flight";

struct FlightHeader {
  char magic[8];
  uint32_t process, processes;
  int64_t pid;
  char host[64];
  int64_t steadyOrigin, realOrigin; ///< nanoseconds: one moment by the steady clock and by the calendar clock
  uint64_t tablesBytes;             ///< bytes of the tables, which follow this header
  uint64_t liveOffset, ringsOffset; ///< offsets from the start of the file
  uint32_t ranks, ringEntries;
  uint64_t hash; ///< XXH3-64 of all fields before it and of the tables
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

struct FlightEntry {
  std::atomic<uint64_t> number; ///< from 1; 0 while the rest is written
  int64_t clock;                ///< nanoseconds of the steady clock
  int64_t round;                ///< number of the step among the steps of all sessions
  int64_t trainingStep;         ///< its number in its session
  uint32_t node;                ///< number among the rank's nodes in all sessions; noFlightNode: the event has no node
  uint16_t session;
  uint16_t event; ///< FlightEvent
};

constexpr uint32_t noFlightNode = ~uint32_t{0};
constexpr size_t flightRingBytes = sizeof(FlightRing) + flightRingEntries * sizeof(FlightEntry);
constexpr size_t longestFlightName = 400; ///< bytes of a node's name in the tables

/// Kind of a node in the tables.
enum class FlightNodeKind : uint8_t { Compute, Collective, Send, Receive };

} // namespace npar::engine
