// Moves the data of an operation whose members' buffers are all in this session's memory.
#include "engine/comm/local/Exchange.h"

#include "engine/comm/RowPieces.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <optional>

namespace npar::engine {

namespace {

void allReduce(Backend &backend, const std::vector<Operation> &members) {
  std::vector<DeviceAddress> sources, targets;
  for (const Operation &member : members) {
    sources.push_back(member.input);
    if (member.output)
      targets.push_back(member.output);
  }
  backend.reduce(members[0].type, members[0].op, sources.data(), sources.size(), targets.data(), targets.size(), members[0].count);
}

/// Places of a member's share that are no padding.
uint64_t validOf(const Operation &member) {
  uint64_t begin = member.member * member.split;
  return begin < member.whole ? std::min(member.split, member.whole - begin) : 0;
}

void allGatherShares(Backend &backend, const std::vector<Operation> &members, uint64_t size) {
  uint64_t run = members[0].inner * size;
  for (const Operation &target : members)
    for (const Operation &source : members)
      for (uint64_t outer = 0; target.output && outer < source.outer; ++outer)
        backend.copy(target.output + (outer * source.whole + source.member * source.split) * run, source.input + outer * source.split * run,
                     validOf(source) * run);
}

void reduceScatterShares(Backend &backend, const std::vector<Operation> &members, uint64_t size) {
  std::vector<DeviceAddress> sources(members.size());
  for (const Operation &target : members) {
    if (!target.output)
      continue;
    uint64_t valid = validOf(target);
    for (size_t i = 0; i < members.size() && valid > 0; ++i)
      sources[i] = members[i].input + target.member * target.split * size;
    DeviceAddress output = target.output;
    if (valid > 0)
      backend.reduce(target.type, target.op, sources.data(), sources.size(), &output, 1, valid);
    backend.zero(output + valid * size, (target.split - valid) * size);
  }
}

void allGather(Backend &backend, const std::vector<Operation> &members, uint64_t size) {
  uint64_t run = members[0].split * members[0].inner * size;
  for (const Operation &target : members)
    for (const Operation &source : members)
      for (uint64_t outer = 0; target.output && outer < source.outer; ++outer)
        backend.copy(target.output + (outer * members.size() + source.member) * run, source.input + outer * run, run);
}

void reduceScatter(Backend &backend, const std::vector<Operation> &members, uint64_t size) {
  uint64_t elements = members[0].split * members[0].inner, run = elements * size;
  std::vector<DeviceAddress> sources(members.size());
  for (const Operation &target : members)
    for (uint64_t outer = 0; target.output && outer < target.outer; ++outer) {
      for (size_t i = 0; i < members.size(); ++i)
        sources[i] = members[i].input + (outer * members.size() + target.member) * run;
      DeviceAddress output = target.output + outer * run;
      backend.reduce(target.type, target.op, sources.data(), sources.size(), &output, 1, elements);
    }
}

/// The ends of the rows that exist, by member; none of members of other sessions.
class AllEnds {
public:
  AllEnds(Backend &backend, const std::vector<Operation> &members) : ends(members.size()) {
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i].inputEnds)
        ends[i].input = endsOf(backend, members[i], RowPieces::Input, ends[i].inputCopy);
      if (members[i].output)
        ends[i].output = endsOf(backend, members[i], RowPieces::Output, ends[i].outputCopy);
    }
  }
  /// Finds the rows of a piece of the block that goes from one member to another one, which must see the same number.
  Status find(const Operation &source, const Operation &target, uint64_t sample, uint64_t piece, uint64_t &rows) const {
    int64_t expected = RowPieces(target).rows(ends[target.member].output, RowPieces::Output, source.member, sample, piece), sent = expected;
    if (const int32_t *own = ends[source.member].input)
      sent = RowPieces(source).rows(own, RowPieces::Input, target.member, sample, piece);
    if (expected < 0 || sent < 0)
      return damagedEnds(expected < 0 ? target : source);
    rows = static_cast<uint64_t>(expected);
    return sent == expected ? Status() : differentRows(source, sent, target, expected);
  }

private:
  struct Ends {
    std::vector<int32_t> inputCopy, outputCopy;
    const int32_t *input = nullptr, *output = nullptr;
  };
  std::vector<Ends> ends;
};

