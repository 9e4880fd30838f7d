// Logical variables against the pieces that the ranks keep: gathers and scatters, with padding and replicas.
#pragma once

#include "engine/device/Backend.h"
#include "engine/program/Program_generated.h"
#include "engine/runtime/ElementSource.h"
#include "engine/runtime/HostPieces.h"
#include "engine/runtime/LocalRanks.h"
#include "engine/runtime/PieceRuns.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace npar::engine {

/// Exchanges bytes between all sessions; returns them by session (Communicator::gather).
using GatherBytes = std::function<Result<std::vector<std::vector<uint8_t>>>(const std::vector<uint8_t> &own)>;

class Variables {
public:
  /// Reads and writes the pieces that these ranks keep. The arenas are memory of `backend`. `gather` reaches the ranks of other sessions;
  /// null if no other session exists. The arguments must outlive this object.
  Variables(const program::Program &program, const std::vector<LocalRank> &ranks, Backend &backend, GatherBytes gather);

  /// Index of a variable, or an error that names it.
  Result<uint32_t> find(const std::string &name) const;
  uint64_t elements(uint32_t variable) const { return entries[variable].elements; }

  /// The logical tensor, row-major without padding, converted to T: each element from the one rank that owns it. With ranks in other
  /// sessions all of them must read, in the same order, and each gets the tensor.
  template <typename T> Status read(uint32_t variable, std::vector<T> &values) const;
  /// The same, one block after the other: where all ranks are in this session the tensor is nowhere whole.
  template <typename T> Status visit(uint32_t variable, const std::function<void(const T *values, size_t count)> &take) const;
  /// The same as raw bytes of the variable's type (16-bit floats: as float32).
  Status visitBytes(uint32_t variable, const std::function<void(const uint8_t *bytes, size_t count)> &take) const;
  /// Copies the elements that a rank of this session keeps, in order, without padding and unconverted: the elements of its OwnedPiece if it
  /// owns them. Thread-safe.
  Status readPiece(uint32_t variable, int64_t rank, uint8_t *bytes) const;
  /// The same elements, in blocks of at most 1 MiB.
  Status visitPiece(uint32_t variable, int64_t rank, const std::function<void(const uint8_t *bytes, size_t count)> &take) const;
  /// Writes each of these variables, which have one shape (such as a parameter and its master), to every rank of this session that keeps a
  /// piece. Reads the ranges that these ranks keep, once each, and little more; the whole tensor is never in memory. Padding is unchanged.
  /// The work is spread over the workers of the calling task arena.
  Status write(const std::vector<uint32_t> &variables, const ElementSource &source);
  /// The addresses of the pieces of this session's ranks. BadInput if the processor cannot read the device's memory.
  Result<std::vector<HostPiece>> hostPieces(uint32_t variable) const;
  /// Zeroes every piece, padding included, asynchronously: wait for the backend.
  void zero(uint32_t variable);

private:
  /// A rank's piece of a variable.
  struct Placement {
    int64_t rank = 0;
    DeviceAddress memory;
    uint64_t bytes = 0;    ///< bytes of `memory`
    uint64_t elements = 0; ///< elements of the piece, padding included
    bool owned = false;    ///< this rank's elements are read: each element of the variable has one such rank
    bool flat = false;     ///< a share of ZeRO
    std::vector<KeptDimension> dimensions;
    PieceRuns runs; ///< runs of the piece without padding
  };
  struct Entry {
    std::string name;
    program::ElementType type = program::ElementType::F32;
    uint64_t elements = 0;
    std::vector<Placement> placements;
  };
  Result<const Placement *> placementAt(uint32_t variable, int64_t rank) const;
  static Placement placementOf(const program::Program &program, int64_t rank, const program::Piece &piece);
  /// Copies the piece into `bytes`, padding included.
  Status copyOut(const Placement &placement, std::vector<uint8_t> &bytes, program::ElementType type) const;
  /// Copies a piece's elements to their places in the logical tensor; returns their number.
  template <typename T>
  static uint64_t scatter(const Placement &placement, program::ElementType type, const uint8_t *piece, std::vector<T> &values);
  /// The owned pieces of all sessions, each with its rank, as `scatterAll` takes them.
  Result<std::vector<std::vector<uint8_t>>> gatherPieces(const Entry &entry) const;
  /// Reads the logical elements from `begin` to `end` as T; returns how many of them the ranks of this session own. `piece` is work memory.
  template <typename T>
  Result<uint64_t> readBlock(const Entry &entry, uint64_t begin, uint64_t end, std::vector<T> &values, std::vector<uint8_t> &piece) const;
  template <typename T> Result<uint64_t> scatterAll(uint32_t variable, std::vector<T> &values) const;
  /// Writes the logical elements from `begin` to `end`. `values` and `piece` are work memory.
  Status writeBlock(const std::vector<uint32_t> &variables, const ElementSource &source, uint64_t begin, uint64_t end,
                    std::vector<uint8_t> &values, std::vector<uint8_t> &piece);
  /// Writes the part of the elements `begin` to `end` that a piece keeps. `values` holds the elements in type `from`; `piece` is work
  /// memory.
  Status writePart(const Placement &placement, program::ElementType type, program::ElementType from, const uint8_t *values, uint64_t begin,
                   uint64_t end, std::vector<uint8_t> &piece);

  const program::Program &program;
  Backend &backend;
  GatherBytes gather;
  std::vector<Entry> entries;
  std::map<std::string, uint32_t> names;
};

} // namespace npar::engine
