// Counts the rows that exist in an exchange, from the ends that its members here have.
#include "engine/comm/RowPieces.h"
#include "engine/comm/process/Exchange.h"

namespace npar::engine {

namespace {

/// The ends of a member's input and output.
struct MemberEnds {
  std::vector<int32_t> inputCopy, outputCopy;
  const int32_t *input = nullptr, *output = nullptr;
};

class Counter {
public:
  Counter(Backend &backend, const Group &group, const std::vector<Operation> &operations)
      : group(group), operations(operations), ends(operations.size()) {
    for (size_t i = 0; i < operations.size(); ++i) {
      ends[i].input = endsOf(backend, operations[i], RowPieces::Input, ends[i].inputCopy);
      ends[i].output = endsOf(backend, operations[i], RowPieces::Output, ends[i].outputCopy);
    }
  }

  /// Sets the rows of a block by the ends of its source or its target, which is here.
  Status count(const Block &block, RowPieces::Side side, uint64_t &digest) const {
    uint32_t own = side == RowPieces::Input ? block.source : block.targets.front(),
             other = side == RowPieces::Input ? block.targets.front() : block.source;
    const Operation &operation = operations[group.placeOf(own)];
    const MemberEnds &all = ends[group.placeOf(own)];
    RowPieces pieces(operation);
    uint64_t end = 0;
    size_t run = 0;
    for (uint64_t sample = 0; sample < pieces.samples(); ++sample)
      for (uint64_t piece = 0; piece < pieces.pieces(); ++piece, ++run) {
        int64_t rows = pieces.rows(side == RowPieces::Input ? all.input : all.output, side, other, sample, piece);
        if (rows < 0)
          return damagedEnds(operation);
        (*block.rows)[run] = end += static_cast<uint64_t>(rows) * pieces.rowBytes();
        digest = (digest ^ static_cast<uint64_t>(rows + 1)) * uint64_t{0x9E3779B97F4A7C15};
        digest ^= digest >> 29;
      }
    return {};
  }

  /// The same for a block within this process, both of whose members must see the same rows.
  Status countWithin(const Block &block) const {
    uint64_t given = 0, taken = 0;
    if (Status status = count(block, RowPieces::Input, given); !status.ok())
      return status;
    const uint64_t sent = block.rows->back();
    if (Status status = count(block, RowPieces::Output, taken); !status.ok() || given == taken)
      return status;
    const Operation &source = operations[group.placeOf(block.source)], &target = operations[group.placeOf(block.targets.front())];
    uint64_t row = RowPieces(source).rowBytes();
    return differentRows(source, static_cast<int64_t>(sent / row), target, static_cast<int64_t>(block.rows->back() / row));
  }

private:
  const Group &group;
  const std::vector<Operation> &operations;
  std::vector<MemberEnds> ends;
};

} // namespace

Status ExchangePlan::countRows(Backend &backend, const Group &group, const std::vector<Operation> &operations) {
  if (!countsRows || !backend.computes())
    return {};
  Counter counter(backend, group, operations);
  if (Status status = waitUntilDone(backend); !status.ok())
    return status;
  for (size_t party = 0; party < gives.size(); ++party) {
    givenRows[party] = takenRows[party] = 0;
    for (const Block &block : gives[party].parts())
      if (Status status = counter.count(block, RowPieces::Input, givenRows[party]); !status.ok())
        return status;
    for (const Block &block : takes[party].parts())
      if (Status status = counter.count(block, RowPieces::Output, takenRows[party]); !status.ok())
        return status;
    gives[party].update(), takes[party].update();
  }
  for (const Block &block : within)
    if (Status status = counter.countWithin(block); !status.ok())
      return status;
  return {};
}

} // namespace npar::engine
