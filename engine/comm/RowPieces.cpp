// Counts the rows of pieces from the ends of their entries.
#include "engine/comm/RowPieces.h"

#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::engine {

RowPieces::RowPieces(const Operation &operation)
    : operation(operation), first(operation.concatFirst ? operation.concat : operation.split),
      second(operation.concatFirst ? operation.split : operation.concat) {}

uint64_t RowPieces::rowBytes() const { return operation.inner * program::sizeOf(operation.type); }

uint64_t RowPieces::ends(Side side) const {
  return isWhole(side) ? samples() * operation.groups : operation.memberCount * samples() * pieces() * operation.entries;
}

int64_t RowPieces::rows(const int32_t *ends, Side side, uint32_t other, uint64_t sample, uint64_t piece) const {
  // The number of the piece among those of all members, and the entries that it has: the last pieces may have fewer or none.
  uint64_t number = (isWhole(side) ? other : operation.member) * pieces() + piece, before = number * operation.entries;
  uint64_t count = before < operation.groups ? std::min(operation.entries, operation.groups - before) : 0;
  uint64_t begin = sample * operation.groups + before;
  if (!isWhole(side)) {
    uint64_t inner = first * operation.middle, row = (sample / inner * operation.memberCount + other) * inner + sample % inner;
    begin = (row * pieces() + piece) * operation.entries;
  }
  int64_t rows = 0;
  for (uint64_t i = begin; i < begin + count; ++i) {
    if (ends[i] < 0 || static_cast<uint64_t>(ends[i]) > operation.places)
      return -1;
    rows = std::max<int64_t>(rows, ends[i]);
  }
  return rows;
}

const int32_t *endsOf(Backend &backend, const Operation &operation, RowPieces::Side side, std::vector<int32_t> &copy) {
  DeviceAddress memory = side == RowPieces::Input ? operation.inputEnds : operation.outputEnds;
  if (const void *seen = backend.hostView(memory))
    return static_cast<const int32_t *>(seen);
  copy.resize(RowPieces(operation).ends(side));
  backend.copyOut(copy.data(), memory, copy.size() * sizeof(int32_t));
  return copy.data();
}

static std::string described(const Operation &operation) {
  return std::string(nameOf(operation)) + " of event " + std::to_string(operation.event) + ", micro-batch " +
         std::to_string(operation.micro);
}

Status damagedEnds(const Operation &operation) {
  return Status::runFailed(described(operation) + ": rank " + std::to_string(operation.rank()) +
                           " has an expert whose rows end outside of their piece of " + std::to_string(operation.places) + " places");
}

Status differentRows(const Operation &source, int64_t sent, const Operation &target, int64_t expected) {
  return Status::runFailed(described(source) + ": rank " + std::to_string(source.rank()) + " has " + std::to_string(sent) +
                           " rows for rank " + std::to_string(target.rank()) + ", which expects " + std::to_string(expected));
}

} // namespace npar::engine
