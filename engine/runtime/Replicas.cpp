// Hashes the pieces that ranks keep, and groups those of the same elements.
#include "engine/runtime/Replicas.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>
#include <xxhash.h>

namespace npar::engine {

namespace {

/// A piece that one rank keeps, in the form in which sessions exchange it.
struct Kept {
  int64_t rank;
  uint64_t variable;
  uint64_t place; ///< hash of the piece's rectangle and range
  ElementsHash hash;
};
static_assert(sizeof(Kept) == 5 * sizeof(uint64_t), "it is sent as its bytes");

uint64_t placeOf(const program::OwnedPiece &piece) {
  std::vector<int64_t> numbers = piece.start;
  numbers.insert(numbers.end(), piece.shape.begin(), piece.shape.end());
  numbers.push_back(static_cast<int64_t>(piece.begin));
  numbers.push_back(static_cast<int64_t>(piece.end));
  return XXH3_64bits(numbers.data(), numbers.size() * sizeof(int64_t));
}

std::string textOf(const ElementsHash &hash) {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

std::string listed(const std::vector<int64_t> &ranks) {
  constexpr size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < most; ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() > most ? " and " + std::to_string(ranks.size() - most) + " more" : "");
}

/// One rank alone is likelier to be wrong than the others together.
ReplicaDifference differenceOf(const program::Variable &variable, const std::vector<Kept> &replicas) {
  ReplicaDifference difference;
  difference.variable = variable.name()->str();
  difference.parameter = variable.kind() == program::VariableKind::Parameter;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<int64_t>> groups;
  for (const Kept &kept : replicas)
    groups[{kept.hash.high, kept.hash.low}].push_back(kept.rank);
  for (auto &[hash, ranks] : groups) {
    std::sort(ranks.begin(), ranks.end());
    difference.groups.push_back({textOf({hash.first, hash.second}), ranks});
  }
  std::sort(difference.groups.begin(), difference.groups.end(), [](const auto &a, const auto &b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks.front() < b.ranks.front();
  });
  return difference;
}

} // namespace

std::string ReplicaDifference::text() const {
  std::string result = (parameter ? "parameter '" : "state '") + variable + "' differs between ranks that keep the same elements of it: ";
  for (size_t i = 0; i < groups.size(); ++i)
    result += (i ? ", " : "") + listed(groups[i].ranks) + (groups[i].ranks.size() == 1 ? " has hash " : " have hash ") + groups[i].hash;
  return more > 0 ? result + " (and " + std::to_string(more) + (more == 1 ? " more piece differs)" : " more pieces differ)") : result;
}

Result<std::optional<ReplicaDifference>> compareReplicas(const Session &session, const program::Program &program) {
  std::vector<program::OwnedPiece> pieces = program::keptPieces(program, session.ranks());
  Result<std::vector<ElementsHash>> hashes = session.hashPieces(pieces);
  if (!hashes.ok())
    return hashes.status();
  std::vector<uint8_t> own(pieces.size() * sizeof(Kept));
  for (size_t i = 0; i < pieces.size(); ++i) {
    Kept kept{pieces[i].rank, pieces[i].variable, placeOf(pieces[i]), (*hashes)[i]};
    std::memcpy(&own[i * sizeof(Kept)], &kept, sizeof(Kept));
  }
  Result<std::vector<std::vector<uint8_t>>> all = session.gather(own);
  if (!all.ok())
    return all.status();
  std::map<std::pair<uint64_t, uint64_t>, std::vector<Kept>> replicas; // by variable and place
  for (const std::vector<uint8_t> &bytes : *all)
    for (size_t at = 0; at + sizeof(Kept) <= bytes.size(); at += sizeof(Kept)) {
      Kept kept;
      std::memcpy(&kept, &bytes[at], sizeof(Kept));
      if (kept.variable < program.variables()->size())
        replicas[{kept.variable, kept.place}].push_back(kept);
    }
  std::optional<ReplicaDifference> first;
  for (const auto &[key, kept] : replicas) {
    bool same = std::all_of(kept.begin(), kept.end(),
                            [&](const Kept &each) { return each.hash.high == kept[0].hash.high && each.hash.low == kept[0].hash.low; });
    if (!same && first)
      ++first->more;
    else if (!same)
      first = differenceOf(*program.variables()->Get(static_cast<uint32_t>(key.first)), kept);
  }
  return first;
}

} // namespace npar::engine
