// Counts the bytes that one training step moves inside hosts and between them, for ranks placed on hosts. It reads the program alone,
// before anything runs.
//
// A collective of n members counts with the volume of a ring: (n - 1) / n of the whole vector from each member, twice for an all-reduce. It
// is made as the engine makes it (RULES.md#n5): a reduction is an exchange, in which each member sends every other one its part of the sum,
// and what is whole again is gathered. So every pair of members has its share, whichever hosts they are on. A host may need fewer messages
// than this: what several ranks of one process get from the same rank crosses once.
//
// Exact whole numbers; of routed rows, which only the data know, those of a balanced load. Work grows with ranks times kinds of collectives
// and, apart from that, with the steps of the classes.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/HostPlacement.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::show {

/// Bytes that ranks send in one training step, all ranks together.
struct TrafficBytes {
  uint64_t inside = 0, between = 0; ///< to ranks of the same host, of another one
};

struct TrafficRow {
  std::string over;   ///< mesh axes, major to minor: "tp", "node,dp"
  std::string kind;   ///< "all_reduce", "send"
  TrafficBytes bytes; ///< at a balanced load of experts
  TrafficBytes worst; ///< if all places for rows are in use
};

struct HostShare {
  std::vector<int64_t> ranks;      ///< in the order in which they take the host's places
  uint64_t sent = 0, received = 0; ///< to other hosts, from other hosts
};

struct HostTraffic {
  std::string order;            ///< the axes, major to minor: "pp, dp, tp"
  std::string inside;           ///< those of them that stay inside a host; may be empty
  std::string source;           ///< origin of the order: "--place", "place at gpt2.npar:14:5"; empty: the default
  std::vector<TrafficRow> rows; ///< by axes as the mesh has them, then by kind
  TrafficBytes all, allWorst;
  std::vector<HostShare> hosts; ///< at a balanced load
};

/// `places[h]` are the ranks of host h (placeOnHosts); they contain every rank of the program once.
HostTraffic hostTraffic(const program::Program &program, const program::PlaceWords &words, std::vector<std::vector<int64_t>> places);

/// `{place: {order, inside, source}, traffic: [{over, kind, inside_bytes, between_bytes, worst_inside_bytes, worst_between_bytes}],
/// inside_bytes, between_bytes, hosts: [{ranks, sent_bytes, received_bytes}]}`.
OrderedJson hostTrafficJson(const HostTraffic &traffic);
/// The same for people: the ranks of each host and the bytes between hosts.
std::string hostTrafficText(const program::Program &program, const HostTraffic &traffic);

} // namespace npar::show
