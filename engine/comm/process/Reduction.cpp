// The sums that this process computes of an operation: contributions of all members come in by pieces and are added in member order.
#include "engine/comm/process/Reduction.h"

#include "engine/program/Elements.h"

namespace npar::engine {

/// Message number m has member m % k of the party's k, and of it piece m / k.
class Reduction::Contributions final : public Lane {
public:
  Contributions(Reduction &owner, size_t party, uint32_t tag)
      : Lane(owner.parts, owner.group.parties[party].process, tag, owner.pieces() * owner.group.parties[party].members.size(),
             piecesUnderWay * owner.group.parties[party].members.size()),
        owner(owner), members(owner.group.parties[party].members) {}
  void allowPieces(uint64_t pieces) { allow(pieces * members.size()); }

private:
  uint64_t pieceOf(const Slot &slot) const { return slot.message / members.size(); }
  uint64_t placeOf(const Slot &slot) const { return owner.places[members[slot.message % members.size()]] * owner.cut.pieceBytes; }
  uint64_t bytesOf(const Slot &slot) const { return owner.cut.end(pieceOf(slot)) - owner.cut.begin(pieceOf(slot)); }
  Status start(Slot &slot) override {
    parts.progress.transport().receive(peer, tag, owner.setOf(pieceOf(slot)).host + placeOf(slot), bytesOf(slot), slot);
    return {};
  }
  Status finish(Slot &slot) override {
    ScratchPiece &set = owner.setOf(pieceOf(slot));
    if (!parts.scratch.isShared(set.device))
      parts.backend.copyIn(set.device + placeOf(slot), set.host + placeOf(slot), bytesOf(slot));
    return {}; // the sum waits for the copy
  }

  Reduction &owner;
  const std::vector<uint32_t> &members;
};

Reduction::Reduction(const LaneParts &parts, const Group &group, const Buffers &buffers, const Cut &cut)
    : parts(parts), group(group), buffers(buffers), cut(cut), places(group.members.size(), 0), lanes(group.parties.size()) {
  for (size_t party = 0; party < group.parties.size(); ++party)
    for (uint32_t member : group.parties[party].members)
      if (party != group.own)
        places[member] = strangers++;
}

Reduction::~Reduction() {
  for (ScratchPiece &set : sets)
    parts.scratch.give(set);
}

Status Reduction::begin() {
  for (uint64_t i = 0; i < std::min(piecesUnderWay, pieces()); ++i) {
    Result<ScratchPiece> set = parts.scratch.take(strangers * cut.pieceBytes);
    if (!set.ok())
      return set.status();
    sets[i] = *set;
    missing[i] = strangers;
  }
  return {};
}

void Reduction::receiveFrom(size_t party, uint32_t tag, std::function<void()> received) {
  auto lane = std::make_unique<Contributions>(*this, party, tag);
  lane->done = [this, &lane = *lane, members = group.parties[party].members.size(), received = std::move(received)](uint64_t message) {
    if (lane.isDone())
      received();
    --missing[message / members % piecesUnderWay];
    arrived();
  };
  lane->failed = [this](const Status &status) { failed(status); };
  lanes[party] = std::move(lane);
  lanes[party]->allowPieces(done + piecesUnderWay);
}

void Reduction::arrived() {
  uint64_t before = done;
  for (; done < pieces() && missing[done % piecesUnderWay] == 0; ++done) {
    if (Status status = add(done); !status.ok())
      return failed(status);
    missing[done % piecesUnderWay] = strangers; // of the piece that takes its place
  }
  if (done == before)
    return;
  for (const std::unique_ptr<Contributions> &lane : lanes)
    if (lane)
      lane->allowPieces(done + piecesUnderWay);
  added(done);
}

Status Reduction::add(uint64_t piece) {
  const ScratchPiece &set = setOf(piece);
  const std::vector<uint32_t> &own = group.ownParty().members;
  std::vector<DeviceAddress> sources(group.members.size()), targets;
  cut.stream->each(cut.begin(piece), cut.end(piece), [&](const Block &block, uint64_t begin, uint64_t end, uint64_t offset) {
    block.from.each(begin, end, [&](uint64_t place, uint64_t at, uint64_t length) {
      for (uint32_t member = 0; member < sources.size(); ++member)
        sources[member] = set.device + (places[member] * cut.pieceBytes + offset + (at - begin));
      for (uint32_t member : own)
        sources[member] = buffers.input(block.part, member) + place;
      targets.clear();
      for (uint32_t target : block.targets)
        targets.push_back(buffers.output(block.part, target) + block.to.placeOf(at));
      const Operation &part = buffers.first(block.part);
      parts.backend.reduce(part.type, part.op, sources.data(), sources.size(), targets.data(), targets.size(),
                           length / program::sizeOf(part.type));
    });
  });
  return waitUntilDone(parts.backend);
}

} // namespace npar::engine
