// Executes one instance of an operation whose members are in several processes: this process's messages and sums until its members are
// done.
#include "engine/comm/process/Exchange.h"

#include <algorithm>

namespace npar::engine {

namespace {

/// Limit on bytes in flight for one piece of an operation, over all its members or processes. A piece is a part of it, within limits.
constexpr uint64_t underWayBytes = uint64_t{2} << 20, greatestPiece = uint64_t{512} << 10, smallestPiece = uint64_t{4} << 10;
/// Bytes copied between members of this process before messages may progress again.
constexpr uint64_t copiedAtOnce = uint64_t{4} << 20;

uint64_t pieceFor(uint64_t parts) { return std::clamp(underWayBytes / parts / 64 * 64, smallestPiece, greatestPiece); }

} // namespace

ExchangePlan::ExchangePlan(const Operation &operation, const Group &group) : countsRows(operation.places > 0), adds(addsUp(operation)) {
  spreads = adds && operation.kind == program::CollectiveKind::AllReduce;
  size_t parties = group.parties.size(), own = group.own;
  // The same on both sides of a message, whatever is in use anywhere.
  pieceBytes = pieceFor(adds ? group.members.size() : parties);
  gives.resize(parties), takes.resize(parties), sums.resize(parties), givenRows.resize(parties), takenRows.resize(parties);
  uint64_t others = group.members.size() - group.ownParty().members.size();
  sentBytes = scratchBytes = 0;
  auto few = [&](const Stream &stream, uint64_t pieces) { return std::min(stream.bytes(), pieces * pieceBytes); };
  for (size_t party = 0; party < parties; ++party) {
    if (adds)
      sums[party] = Stream(sumsOf(operation, group, party));
    if (party == own)
      continue;
    if (!adds)
      gives[party] = Stream(movedBlocks(operation, group, own, party, /*counted=*/true)),
      takes[party] = Stream(movedBlocks(operation, group, party, own, /*counted=*/true));
    sentBytes += gives[party].bytes() + sums[party].bytes() * group.ownParty().members.size();
    scratchBytes += few(gives[party], 4) + few(takes[party], 4) + few(sums[party], 4) * (spreads ? 2 : 1);
  }
  if (adds)
    scratchBytes += others * few(sums[own], 2);
  if (spreads)
    sentBytes += sums[own].bytes() * (parties - 1);
  within = movedBlocks(operation, group, own, own, /*counted=*/true);
  zeroed = paddingOf(operation, group, own);
}

Exchange::Exchange(const LaneParts &parts, const Group &group, const ExchangePlan &plan, std::vector<Operation> given)
    : parts(parts), group(group), plan(plan), operations(std::move(given)), buffers(group, operations), peers(group.parties.size()) {
  parts.progress.expect(1);
}

Exchange::~Exchange() {
  *alive = false;
  parts.progress.expect(-1);
}

void Exchange::watch(Peer &peer, Lane &lane, std::function<void(uint64_t)> done) {
  lane.failed = [this](const Status &status) { end(status); };
  lane.done = [this, &peer, &lane, done = std::move(done)](uint64_t message) {
    if (done)
      done(message);
    if (!lane.isDone())
      return;
    --peer.missing;
    finishOne();
  };
  if (lane.messages() > 0)
    ++unfinished, ++peer.missing;
}

void Exchange::begin(uint32_t tag, std::function<void(const Status &)> whenEnded) {
  ended = std::move(whenEnded);
  unfinished = 1 + (group.parties.size() - 1); // this call, and that each of the others agrees
  if (parts.backend.computes()) {
    const std::vector<uint32_t> &own = group.ownParty().members;
    if (plan.adds) {
      reduction = std::make_unique<Reduction>(parts, group, buffers, cutOf(plan.sums[group.own]));
      reduction->failed = [this](const Status &status) { end(status); };
      reduction->added = [this](uint64_t pieces) {
        for (Peer &peer : peers)
          if (peer.sums)
            peer.sums->allow(pieces);
        if (pieces == reduction->pieces())
          finishOne();
      };
      if (Status status = reduction->begin(); !status.ok())
        return end(status);
      unfinished += reduction->pieces() > 0;
    }
    for (size_t i = 1; i < peers.size(); ++i) {
      size_t party = (group.own + i) % peers.size(); // not all processes begin with the same one
      Peer &peer = peers[party];
      uint32_t process = group.parties[party].process;
      if (plan.adds)
        peer.gives = std::make_unique<SendLane>(parts, process, tag, SendLane::Contributions, buffers, own, cutOf(plan.sums[party]));
      else
        peer.gives = std::make_unique<SendLane>(parts, process, tag, SendLane::Inputs, buffers, own, cutOf(plan.gives[party]));
      // A sum may replace the input that it is of: it is taken when this input has gone.
      watch(peer, *peer.gives, [this, &peer, &own](uint64_t) {
        if (plan.spreads && peer.takes)
          peer.takes->allow(peer.gives->firstUndone() / own.size());
      });
      if (plan.spreads) {
        peer.sums = std::make_unique<SendLane>(parts, process, tag + 1, SendLane::Results, buffers, own, cutOf(plan.sums[group.own]));
        watch(peer, *peer.sums);
      }
      peer.gives->allow(peer.gives->messages());
    }
    for (const Padding &padding : plan.zeroed)
      parts.backend.zero(buffers.output(padding.part, padding.target) + padding.begin, padding.bytes);
    if (plan.countsRows)
      zeroMissingRows();
    ++unfinished;
    moveWithin(0, 0);
  }
  finishOne();
}

/// Zeroes the rows of outputs here that do not exist.
void Exchange::zeroMissingRows() {
  auto zero = [&](const Block &block) {
    block.to.eachGap([&](uint64_t place, uint64_t length) {
      for (uint32_t target : block.targets)
        parts.backend.zero(buffers.output(block.part, target) + place, length);
    });
  };
  for (const Stream &stream : plan.takes)
    std::for_each(stream.parts().begin(), stream.parts().end(), zero);
  std::for_each(plan.within.begin(), plan.within.end(), zero);
}

/// Copies between members here, some bytes at a time.
void Exchange::moveWithin(size_t firstBlock, uint64_t begin) {
  uint64_t left = copiedAtOnce;
  for (; firstBlock < plan.within.size() && left > 0; ++firstBlock, begin = 0) {
    const Block &block = plan.within[firstBlock];
    DeviceAddress source = buffers.input(block.part, block.source);
    uint64_t end = std::min(block.from.bytes(), begin + left);
    block.from.each(begin, end, [&](uint64_t from, uint64_t at, uint64_t length) {
      block.to.each(at, at + length, [&](uint64_t to, uint64_t place, uint64_t run) {
        for (uint32_t target : block.targets)
          parts.backend.copy(buffers.output(block.part, target) + to, source + (from + (place - at)), run);
      });
    });
    left -= end - begin;
    if (end < block.from.bytes()) {
      begin = end;
      break;
    }
  }
  if (Status status = waitUntilDone(parts.backend); !status.ok())
    return end(status);
  if (firstBlock == plan.within.size())
    return finishOne();
  parts.progress.run([this, alive = alive, firstBlock, begin] {
    if (*alive)
      moveWithin(firstBlock, begin);
  });
}

void Exchange::take(size_t party, uint32_t tag) {
  Peer &peer = peers[party];
  if (parts.backend.computes()) {
    uint32_t process = group.parties[party].process;
    if (!plan.adds || plan.spreads) {
      const Stream &stream = plan.adds ? plan.sums[party] : plan.takes[party];
      peer.takes = std::make_unique<ReceiveLane>(parts, process, plan.adds ? tag + 1 : tag, buffers,
                                                 plan.adds ? &group.ownParty().members : nullptr, cutOf(stream));
      watch(peer, *peer.takes);
      peer.takes->allow(plan.adds ? peer.gives->firstUndone() / group.ownParty().members.size() : peer.takes->messages());
    }
    if (plan.adds && reduction->pieces() > 0) {
      ++peer.missing;
      reduction->receiveFrom(party, tag, [&peer] { --peer.missing; });
    }
  }
  --peer.missing;
  finishOne();
}

void Exchange::finishOne() {
  if (--unfinished == 0)
    end({});
}

void Exchange::end(const Status &status) {
  if (!ended)
    return;
  std::function<void(const Status &)> call = std::move(ended);
  ended = nullptr;
  call(Status(status));
}

} // namespace npar::engine