/// Exchanges blocks. Between `outer` and `inner`, blocks have two dimensions. One is longer in the input and the other in the output, in
/// the order that `concatFirst` selects; lengths are in blocks. Of rows in pieces only the existing ones move, except on an asynchronous
/// device, where reading the ends would mean waiting.
Status allToAll(Backend &backend, const std::vector<Operation> &members, uint64_t size) {
  const Operation &any = members[0];
  uint64_t n = members.size(), first = any.concatFirst ? any.concat : any.split, second = any.concatFirst ? any.split : any.concat;
  uint64_t run = second * any.inner * size, pieceRun = any.places * any.inner * size;
  std::optional<AllEnds> ends;
  if (any.places && !backend.asynchronous())
    ends.emplace(backend, members);
  for (const Operation &target : members)
    for (const Operation &source : members) {
      // Places of the block along (first, second) in the input and in the output.
      uint64_t from[2] = {target.member, 0}, to[2] = {0, source.member}, lengths[2][2] = {{n, 1}, {1, n}};
      if (any.concatFirst)
        std::swap(from[0], from[1]), std::swap(to[0], to[1]), std::swap(lengths[0], lengths[1]);
      uint64_t sample = 0;
      for (uint64_t outer = 0; target.output && outer < any.outer; ++outer)
        for (uint64_t i = 0; i < first; ++i)
          for (uint64_t middle = 0; middle < any.middle; ++middle, ++sample) {
            auto place = [&](const uint64_t *block, const uint64_t *length) {
              return (((outer * length[0] + block[0]) * first + i) * any.middle + middle) * length[1] + block[1];
            };
            DeviceAddress input = source.input + place(from, lengths[0]) * run, output = target.output + place(to, lengths[1]) * run;
            if (!ends) {
              backend.copy(output, input, run);
              continue;
            }
            for (uint64_t piece = 0; piece < second / any.places; ++piece) {
              uint64_t rows = 0;
              if (Status status = ends->find(source, target, sample, piece, rows); !status.ok())
                return status;
              uint64_t bytes = rows * any.inner * size;
              backend.copy(output + piece * pieceRun, input + piece * pieceRun, bytes);
              backend.zero(output + piece * pieceRun + bytes, pieceRun - bytes);
            }
          }
    }
  return {};
}

void permute(Backend &backend, const std::vector<Operation> &members, uint64_t size) {
  for (const Operation &source : members)
    if (DeviceAddress output = members[(source.member + source.shift) % members.size()].output)
      backend.copy(output, source.input, source.count * size);
}

} // namespace

/// The difference between two members in one part of a bucket, in words; empty when they agree.
static std::string differenceOf(const Operation &left, const Operation &right) {
  auto differ = [&](const std::string &what, const std::string &a, const std::string &b) {
    return what + " of rank " + std::to_string(left.rank()) + " is " + a + ", of rank " + std::to_string(right.rank()) + " is " + b;
  };
  if (left.transfers() != right.transfers() || (!left.transfers() && left.kind != right.kind))
    return differ("kind", nameOf(left), nameOf(right));
  if (left.type != right.type)
    return differ("element type", wordOf(left.type), wordOf(right.type));
  if (left.count != right.count)
    return differ("number of elements", std::to_string(left.count), std::to_string(right.count));
  if (left.transfers())
    return "";
  if (left.op != right.op)
    return differ("operator", wordOf(left.op), wordOf(right.op));
  if (left.memberCount != right.memberCount)
    return differ("group size", std::to_string(left.memberCount), std::to_string(right.memberCount));
  if (left.outer != right.outer || left.split != right.split || left.inner != right.inner || left.middle != right.middle ||
      left.concat != right.concat || left.concatFirst != right.concatFirst || left.whole != right.whole || left.places != right.places ||
      left.entries != right.entries || left.groups != right.groups)
    return "rank " + std::to_string(left.rank()) + " and rank " + std::to_string(right.rank()) + " cut the tensor differently";
  if (left.shift != right.shift)
    return differ("shift", std::to_string(left.shift), std::to_string(right.shift));
  if (!left.next != !right.next)
    return "rank " + std::to_string(left.rank()) + " and rank " + std::to_string(right.rank()) + " have different numbers of parts";
  return "";
}

std::string disagreement(const Operation &left, const Operation &right) {
  for (const Operation *a = &left, *b = &right; a && b; a = a->next, b = b->next)
    if (std::string differs = differenceOf(*a, *b); !differs.empty())
      return differs;
  return "";
}

static Status movePart(Backend &backend, const std::vector<Operation> &members) {
  uint64_t size = program::sizeOf(members[0].type);
  if (members[0].transfers()) {
    if (members[1].output)
      backend.copy(members[1].output, members[0].input, members[0].count * size);
    return {};
  }
  switch (members[0].kind) {
  case program::CollectiveKind::AllReduce:
    allReduce(backend, members);
    break;
  case program::CollectiveKind::AllGather:
    members[0].whole ? allGatherShares(backend, members, size) : allGather(backend, members, size);
    break;
  case program::CollectiveKind::ReduceScatter:
    members[0].whole ? reduceScatterShares(backend, members, size) : reduceScatter(backend, members, size);
    break;
  case program::CollectiveKind::AllToAll:
    return allToAll(backend, members, size);
  case program::CollectiveKind::Permute:
    permute(backend, members, size);
    break;
  }
  return {};
}

Status moveData(Backend &backend, const std::vector<Operation> &members) {
  if (!backend.computes())
    return {};
  Status status = movePart(backend, members);
  std::vector<Operation> parts = members;
  while (parts[0].next && status.ok()) {
    for (Operation &part : parts)
      part = *part.next;
    status = movePart(backend, parts);
  }
  return status;
}

} // namespace npar::engine
